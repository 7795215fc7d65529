"""The general loop: a merge of cursors that jumps from change point to change point.

Section 6.1.3 of the paper. At a grid point `now` every reference is brought up to date
and says when it may see something else; the run of cells up to the last grid point
before anything changes is one visit. Whether the visit continues the snapshot before it
is decided by the object's cuts (see `ir.nodes.Cut`), never by values.

A loop over every tick that stops at each change *steps*: whatever follows it moves by
one row at most (see `edges`). A loop whose object is φ wherever another one is may
*skip* the times at which that one is.
"""

from dataclasses import replace
from typing import assert_never

from tiltpy.abi import Loop, Read, RowCount, Shape, SlotKind
from tiltpy.emit.builder import Assembly, Block
from tiltpy.emit.output_arrays import OutputArrays, write_snapshot
from tiltpy.emit.references import uses_time
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import CutPoint, TemporalExpr
from tiltpy.loops.build import (
    FALSE,
    add,
    conj,
    convert,
    eq,
    i64,
    le,
    least,
    mul,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import Bin, LExpr, Var, While
from tiltpy.lowering.sweep.cursors import ScanCursor
from tiltpy.lowering.sweep.edge_loop import EdgeLoop
from tiltpy.lowering.sweep.event_loop import EventLoop
from tiltpy.lowering.sweep.merge_loop import MergeLoop
from tiltpy.lowering.sweep.operands import Points, SweepOperands
from tiltpy.lowering.sweep.ranking import Rankings
from tiltpy.plan.definedness import strict_points, strict_windows
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
        assembly: Assembly,
        definition: TemporalExpr,
        objects: dict[str, ObjectRows],
        rankings: Rankings,
        plan: Scan,
    ) -> None:
        self.assembly = assembly
        self.definition = definition
        self.plan = plan.operands
        self.tdom = definition.tdom
        self.every_tick = self.tdom.precision == 1
        self.every_cell = uses_time(definition)
        self.strict = strict_points(definition)
        self.now = assembly.fresh("now")
        self.following = SweepOperands(
            assembly, definition, objects, self.now, rankings, plan.operands
        )
        self.short: MergeLoop | EventLoop | EdgeLoop | None
        match plan:
            case MergeScan():
                self.short = MergeLoop(assembly, self.following, plan)
            case EventScan():
                self.short = EventLoop(assembly, self.following, plan)
            case EdgeScan():
                self.short = EdgeLoop(assembly, self.following)
            case SweepScan():
                self.short = None
            case _:
                assert_never(plan)

    def lower(self, block: Block, out: OutputArrays) -> Var:
        """Append the loop; returns the variable that counts the snapshots written."""
        name = self.definition.name
        first = self.assembly.number(SlotKind.FIRST, name)
        last = self.assembly.number(SlotKind.LAST, name)
        outlet = None
        if isinstance(self.short, MergeLoop):
            outlet = self.short.outlet(block, out)
        if outlet is None:
            count = self.assembly.fresh(f"{name}.count")
            block.set(count, i64(0))
        else:
            out, count = out.elsewhere(outlet.near), outlet.count
        exists = self.assembly.fresh("exists", BOOL)
        begin = self.assembly.fresh("begin")
        head, body = block.inner(), block.inner()
        settled = self._skip(head, last, exists)
        changes = self.following.advance(body, settled)
        until, after = self._until(body, changes, last)
        value = self.following.value(body)
        value = replace(value, valid=body.name("ok", value.valid))
        at = self._place(body, value, count, exists, begin)
        write_snapshot(body, out, at, value, begin, until)
        body.set(count, add(at, convert(value.valid, I64)))
        body.set(self.now, after)
        if outlet is not None:
            outlet.pass_on(body)
        if isinstance(self.short, MergeLoop):
            self.short.append(body, out, count, self.now, last, outlet)
        elif self.short is not None:
            self.short.append(body, out, count, self.now, last)
        if not self.plan.always_cuts:
            block.set(exists, FALSE)
            block.set(begin, i64(0))
        block.set(self.now, first)
        self.following.start(block, first)
        block.add(While(le(self.now, last), body.body(), head.body()))
        return count if outlet is None else outlet.finish(block)

    def _place(
        self, block: Block, value: LoopValue, count: Var, exists: Var, begin: Var
    ) -> LExpr:
        """Where a visit's snapshot stands: that of the visit before if it goes on.

        `exists` and `begin` are of the visit before, and then of this one.
        """
        here = sub(self.now, i64(self.tdom.precision))
        if self.plan.always_cuts:
            block.set(begin, here)
            return count
        uncut = negate(self.following.cut(block))
        same = block.name("same", conj(exists, value.valid, uncut))
        at = block.name("to", sub(count, convert(same, I64)))
        block.set(begin, select(same, begin, here))
        block.set(exists, value.valid)
        return at

    def _skip(self, block: Block, last: LExpr, exists: Var) -> Points:
        """Go on to where the points that must exist do; what the last one sees there.

        Cells that are skipped are φ: they end a snapshot.
        """
        settled: Points = {}
        for point in self.plan.skipped:
            cursor = self.following.cursors[point]
            seen = cursor.advance(block, self.now)
            change = block.name("next", seen.change)
            there = select(seen.exists, self.now, self._grid_point(block, change, last))
            if not self.plan.always_cuts:
                there = block.name("there", there)
                block.set(exists, conj(exists, eq(there, self.now)))
            block.set(self.now, there)
            settled = {}
            if isinstance(cursor, ScanCursor) and self.every_tick:
                settled[point] = cursor.settled(block)
        return settled

    def _grid_point(self, block: Block, time: LExpr, last: LExpr) -> LExpr:
        """The first grid point at or after a time after now, or one after the last."""
        near = block.name("near", least(time, add(last, i64(1))))
        if self.every_tick:
            return near
        precision = i64(self.tdom.precision)
        steps = Bin("//", sub(sub(near, i64(1)), self.now), precision, I64)
        return add(self.now, mul(add(steps, i64(1)), precision))

    def _until(
        self, block: Block, changes: list[LExpr], last: LExpr
    ) -> tuple[LExpr, LExpr]:
        """The last grid point that surely sees the same as this one, and the next.

        The next is not cut at the loop's end: the less stands between two visits. What
        has a snapshot in each cell has none in gaps of what it is strict in: those are
        one visit up to the next change.
        """
        precision = i64(self.tdom.precision)
        here = self.now, add(self.now, precision)
        if self.plan.one_tick is not None:
            return here
        if self.every_cell:
            there = [self.following.points[point].exists for point in self.strict]
            if not there:
                return here
            one = block.name("there", conj(*there))
            until, after = self._until_change(block, changes, last)
            return select(one, here[0], until), select(one, here[1], after)
        return self._until_change(block, changes, last)

    def _until_change(
        self, block: Block, changes: list[LExpr], last: LExpr
    ) -> tuple[LExpr, LExpr]:
        precision = i64(self.tdom.precision)
        after = add(last, i64(1))
        change = least(*changes) if changes else after
        if self.every_tick:
            if self.plan.skipped:  # which looks further only within the loop
                change = least(change, after)
            change = block.name("next", change)
            until = block.name("until", sub(least(change, after), i64(1)))
            return until, change
        near = sub(least(change, after), i64(1))
        steps = Bin("//", sub(near, self.now), precision, I64)
        until = block.name("until", add(self.now, mul(steps, precision)))
        return until, add(until, precision)

    def describe(self) -> Loop:
        """What the runtime must know of the loop."""
        reads = self.following.reads()
        return Loop(
            self.definition.name,
            self.tdom,
            self.definition.type,
            Shape.ROW_PANES if folds_rows(self.plan) else Shape.SWEEP,
            reads,
            self._changes(reads),
            self.every_cell or bool(self.following.cut_windows()),
            implicit_times=False,
            structures=self.following.structures(),
            strict=self._strict(),
            skips=tuple(map(_read, self.strict)),
            cut=() if self.every_cell else self.following.cut_windows(),
            anew=self.following.anew(),
        )

    def _strict(self) -> tuple[Read, ...]:
        """Where the objects must have snapshots without which this one is φ."""
        points = map(_read, self.strict)
        windows = strict_windows(self.definition)
        return (*points, *(Read(w.object, w.start, w.end) for w in windows))

    def _changes(self, reads: tuple[Read, ...]) -> RowCount:
        """How often anything changes; at rows of one tick, one snapshot for each."""
        if self.plan.one_tick is not None:
            return ((self.plan.one_tick.object, 1),)
        factors: dict[str, int] = {}
        for read in reads:
            factors[read.object] = factors.get(read.object, 0) + 2
        return tuple(factors.items())


def _read(point: CutPoint) -> Read:
    """The stretch in which a point sees a snapshot."""
    return Read(point.object, point.offset - 1, point.offset)
