"""Windows over rows of any length, each folded in one pass of its own.

Mostly they tumble: a row is in one of them, or in two if it crosses an edge. So no
state goes from visit to visit: the rows of a window are searched by their times, then a
loop reads vectors of their values without looking at times. What looks at a window as a
whole does so even where some windows overlap, rather than rank all rows.
"""

from tiltpy.abi.layouts import TimeLayout
from tiltpy.abi.signature import LANES
from tiltpy.aggregates.built_in import COUNT
from tiltpy.aggregates.finalize import finish
from tiltpy.aggregates.pane_fold import Pane
from tiltpy.aggregates.pane_passes import States, fold_row_panes
from tiltpy.aggregates.window_elements import aggregate_of
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.cell_arrays import cells_of
from tiltpy.emit.elements import element_of, is_filtered, row_value
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, Reduce, Window
from tiltpy.loops.build import (
    TRUE,
    add,
    conj,
    convert,
    disj,
    eq,
    greatest,
    i64,
    le,
    least,
    load,
    lt,
    mul,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import (
    Array,
    Bin,
    CountTrue,
    Lane,
    LExpr,
    Prefetch,
    Var,
    While,
    Wide,
)
from tiltpy.lowering.sweep.low_edge import LowEdge
from tiltpy.lowering.sweep.pane_counts import PaneCounts
from tiltpy.lowering.sweep.pane_order import PaneQuantile, PaneTop
from tiltpy.ops import WHOLE_WINDOW
from tiltpy.types import BOOL, I64

PaneWhole = PaneQuantile | PaneTop | PaneCounts
PANE_WHOLES: dict[str, type[PaneQuantile] | type[PaneTop] | type[PaneCounts]] = {
    "median": PaneQuantile,
    "quantile": PaneQuantile,
    "topk": PaneTop,
    "mode": PaneCounts,
    "modes": PaneCounts,
    "nunique": PaneCounts,
}
assert PANE_WHOLES.keys() == WHOLE_WINDOW


class TumblingWindow:
    """A window over disjoint rows, of which it has those from `lo` up to `hi`.

    Of an element that cuts, `changed` says whether other snapshots contribute than at
    the visit before, and `count` how many did then.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        rows: ObjectRows,
        window: Window,
        low: LowEdge,
        *,
        overlaps: bool = False,
    ) -> None:
        self.builder = builder
        self.rows = rows
        self.window = window
        self.low = low
        self.overlaps = overlaps
        self.lo = builder.fresh(f"{rows.name}.end")
        self.hi = builder.fresh(f"{rows.name}.start")
        self.size = builder.fresh(f"{rows.name}.held")
        self.source = cells_of(rows)
        self.names: dict[Expr, set[str]] = {}
        self.states: dict[Expr, States] = {}
        self.wholes: dict[Reduce, PaneWhole] = {}
        self.results: dict[Reduce, LoopValue] = {}
        self.changed: dict[Expr, Var] = {}
        self.count: dict[Expr, Var] = {}

    def reduce(self, node: Reduce) -> None:
        """Add a reduction over the window."""
        if node.reduction in WHOLE_WINDOW:
            kind = PANE_WHOLES[node.reduction]
            self.wholes[node] = kind(self.builder, self.rows, node)
            return
        self.names.setdefault(node.element, set()).add(node.reduction)

    def start(self, block: Block) -> None:
        """Start before the loop as an empty window."""
        for var in (self.lo, self.hi, self.size, *self.count.values()):
            block.set(var, i64(0))

    def advance(self, block: Block, now: LExpr) -> None:
        """Find the rows at the loop's time and fold them."""
        before = self.builder.fresh(f"{self.rows.name}.before")
        block.set(before, self.hi)
        self._find(block, now)
        block.set(self.size, sub(self.hi, self.lo))
        panes = {
            Pane(self.source, element, self.lo, self.size): needed
            for element in self.names
            if (needed := self._row_reductions(element)) is not None
        }
        if panes:
            folds = fold_row_panes(block, panes)
            self.states = {pane.element: states for pane, states in folds.items()}
        for node, whole in self.wholes.items():
            pane = Pane(self.source, node.element, self.lo, self.size)
            self.results[node] = whole.compute(block, pane)
        for element in self.changed:
            self._mark_changed(block, element, before)

    def _is_filtered(self, element: Expr) -> bool:
        return is_filtered(self.builder, self.rows, element)

    def _row_reductions(self, element: Expr) -> set[str] | None:
        """The reductions that fold every row; None if not even a cut does."""
        names = self.names[element]
        if self._is_filtered(element):
            return names
        return names - {"count", "first", "last"} or None

    # Search

    def _find(self, block: Block, now: LExpr) -> None:
        """Move `lo` past the rows that ended by the window's start, `hi` to its end.

        Of the rows of earlier windows only the last may not have ended.
        """
        rows = self.rows
        begin = block.name("begin", self.low.at(now))
        final = block.name("final", add(now, i64(self.window.end - 1)))
        if rows.layout.time is TimeLayout.SAMPLED:
            block.set(self.lo, self._first_after(begin))
            block.set(self.hi, greatest(self._first_after(final, 1), self.lo))
            return
        assert rows.ends is not None
        if not self.overlaps:
            block.set(self.lo, self._oldest())
        ended = le(rows.end_or_never(self.lo), begin)
        block.set(self.lo, add(self.lo, convert(ended, I64)))
        search = block.inner()  # over rows between two windows
        _seek_in_vectors(search, self.lo, rows.ends, begin, rows.count)
        block.when(ended, search)
        if rows.starts is not None:
            block.set(self.hi, greatest(self.hi, self.lo))
            self._fetch_ends(block)
            times, until = rows.starts, final
            if rows.layout.points:  # whose starts need not be read
                times, until = rows.ends, add(final, i64(1))
            _seek(block, self.hi, times, until, rows.count, self.size)
            return
        # All but the first start where the row before ends.
        before = self.builder.fresh(f"{rows.name}.ended")
        newest = greatest(self.lo, sub(self.hi, i64(1))) if self.overlaps else self.lo
        block.set(before, least(newest, rows.last))
        _seek(block, before, rows.ends, final, rows.last, self.size)
        some_started = conj(lt(i64(0), rows.count), le(rows.start, final))
        block.set(self.hi, select(some_started, add(before, i64(1)), i64(0)))

    def _oldest(self) -> LExpr:
        """The first row that may be in this window, and not only in the one before.

        A row that crosses an edge is in both. One of a tick does not.
        """
        if self.rows.layout.points:
            return self.hi
        return greatest(sub(self.hi, i64(1)), i64(0))

    def _first_after(self, time: LExpr, begun: int = 0) -> LExpr:
        """The first sample that ends after a time, or with `begun` starts after it."""
        rows = self.rows
        since = sub(greatest(time, rows.start), rows.start)
        row = add(Bin("//", since, rows.period, I64), i64(begun))
        if begun:
            row = select(lt(time, rows.start), i64(0), row)
        return least(row, rows.count)

    def _fetch_ends(self, block: Block) -> None:
        """Prefetch ends of a later window, whose position the current size predicts."""
        rows = self.rows
        assert rows.ends is not None
        if not rows.layout.points:
            row = add(self.hi, mul(self.size, i64(4)))
            block.add(Prefetch(rows.ends, row))
            block.add(Prefetch(rows.ends, add(row, i64(LANES // 2))))

    def changes(self) -> list[LExpr]:
        """The first times of the loop at which the window has other rows."""
        leaving = self.low.due(self.rows.end_or_never(self.lo))
        coming = sub(self.rows.start_or_never(self.hi), i64(self.window.end - 1))
        return [leaving, coming]

    def vacancy(self, time: LExpr) -> tuple[LExpr, LExpr]:
        """Decide whether it has no rows at a later time, and when it may have some.

        Where it has none that is later still.
        """
        rows = self.rows
        newest = rows.end_at(greatest(sub(self.hi, i64(1)), i64(0)))
        due = sub(rows.start_or_never(self.hi), i64(self.window.end - 1))
        none = disj(eq(self.hi, i64(0)), le(newest, self.low.at(time)))
        return conj(none, lt(time, due)), due

    # Cuts

    def cut(self, element: Expr, *, bounds: bool) -> LExpr:
        """Return whether other snapshots contribute than at the visit before."""
        assert not bounds
        if element not in self.changed:
            self.names.setdefault(element, set())
            self.changed[element] = self.builder.fresh("changed", BOOL)
            self.count[element] = self.builder.fresh("count.before")
        return self.changed[element]

    def _mark_changed(self, block: Block, element: Expr, before: Var) -> None:
        """Set `changed` unless all that contribute to either window are shared."""
        count, past = self._count(element), self.count[element]
        if self.overlaps:
            shared = self._count_shared(block, element, before)
            same = conj(eq(count, shared), eq(past, shared))
        else:  # they share a row at most
            first = lt(self.lo, before)
            if self._is_filtered(element):
                row = block.name("row", self.rows.clamp(self.lo))
                first = conj(first, element_of(block, self.rows, row, element).valid)
            same_row = conj(eq(count, i64(1)), eq(past, i64(1)), first)
            same = disj(conj(eq(count, i64(0)), eq(past, i64(0))), same_row)
        block.set(self.changed[element], negate(same))
        block.set(past, count)

    def _count_shared(self, block: Block, element: Expr, before: Var) -> LExpr:
        """Count the rows that contribute to this window and to the one before."""
        shared = self.builder.fresh(f"{self.rows.name}.shared")
        block.set(shared, greatest(sub(before, self.lo), i64(0)))
        if not self._is_filtered(element):
            return shared
        pane = Pane(self.source, element, self.lo, shared)
        (states,) = fold_row_panes(block, {pane: set()}).values()
        (count,) = states[COUNT]
        return count

    # Results

    def _count(self, element: Expr) -> LExpr:
        if not self._is_filtered(element):
            return self.size
        (count,) = self.states[element][COUNT]
        return count

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The value of a reduction over the window as it is now."""
        if node in self.wholes:
            return self.results[node]
        count = self._count(node.element)
        if node.reduction == "count":
            return LoopValue(node.type, count, TRUE)
        first = node.reduction == "first"
        if first or node.reduction == "last":
            row = self.lo if first else sub(self.hi, i64(1))
            if self._is_filtered(node.element):
                (row,) = self.states[node.element][aggregate_of(self.builder, node)]
            occupied = block.name("some", lt(i64(0), count))
            return row_value(block, self.rows, node, row, occupied)
        state = self.states[node.element][aggregate_of(self.builder, node)]
        return finish(block, node, state, count)


def _seek(
    block: Block, at: Var, times: Array, time: LExpr, stop: LExpr, before: LExpr
) -> None:
    """Move `at` past all entries of sorted times up to `time`, at most to `stop`.

    If the window before had one row at most (it had `before`), the first rows are tried
    one by one. Behind them it goes on in vectors.
    """
    more = block.builder.fresh("more", BOOL)
    few, many, search = block.inner(), block.inner(), block.inner()
    last = few.name("last", greatest(sub(stop, i64(1)), i64(0)))
    tried = range(block.costs.tried_rows)
    for row in [few.name("row", add(at, i64(ahead))) for ahead in tried]:
        few.set(more, conj(lt(row, stop), le(load(times, least(row, last)), time)))
        few.set(at, add(at, convert(more, I64)))
    many.set(more, TRUE)
    block.either(le(before, i64(1)), few, many)
    _seek_in_vectors(search, at, times, time, stop)
    block.when(more, search)


def _seek_in_vectors(
    block: Block, at: Var, times: Array, time: LExpr, stop: LExpr
) -> None:
    """Move by vectors while their last entry is passed, then count in one vector."""
    leap = block.inner()
    last = least(add(at, i64(LANES - 1)), greatest(sub(stop, i64(1)), i64(0)))
    further = conj(le(add(at, i64(LANES)), stop), le(load(times, last), time))
    ahead = add(at, i64(block.costs.prefetch_bytes // 8))
    leap.add(Prefetch(times, ahead), Prefetch(times, add(ahead, i64(LANES // 2))))
    leap.set(at, add(at, i64(LANES)))
    block.add(While(further, leap.body()))
    inside = block.name("inside", lt(Lane(I64), sub(stop, at)))
    passed = conj(inside, le(Wide(times, at, I64, inside), time))
    block.set(at, add(at, CountTrue(passed, I64)))
