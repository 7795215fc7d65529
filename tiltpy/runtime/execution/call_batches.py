"""Rounds of a run: some chunks, computed by all workers together.

All calls of a round are prepared before any of them runs, and then made without Python
in between. Preparing a call between two kernels costs about 10 % of a chunk: by then
the interpreter's working set has been evicted from the caches, and two threads would
wait for each other.

A round ends where its outputs could be large: their memory is taken before the first
call. What they do not need of it is never touched.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from tiltpy.costs import RunCosts
from tiltpy.runtime.arrays.pool import ScratchArrays
from tiltpy.runtime.execution.call_queue import CallQueue
from tiltpy.runtime.execution.call_states import CallStates
from tiltpy.runtime.execution.call_table import CallTable, SharedArrays
from tiltpy.runtime.execution.stitch import Piece
from tiltpy.runtime.execution.time_domain import Cells

Done = tuple[int, Mapping[str, Piece], Mapping[str, Cells[int]]]
"""How many chunks are done, their outputs' pieces, and the cells of those pieces that
may have more than their own."""

FEW_CALLS = 3
"""Calls that one thread makes one by one: a vector kernel's, and those of its seams."""


class ChunkTask(Protocol):
    """One chunk, or several, that a kernel computes."""

    @property
    def count(self) -> int:
        """Return the number of chunks."""

    @property
    def most(self) -> int:
        """Bound their snapshots, where memory is taken for all of them."""

    def table(
        self, shared: SharedArrays, states: CallStates | None = None
    ) -> CallTable:
        """Make the calls of the kernel, with memory of a run, and its states."""

    def results(self, table: CallTable) -> Iterator[Done]:
        """Return what these calls have written, once they are made."""


def in_rounds(
    tasks: Iterable[ChunkTask], costs: RunCosts
) -> Iterator[Sequence[ChunkTask]]:
    """Divide chunks into rounds."""
    chunks, snapshots = costs.round_chunks, costs.round_snapshots
    round_: list[ChunkTask] = []
    count = most = 0
    for task in tasks:
        if round_ and (count + task.count > chunks or most + task.most > snapshots):
            yield round_
            round_, count, most = [], 0, 0
        round_.append(task)
        count += task.count
        most += task.most
    if round_:
        yield round_


def compute(
    tasks: Sequence[ChunkTask],
    scratch: Sequence[ScratchArrays],
    shared: SharedArrays,
    states: CallStates | None = None,
) -> Iterator[Done]:
    """Compute a round; gives the chunks' pieces in order.

    There is a thread for each of the scratch memories, the caller's among them. The
    tasks of all rounds write to `shared` arrays. Where they go on from `states` there
    is one thread.
    """
    tables = [task.table(shared, states) for task in tasks]
    calls = sum(table.count for table in tables)
    is_few = len(scratch) == 1 and calls == len(tables) <= FEW_CALLS
    if calls == 1 or is_few:
        for table in tables:
            table.run_one(scratch[0])
    else:
        CallQueue(tables, scratch[:calls]).run()
    for task, table in zip(tasks, tables, strict=True):
        yield from task.results(table)
