"""The sweep loop: it jumps from change point to change point of its references.

Section 6.1.3 of the paper. At a grid point `now` every reference is brought up to date
and says when it may change; the cells up to the last grid point before any change are
one visit. Whether a visit continues the snapshot of the one before is decided by the
object's cuts (see `ir.nodes.Cut`), never by values.

A loop over every tick that stops at each change *steps*: each row bound moves by one
row at most (see `row_bounds`). A loop whose object is strict in another may *skip* the
times at which that is φ.
"""

from dataclasses import replace
from typing import assert_never

from tiltpy.abi.signature import Loop, Read, RowCount, Shape
from tiltpy.abi.slots import SlotKind
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.join_snapshots import join_snapshots
from tiltpy.emit.output_arrays import OutputArrays, write_snapshot
from tiltpy.emit.references import uses_time
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import CutPoint, TemporalExpr
from tiltpy.loops.build import (
    FALSE,
    NEVER,
    add,
    conj,
    convert,
    eq,
    i64,
    le,
    least,
    lt,
    mul,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import Bin, LExpr, Var, While
from tiltpy.lowering.sweep.cursors import ScanCursor
from tiltpy.lowering.sweep.edge_loop import EdgeLoop
from tiltpy.lowering.sweep.event_loop import EventLoop
from tiltpy.lowering.sweep.event_payloads import EventPayloads
from tiltpy.lowering.sweep.merge_loop import MergeLoop
from tiltpy.lowering.sweep.operand_reads import OperandReads
from tiltpy.lowering.sweep.operands import Points, SweepOperands
from tiltpy.lowering.sweep.ranking import Rankings
from tiltpy.lowering.sweep.tumbling_rows import TumblingWindow
from tiltpy.plan.confinement import NOWHERE_CONFINED, Confinement, Group
from tiltpy.plan.definedness import strict_points, strict_windows
from tiltpy.plan.existence import is_of_points
from tiltpy.plan.nodes import (
    EdgeScan,
    EventScan,
    MergeScan,
    Scan,
    SweepScan,
    folds_rows,
)
from tiltpy.types import BOOL, I64


class Sweep:
    """The sweep that computes one temporal object, as its plan says."""

    def __init__(
        self,
        builder: KernelBuilder,
        definition: TemporalExpr,
        objects: dict[str, ObjectRows],
        rankings: Rankings,
        plan: Scan,
        confinement: Confinement = NOWHERE_CONFINED,
    ) -> None:
        self.builder = builder
        self.definition = definition
        self.plan = plan.operands
        self.tdom = definition.tdom
        self.every_tick = self.tdom.precision == 1 and self.tdom.calendar is None
        self.every_cell = uses_time(definition)
        self.strict = strict_points(definition)
        known = confinement if self.every_cell else NOWHERE_CONFINED
        self.confined, self.condition = known.exists, known.condition
        self.now = builder.fresh("now")
        self.operands = SweepOperands(
            builder, definition, objects, self.now, rankings, plan.operands
        )
        self.dense = plan.point if isinstance(plan, EventScan) and plan.dense else None
        self.recomputes = isinstance(plan, EventScan) and plan.recomputes
        cells = self.operands.cells
        self.visited = self.now if cells is None else cells.tick
        self.short: MergeLoop | EventLoop | EdgeLoop | None
        match plan:
            case MergeScan():
                self.short = MergeLoop(builder, self.operands, plan)
            case EventScan():
                self.short = EventLoop(builder, self.operands, plan)
            case EdgeScan():
                self.short = EdgeLoop(builder, self.operands)
            case SweepScan():
                self.short = None
            case _:
                assert_never(plan)

    def lower(self, block: Block, out: OutputArrays) -> Var:
        """Append the loop; return the variable that counts the snapshots written."""
        name = self.definition.name
        first = self.builder.number(SlotKind.FIRST, name)
        last = self.builder.number(SlotKind.LAST, name)
        store = None
        out = replace(out, implicit=self.dense is not None)
        if isinstance(self.short, MergeLoop):
            store = self.short.store(block, out)
        if store is None:
            count = self.builder.fresh(f"{name}.count")
            block.set(count, i64(0))
        else:
            out, count = out.with_arrays(store.staged), store.count
        exists = self.builder.fresh("exists", BOOL)
        begin = self.builder.fresh("begin")
        head, body = block.inner(), block.inner()
        settled = self._skip(head, last, exists)
        if self.operands.cells is not None:
            self.operands.cells.advance(body, self.now)
        changes = self.operands.advance(body, settled)
        until, after = self._until(body, changes, last)
        value = self.operands.value(body)
        value = replace(value, valid=body.name("ok", value.valid))
        at = self._output_index(body, value, count, exists, begin)
        write_snapshot(body, out, at, value, begin, until)
        body.set(count, add(at, convert(value.valid, I64)))
        body.set(self.visited, after)
        self._skip_cells(body, last, exists)
        if store is not None:
            store.flush(body)
        if isinstance(self.short, MergeLoop):
            self.short.append(body, out, count, self.now, last, store)
        elif self.short is not None:
            self.short.append(body, out, count, self.now, last)
        if not self.plan.always_cuts:
            block.set(exists, FALSE)
            block.set(begin, i64(0))
        block.set(self.now, first)
        if self.visited != self.now:
            block.set(self.visited, first)
        self.operands.start(block, first)
        block.add(While(le(self.visited, last), body.body(), head.body()))
        if self.operands.keeps_states:
            self._finish(block)
        if store is not None:
            return store.finish(block)
        if self.definition.distinct:
            join_snapshots(block, out, count)
        return count

    def share_times(self, block: Block, rows: ObjectRows) -> ObjectRows:
        """Give rows that the loop has written the times of its events, if it is dense.

        Its cursor has passed the events in order, and no others since the first.
        """
        if self.dense is None:
            return rows
        assert isinstance(self.short, EventLoop), "it is dense at events"
        cursor = self.short.cursor
        first = block.name(f"{rows.name}.event", sub(cursor.row, rows.count))
        payloads = None
        if self.recomputes:
            windows = tuple(self.operands.windows)
            payloads = EventPayloads(
                self.builder, cursor.rows, self.definition.body, windows
            )
        return rows.at_events(cursor.rows, first, payloads)

    def _finish(self, block: Block) -> None:
        """Leave the states of the last cell, which the loop may not have visited."""
        reached = self.builder.number(SlotKind.REACHED, self.definition.name)
        behind = block.inner()
        behind.set(self.visited, reached)
        if self.operands.cells is not None:
            self.operands.cells.advance(behind, self.now)
        self.operands.finish(behind, self.now)
        block.when(lt(NEVER, reached), behind)

    def _output_index(
        self, block: Block, value: LoopValue, count: Var, exists: Var, begin: Var
    ) -> LExpr:
        """The index of a visit's snapshot: that of the visit before if it continues.

        `exists` and `begin` go from the visit before to this one.
        """
        here = sub(self.visited, i64(self.tdom.precision))
        if self.plan.always_cuts:
            block.set(begin, here)
            return count
        uncut = negate(self.operands.cut(block))
        same = block.name("same", conj(exists, value.valid, uncut))
        at = block.name("to", sub(count, convert(same, I64)))
        block.set(begin, select(same, begin, here))
        block.set(exists, value.valid)
        return at

    def _skip(self, block: Block, last: LExpr, exists: Var) -> Points:
        """Skip to a time at which the points exist that must; read the last one there.

        Skipped cells are φ: they end a snapshot.
        """
        settled: Points = {}
        for point in self.plan.skipped:
            cursor = self.operands.cursors[point]
            read = cursor.advance(block, self.now)
            change = block.name("next", read.change)
            target = select(
                read.exists, self.now, self._grid_point(block, change, last)
            )
            if not self.plan.always_cuts:
                target = block.name("there", target)
                block.set(exists, conj(exists, eq(target, self.now)))
            block.set(self.now, target)
            settled = {}
            if isinstance(cursor, ScanCursor) and self.every_tick:
                settled[point] = cursor.read_row(block)
        return settled

    def _skip_cells(self, block: Block, last: LExpr, exists: Var) -> None:
        """Pass over the cells in which the window has no rows that must."""
        if self.plan.skipped_window is None:
            return
        window = self.operands.windows[self.plan.skipped_window]
        assert isinstance(window, TumblingWindow)
        vacant, due = window.vacancy(self.now)
        skip = block.inner()
        if not self.plan.always_cuts:
            skip.set(exists, FALSE)
        skip.set(self.now, self._grid_point(skip, due, last))
        block.when(vacant, skip)

    def _grid_point(self, block: Block, time: LExpr, last: LExpr) -> LExpr:
        """The first grid point at or after a time after now, or one after the last."""
        limit = block.name("near", least(time, add(last, i64(1))))
        if self.every_tick:
            return limit
        precision = i64(self.tdom.precision)
        steps = Bin("//", sub(sub(limit, i64(1)), self.now), precision, I64)
        return add(self.now, mul(add(steps, i64(1)), precision))

    def _until(
        self, block: Block, changes: list[LExpr], last: LExpr
    ) -> tuple[LExpr, LExpr]:
        """The last grid point before anything changes, and the next.

        The next is not clipped to the loop's end, which would delay the next visit. An
        object with a snapshot in each cell has none in the gaps of what it is strict
        in, nor where a condition fails: those are one visit up to the next change.
        """
        precision = i64(self.tdom.precision)
        if self.tdom.calendar is not None:
            return block.name("until", least(self.now, last)), add(self.now, precision)
        here = self.now, add(self.now, precision)
        if self.plan.one_tick is not None:
            return here
        if self.every_cell:
            exists = [self.operands.points[point].exists for point in self.strict]
            if self.condition is not None and not is_of_points(self.condition):
                exists.append(self.operands.holds(block, self.condition))
            if not exists:
                return here
            all_exist = block.name("there", conj(*exists))
            until, after = self._until_change(block, changes, last)
            return select(all_exist, here[0], until), select(all_exist, here[1], after)
        return self._until_change(block, changes, last)

    def _until_change(
        self, block: Block, changes: list[LExpr], last: LExpr
    ) -> tuple[LExpr, LExpr]:
        precision = i64(self.tdom.precision)
        after = add(last, i64(1))
        change = least(*changes) if changes else after
        if self.every_tick:
            if self.plan.skipped:  # a cursor reads no further than the loop's end
                change = least(change, after)
            change = block.name("next", change)
            until = block.name("until", sub(least(change, after), i64(1)))
            return until, change
        ticks = block.name("stays", sub(sub(least(change, after), i64(1)), self.now))
        until, longer, here = self.builder.fresh("until"), block.inner(), block.inner()
        here.set(until, self.now)
        steps = Bin("//", ticks, precision, I64)
        longer.set(until, add(self.now, mul(steps, precision)))
        block.either(lt(ticks, precision), here, longer)
        return until, add(until, precision)

    def describe(self) -> Loop:
        """The loop as the runtime knows it."""
        reads = OperandReads(self.operands)
        ranges = reads.ranges()
        if self.dense is not None:
            events = _read(self.dense)
            ranges = (events, *(each for each in ranges if each != events))
        return Loop(
            self.definition.name,
            self.tdom,
            self.definition.type,
            Shape.ROW_PANES if folds_rows(self.plan) else Shape.SWEEP,
            (*ranges, *reads.further_ranges()),
            self._changes(ranges),
            self._visits_every_cell(reads),
            implicit_times=self.dense is not None,
            structures=reads.structures(),
            strict=self._strict(reads),
            skips=() if self.tdom.calendar else self._skips(),
            cut=()
            if self.every_cell or self.tdom.calendar
            else reads.clipping_windows(),
            recomputed=reads.recomputed_windows(),
            resumes=reads.resumes,
            keeps_states=self.operands.keeps_states,
            distinct=self.definition.distinct,
            linear=self.plan.linear,
        )

    def _visits_every_cell(self, reads: OperandReads) -> bool:
        """Decide whether there is a visit a cell, where it is not only at events."""
        if self.plan.one_tick is not None:
            return False
        by_cell = self.every_cell or self.tdom.calendar is not None
        return by_cell or bool(reads.clipping_windows())

    def _strict(self, reads: OperandReads) -> tuple[Read, ...]:
        """The ranges in which objects need snapshots for this one not to be φ."""
        points = map(_read, self.strict)
        windows = strict_windows(self.definition)
        ranges = (Read(w.object, w.start, w.end) for w in windows if w.is_fixed)
        alone = (group[0] for group in self.confined if len(group) == 1)
        return reads.whole_cells((*points, *ranges, *alone))

    def _skips(self) -> tuple[Group, ...]:
        """The ranges without rows in which a loop over every cell visits changes."""
        points = ((_read(point),) for point in self.strict)
        return tuple(dict.fromkeys((*points, *self.confined)))

    def _changes(self, reads: tuple[Read, ...]) -> RowCount:
        """A bound on the changes; rows of one tick make a snapshot each."""
        if self.plan.one_tick is not None:
            return ((self.plan.one_tick.object, 1),)
        factors: dict[str, int] = {}
        for read in reads:
            factors[read.object] = factors.get(read.object, 0) + 2
        return tuple(factors.items())


def _read(point: CutPoint) -> Read:
    """The time range in which a point reads a snapshot."""
    return Read(point.object, point.offset - 1, point.offset)
