"""Windows that are folded anew at each visit, and those whose edges cut snapshots.

A query's own reduction that can neither take out nor merge goes through its window at
each visit. One that sees where snapshots start and end must: the window's edges cut
snapshots elsewhere each time they move on, so that another time is another snapshot for
as long as one reaches beyond an edge.
"""

from dataclasses import dataclass

from tiltpy.aggregates.user_defined import (
    accumulated,
    initial,
    result_of,
    types_of,
)
from tiltpy.emit.builder import Assembly, Block
from tiltpy.emit.elements import element_of
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, UserReduction, Window
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
from tiltpy.lowering.sweep.window_elements import assign_state
from tiltpy.types import BOOL


@dataclass(frozen=True, slots=True)
class WindowRows:
    """The rows of a window at one visit: those from `first` up to `stop`.

    The window is `(low, high]`; with `mixed`, some of these rows have left it already.
    """

    rows: ObjectRows
    first: LExpr
    stop: LExpr
    low: LExpr
    high: LExpr
    mixed: bool

    def contributes(self, block: Block, row: LExpr, value: LoopValue) -> LExpr:
        """Whether a row is in the window, and its element not φ."""
        if not self.mixed:
            return value.valid
        return block.name("in", conj(value.valid, lt(self.low, self.rows.end_at(row))))

    def cut(self, row: LExpr) -> tuple[LExpr, LExpr]:
        """The bounds of a row, cut to the window."""
        start, end = self.rows.start_at(row), self.rows.end_at(row)
        return greatest(start, self.low), least(end, self.high)


def recompute(
    block: Block, own: UserReduction, element: Expr, stretch: WindowRows
) -> LoopValue:
    """A reduction over a window: from `init` on by `acc`, snapshot by snapshot."""
    fresh = block.assembly.fresh
    state = tuple(fresh(own.name, kind) for kind in types_of(own))
    some, row = fresh(f"{own.name}.some", BOOL), fresh(f"{own.name}.row")
    assign_state(block, state, initial(block, own))
    block.set(some, FALSE)
    inner, take = block.inner(), block.inner()
    value = element_of(inner, stretch.rows, row, element)
    valid = stretch.contributes(inner, row, value)
    bounds = None
    if own.bounds:
        start, end = stretch.cut(row)
        bounds = take.name("start", start), take.name("end", end)
    assign_state(take, state, accumulated(take, own, state, value, bounds))
    take.set(some, TRUE)
    inner.when(valid, take)
    block.add(For(row, stretch.first, stretch.stop, inner.body()))
    return result_of(block, own, state, some)


class ClipWatch:
    """Where a window's edges cut snapshots: when they do elsewhere, and whether so."""

    def __init__(self, window: Window, precision: int) -> None:
        self.window = window
        self.precision = precision
        self.watched: dict[Expr, Var] = {}
        self.changes: list[LExpr] = []
        """When they do so next."""

    def watch(self, assembly: Assembly, rows: ObjectRows, element: Expr) -> Var:
        """Have it noted whether an element's snapshots are cut elsewhere."""
        if element not in self.watched:
            self.watched[element] = assembly.fresh(f"{rows.name}.cut", BOOL)
        return self.watched[element]

    def advance(self, block: Block, now: LExpr, stretch: WindowRows) -> None:
        """At a visit, when the window has moved."""
        if not self.watched:
            return
        if stretch.rows.disjoint:
            due = self._next(now, stretch)
        else:
            some = lt(stretch.first, stretch.stop)
            due = select(some, add(now, i64(1)), INF)
        self.changes = [block.name("due", due)]
        for element, changed in self.watched.items():
            block.set(changed, FALSE)
            self._compare(block, stretch, element, changed)

    def _next(self, now: LExpr, stretch: WindowRows) -> LExpr:
        """The first time at which the oldest or the newest row is cut elsewhere."""
        rows, tick = stretch.rows, add(now, i64(1))
        some = lt(stretch.first, stretch.stop)
        oldest = rows.start_at(rows.clamp(stretch.first))
        begins = add(sub(oldest, i64(self.window.start)), i64(1))
        newest = rows.end_at(greatest(sub(stretch.stop, i64(1)), i64(0)))
        beyond = select(lt(stretch.high, newest), tick, INF)
        return select(some, least(greatest(tick, begins), beyond), INF)

    def _compare(
        self, block: Block, stretch: WindowRows, element: Expr, changed: Var
    ) -> None:
        """Whether a snapshot was cut elsewhere at the grid point before."""
        row = block.assembly.fresh("cut.row")
        inner = block.inner()
        self._compare_row(inner, stretch, element, changed, row)
        if not stretch.rows.disjoint:
            block.add(For(row, stretch.first, stretch.stop, inner.body()))
            return
        for edge in (stretch.first, self._cut_before(block, stretch)):
            one = block.inner()
            one.set(row, edge)
            one.add(*inner.statements)
            block.when(lt(stretch.first, stretch.stop), one)

    def _cut_before(self, block: Block, stretch: WindowRows) -> LExpr:
        """The row that the later edge cut at the grid point before.

        Rows behind it have come since; where they are φ nothing else tells of it. If
        the edge cut none, a row beside it.
        """
        row = block.assembly.fresh("cut.newest")
        block.set(row, sub(stretch.stop, i64(1)))
        before = sub(stretch.high, i64(self.precision))
        back = block.inner()
        back.set(row, sub(row, i64(1)))
        starts = stretch.rows.start_at(stretch.rows.clamp(row))
        some = lt(stretch.first, row)
        block.add(While(conj(some, le(before, starts)), back.body()))
        return row

    def _compare_row(
        self,
        block: Block,
        stretch: WindowRows,
        element: Expr,
        changed: Var,
        row: Var,
    ) -> None:
        rows = stretch.rows
        value = element_of(block, rows, row, element)
        valid = stretch.contributes(block, row, value)
        before = sub(stretch.high, i64(self.precision))
        elsewhere = disj(
            lt(rows.start_at(row), stretch.low), lt(before, rows.end_at(row))
        )
        block.set(changed, disj(changed, conj(valid, elsewhere)))
