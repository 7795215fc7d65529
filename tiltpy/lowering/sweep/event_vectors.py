"""Windows that see few rows at the events of a point stream: `LANES` events at once.

Events last a tick each, so a window of a few ticks has as many rows at most, just
before the event. So has any window where few rows lie together; of others the newest
row alone matters. Each lane has an event; the rows at a distance from the events of all
lanes are a vector, and their times mask those in the windows. No state goes from one
event to the next.
"""

from collections.abc import Mapping, Sequence

from tiltpy.abi.layouts import Layout
from tiltpy.emit.builder import Block
from tiltpy.emit.output_arrays import OutputArrays, pack_snapshots
from tiltpy.emit.references import references
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue, lower_expr
from tiltpy.ir.nodes import TemporalExpr, Window
from tiltpy.loops.build import (
    NEVER,
    TRUE,
    add,
    conj,
    disj,
    i64,
    lt,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import CountTrue, LExpr, Splat, Var, While
from tiltpy.lowering.sweep.event_reads import EventReads, Scans, WideEvents
from tiltpy.lowering.sweep.lane_scans import find_restarts
from tiltpy.lowering.sweep.restart import Restart
from tiltpy.lowering.sweep.row_bounds import RowBound
from tiltpy.lowering.sweep.running_vectors import (
    leave_last,
    scan_window,
)
from tiltpy.lowering.sweep.running_window import RunningWindow
from tiltpy.plan.nodes import Advance
from tiltpy.plan.strategies.event_scan import (
    depth,
    sees_row_after,
    sees_row_before,
)
from tiltpy.types import BOOL, I64

LEVELS = (4, 8, 16)
"""Rows before an event after which to ask whether windows have more."""
WORTHWHILE = 0.75
"""The share of the deepest window up to which to ask saves time."""


def _depth(window: Window, advance: Advance, layout: Layout) -> int:
    """Count the rows before an event that a window may have; -1: the one after."""
    if sees_row_after(window, advance):
        return -1
    return 1 if sees_row_before(window, advance) else depth(window, layout)


def _rows_before(window: RunningWindow) -> int:
    """Count the rows before an event that what a window folds depends on."""
    restart = window.restart
    more = 0 if restart is None else restart.rows.rows_before
    return max(window.rows.rows_before, more)


def _come(block: Block, restart: Restart, here: LExpr) -> None:
    """Note some restart among the events; `leave` finds the last one."""
    some = lt(i64(0), CountTrue(here, I64))
    block.set(restart.at, select(some, NEVER, restart.at))


class EventVectors:
    """The visits of vectors of events."""

    def __init__(
        self,
        definition: TemporalExpr,
        rows: ObjectRows,
        advances: Mapping[Window, Advance],
        running: Sequence[RunningWindow] = (),
        paces: Mapping[Var, Var] | None = None,
    ) -> None:
        self.definition = definition
        self.rows = rows
        self.running = running
        self.paces = paces or {}
        """Of bounds of windows that fold on: how far they are from the event's row."""
        _, windows = references(definition)
        scanned = {window.window for window in running}
        self.depths = {
            window: _depth(window, advances[window], rows.layout)
            for window in windows
            if window not in scanned
        }
        self.deepest = max((0, *self.depths.values()))
        self.rows_before = max(self.deepest, *map(_rows_before, running), 0)
        """Rows that must exist before the first event of a vector."""

    def visit(self, block: Block, row: LExpr, out: OutputArrays, count: Var) -> None:
        """Write the results of the vector of rows from `row` on, which all exist.

        Where few rows are in the windows of all lanes, no more are read.
        """
        levels = [each for each in LEVELS if each < self.deepest * WORTHWHILE]
        if sum(self.depths.values()) > block.costs.event_reads:
            levels = []
        restarts = self._restarts(block, row)
        scans = {
            each.window: self._scan(block, each, restarts.get(each.window), row)
            for each in self.running
        }
        self._visit(block, row, out, count, levels, scans)
        for window in self.running:
            leave_last(block, window, scans[window.window])
            if window.restart is not None:
                _come(block, window.restart, restarts[window.window])

    def _scan(
        self, block: Block, window: RunningWindow, here: LExpr | None, row: LExpr
    ) -> RunningWindow:
        """Fold a window on at each of the events, anew at those that restart it."""
        payload = self._payload(block, window.hi, row)
        restart = window.restart
        if restart is None or here is None:
            return scan_window(block, window, payload, TRUE, None)
        after = window.window.edge == "start"
        restarts = find_restarts(block, here, taken=not after)
        come = block.name("come", restart.has_come())
        inside = block.name("in", disj(restarts.since, come))
        if after:
            inside = conj(inside, negate(here))
        return scan_window(block, window, payload, inside, restarts)

    def _restarts(self, block: Block, row: LExpr) -> dict[Window, LExpr]:
        """Test which of the events restart each window that restarts."""
        tests = {}
        for window in self.running:
            if window.restart is not None:
                value = self._payload(block, window.restart.bound, row)
                test = Splat(conj(value.valid, value.scalar), BOOL)
                tests[window.window] = block.name("restarts", test)
        return tests

    def _payload(self, block: Block, bound: RowBound, row: LExpr) -> LoopValue:
        """The payloads of rows of an object with one at each event, whose are these."""
        payloads = bound.rows.payloads
        if payloads is not None:
            return payloads.wide_value(block, row, TRUE)
        return bound.rows.wide_value(block, self._row(bound, row), TRUE)

    def _row(self, bound: RowBound, row: LExpr) -> LExpr:
        pace = self.paces.get(bound.row)
        return row if pace is None else add(row, pace)

    def leave(self, block: Block, first: LExpr, row: LExpr) -> None:
        """Leave bounds and restarts of what folds on, from `first` up to `row`."""
        for window in self.running:
            block.set(window.hi.row, self._row(window.hi, row))
            restart = window.restart
            if restart is None:
                continue
            newest = block.builder.fresh(f"{restart.rows.name}.newest")
            block.set(newest, row)
            back, come = block.inner(), block.inner()
            back.set(newest, sub(newest, i64(1)))
            before = self._row(restart.bound, sub(newest, i64(1)))
            value = restart.rows.value(before, restart.rows.exists(before))
            passed = negate(conj(value.valid, value.scalar))
            block.add(While(conj(lt(first, newest), passed), back.body()))
            come.set(restart.at, restart.rows.start_at(before))
            come.set(window.lo, self._row(window.hi, sub(newest, i64(1))))
            block.when(lt(first, newest), come)
            block.set(restart.bound.row, self._row(restart.bound, row))

    def _visit(
        self,
        block: Block,
        row: LExpr,
        out: OutputArrays,
        count: Var,
        levels: list[int],
        scans: Scans,
    ) -> None:
        """Write the results, reading no further back than a level if that is enough."""
        if not levels:
            self._fold(block, row, out, count, self.deepest, scans)
            return
        level, *others = levels
        reads = EventReads(WideEvents(block, self.rows, row), self.depths, scans)
        beyond = (
            reads.reaches(window, level + 1)
            for window, rows in self.depths.items()
            if rows > level
        )
        more = lt(i64(0), CountTrue(disj(*beyond), I64))
        deep, shallow = block.inner(), block.inner()
        self._visit(deep, row, out, count, others, scans)
        self._fold(shallow, row, out, count, level, scans)
        block.either(more, deep, shallow)

    def _fold(
        self,
        block: Block,
        row: LExpr,
        out: OutputArrays,
        count: Var,
        most: int,
        scans: Scans,
    ) -> None:
        """Write the results of windows of which `most` rows before are read."""
        depths = {window: min(rows, most) for window, rows in self.depths.items()}
        reads = EventReads(WideEvents(block, self.rows, row), depths, scans)
        value = lower_expr(block, reads.leaf, self.definition.body)
        if out.implicit:  # each event has a result
            pack_snapshots(block, out, count, out.payload_columns(value), TRUE)
            return
        end = reads.events.end(0)
        columns = out.columns(sub(end, i64(1)), end, value)
        pack_snapshots(block, out, count, columns, value.valid)
