"""One run of a kernel's outputs over buffers: chunks of time, a worker for each.

Section 6.2 of the paper. What a chunk computes depends on its cells and on the rows
near them only, so the result is the same whatever the number of workers.
"""

import os
from collections.abc import (
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from tiltpy.errors import DataError
from tiltpy.ir.nodes import TemporalExpr
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.runtime.arrays.pool import ScratchArrays
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.concurrency.offload import offload
from tiltpy.runtime.execution.call_batches import (
    ChunkTask,
    Done,
    compute,
    in_rounds,
)
from tiltpy.runtime.execution.call_numbers import greatest, total
from tiltpy.runtime.execution.chunk_sizing import (
    AGAIN,
    LEAST,
    is_too_much,
    lengthen,
    split,
    sweep_interval,
    vector_interval,
)
from tiltpy.runtime.execution.dense_output import DenseOutput
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.quick_work import are_quick, sweep_cost, vector_cost
from tiltpy.runtime.execution.row_slices import TimeRanges
from tiltpy.runtime.execution.run_coverage import AT_ONCE, RunCoverage
from tiltpy.runtime.execution.stitch import Piece, Stitcher
from tiltpy.runtime.execution.sweep_calls import SweepChunks
from tiltpy.runtime.execution.time_domain import (
    OutputRange,
    Request,
    cut_chunks,
)
from tiltpy.runtime.execution.vector_calls import VectorCalls, VectorChunks, call_over
from tiltpy.runtime.execution.vector_range import (
    VectorRange,
    find_sampling_grid,
    find_vector_range,
)
from tiltpy.runtime.execution.visit_bounds import MAX_CELLS, Coverage
from tiltpy.runtime.execution.visit_warnings import LoopVisits

SMALL_ROWS = 1 << 12
"""Rows of all inputs below which one kernel computes all of a run: no second one is
compiled, and nothing is cut, where that costs more than it gains."""

FEW_ROWS = 1 << 12
"""Rows for the sweep kernel below which a whole run has the baseline kernel: that takes
half the time to compile."""

LITTLE_CHUNKS = 3
"""One for a vector kernel and those beside it: where that is little in all, starting
another thread takes longer."""

LONG_CHUNK = 1 << 24
"""Ticks beyond which a chunk for a vector kernel is cut anyway: such polls no flag."""

Chunks = Coverage[int] | Coverage[I64Array] | TimeRanges
"""What calls of the sweep kernel cover, or time ranges for the vector kernel."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run: nothing here changes results.

    `workers`: threads, by default one per CPU. `chunk`: the chunk interval in ticks.
    `allow_sort`: whether rows out of time order are sorted. `progress` is called with
    the chunks done and their number. `vector`, `preaggregate`: whether vector kernels
    and pre-aggregation are used wherever they can be, or never; by default where there
    are enough rows for them to pay.
    """

    workers: int | None = None
    chunk: int | None = None
    allow_sort: bool = True
    progress: Progress | None = None
    vector: bool | None = None
    preaggregate: bool | None = None


class TimeRun:
    """One run over buffers, of the outputs that have `ranges`.

    `whole`: nothing else of them is ever computed, so that a run over few rows may have
    the kernel that compiles fastest.
    """

    def __init__(
        self,
        kernels: Kernels,
        rows: Mapping[str, SnapshotBuffer],
        strings: Strings,
        request: Request,
        options: RunOptions,
        ranges: Mapping[str, OutputRange],
        *,
        whole: bool = False,
    ) -> None:
        self.kernels = kernels
        self.rows = rows
        self.strings = strings
        self.request = request
        self.options = options
        self.outputs = {name: self._definition(name) for name in kernels.query.outputs}
        reaches = dict(kernels.query.boundaries)
        self.reach = {name: dict(reaches[name]) for name in self.outputs}
        self.ranges = ranges
        self.total = sum(buffer.n for buffer in rows.values())
        small = options.chunk is None and self.total < SMALL_ROWS
        self.vector = None if small and not options.vector else self._vector_range()
        whole = whole and options.chunk is None and options.vector is None
        self.sweep = kernels.sweep(baseline=whole and self._beside() < FEW_ROWS)
        tdoms = {name: one.tdom for name, one in self.outputs.items()}
        self.coverage = RunCoverage(
            self.sweep.signature, rows, tdoms, self.ranges, request
        )
        self.dense: DenseOutput | None = None

    def _beside(self) -> int:
        """How many rows there are for the sweep kernel."""
        if self.vector is None:
            return self.total
        low, high = self.vector.low, self.vector.high
        inside = (buffer.find(low, high) for buffer in self.rows.values())
        return self.total - sum(stop - first for first, stop in inside)

    def _vector_range(self) -> VectorRange | None:
        """The vector kernel for the inputs' rows, and where it serves."""
        if self.options.vector is False:
            return None
        sampling_grids = {}
        for name in {one for reach in self.reach.values() for one in reach}:
            sampling_grid = find_sampling_grid(self.rows[name])
            if sampling_grid is None:
                return None
            sampling_grids[name] = sampling_grid
        kernel = (
            self.kernels.vector(sampling_grids)
            if sampling_grids and self.ranges
            else None
        )
        if kernel is None:
            return None
        domains = {name: one.domain for name, one in self.ranges.items()}
        low = max(one.low for one in self.ranges.values())
        high = min(one.high for one in self.ranges.values())
        found = find_vector_range(kernel, self.rows, domains)
        found = None if found is None else found.within(low, high)
        return found if found is None or found.pays(self.rows) else None

    def _definition(self, name: str) -> TemporalExpr:
        definition = self.kernels.query.definition(name)
        assert definition is not None
        return definition

    def run(self) -> Mapping[str, list[Piece]]:
        """All outputs' pieces."""
        stitchers = {
            name: Stitcher(self.outputs[name].tdom, one.domain)
            for name, one in self.ranges.items()
        }
        self.stitch(stitchers)
        return {name: stitcher.finish() for name, stitcher in stitchers.items()}

    def stitch(self, stitchers: Mapping[str, Stitcher]) -> None:
        """Compute what is wanted; each output's pieces go to its stitcher."""
        chunks = list(self._chunks()) if self.ranges else []
        work = partial(self._stitch, chunks, stitchers)
        if are_quick(self._costs(chunks)):
            work()
        else:
            offload(work, self.options.progress)

    def _costs(self, chunks: Iterable[Chunks]) -> Iterator[int]:
        """Bounds on the time of chunks, in nanoseconds."""
        if self.vector is not None:
            visits = self.vector.aligned_range.visits(
                self.vector.high - self.vector.low
            )
            yield vector_cost(visits, len(self.outputs))
        for some in chunks:
            if isinstance(some, Coverage):
                yield sweep_cost(total(some.work), greatest(some.rows_read))

    def _stitch(
        self, chunks: Sequence[Chunks], stitchers: Mapping[str, Stitcher]
    ) -> None:
        count = sum(
            some.count if isinstance(some, Coverage) else len(some[0])
            for some in chunks
        )
        done = 0
        for more, pieces, cells in self._results(chunks, count):
            for name, piece in pieces.items():
                stitchers[name].add(piece, cells.get(name))
            done += more
            if self.options.progress is not None:
                self.options.progress(done, count)

    def _chunks(self) -> Iterator[Chunks]:
        """The chunks in order; `AT_ONCE` or fewer of one kernel together."""
        cuts = self._cuts()
        low, high = cuts[:-1], cuts[1:]
        if len(low) == 0:
            return
        if self.vector is None:
            yield from self.coverage.of_chunks(low, high)
            return
        fit = self.vector.fit(low, high)
        self.dense = self.vector.dense_output(low[fit], high[fit])
        turns = (1 + np.flatnonzero(fit[1:] != fit[:-1])).tolist()
        for first, stop in zip([0, *turns], [*turns, len(fit)], strict=True):
            if fit[first]:
                for some in range(first, stop, AT_ONCE):
                    own = slice(some, min(some + AT_ONCE, stop))
                    yield low[own], high[own]
            else:
                yield from self.coverage.of_chunks(low[first:stop], high[first:stop])

    def work(self, low: int, high: int) -> int:
        """A bound on the visits in a chunk, by the kernel that computes most of it."""
        if self.vector is not None:
            return self.vector.aligned_range.visits(high - low)
        return self.coverage.of(low, high).work

    @property
    def beyond_rows(self) -> bool:
        """Whether a loop may have far more to do than there are rows."""
        return any(loop.beyond_rows for loop in self.sweep.signature.loops)

    def visits(self) -> dict[str, LoopVisits]:
        """How many visits each loop makes, at most."""
        if not self.ranges:
            return {}
        low = min(one.low for one in self.ranges.values())
        high = max(one.high for one in self.ranges.values())
        calls, gridded = [self.coverage.of(low, high)], 0
        if self.vector is not None:
            calls = [self.coverage.of(low, self.vector.low)]
            calls.append(self.coverage.of(self.vector.high, high))
            gridded = self.vector.aligned_range.visits(
                self.vector.high - self.vector.low
            )
        return {
            loop.name: LoopVisits(
                loop,
                sum(call.visits(loop) for call in calls),
                sum(call.again(loop) for call in calls),
                gridded * (loop.name in self.outputs),
                sum(call.again_made(loop) for call in calls),
            )
            for loop in self.sweep.signature.loops
        }

    def _cuts(self) -> Times:
        """Where chunks begin and end."""
        low = min(one.low for one in self.ranges.values())
        high = max(one.high for one in self.ranges.values())
        cells = self._cells(low, high)
        interval, phase = self.options.chunk, 0
        ranked = any(loop.structures for loop in self.sweep.signature.loops)
        if self.vector is not None and (interval is None or interval > LONG_CHUNK):
            interval = vector_interval(self.vector, self.rows)
            phase = self.vector.low  # so that all chunks but the last are of one length
        elif interval is not None:
            limit = max(AGAIN, self.work(low, high))
            interval = lengthen(interval, low, high, self.work, limit)
        else:
            interval = sweep_interval(low, high, self.work, self.rows, ranked=ranked)
        cuts = cut_chunks(
            low,
            high,
            interval,
            self._edges(),
            self.rows,
            every_cell=cells > 0,
            phase=phase,
        )
        if self.options.chunk is not None or self.vector is not None:
            return cuts
        more = [
            cut
            for (start, end), work in zip(
                pairwise(cuts.tolist()), self.coverage.works(cuts), strict=True
            )
            if is_too_much(work, ranked=ranked)
            for cut in split(start, end, self.work, self.rows, ranked=ranked)
        ]
        if not more:
            return cuts
        return np.sort(np.concatenate((cuts, np.array(more, np.int64))))

    def _cells(self, low: int, high: int) -> int:
        """How many visits loops make that go through every cell, at most."""
        most = 0
        for loop in self.sweep.signature.loops:
            if loop.every_cell:
                cells = self.coverage.of(low, high).visits(loop)
                if cells > MAX_CELLS:
                    why = "sees where windows cut rows" if loop.cut else ""
                    raise DataError(
                        f"~{loop.name} {why or 'uses t as a number'} and so has a "
                        f"snapshot in each of {cells:,} cells, more than 2**36; give "
                        "it a coarser precision, or cut the run with start= and end="
                    )
                most = max(most, cells)
        return most

    def _edges(self) -> list[int]:
        """Where a vector kernel begins and ceases to serve, if there is one.

        Between them it is used, beside them the sweep kernel.
        """
        return [] if self.vector is None else [self.vector.low, self.vector.high]

    def _results(self, chunks: Sequence[Chunks], count: int) -> Generator[Done]:
        little = self.total < LEAST and count <= LITTLE_CHUNKS
        workers = self.options.workers or (1 if little else default_workers())
        scratch = [ScratchArrays() for _ in range(min(workers, count))]
        for tasks in in_rounds(map(self._task, chunks)):
            yield from compute(tasks, scratch)

    def _task(self, chunks: Chunks) -> ChunkTask:
        """How chunks are computed."""
        if isinstance(chunks, Coverage):
            return SweepChunks(self.sweep, chunks, self.strings)
        assert self.vector is not None
        low, high = chunks
        kernel = self.vector.kernel
        calls: VectorCalls[Any] = (
            call_over(kernel, self.rows, int(low[0]), int(high[0]))
            if len(low) == 1
            else call_over(kernel, self.rows, low, high)
        )
        return VectorChunks(kernel, calls, self.dense, self.strings)


def default_workers() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
