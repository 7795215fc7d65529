"""Objects that are merely looked at: their rows side by side, from bound to bound.

A visit of a sweep looks around: what has begun, what has ended, what comes next. Well
inside the rows of objects without windows there is a shorter one. Wherever one of them
has a bound a snapshot ends, and who has it there moves on. What its bound after the
next one is was read before, ahead of knowing who moves: so no visit waits for memory,
and none has a branch.

An input without which the result is φ moves from row to row: the gaps between them have
no visit. What is looked at in its gaps, too, moves from a row into the gap behind it,
which may have no length. Objects that the kernel has computed mostly have far fewer
rows than its inputs: they stay where they are while these move, up to their own bound.
Where just one moves on its rows go by in lanes (`merged_lanes`).
"""

from collections.abc import Iterable

from tiltpy.abi import LANES
from tiltpy.emit.builder import Assembly, Block
from tiltpy.emit.output_arrays import OutputArrays, write_snapshot
from tiltpy.emit.row_access import prefetch_rows
from tiltpy.emit.stream_stores import StreamStore
from tiltpy.ir.nodes import CutPoint
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
    sub,
)
from tiltpy.loops.nodes import LExpr, Var, While
from tiltpy.lowering.sweep.cursors import ScanCursor, StepCursor
from tiltpy.lowering.sweep.merge_input import MergeInput
from tiltpy.lowering.sweep.merge_vectors import MergeVectors
from tiltpy.lowering.sweep.operands import SweepOperands
from tiltpy.plan.nodes import MergeScan
from tiltpy.types import I64


class MergeLoop:
    """The short visits of a loop over every tick, between two that are not."""

    def __init__(
        self, assembly: Assembly, following: SweepOperands, plan: MergeScan
    ) -> None:
        self.following = following
        self.done = assembly.fresh("done")
        self.bound = assembly.fresh("bound")
        self.halt = assembly.fresh("halt")
        self.visits = assembly.fresh("visits")
        fast = [one.point for one in plan.sources if not one.computed]
        self.run = run = assembly.costs.run_visits
        room = run + 2 if len(fast) > 1 else run + 2 * LANES
        self.sides: dict[CutPoint, MergeInput] = {}
        for one in plan.sources:
            cursor = following.cursors[one.point]
            assert isinstance(cursor, StepCursor | ScanCursor)
            self.sides[one.point] = MergeInput.of(assembly, cursor, room, one)
        self.fast = [self.sides[point] for point in fast]
        self.slow = [side for side in self.sides.values() if side.slow]
        self.lanes: MergeVectors | None = None
        if plan.vectorized is not None:
            self.lanes = MergeVectors.of(following, plan.vectorized, self.fast[0])

    def outlet(self, block: Block, out: OutputArrays) -> StreamStore | None:
        """Where to write, if there are vectors of snapshots to be written."""
        if self.lanes is None:
            return None
        outlet = StreamStore(
            block.assembly, out.name, out.arrays(), 2 * (self.run + LANES)
        )
        outlet.start(block, self.lanes.rows.count)
        return outlet

    def append(
        self,
        block: Block,
        out: OutputArrays,
        count: Var,
        now: Var,
        last: LExpr,
        outlet: StreamStore | None,
    ) -> None:
        """Visits from `now` on, for as long as all sides are well inside their rows.

        Runs end before the loop does: none of their visits looks whether it does.
        """
        merge, run = block.inner(), block.inner()
        merge.set(self.done, sub(now, i64(1)))
        for side in self.sides.values():
            side.enter(merge, self.done)
        self._look(merge)
        places = [(side.cursor.rows, side.row) for side in self.fast]
        prefetch_rows(run, places, self.run)
        self._run(run, out, count)
        if self.slow:
            turn = block.inner()
            self._visit(turn, out, count, self.halt, self.sides.values())
            run.when(conj(le(self.halt, self.bound), le(self.halt, last)), turn)
            self._look(run)
        if outlet is not None:
            outlet.pass_on(run)
        latest = least(*(side.latest(self.run + LANES) for side in self.fast))
        further = conj(le(latest, last), *(side.further() for side in self.fast))
        merge.add(While(further, run.body()))
        for side in self.sides.values():
            side.leave(merge, self.done)
        merge.set(now, add(self.done, i64(1)))
        block.when(conj(*(side.ready() for side in self.sides.values())), merge)

    def _look(self, block: Block) -> None:
        """The next bounds, of those that move often and of the others."""
        block.set(self.bound, least(*(side.end for side in self.fast)))
        if self.slow:
            block.set(self.halt, least(*(side.end for side in self.slow)))

    def _run(self, block: Block, out: OutputArrays, count: Var) -> None:
        """Some visits before the next bound of those that move rarely."""
        block.set(self.visits, i64(0))
        if self.lanes is not None:
            self._run_lanes(block, self.lanes, out, count)
        visit = block.inner()
        self._visit(visit, out, count, self.bound, self.fast)
        visit.set(self.bound, least(*(side.end for side in self.fast)))
        visit.set(self.visits, add(self.visits, i64(1)))
        block.add(While(self._more(), visit.body()))

    def _more(self) -> LExpr:
        """Whether a run goes on as far as the next bound."""
        open_ = lt(self.bound, self.halt) if self.slow else TRUE
        return conj(lt(self.visits, i64(self.run)), open_)

    def _run_lanes(
        self, block: Block, lanes: MergeVectors, out: OutputArrays, count: Var
    ) -> None:
        """The same for vectors of rows of the only one of those, none of them first."""
        (side,) = self.fast
        head, visit = block.inner(), block.inner()
        head.set(self.bound, side.ends(LANES - 1))
        seen = {point: side.seen() for point, side in self.sides.items()}
        lanes.visit(visit, seen, self.done, out, count)
        visit.set(self.done, self.bound)
        visit.set(side.row, add(side.row, i64(LANES)))
        visit.set(self.visits, add(self.visits, i64(LANES)))
        more = conj(self._more(), lt(i64(0), side.row))
        block.add(While(more, visit.body(), head.body()))
        side.show(block, lt(i64(0), self.visits))
        block.set(self.bound, side.end)

    def _visit(
        self,
        block: Block,
        out: OutputArrays,
        count: Var,
        bound: LExpr,
        moving: Iterable[MergeInput],
    ) -> None:
        """The snapshot that ends at a bound, at which some sides may move."""
        begins = [one for side in self.fast for one in side.begins()]
        if len(begins) < len(
            self.sides
        ):  # else one that has moved begins there or later
            begins.append(self.done)
        begin = block.name("begin", greatest(*begins))
        seen = {point: side.seen() for point, side in self.sides.items()}
        value = self.following.value(block, seen)
        write_snapshot(block, out, count, value, begin, bound)
        there = value.valid
        if bound == self.halt or not all(side.gapless for side in self.fast):
            there = conj(there, lt(begin, bound))
        block.set(count, add(count, convert(there, I64)))
        block.set(self.done, bound)
        for side in moving:
            side.move(block, bound)
