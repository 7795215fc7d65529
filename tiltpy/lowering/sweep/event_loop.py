"""Event scan: windows at the events of a point stream, row after row.

A visit of a sweep searches for the next event, and each bound of a window for another
row. Before the last rows of every object there is nothing to search: each event is a
visit. A window that ends with the event inserts it and checks for no others; one of
which only the newest row is read evicts nothing.
"""

from dataclasses import replace

from tiltpy.abi.signature import LANES
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.output_arrays import OutputArrays, write_snapshot
from tiltpy.loops.build import (
    add,
    conj,
    convert,
    eq,
    greatest,
    i64,
    le,
    least,
    lt,
    ne,
    select,
    sub,
)
from tiltpy.loops.nodes import Bin, LExpr, Var, While
from tiltpy.lowering.sweep.cursors import PointRead, ScanCursor
from tiltpy.lowering.sweep.event_vectors import EventVectors
from tiltpy.lowering.sweep.fifo_window import SlidingWindow
from tiltpy.lowering.sweep.limited_window import LimitedWindow
from tiltpy.lowering.sweep.operands import SweepOperands
from tiltpy.lowering.sweep.row_bounds import RowBound
from tiltpy.lowering.sweep.running_vectors import RunningVectors
from tiltpy.lowering.sweep.running_window import RunningWindow
from tiltpy.plan.nodes import Advance, EventScan
from tiltpy.types import I64


class EventLoop:
    """The short visits of a loop over the events of a point stream."""

    def __init__(
        self, builder: KernelBuilder, operands: SweepOperands, plan: EventScan
    ) -> None:
        self.operands = operands
        self.point = plan.point
        self.advances = dict(plan.advances)
        cursor = operands.cursors[self.point]
        assert isinstance(cursor, ScanCursor)
        self.cursor = cursor
        self.row = builder.fresh(f"{cursor.rows.name}.event")
        self.time = builder.fresh("time")
        self.stop = builder.fresh(f"{cursor.rows.name}.stop")
        self.paced = self._find_paced()
        self.paces = {
            bound.row: builder.fresh(f"{bound.rows.name}.pace") for bound in self.paced
        }
        """By the row of each: how far it is from the event's."""
        self.lanes = self._choose_lanes(plan) if plan.vectorized else None

    def _find_paced(self) -> list[RowBound]:
        """Find the bounds that pass a row at each event."""
        bounds = []
        for window in self.windows():
            if self.advances[window.window] is Advance.PACE:
                assert isinstance(window, RunningWindow), "it folds on"
                bounds += [window.hi]
                bounds += [] if window.restart is None else [window.restart.bound]
        return bounds

    def _choose_lanes(self, plan: EventScan) -> EventVectors | RunningVectors:
        definition, rows = self.operands.definition, self.cursor.rows
        windows = self.operands.windows.values()
        running = [each for each in windows if isinstance(each, RunningWindow)]
        if running and plan.scans:
            return RunningVectors(definition, rows, running)
        return EventVectors(definition, rows, self.advances, running, self.paces)

    def append(
        self, block: Block, out: OutputArrays, count: Var, now: Var, last: LExpr
    ) -> None:
        """Append visits of the events after the cursor's that are well inside rows."""
        rows, windows = self.cursor.rows, self.windows()
        visit, run = block.inner(), block.inner()
        self._find_stop(run, last)
        for bound in self.paced:
            run.set(self.paces[bound.row], sub(bound.row, self.row))
        end = rows.end_at(self.row)
        visit.set(self.time, sub(end, i64(self.point.offset)))
        exists = visit.name("exists", rows.exists(self.row))
        reads = {self.point: PointRead(exists, self.row, add(self.time, i64(1)))}
        for point, cursor in self.operands.cursors.items():
            if point != self.point:
                reads[point] = cursor.advance(visit, self.time)
        inside = dict(self.operands.windows)
        for window in inside.values():
            if self.advances[window.window] is Advance.SEARCH:
                window.advance(visit, self.time)
        inside |= {window.window: self._advance(visit, window) for window in windows}
        value = self.operands.value(visit, reads, inside, self.time)
        if not rows.disjoint:  # the last row of a stamp has the result
            last_of_all = ne(end, rows.end_at(add(self.row, i64(1))))
            value = replace(value, valid=conj(value.valid, last_of_all))
        write_snapshot(visit, out, count, value, sub(self.time, i64(1)), self.time)
        visit.set(count, add(count, convert(value.valid, I64)))
        visit.set(self.row, add(self.row, i64(1)))
        if self.lanes is not None:
            visit = self._vectorize(self.lanes, visit, out, count)
        run.add(While(lt(self.row, self.stop), visit.body()))
        # Few visits see their time: where none does, no times are read in the loop.
        reached = rows.end_at(sub(self.row, i64(1)))
        run.set(now, sub(reached, i64(self.point.offset - 1)))
        run.set(self.cursor.row, self.row)
        for window in windows:
            window.settle(run)
        leap = i64(block.costs.leap_rows)
        long = [lt(leap, window.rows.count) for window in windows]
        invariants = (
            window.meets_invariants()
            for window in windows
            if isinstance(window, RunningWindow)
            and self.advances[window.window] in (Advance.INSERT, Advance.PACE)
        )
        paced = map(self._is_beside, self.paced)
        block.when(conj(self.cursor.exists, *long, *invariants, *paced), run)

    def _beside(self, bound: RowBound) -> LExpr:
        """Return the row of the event where a bound keeps pace."""
        return add(self.row, self.paces[bound.row])

    def _is_beside(self, bound: RowBound) -> LExpr:
        """Test whether the next row of a bound is that of the next event."""
        rows, next_event = self.cursor.rows, add(self.cursor.row, i64(1))
        return conj(
            lt(bound.row, bound.rows.count),
            eq(bound.rows.end_at(bound.row), rows.end_at(rows.clamp(next_event))),
        )

    def _vectorize(
        self,
        lanes: EventVectors | RunningVectors,
        visit: Block,
        out: OutputArrays,
        count: Var,
    ) -> Block:
        """Visit vectors of events, and single ones where no vector is left.

        Windows of fixed length follow no vectors: they restart at the last event.
        """
        rows, windows = self.cursor.rows, self.windows()
        either, vectors = visit.inner(), visit.inner()
        inner = vectors.inner()
        whole = le(add(self.row, i64(LANES)), self.stop)
        lanes.visit(inner, self.row, out, count)
        inner.set(self.row, add(self.row, i64(LANES)))
        first = visit.builder.fresh("first")
        if isinstance(lanes, EventVectors) and lanes.running:
            vectors.set(first, self.row)
        vectors.add(While(whole, inner.body()))
        if isinstance(lanes, RunningVectors):
            either.either(whole, vectors, visit)
            return either
        vectors.set(self.time, rows.end_at(sub(self.row, i64(1))))
        lanes.leave(vectors, first, self.row)
        for window in windows:
            if isinstance(window, RunningWindow):
                continue
            window.jump(vectors, sub(self.row, i64(lanes.deepest + 1)))
            window.without_checks().advance(vectors, self.time)
        near = i64(lanes.rows_before)
        either.either(conj(le(near, self.row), whole), vectors, visit)
        return either

    def _find_stop(self, block: Block, last: LExpr) -> None:
        """Set `row` after the cursor's and `stop`, by bisection, where runs end."""
        rows = self.cursor.rows
        limit = block.name(
            "limit", least(last, *(self._limit(window) for window in self.windows()))
        )
        low, high = self.stop, block.builder.fresh("high")
        block.set(self.row, add(self.cursor.row, i64(1)))
        block.set(low, self.row)
        block.set(high, rows.last)
        if not rows.disjoint:  # all rows of a stamp, or none
            before_last = sub(rows.end_at(rows.last), i64(self.point.offset + 1))
            limit = block.name("limit", least(limit, before_last))
        halve = block.inner()
        middle = halve.name("middle", Bin("//", add(low, high), i64(2), I64))
        time = sub(rows.end_at(middle), i64(self.point.offset))
        before = halve.name("before", le(time, limit))
        halve.set(low, select(before, add(middle, i64(1)), low))
        halve.set(high, select(before, high, middle))
        block.add(While(lt(low, high), halve.body()))

    def _advance(
        self, block: Block, window: SlidingWindow | RunningWindow
    ) -> SlidingWindow | RunningWindow:
        """Move a window to an event."""
        inside = window.without_checks()
        rows = self.cursor.rows
        aligned = window.window.object == self.point.object and rows.disjoint
        match self.advances[window.window]:
            case Advance.INSERT:
                inside.take(block, self.time, self.row)
            case Advance.PACE:
                assert isinstance(inside, RunningWindow), "it folds on"
                restart = inside.restart
                row = self._beside(inside.hi)
                restarting = None if restart is None else self._beside(restart.bound)
                inside.pace(block, self.time, row, restarting)
            case Advance.RESTART:
                assert isinstance(inside, RunningWindow | LimitedWindow), "it restarts"
                inside.take_since(block, self.time, self.row)
            case Advance.NEWEST:
                assert isinstance(inside, SlidingWindow), "it evicts"
                before = aligned and window.window.end == self.point.offset - 1
                inside.show_newest(block, self.time, self.row if before else None)
            case Advance.NEXT:
                assert isinstance(inside, SlidingWindow), "it evicts"
                after = aligned and window.window.start == self.point.offset
                inside.show_next(block, self.time, self.row if after else None)
            case Advance.FOLLOW:
                inside.advance(block, self.time)
            case Advance.SEARCH:
                raise AssertionError("it checks its edges")
        return inside

    def windows(self) -> list[SlidingWindow | RunningWindow]:
        """The windows whose edges stay inside the rows."""
        windows = self.operands.windows.values()
        kinds = SlidingWindow, RunningWindow
        return [
            window
            for window in windows
            if isinstance(window, kinds)
            and self.advances[window.window] is not Advance.SEARCH
        ]

    def _limit(self, window: SlidingWindow | RunningWindow) -> LExpr:
        """The last time at which both bounds are a leap away from the last row.

        Where rows are those of events it is the end of the last one.
        """
        rows = window.rows
        if self.advances[window.window] is Advance.PACE:
            return least(*(each.rows.end_at(each.rows.last) for each in self.paced))
        leap = i64(window.builder.costs.leap_rows)
        start = rows.start_at(greatest(sub(rows.last, leap), i64(0)))
        return sub(start, i64(window.window.end))
