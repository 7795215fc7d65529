"""Chunks of a run whose windows fold on: each goes on from the states before it.

They are computed side by side from guesses of these states: the fold of the rows just
before a chunk, as if no others had been before, which a fold that forgets cannot tell
from the real one. A guess counts only if it is, bit for bit, what the chunk before then
leaves, and the chunk is computed again if it is not. So a result is that of the fold in
order from the first row, to the bit, whatever chunks and workers.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from tiltpy.costs import RunCosts
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.dtypes import Times
from tiltpy.runtime.arrays.pool import ScratchArrays
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_batches import Done
from tiltpy.runtime.execution.call_queue import CallQueue
from tiltpy.runtime.execution.call_states import CallStates
from tiltpy.runtime.execution.call_table import NO_ARRAYS, SharedArrays
from tiltpy.runtime.execution.dense_output import DenseOutput
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.runtime.execution.run_coverage import RunCoverage
from tiltpy.runtime.execution.supports import FAR
from tiltpy.runtime.execution.sweep_calls import SweepChunks
from tiltpy.runtime.execution.vector_calls import VectorChunks, call_over
from tiltpy.runtime.execution.vector_range import VectorRange


class CarriedChunks:
    """Chunks of a run, whose `coverage` is resumed.

    A `vector` kernel computes those that fit in its range. The states before a chunk
    are guessed from `warmup_rows` rows, if there are any.
    """

    def __init__(
        self,
        kernel: Kernel,
        coverage: RunCoverage,
        vector: VectorRange | None,
        rows: Mapping[str, SnapshotBuffer],
        strings: Strings,
        warmup_rows: int,
        costs: RunCosts,
    ) -> None:
        self._kernel = kernel
        self._coverage = coverage
        self._vector = vector
        self._rows = rows
        self._strings = strings
        self._warmup_rows = warmup_rows
        self._costs = costs

    def compute(
        self,
        cuts: Times,
        scratch: Sequence[ScratchArrays],
        dense: DenseOutput | None = None,
        shared: SharedArrays = NO_ARRAYS,
    ) -> Generator[Done]:
        """Compute the chunks between cuts; gives their pieces in order.

        More and more are computed at a time, for as long as guesses are right. Those
        that write every cell write to the `shared` arrays of a `dense` output.
        """
        ranges = pairwise(cuts.tolist())
        chunks = [span for span in ranges if self._coverage.of(*span).cells]
        states = self._first_states()
        together, wrong = len(scratch), 0
        while chunks:
            guesses_pay = self._warmup_rows and wrong < self._costs.wrong_guesses
            count = min(len(chunks), together if guesses_pay else 1)
            lows = [low for low, _ in chunks[1:count]]
            guesses = self._guess(lows, scratch)
            before = [states, *map(_copy, guesses)]
            calls = [
                self._call(*span, dense)
                for span, _ in zip(chunks, before, strict=False)
            ]
            tables = [
                call.table(shared, each)
                for call, each in zip(calls, before, strict=True)
            ]
            CallQueue(tables, scratch[:count]).run()
            right = 1
            while right < count and _agree(before[right - 1], guesses[right - 1]):
                right += 1
            for call, table in zip(calls[:right], tables, strict=False):
                yield from call.results(table)
            states, chunks = before[right - 1], chunks[right:]
            wrong = 0 if right > 1 else wrong + (count > 1)
            together = len(scratch) if right < count else 2 * together
            together = min(together, self._costs.enough_chunks)

    def _call(
        self, low: int, high: int, dense: DenseOutput | None
    ) -> SweepChunks | VectorChunks:
        """Make the call of the kernel that computes a chunk."""
        vector = self._vector
        if vector is not None and vector.fit(np.array([low]), np.array([high]))[0]:
            calls = call_over(vector.kernel, self._rows, low, high)
            return VectorChunks(vector.kernel, calls, dense, self._strings)
        coverage = self._coverage.of(low, high)
        return SweepChunks(self._kernel, coverage, self._strings)

    def _guess(
        self, times: Sequence[int], scratch: Sequence[ScratchArrays]
    ) -> list[CallStates]:
        """Fold the rows before some times, from the states before any row."""
        guesses = []
        tables = []
        for time in times:
            states = self._first_states()
            coverage = self._coverage.over(self._rows_before(time)).before(time)
            guesses.append(states)
            if coverage.cells:
                call = SweepChunks(self._kernel, coverage, self._strings, states)
                tables.append(call.table())
        if tables:
            CallQueue(tables, scratch[: len(tables)]).run()
        return guesses

    def _first_states(self) -> CallStates:
        return CallStates.first(self._kernel.signature.states)

    def _rows_before(self, time: int) -> dict[str, SnapshotBuffer]:
        """Slice the rows that overlap what the last ones of an input cover."""
        low = -FAR
        for buffer in self._rows.values():
            _, stop = buffer.find(-FAR, time)
            if stop > self._warmup_rows:
                start, _ = buffer.row(stop - self._warmup_rows)
                low = max(low, start)
        return {
            name: buffer.slice(*buffer.find(low, FAR))
            for name, buffer in self._rows.items()
        }


def _copy(states: CallStates) -> CallStates:
    return replace(states, arrays=[array.copy() for array in states.arrays])


def _agree(left: CallStates, guessed: CallStates) -> bool:
    """Tell whether states are the same, to the bit."""
    pairs = zip(left.arrays, guessed.arrays, strict=True)
    return all(array.tobytes() == guess.tobytes() for array, guess in pairs)
