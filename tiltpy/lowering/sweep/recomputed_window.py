"""Recomputed windows, and windows whose edges clip events.

A user-defined reduction that can neither evict nor merge visits all rows of its window
at each visit of the loop. So may one that sees bounds: whenever the window's edges move
they clip events at another time, which makes another snapshot for as long as an event
reaches beyond an edge.
"""

from tiltpy.aggregates.user_defined import code_of
from tiltpy.aggregates.window_elements import assign_state
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import element_of
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, UserReduction, Window
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import (
    FALSE,
    INF,
    TRUE,
    add,
    conj,
    disj,
    greatest,
    i64,
    le,
    least,
    lt,
    select,
    sub,
)
from tiltpy.loops.nodes import For, LExpr, Var, While
from tiltpy.lowering.sweep.low_edge import LowEdge
from tiltpy.types import BOOL


@dataclass(frozen=True, slots=True)
class WindowRows:
    """The rows of a window `(low, high]` at a visit: those from `first` up to `stop`.

    With `mixed`, some of these rows have left the window already.
    """

    rows: ObjectRows
    first: LExpr
    stop: LExpr
    low: LExpr
    high: LExpr
    mixed: bool

    def contributes(self, block: Block, row: LExpr, value: LoopValue) -> LExpr:
        """Decide whether a row is in the window and its element not φ."""
        if not self.mixed:
            return value.valid
        return block.name("in", conj(value.valid, lt(self.low, self.rows.end_at(row))))

    def clip(self, row: LExpr) -> tuple[LExpr, LExpr]:
        """The bounds of a row, clipped to the window."""
        start, end = self.rows.start_at(row), self.rows.end_at(row)
        return greatest(start, self.low), least(end, self.high)


def recompute(
    block: Block, reduction: UserReduction, element: Expr, window: WindowRows
) -> LoopValue:
    """Fold a window snapshot by snapshot, from `init` on by `acc`."""
    fresh, code = block.builder.fresh, code_of(reduction)
    state = tuple(fresh(reduction.name, kind) for kind in code.types())
    occupied, row = (
        fresh(f"{reduction.name}.some", BOOL),
        fresh(f"{reduction.name}.row"),
    )
    assign_state(block, state, code.initial(block))
    block.set(occupied, FALSE)
    inner, accumulate = block.inner(), block.inner()
    value = element_of(inner, window.rows, row, element)
    valid = window.contributes(inner, row, value)
    bounds = None
    if reduction.bounds:
        start, end = window.clip(row)
        bounds = accumulate.name("start", start), accumulate.name("end", end)
    assign_state(accumulate, state, code.accumulate(accumulate, state, value, bounds))
    accumulate.set(occupied, TRUE)
    inner.when(valid, accumulate)
    block.add(For(row, window.first, window.stop, inner.body()))
    return code.result(block, state, occupied)


class ClipWatch:
    """Watches which events a window's edges clip, and where.

    `changes` are the next times at which they clip another event or at another time.
    """

    def __init__(self, window: Window, low: LowEdge) -> None:
        self.window = window
        self.low = low
        self.watched: dict[Expr, Var] = {}
        self.changes: list[LExpr] = []

    def watch(self, builder: KernelBuilder, rows: ObjectRows, element: Expr) -> Var:
        """The variable that says whether an element's events are clipped elsewhere."""
        if element not in self.watched:
            self.watched[element] = builder.fresh(f"{rows.name}.cut", BOOL)
        return self.watched[element]

    def advance(self, block: Block, now: LExpr, window: WindowRows) -> None:
        """Follow the window at a visit, once it has moved."""
        if not self.watched:
            return
        if window.rows.disjoint:
            due = self._next(now, window)
        else:
            occupied = lt(window.first, window.stop)
            due = select(occupied, add(now, i64(1)), INF)
        self.changes = [block.name("due", due)]
        for element, changed in self.watched.items():
            block.set(changed, FALSE)
            self._compare(block, window, element, changed)

    def _next(self, now: LExpr, window: WindowRows) -> LExpr:
        """The first time at which the oldest or the newest row is clipped elsewhere."""
        rows, tick = window.rows, add(now, i64(1))
        occupied = lt(window.first, window.stop)
        oldest = rows.start_at(rows.clamp(window.first))
        begins = add(self.low.due(oldest), i64(1))
        newest = rows.end_at(greatest(sub(window.stop, i64(1)), i64(0)))
        beyond = select(lt(window.high, newest), tick, INF)
        return select(occupied, least(greatest(tick, begins), beyond), INF)

    def _compare(
        self, block: Block, window: WindowRows, element: Expr, changed: Var
    ) -> None:
        """Set `changed` if an event was clipped elsewhere at the grid point before."""
        row = block.builder.fresh("cut.row")
        inner = block.inner()
        self._compare_row(inner, window, element, changed, row)
        if not window.rows.disjoint:
            block.add(For(row, window.first, window.stop, inner.body()))
            return
        for clipped in (window.first, self._clipped_before(block, window)):
            compare = block.inner()
            compare.set(row, clipped)
            compare.add(*inner.statements)
            block.when(lt(window.first, window.stop), compare)

    def _clipped_before(self, block: Block, window: WindowRows) -> LExpr:
        """The row that the later edge clipped at the grid point before, if it did.

        Rows after it were inserted since; where they are φ nothing else shows that.
        """
        row = block.builder.fresh("cut.newest")
        # A condition of a loop reads it even where the window is empty.
        block.set(row, greatest(sub(window.stop, i64(1)), i64(0)))
        before = sub(window.high, self.low.step)
        back = block.inner()
        back.set(row, sub(row, i64(1)))
        starts = window.rows.start_at(window.rows.clamp(row))
        within = lt(window.first, row)
        block.add(While(conj(within, le(before, starts)), back.body()))
        return row

    def _compare_row(
        self,
        block: Block,
        window: WindowRows,
        element: Expr,
        changed: Var,
        row: Var,
    ) -> None:
        rows = window.rows
        value = element_of(block, rows, row, element)
        valid = window.contributes(block, row, value)
        before = sub(window.high, self.low.step)
        clipped = disj(lt(rows.start_at(row), window.low), lt(before, rows.end_at(row)))
        block.set(changed, disj(changed, conj(valid, clipped)))
