"""As-of looks: the nearest row before a time, or after it, in order of stamps.

A row is followed, nothing is folded: the last one whose stamp the loop has passed, or
the first one that it has not. Null rows are passed over.
"""

from dataclasses import replace

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import row_value
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, Reduce, Window
from tiltpy.loops.build import (
    FALSE,
    INF,
    TRUE,
    add,
    conj,
    disj,
    eq,
    greatest,
    i64,
    le,
    lt,
    ne,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import Bin, LExpr, While
from tiltpy.lowering.sweep.restart import Restart
from tiltpy.lowering.sweep.row_bounds import RowBounds
from tiltpy.types import ALL_FUTURE, ALL_PAST, BOOL, I64


class LookWindow:
    """The row that an as-of look sees: `row` while it `exists`.

    It looks `back` for the last row whose stamp is in the window, since its `origin`,
    or for the first.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        bounds: RowBounds,
        rows: ObjectRows,
        window: Window,
        origin: Restart | None = None,
    ) -> None:
        assert window.edge is not None
        back = window.look == "last"
        self.origin = origin
        self.builder = builder
        self.rows = rows
        self.window = window
        self.back = back
        self.wholes: dict[Expr, object] = {}
        # A window holds starts from its start on, and ends after it.
        self.delay = 1 if window.edge == "start" else 0
        offset = (window.end if back else window.start) - self.delay
        self.bound = bounds.new_bound(rows, window.edge, offset)
        self.row = builder.fresh(f"{rows.name}.seen")
        self.exists = builder.fresh(f"{rows.name}.sees", BOOL)
        self.before = builder.fresh(f"{rows.name}.before")
        self.changed = builder.fresh(f"{rows.name}.look", BOOL)
        self.due: LExpr = INF

    def start(self, block: Block) -> None:
        """Start before the loop."""
        self.bound.start(block)
        if self.origin is not None:
            self.origin.start(block)
        block.set(self.row, i64(-1 if self.back else 0))
        block.set(self.exists, FALSE)

    def advance(self, block: Block, now: LExpr) -> None:
        """Move to the loop's time."""
        block.set(self.before, select(self.exists, self.row, i64(-1)))
        if self.back:
            self._follow_newest(block, now)
        else:
            self._follow_next(block, now)
        readable = block.name("row", self.rows.clamp(greatest(self.row, i64(0))))
        stamp = block.name("stamp", self._edge(readable))
        in_rows = self._is_row()
        if self.origin is not None:
            self.origin.advance(block, now)
            in_rows = conj(in_rows, lt(self.origin.at, stamp))
        block.set(self.exists, conj(in_rows, self._is_near(now, stamp)))
        leaves, comes = self._times(stamp)
        near = select(self.exists, leaves, comes)
        future = select(conj(in_rows, lt(now, near)), near, INF)
        self.due = block.name("due", future)
        seen = select(self.exists, self.row, i64(-1))
        block.set(self.changed, ne(seen, self.before))

    def _follow_newest(self, block: Block, now: LExpr) -> None:
        if self.rows.complete:
            self.bound.run(block, now, idle=True)
            block.set(self.row, sub(self.bound.row, i64(1)))
            return
        passing, seen = block.inner(), block.inner()
        seen.set(self.row, self.bound.row)
        passing.when(self.rows.exists(self.bound.row), seen)
        self.bound.run(block, now, passing)

    def _follow_next(self, block: Block, now: LExpr) -> None:
        self.bound.run(block, now, idle=True)
        block.set(self.row, greatest(self.row, self.bound.row))
        if not self.rows.complete:
            skip = block.inner()
            skip.set(self.row, add(self.row, i64(1)))
            missing = negate(self.rows.exists(self.rows.clamp(self.row)))
            block.add(While(conj(lt(self.row, self.rows.count), missing), skip.body()))
        self._follow_ties(block)

    def _follow_ties(self, block: Block) -> None:
        """Move on to the last existing row of the stamp."""
        tie = self.builder.fresh(f"{self.rows.name}.tie")
        block.set(tie, add(self.row, i64(1)))
        follow, exists = block.inner(), block.inner()
        exists.set(self.row, tie)
        follow.when(self.rows.exists(tie), exists)
        follow.set(tie, add(tie, i64(1)))
        stamp = self._edge(self.rows.clamp(self.row))
        same = eq(self._edge(self.rows.clamp(tie)), stamp)
        block.add(While(conj(lt(tie, self.rows.count), same), follow.body()))

    def stamp_now(self) -> LExpr:
        """The stamp of the row, or of any if there is none."""
        edge = self._edge(self.rows.clamp(greatest(self.row, i64(0))))
        return add(edge, i64(self.delay))

    def _is_row(self) -> LExpr:
        if self.back:
            return le(i64(0), self.row)
        return lt(self.row, self.rows.count)

    def _edge(self, row: LExpr) -> LExpr:
        start = self.window.edge == "start"
        return self.rows.start_at(row) if start else self.rows.end_at(row)

    def _is_near(self, now: LExpr, edge: LExpr) -> LExpr:
        """Decide whether the row's edge is within the other bound of the window."""
        if self.back:
            if self.window.start == ALL_PAST:
                return TRUE
            return le(add(now, i64(self.window.start - self.delay + 1)), edge)
        if self.window.end == ALL_FUTURE:
            return TRUE
        return le(edge, add(now, i64(self.window.end - self.delay)))

    def _times(self, edge: LExpr) -> tuple[LExpr, LExpr]:
        """Return when the row leaves by the other bound, and when it enters."""
        if self.back:
            if self.window.start == ALL_PAST:
                return INF, INF
            return sub(edge, i64(self.window.start - self.delay)), INF
        if self.window.end == ALL_FUTURE:
            return INF, INF
        return INF, sub(edge, i64(self.window.end - self.delay))

    def changes(self) -> list[LExpr]:
        """The first times of the loop at which the look may see another row."""
        origin = [] if self.origin is None else [self.origin.due]
        return [self.bound.due, self.due, *origin]

    def cut(self, element: Expr, *, bounds: bool) -> LExpr:
        """Return whether another row is seen than at the visit before."""
        del element, bounds
        return self.changed

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The element of the row."""
        return row_value(block, self.rows, node, self.row, self.exists)

    def reduce(self, node: Reduce) -> None:
        """Add nothing: one row serves all elements."""


class NearestLook:
    """The row whose stamp is closest to a time: that of a look back, or of one ahead.

    It turns from the one to the other half way between their stamps.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        bounds: RowBounds,
        rows: ObjectRows,
        window: Window,
    ) -> None:
        self.rows = rows
        self.window = window
        self.wholes: dict[Expr, object] = {}
        center = window.center
        back = replace(window, end=center, look="last")
        ahead = replace(window, start=center - 1, look="next")
        self.looks = tuple(
            LookWindow(builder, bounds, rows, each) for each in (back, ahead)
        )
        self.row = builder.fresh(f"{rows.name}.nearest")
        self.before = builder.fresh(f"{rows.name}.before")
        self.exists = builder.fresh(f"{rows.name}.near", BOOL)
        self.changed = builder.fresh(f"{rows.name}.turned", BOOL)
        self.due: LExpr = INF

    def start(self, block: Block) -> None:
        """Start before the loop."""
        for look in self.looks:
            look.start(block)
        block.set(self.row, i64(0))
        block.set(self.exists, FALSE)

    def advance(self, block: Block, now: LExpr) -> None:
        """Move to the loop's time."""
        block.set(self.before, select(self.exists, self.row, i64(-1)))
        for look in self.looks:
            look.advance(block, now)
        back, ahead = self.looks
        early, late = (block.name("stamp", look.stamp_now()) for look in self.looks)
        time = add(now, i64(self.window.center))
        closer = le(sub(time, early), sub(late, time))
        both = conj(back.exists, ahead.exists)
        takes_back = block.name("back", select(both, closer, back.exists))
        block.set(self.row, select(takes_back, back.row, ahead.row))
        block.set(self.exists, disj(back.exists, ahead.exists))
        middle = Bin("//", add(early, late), i64(2), I64)
        turn = sub(add(middle, i64(1)), i64(self.window.center))
        turns = conj(both, takes_back, lt(early, late))
        self.due = block.name("due", select(turns, turn, INF))
        seen = select(self.exists, self.row, i64(-1))
        block.set(self.changed, ne(seen, self.before))

    def changes(self) -> list[LExpr]:
        """The first times of the loop at which another row may be nearest."""
        return [self.due, *(due for look in self.looks for due in look.changes())]

    def cut(self, element: Expr, *, bounds: bool) -> LExpr:
        """Return whether another row is seen than at the visit before."""
        del element, bounds
        return self.changed

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The element of the row."""
        return row_value(block, self.rows, node, self.row, self.exists)

    def reduce(self, node: Reduce) -> None:
        """Add nothing: one row serves all elements."""
