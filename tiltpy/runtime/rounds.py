"""Rounds of a run: some chunks, computed by all workers together.

All calls of a round are prepared before the first one, those of the other workers too,
and then made without Python in between: what it needs has left the caches when a kernel
is done, so that between two chunks it would cost a tenth of them, and two threads that
want it would wait for each other.

A round ends where its outputs could be large: their memory is taken before the first
call. What they do not need of it is never touched.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tiltpy.runtime.calls import Calls, Executable, wiring_of
from tiltpy.runtime.domain import Cells, Part
from tiltpy.runtime.execute import Chunk
from tiltpy.runtime.grid import GridChunk
from tiltpy.runtime.memory import Memory
from tiltpy.runtime.stitch import Piece

ROUND = 32
"""Chunks in a round: few enough for an interrupt to be heard in between."""
MUCH = 1 << 23
"""Snapshots that a round of several chunks may have."""

Done = tuple[Part, Mapping[str, Piece]]
"""A chunk and its outputs' pieces."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A chunk, and how a kernel computes it."""

    part: Part
    chunk: Chunk | GridChunk
    code: Executable


def in_rounds(tasks: Iterable[Task]) -> Iterator[Sequence[Task]]:
    """The chunks in rounds."""
    some: list[Task] = []
    most = 0
    for task in tasks:
        if some and (len(some) == ROUND or most + task.chunk.most > MUCH):
            yield some
            some, most = [], 0
        some.append(task)
        most += task.chunk.most
    if some:
        yield some


def compute(tasks: Sequence[Task], scratch: Sequence[Memory]) -> Iterator[Done]:
    """A round: the chunks in order, those that are written side by side as one.

    There is a thread for each of the scratch memories, the caller's among them.
    """
    calls = [task.chunk.prepare(task.code) for task in tasks]
    Calls(calls, [task.chunk.needed(task.code) for task in tasks], scratch).run()
    beside: list[Task] = []
    for task, call in zip(tasks, calls, strict=True):
        if beside and not (_is_full(task) and beside[-1].part.high == task.part.low):
            yield _together(beside)
            beside = []
        if _is_full(task):
            beside.append(task)
        else:
            yield task.part, task.chunk.pieces_of(call)
    if beside:
        yield _together(beside)


def _is_full(task: Task) -> bool:
    """Whether a call writes values alone to a sheet, one for each cell."""
    chunk = task.chunk
    if not isinstance(chunk, GridChunk) or chunk.sheet is None:
        return False
    return wiring_of(chunk.signature, task.code).full


def _together(tasks: Sequence[Task]) -> Done:
    """All that such calls wrote, as if one had."""
    first, last = tasks[0].part, tasks[-1].part
    chunk = tasks[0].chunk
    assert isinstance(chunk, GridChunk)
    cells, pieces = {}, {}
    for loop in chunk.signature.loops:
        own, final = first.cells[loop.name], last.cells[loop.name]
        cells[loop.name] = Cells(own.first, final.last, own.seam, final.final)
        pieces[loop.name] = chunk.until(last.high, loop)
    return Part(first.low, last.high, cells), pieces
