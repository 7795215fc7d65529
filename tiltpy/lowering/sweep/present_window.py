"""Windows whose rows are folded at each visit, as their elements see the present.

Before: `count(v for v in ~x[t-20 : t] if v < ~x[t])`. What the element sees of the
present is a constant of the fold, computed once a visit; no partial result outlives it.
Where rows leave in order a built-in reduction folds vectors of rows; else, and for
user-defined reductions, a loop goes from row to row. Counts of rows that compare a key
with the present need not look at all of them (`match_counts`).

User-defined reductions that see where an open window cuts rows fold these likewise, as
its end cuts others at each visit. A window that folds on keeps the states of the rows
before the first one that ends later (`KeptStates`).
"""

from collections.abc import Mapping

from tiltpy.aggregates.built_in import COUNT
from tiltpy.aggregates.pane_fold import Pane
from tiltpy.aggregates.pane_passes import fold_row_panes
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.cell_arrays import cells_of
from tiltpy.emit.elements import FoldedElement, element_of
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import Leaf, LoopValue
from tiltpy.ir.nodes import LastRows, Reduce, TemporalExpr
from tiltpy.loops.build import (
    FALSE,
    INF,
    add,
    conj,
    disj,
    greatest,
    i64,
    le,
    least,
    lt,
    ne,
    select,
    sub,
)
from tiltpy.loops.nodes import For, LExpr, Var, While
from tiltpy.lowering.sweep.kept_states import KeptStates
from tiltpy.lowering.sweep.limited_bound import LimitedBound
from tiltpy.lowering.sweep.match_counts import MatchCounts
from tiltpy.lowering.sweep.restart import LeavesRestart, Restart
from tiltpy.lowering.sweep.row_bounds import RowBounds
from tiltpy.lowering.sweep.row_fold import RowFold
from tiltpy.ops import WHOLE_WINDOW
from tiltpy.plan.nodes import PresentChoice, PresentPlan
from tiltpy.types import ALL_PAST, BOOL


class PresentWindow(LeavesRestart):
    """A window under one element that sees the present.

    The rows from `lo` up to `hi` are in the window; where they leave in any order, or
    it matters where the window cuts them, some of them have left already (`is_mixed`).
    An open window has `limits`: the bound that moves `lo`. The window before had rows
    that ended after `low_before`, and its end was `high_before`.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        bounds: RowBounds,
        rows: ObjectRows,
        choice: PresentChoice,
        definition: TemporalExpr,
        restart: Restart | None,
    ) -> None:
        self.builder = builder
        self.rows = rows
        self.window = choice.window
        self.folded = FoldedElement.of(choice.element)
        self.matches = MatchCounts.of(builder, rows, choice, self.folded)
        self.precision = i64(definition.tdom.precision)
        self.restart = restart
        self.limits: LimitedBound | None = None
        self.lo = builder.fresh(f"{rows.name}.lo")
        self.hi = builder.fresh(f"{rows.name}.hi")
        self.low_before = builder.fresh(f"{rows.name}.low")
        self.high_before = builder.fresh(f"{rows.name}.high")
        self.kept: KeptStates | None = None
        if choice.plan is PresentPlan.KEPT:
            self.kept = KeptStates(builder, rows)
        if not self.window.is_fixed:
            hi, limit = bounds.new_bound(rows, "start", self.window.end - 1), None
            if isinstance(self.window.limit, LastRows):
                limit = self.window.limit.count
            self.limits = LimitedBound(
                builder, self.window, hi, count=limit, restart=restart
            )
            self.lo, self.hi = self.limits.row, hi.row
        self.own_row: LExpr | None = None
        self.fold = RowFold(builder, rows, self.folded.element)
        self.changed: Var | None = None
        self.bounds = False
        self.names: Mapping[str, LoopValue] = {}
        self.due: LExpr = INF

    @property
    def is_mixed(self) -> bool:
        """Return whether rows between `lo` and `hi` may have left the window."""
        in_order = self.rows.layout.fifo or not self.window.leaves_by_end
        return self.bounds or not in_order

    def reduce(self, node: Reduce) -> None:
        """Add a reduction over the window."""
        self.fold.reduce(node)
        reduction = self.fold.reduction_of(node)
        if self.kept is not None:
            assert reduction is not None
            self.kept.add(reduction)
        self.bounds |= reduction is not None and reduction.bounds

    def cut(self, *, bounds: bool) -> LExpr:
        """Return whether other snapshots contribute than at the grid point before.

        With `bounds`: or the window cuts one elsewhere.
        """
        self.bounds |= bounds
        if self.changed is None:
            self.changed = self.builder.fresh(f"{self.rows.name}.changed", BOOL)
        return self.changed

    def start(self, block: Block) -> None:
        """Start before the loop as an empty window."""
        if self.limits is None:
            block.set(self.lo, i64(0))
            block.set(self.hi, i64(0))
        else:
            self.limits.hi.start(block)
            self.limits.start(block)
            block.set(self.low_before, INF)
            block.set(self.high_before, INF)
            if self.kept is not None:
                self.kept.reset(block, i64(0))
        if self.matches is not None:
            self.matches.start(block)

    def advance(self, block: Block, now: LExpr, present: Leaf) -> None:
        """Move to the loop's time and fold the rows; `present` reads what is there."""
        high = block.name("high", add(now, i64(self.window.end)))
        before = self.builder.fresh("before"), self.builder.fresh("before")
        block.set(before[0], self.lo)
        block.set(before[1], self.hi)
        if self.limits is None:
            low = block.name("low", add(now, i64(self.window.start)))
            watched = self.is_mixed and self.changed is not None
            self._pass(block, sub(low, self.precision) if watched else low, high)
        else:
            until = self.limits.find_limit(block, now)
            self.limits.hi.run(block, until, to_row=self.own_row)
            self.limits.run(block, now, block.inner())
            low = self.limits.low_at(block, now)
        self.names = self.folded.values(block, present)
        if self.is_mixed:
            self._fold_mixed(block, low, high, before)
            return
        if self.changed is not None:
            self._compare(block, *before)
        if self.matches is None:
            self._fold_in_order(block)
        else:
            self._count_matches(block, self.matches)

    def _pass(self, block: Block, low: LExpr, high: LExpr) -> None:
        """Move `lo` to the first row that ends after `low`, `hi` beyond the last."""
        ended, started = block.inner(), block.inner()
        ended.set(self.lo, add(self.lo, i64(1)))
        block.add(While(le(self.rows.end_or_never(self.lo), low), ended.body()))
        started.set(self.hi, add(self.hi, i64(1)))
        starts = lt(self.rows.start_or_never(self.hi), high)
        if self.own_row is not None:
            starts = le(self.hi, self.own_row)
        block.add(While(starts, started.body()))

    def _element(self, block: Block, row: LExpr) -> LoopValue:
        return element_of(block, self.rows, row, self.folded.element, self.names)

    # Rows that leave in order

    def _compare(self, block: Block, lo: LExpr, hi: LExpr) -> None:
        """Look whether a row that came or left since then contributes."""
        assert self.changed is not None
        block.set(self.changed, FALSE)
        for first, stop in (
            (lo, least(self.lo, hi)),
            (greatest(self.lo, hi), self.hi),
        ):
            row, inner = self.builder.fresh("row"), block.inner()
            value = self._element(inner, row)
            inner.set(self.changed, disj(self.changed, value.valid))
            block.add(For(row, first, stop, inner.body()))

    def _count_matches(self, block: Block, matches: MatchCounts) -> None:
        """Count the matches, anew where the window has few rows."""
        count = self.builder.fresh(f"{self.rows.name}.matches")
        few, many = block.inner(), block.inner()
        self._fold_in_order(few)
        few.set(count, self.fold.states[COUNT][0])
        many.set(count, matches.count(many, self.lo, self.hi, self.names))
        block.either(matches.has_many(self.lo, self.hi), many, few)
        self.fold.states = {COUNT: (count,)}

    def _fold_in_order(self, block: Block) -> None:
        """Fold built-in reductions in vectors, the others row by row."""
        names = {
            node.reduction
            for node in self.fold.nodes
            if node.reduction not in WHOLE_WINDOW
            and self.fold.reduction_of(node) is None
        }
        if names:
            size = self.builder.fresh(f"{self.rows.name}.held")
            block.set(size, greatest(sub(self.hi, self.lo), i64(0)))
            source, element = cells_of(self.rows), self.folded.element
            pane = Pane(source, element, self.lo, size, self.names)
            folds = fold_row_panes(block, {pane: names})
            self.fold.states = {COUNT: (size,), **folds.get(pane, {})}
        by_row = [node for node in self.fold.nodes if node.reduction not in names]
        self._fold_rows(block, by_row)

    def _fold_rows(self, block: Block, nodes: list[Reduce]) -> None:
        if not nodes:
            return
        self.fold.begin(block, nodes)
        row, inner = self.builder.fresh("row"), block.inner()
        value = self._element(inner, row)
        taken = inner.inner()
        self.fold.take(taken, nodes, row, value, None)
        inner.when(value.valid, taken)
        block.add(For(row, self.lo, self.hi, inner.body()))

    # Rows that leave in any order, or are cut by the window's edges

    def _fold_mixed(
        self, block: Block, low: LExpr, high: LExpr, bounds_before: tuple[Var, Var]
    ) -> None:
        """Fold the rows from `lo` up to `hi` that are inside.

        `bounds_before` are those two at the visit before.
        """
        rows, ending = self.rows, self.builder.fresh("ending")
        occupied = self.builder.fresh("some", BOOL)
        reaches = self.builder.fresh("reaches", BOOL)
        first: LExpr = self.lo if self.limits is None else bounds_before[0]
        if self.kept is None:
            self.fold.begin(block, self.fold.nodes)
        else:
            first = self._take_up(block, self.kept, first)
        block.set(ending, INF)
        block.set(occupied, FALSE)
        block.set(reaches, FALSE)
        if self.changed is not None:
            block.set(self.changed, FALSE)
        row, inner = self.builder.fresh("row"), block.inner()
        begin = inner.name("start", rows.start_at(row))
        end = inner.name("end", rows.end_at(row))
        within = lt(low, end)
        if self.limits is not None:
            within = conj(le(self.lo, row), within)
        inside = inner.name("in", within)
        inner.set(reaches, disj(reaches, conj(inside, lt(high, end))))
        inner.set(ending, select(inside, least(ending, end), ending))
        inner.set(occupied, disj(occupied, inside))
        value = self._element(inner, row)
        clipped = _clip((begin, end), (low, high))
        if self.changed is not None:
            past: tuple[LExpr, LExpr] = self.low_before, self.high_before
            was = conj(lt(row, bounds_before[1]), lt(past[0], end))
            if self.limits is None:
                past = sub(low, self.precision), sub(high, self.precision)
                was = conj(lt(begin, past[1]), lt(past[0], end))
            differs = ne(inside, was)
            if self.bounds:
                moved = _clips_elsewhere((begin, end), (low, high), past)
                differs = disj(differs, conj(inside, moved))
            inner.set(self.changed, disj(self.changed, conj(value.valid, differs)))
        taken = inner.inner()
        self.fold.take(taken, self.fold.nodes, row, value, clipped)
        inner.when(inner.name("ok", conj(inside, value.valid)), taken)
        if self.kept is not None:
            self.kept.settle(inner, row, le(end, high), self.fold.user_states)
        block.add(For(row, first, self.hi, inner.body()))
        if self.limits is not None:
            block.set(self.low_before, low)
            block.set(self.high_before, high)
        cuts = occupied if self.window.start > ALL_PAST else reaches
        tick = sub(high, i64(self.window.end - 1))
        self.due = block.name("due", self._due(tick, cuts, ending))

    def _due(self, tick: LExpr, cuts: LExpr, ending: LExpr) -> LExpr:
        """The next time at which a row leaves, or an edge cuts one elsewhere.

        That is at the next `tick` while an edge `cuts` any.
        """
        if self.bounds:
            return select(cuts, tick, INF)
        if self.window.start == ALL_PAST:
            return INF
        leaving = sub(ending, i64(self.window.start))
        return select(lt(ending, INF), leaving, INF)

    def _take_up(self, block: Block, states: KeptStates, first: LExpr) -> LExpr:
        """Go on from the states that were kept, and find the first row to fold."""
        behind: LExpr = states.settled
        if self.restart is not None:
            anew = block.inner()
            states.reset(anew, self.lo)
            block.when(self.restart.moved, anew)
            behind = select(self.restart.moved, first, states.settled)
        self.fold.user_states = states.take_up(block)
        return block.name("first", behind)

    # Results

    def changes(self) -> list[LExpr]:
        """The first times of the loop at which the window has other rows."""
        if self.limits is not None:
            return [self.limits.arrival, self.limits.due, self.due]
        coming = sub(self.rows.start_or_never(self.hi), i64(self.window.end - 1))
        if self.is_mixed:
            return [coming, self.due]
        leaving = sub(self.rows.end_or_never(self.lo), i64(self.window.start))
        return [coming, leaving]

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The value of a reduction over the window as it is now."""
        return self.fold.value(block, node, self.names)


def _clip(row: tuple[LExpr, LExpr], window: tuple[LExpr, LExpr]) -> tuple[LExpr, LExpr]:
    """The start and the end of a row, clipped to a window."""
    return greatest(row[0], window[0]), least(row[1], window[1])


def _clips_elsewhere(
    row: tuple[LExpr, LExpr],
    window: tuple[LExpr, LExpr],
    past: tuple[LExpr, LExpr],
) -> LExpr:
    """Decide whether a window clips a row elsewhere than it did in the past."""
    pairs = zip(_clip(row, window), _clip(row, past), strict=True)
    return disj(*(ne(*pair) for pair in pairs))
