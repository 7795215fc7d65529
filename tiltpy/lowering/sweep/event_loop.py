"""Windows at the events of a point stream: row after row.

A visit of a sweep looks for the next event, and whether there is one at all; each edge
of a window looks whether there is another row. In a stretch that ends before the last
rows of every object there is nothing to look for: each event is a visit. A window that
ends with the event takes it in and looks for no others; one of which the last row alone
is wanted needs no edge that passes what has left.
"""

from tiltpy.abi import LANES
from tiltpy.emit.builder import Assembly, Block
from tiltpy.emit.output_arrays import OutputArrays, write_snapshot
from tiltpy.loops.build import (
    TRUE,
    add,
    conj,
    convert,
    greatest,
    i64,
    le,
    least,
    lt,
    select,
    sub,
)
from tiltpy.loops.nodes import Bin, LExpr, Var, While
from tiltpy.lowering.sweep.cursors import PointRead, ScanCursor
from tiltpy.lowering.sweep.event_vectors import EventVectors
from tiltpy.lowering.sweep.fifo_window import SlidingWindow
from tiltpy.lowering.sweep.operands import SweepOperands
from tiltpy.plan.nodes import Advance, EventScan
from tiltpy.types import I64


class EventLoop:
    """The short visits of a loop over the events of one point stream."""

    def __init__(
        self, assembly: Assembly, following: SweepOperands, plan: EventScan
    ) -> None:
        self.following = following
        self.point = plan.point
        self.advances = dict(plan.advances)
        cursor = following.cursors[self.point]
        assert isinstance(cursor, ScanCursor)
        self.cursor = cursor
        self.row = assembly.fresh(f"{cursor.rows.name}.event")
        self.time = assembly.fresh("time")
        self.stop = assembly.fresh(f"{cursor.rows.name}.stop")
        lanes = EventVectors(following.definition, cursor.rows)
        self.lanes = lanes if plan.vectorized else None

    def append(
        self, block: Block, out: OutputArrays, count: Var, now: Var, last: LExpr
    ) -> None:
        """Visits behind that of the cursor's row, for as many as are well inside."""
        rows, windows = self.cursor.rows, self.windows()
        visit, stretch = block.inner(), block.inner()
        self._find_stop(stretch, last)
        stretch.set(self.time, sub(now, i64(1)))
        end = rows.end_at(self.row)
        visit.set(self.time, sub(end, i64(self.point.offset)))
        inside = {one.window: self._advance(visit, one) for one in windows}
        seen = PointRead(TRUE, self.row, add(self.time, i64(1)))
        value = self.following.value(visit, {self.point: seen}, inside)
        write_snapshot(visit, out, count, value, sub(self.time, i64(1)), self.time)
        visit.set(count, add(count, convert(value.valid, I64)))
        visit.set(self.row, add(self.row, i64(1)))
        if self.lanes is not None:
            visit = self._in_lanes(self.lanes, visit, out, count)
        stretch.add(While(lt(self.row, self.stop), visit.body()))
        stretch.set(now, add(self.time, i64(1)))
        stretch.set(self.cursor.row, self.row)
        for window in windows:
            window.settle(stretch)
        leap = i64(block.costs.leap_rows)
        some = [lt(leap, window.rows.count) for window in windows]
        block.when(conj(self.cursor.exists, *some), stretch)

    def _in_lanes(
        self, lanes: EventVectors, visit: Block, out: OutputArrays, count: Var
    ) -> Block:
        """As many events at once as there are lanes, and single ones beside them.

        The windows have followed none of them, and are found anew for the last.
        """
        rows, windows = self.cursor.rows, self.windows()
        either, some = visit.inner(), visit.inner()
        inner = some.inner()
        more = le(add(self.row, i64(LANES)), self.stop)
        lanes.visit(inner, self.row, out, count)
        inner.set(self.row, add(self.row, i64(LANES)))
        some.add(While(more, inner.body()))
        some.set(self.time, rows.end_at(sub(self.row, i64(1))))
        for window in windows:
            window.jump(some, sub(self.row, i64(lanes.deepest + 1)))
            window.within().advance(some, self.time)
        either.either(conj(le(i64(lanes.deepest), self.row), more), some, visit)
        return either

    def _find_stop(self, block: Block, last: LExpr) -> None:
        """The row behind the cursor's, and the first one that is not well inside."""
        rows = self.cursor.rows
        limit = block.name(
            "limit", least(last, *(self._limit(window) for window in self.windows()))
        )
        low, high = self.stop, block.assembly.fresh("high")
        block.set(self.row, add(self.cursor.row, i64(1)))
        block.set(low, self.row)
        block.set(high, rows.last)
        halve = block.inner()
        middle = halve.name("middle", Bin("//", add(low, high), i64(2), I64))
        time = sub(rows.end_at(middle), i64(self.point.offset))
        before = halve.name("before", le(time, limit))
        halve.set(low, select(before, add(middle, i64(1)), low))
        halve.set(high, select(before, high, middle))
        block.add(While(lt(low, high), halve.body()))

    def _advance(self, block: Block, window: SlidingWindow) -> SlidingWindow:
        """Bring a window to an event."""
        inside = window.within()
        match self.advances[window.window]:
            case Advance.INSERT:
                inside.take(block, self.time, self.row)
            case Advance.NEWEST:
                inside.show_newest(block, self.time)
            case Advance.FOLLOW:
                inside.advance(block, self.time)
        return inside

    def windows(self) -> list[SlidingWindow]:
        found = self.following.windows.values()
        return [one for one in found if isinstance(one, SlidingWindow)]

    def _limit(self, window: SlidingWindow) -> LExpr:
        """Until when both edges stay so far from the last row as they look ahead."""
        rows = window.rows
        leap = i64(window.assembly.costs.leap_rows)
        start = rows.start_at(greatest(sub(rows.last, leap), i64(0)))
        return sub(start, i64(window.window.end))
