"""Merge scan: a merge join of point references, one visit per interval bound.

An ordinary visit of a sweep checks what has begun, what has ended and what comes next.
Well inside the rows of objects without windows a shorter one does: a snapshot ends at
the next bound of any input, and the inputs with that bound move. Each input's bound
after the next is loaded before it is known which inputs move, so that a visit neither
waits for memory nor branches.

An input that the result is strict in moves from row to row, without visits of the gaps
between. Others move from a row into the gap after it, which may be empty. Objects that
the kernel computed mostly have far fewer rows than its inputs: they are *slow* and rest
while these move up to their bound. Where only one input is fast, its rows are visited
as vectors (`merge_vectors`).
"""

from collections.abc import Iterable

from tiltpy.abi.signature import LANES
from tiltpy.emit.builder import Block, KernelBuilder
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
    """The merging visits of a loop over every tick, between two ordinary ones.

    Visits are `done` up to a time. The next `bound` is that of the fast inputs, `halt`
    that of the slow ones.
    """

    def __init__(
        self, builder: KernelBuilder, operands: SweepOperands, plan: MergeScan
    ) -> None:
        self.operands = operands
        self.done = builder.fresh("done")
        self.bound = builder.fresh("bound")
        self.halt = builder.fresh("halt")
        self.visits = builder.fresh("visits")
        fast = [source.point for source in plan.sources if not source.computed]
        self.run = run = builder.costs.run_visits
        room = run + 2 if len(fast) > 1 else run + 2 * LANES
        self.inputs: dict[CutPoint, MergeInput] = {}
        for source in plan.sources:
            cursor = operands.cursors[source.point]
            assert isinstance(cursor, StepCursor | ScanCursor)
            self.inputs[source.point] = MergeInput.of(builder, cursor, room, source)
        self.fast = [self.inputs[point] for point in fast]
        self.slow = [input_ for input_ in self.inputs.values() if input_.slow]
        self.lanes: MergeVectors | None = None
        if plan.vectorized is not None:
            self.lanes = MergeVectors(operands, plan.vectorized, self.fast[0])

    def store(self, block: Block, out: OutputArrays) -> StreamStore | None:
        """The store for vectors of snapshots, if there are any."""
        if self.lanes is None:
            return None
        store = StreamStore(
            block.builder,
            out.name,
            out.arrays(),
            2 * (self.run + LANES),
            out if self.operands.definition.distinct else None,
        )
        store.start(block, self.lanes.rows.count)
        return store

    def append(
        self,
        block: Block,
        out: OutputArrays,
        count: Var,
        now: Var,
        last: LExpr,
        store: StreamStore | None,
    ) -> None:
        """Append runs of visits from `now` on, while all inputs are well inside rows.

        Runs end before the loop, so that no visit checks for its end.
        """
        merge, run = block.inner(), block.inner()
        merge.set(self.done, sub(now, i64(1)))
        for input_ in self.inputs.values():
            input_.enter(merge, self.done)
        self._set_bounds(merge)
        rows_ahead = [(input_.cursor.rows, input_.row) for input_ in self.fast]
        prefetch_rows(run, rows_ahead, self.run)
        self._run(run, out, count)
        if self.slow:
            turn = block.inner()
            self._visit(turn, out, count, self.halt, self.inputs.values())
            run.when(conj(le(self.halt, self.bound), le(self.halt, last)), turn)
            self._set_bounds(run)
        if store is not None:
            store.flush(run)
        latest = least(*(input_.latest(self.run + LANES) for input_ in self.fast))
        continues = conj(
            le(latest, last), *(input_.continues() for input_ in self.fast)
        )
        merge.add(While(continues, run.body()))
        for input_ in self.inputs.values():
            input_.leave(merge, self.done)
        merge.set(now, add(self.done, i64(1)))
        ready = [input_.ready() for input_ in self.inputs.values()]
        for input_ in self.fast:
            ready += input_.keeps_up(self.fast)
        block.when(conj(*ready), merge)

    def _set_bounds(self, block: Block) -> None:
        """Set the next bounds of the fast and of the slow inputs."""
        block.set(self.bound, least(*(input_.end for input_ in self.fast)))
        if self.slow:
            block.set(self.halt, least(*(input_.end for input_ in self.slow)))

    def _run(self, block: Block, out: OutputArrays, count: Var) -> None:
        """Append a run of visits before the next bound of the slow inputs."""
        block.set(self.visits, i64(0))
        if self.lanes is not None:
            self._run_lanes(block, self.lanes, out, count)
        visit = block.inner()
        self._visit(visit, out, count, self.bound, self.fast)
        visit.set(self.bound, least(*(input_.end for input_ in self.fast)))
        visit.set(self.visits, add(self.visits, i64(1)))
        block.add(While(self._run_continues(), visit.body()))

    def _run_continues(self) -> LExpr:
        """Return whether a run continues to the next bound."""
        open_ = lt(self.bound, self.halt) if self.slow else TRUE
        return conj(lt(self.visits, i64(self.run)), open_)

    def _run_lanes(
        self, block: Block, lanes: MergeVectors, out: OutputArrays, count: Var
    ) -> None:
        """Append visits of vectors of rows of the only fast input, after its first."""
        (input_,) = self.fast
        head, visit = block.inner(), block.inner()
        head.set(self.bound, input_.end_after(LANES - 1))
        reads = {point: input_.read() for point, input_ in self.inputs.items()}
        lanes.visit(visit, reads, self.done, out, count)
        visit.set(self.done, self.bound)
        visit.set(input_.row, add(input_.row, i64(LANES)))
        visit.set(self.visits, add(self.visits, i64(LANES)))
        continues = conj(self._run_continues(), lt(i64(0), input_.row))
        block.add(While(continues, visit.body(), head.body()))
        input_.refresh(block, lt(i64(0), self.visits))
        block.set(self.bound, input_.end)

    def _visit(
        self,
        block: Block,
        out: OutputArrays,
        count: Var,
        bound: LExpr,
        moving: Iterable[MergeInput],
    ) -> None:
        """Append a visit: a snapshot that ends at a bound, and moves of inputs."""
        begins = [start for input_ in self.fast for start in input_.begins()]
        # If all inputs begin rows, one that has moved begins there or later.
        if len(begins) < len(self.inputs):
            begins.append(self.done)
        begin = block.name("begin", greatest(*begins))
        reads = {point: input_.read() for point, input_ in self.inputs.items()}
        value = self.operands.value(block, reads)
        write_snapshot(block, out, count, value, begin, bound)
        exists = value.valid
        if bound == self.halt or not all(input_.gapless for input_ in self.fast):
            exists = conj(exists, lt(begin, bound))
        block.set(count, add(count, convert(exists, I64)))
        block.set(self.done, bound)
        for input_ in moving:
            input_.move(block, bound)
