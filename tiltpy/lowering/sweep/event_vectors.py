"""Windows that see few rows at the events of a point stream: `LANES` events at once.

Events last a tick each, so a window of a few ticks has as many rows at most, just
before the event. So has any window where few rows lie together; of others the newest
row alone matters. Each lane has an event; the rows at a distance from the events of all
lanes are a vector, and their times mask those in the windows. No state goes from one
event to the next.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tiltpy.abi.layouts import Layout
from tiltpy.aggregates.aggregate import Aggregate, State, lift_where, name_state
from tiltpy.aggregates.built_in import aggregate_for
from tiltpy.aggregates.finalize import finish
from tiltpy.emit.builder import Block
from tiltpy.emit.output_arrays import OutputArrays, pack_snapshots
from tiltpy.emit.references import references
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue, Reading, lower_expr
from tiltpy.ir.nodes import At, Reduce, TemporalExpr, Time, Window
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import (
    NEVER,
    TRUE,
    add,
    conj,
    convert,
    disj,
    i64,
    le,
    lt,
    mul,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import Bin, CountTrue, LExpr, Num, Splat, Var, While
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
    folds_exactly,
    sees_row_after,
    sees_row_before,
)
from tiltpy.types import I32, I64

LEVELS = (4, 8, 16)
"""Rows before an event after which to ask whether windows have more."""
WORTHWHILE = 0.75
"""The share of the deepest window up to which to ask saves time."""


Scans = Mapping[Window, RunningWindow]
"""Windows that fold on, with a state for each lane."""
Values = Sequence[tuple[LoopValue, LExpr]]
"""Values of rows, oldest first, each with the mask of the lanes that fold it."""


def _depth(window: Window, advance: Advance, layout: Layout) -> int:
    """Count the rows before an event that a window may have; -1: the one after."""
    if sees_row_after(window, advance):
        return -1
    return 1 if sees_row_before(window, advance) else depth(window, layout)


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

    def visit(self, block: Block, row: LExpr, out: OutputArrays, count: Var) -> None:
        """Write the results of the vector of rows from `row` on, which all exist.

        Where few rows are in the windows of all lanes, no more are read.
        """
        levels = [each for each in LEVELS if each < self.deepest * WORTHWHILE]
        if sum(self.depths.values()) > block.costs.event_reads:
            levels = []
        scans = {each.window: self._scan(block, each, row) for each in self.running}
        self._visit(block, row, out, count, levels, scans)
        for window in self.running:
            leave_last(block, window, scans[window.window])
            self._come(block, window, row)

    def _scan(self, block: Block, window: RunningWindow, row: LExpr) -> RunningWindow:
        """Fold a window on at each of the events."""
        payload = window.rows.wide_value(block, self._row(window.hi, row), TRUE)
        restart = window.restart
        if restart is None:
            return scan_window(block, window, payload, TRUE, None)
        here = self._restarts(block, restart, row)
        after = window.window.edge == "start"
        restarts = find_restarts(block, here, taken=not after)
        come = block.name("come", restart.has_come())
        inside = block.name("in", disj(restarts.since, come))
        if after:
            inside = conj(inside, negate(here))
        return scan_window(block, window, payload, inside, restarts)

    def _restarts(self, block: Block, restart: Restart, row: LExpr) -> LExpr:
        """Test which of the events restart a window."""
        value = restart.rows.wide_value(block, self._row(restart.bound, row), TRUE)
        return block.name("restarts", conj(value.valid, value.scalar))

    def _come(self, block: Block, window: RunningWindow, row: LExpr) -> None:
        """Note some restart among the events; `leave` finds the last one."""
        restart = window.restart
        if restart is not None:
            some = lt(i64(0), CountTrue(self._restarts(block, restart, row), I64))
            block.set(restart.at, select(some, NEVER, restart.at))

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
        reads = _VectorReads(block, self.rows, row, self.depths, scans)
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
        reads = _VectorReads(block, self.rows, row, depths, scans)
        value = lower_expr(block, reads.leaf, self.definition.body)
        if out.implicit:  # each event has a result
            pack_snapshots(block, out, count, out.payload_columns(value), TRUE)
            return
        end = reads.end(0)
        columns = out.columns(sub(end, i64(1)), end, value)
        pack_snapshots(block, out, count, columns, value.valid)


@dataclass(frozen=True, slots=True)
class _VectorReads:
    """The rows at a distance before those of a vector of events."""

    block: Block
    rows: ObjectRows
    row: LExpr
    depths: Mapping[Window, int]
    scans: Scans

    def end(self, back: int) -> LExpr:
        """The ends of the rows `back` before."""
        return self.block.name("end", self.rows.wide_end(sub(self.row, i64(back))))

    def payload(self, back: int) -> LoopValue:
        """The payloads of the rows `back` before."""
        base = self.block.name("base", sub(self.row, i64(back)))
        return self.rows.wide_value(self.block, base, TRUE)

    def leaf(self, node: Reading) -> LoopValue:
        """The value of a reference at the events."""
        match node:
            case At():
                return self.payload(0)
            case Reduce() if node.window in self.scans:
                return self.scans[node.window].value(self.block, node)
            case Reduce():
                return self._reduce(node)
            case Time(offset=offset):
                return LoopValue(node.type, add(self.end(0), i64(offset)), TRUE)
            case _:
                raise AssertionError("the events are seen as a whole")

    def _reduce(self, node: Reduce) -> LoopValue:
        deepest, nearest = self.depths[node.window], -(node.window.end == 0)
        if deepest < 0:  # the row after
            nearest = deepest - 1
        elements = [
            (self._element(node, back), self.inside(node.window, back))
            for back in range(deepest, nearest, -1)
        ]
        if node.reduction in ("first", "last"):  # that row is in the window, or none is
            ((value, inside),) = elements
            return replace(value, valid=inside)
        values = [
            (value, self.block.name("in", conj(value.valid, here)))
            for value, here in elements
        ]
        count: LExpr = Splat(Num(0, I32), I32)
        for _, here in values:
            count = self.block.name("count", add(count, convert(here, I32)))
        aggregate = aggregate_for(node.reduction, node.element.type, {})
        if folds_exactly(node):
            state = self._fold(aggregate, values)
        else:
            state = self._fold_by_block(aggregate, values, -node.window.start)
        return finish(self.block, node, state, count)

    def _fold(self, aggregate: Aggregate, values: Values) -> State:
        """Fold values from the oldest to the newest."""
        state = self._identity(aggregate)
        for value, here in values:
            lifted = lift_where(self.block, aggregate, value, here, i64(0))
            combined = aggregate.combine(self.block, state, lifted)
            state = name_state(self.block, "w", combined)
        return state

    def _fold_by_block(self, aggregate: Aggregate, values: Values, ticks: int) -> State:
        """Fold values up to the event as two stacks do (see `window_blocks`).

        Those before the event's block of time are on the front: from the newest to the
        oldest. The others are on the back.
        """
        block = self.block
        newest = sub(self.end(0), i64(1))
        number = Bin("//", newest, i64(ticks), I64)
        begin = block.name("begin", mul(number, i64(ticks)))
        last = len(values) - 1
        early, late = [], []
        for index, (value, here) in enumerate(values):
            in_block = block.name("late", lt(begin, self.end(last - index)))
            early.append((value, conj(here, negate(in_block))))
            late.append((value, conj(here, in_block)))
        front = self._identity(aggregate)
        for value, here in reversed(early):
            lifted = lift_where(block, aggregate, value, here, i64(0))
            front = name_state(block, "f", aggregate.combine(block, lifted, front))
        back = self._fold(aggregate, late)
        return name_state(block, "w", aggregate.combine(block, front, back))

    def _identity(self, aggregate: Aggregate) -> State:
        return tuple(Splat(number, number.type) for number in aggregate.identity)

    def _element(self, node: Reduce, back: int) -> LoopValue:
        payload = self.payload(back)

        def leaf(_: Reading) -> LoopValue:
            return payload

        return lower_expr(self.block, leaf, node.element)

    def inside(self, window: Window, back: int) -> LExpr:
        """The mask of the lanes whose row `back` before is in the window.

        It ends at least `back` ticks before the event.
        """
        if back < 0:
            start = sub(self.end(back), i64(1))
            return lt(start, add(self.end(0), i64(window.end)))
        late = self.reaches(window, back) if back else TRUE
        if -back <= window.end:
            return late
        soon = le(self.end(back), add(self.end(0), i64(window.end)))
        return conj(late, soon)

    def reaches(self, window: Window, back: int) -> LExpr:
        """The mask of the lanes whose row `back` before ends after the window starts.

        It may end after the window, too: rows before it need not.
        """
        return lt(add(self.end(0), i64(window.start)), self.end(back))
