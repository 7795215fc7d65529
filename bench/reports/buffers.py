"""`python -m bench buffers`: kernels over buffers short and long (figure 9).

What is timed are calls of a kernel alone: its arguments are there, and the results stay
where it wrote them. A call for all buffers leaves the loop over them to machine code;
one for each comes back to Python in between. A buffer is a stretch of a long stream,
and windows reach back into the one before it. One thread.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import tiltpy as tilt
from bench.measure import BenchOptions
from bench.reports.threads import sampled
from bench.timing import Runner, rate, take_turns
from bench.workloads.streams import Stream, Workload
from tiltpy.compiler.query_kernels import Compiler
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.runtime.arrays import time_layout as layout
from tiltpy.runtime.arrays.pool import ScratchArrays
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer, pack_validity
from tiltpy.runtime.concurrency.offload import stop_flag
from tiltpy.runtime.execution.call_batches import ChunkTask
from tiltpy.runtime.execution.call_queue import CallQueue
from tiltpy.runtime.execution.call_table import NO_ARRAYS, CallTable
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.runtime.execution.row_slices import RowSlices
from tiltpy.runtime.execution.supports import changes_of, support_of
from tiltpy.runtime.execution.sweep_calls import SweepChunks
from tiltpy.runtime.execution.time_domain import Request, cells_of, output_domain
from tiltpy.runtime.execution.vector_calls import VectorChunks, call_over
from tiltpy.runtime.execution.vector_range import find_sampling_grid, find_vector_range
from tiltpy.runtime.execution.visit_bounds import Coverage

SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
MOST = 1_000
"""Buffers that have memory of their own; more events are the same buffers again."""
EVENTS = 1_000_000
"""What a run of short buffers processes, about."""


@dataclass(frozen=True, slots=True)
class Buffers:
    """Calls that are ready, and how often to make them all.

    `one` makes one of them, `events` says how many a run processes.
    """

    tasks: Sequence[tuple[ChunkTask, CallTable]]
    calls: CallQueue
    one: Callable[[int, int], object]
    rounds: int
    events: int

    def run(self) -> None:
        """Make them all, again and again."""
        for _ in range(self.rounds):
            self.calls.run()

    def run_each(self) -> None:
        """The same, each call from Python."""
        places = self.calls.places.tolist()
        stop = stop_flag().address
        for _ in range(self.rounds):
            for place in places:
                self.one(place, stop)


def lines(chosen: Sequence[Workload] | None, options: BenchOptions) -> Iterator[str]:
    """Two lines for each workload: its rates over buffers of each size.

    The first is that of one call for all of them, the second of a call for each.
    """
    yield f"{'million events/s':<16}" + "".join(f"{size:>14,}" for size in SIZES)
    sizes = [size for size in SIZES if 2 * size <= options.events]
    for workload in chosen or sampled():
        stream = Kernels(workload, options)
        every = {str(size): stream.buffers(size) for size in sizes}
        runners: dict[str, Runner] = {n: one.run for n, one in every.items()}
        runners |= {f"{n} each": one.run_each for n, one in every.items()}
        turns = take_turns(runners, options.repeat)
        for title, way in ((workload.name, ""), ("", " each")):
            cells = [rate(b.events, turns[n + way]).show() for n, b in every.items()]
            yield f"{title:<16}" + "".join(f"{cell:>14}" for cell in cells)


class Kernels:
    """A sampled workload's streams, and the kernel that computes most of them."""

    def __init__(self, workload: Workload, options: BenchOptions) -> None:
        streams = workload.make(options.events, options.seed)
        self.rows = {name: snapshots(stream) for name, stream in streams.items()}
        query = tilt.parse(workload.query, name=workload.name).query
        layouts = {name: one.abi_layout() for name, one in self.rows.items()}
        self.kernels = Compiler(query).compile_for(layouts)
        (output,) = self.kernels.query.outputs
        definition = self.kernels.query.definition(output)
        assert definition is not None
        self.output, self.tdom = output, definition.tdom
        self.domain = output_domain(
            self.tdom, (one.bounds() for one in self.rows.values()), Request()
        )
        sampling_grids = {
            name: find_sampling_grid(one, DEFAULT_COSTS)
            for name, one in self.rows.items()
        }
        known = {name: one for name, one in sampling_grids.items() if one is not None}
        grid = self.kernels.vector(known)
        domains = {output: self.domain}
        self.vector = (
            None if grid is None else find_vector_range(grid, self.rows, domains)
        )

    def buffers(self, size: int) -> Buffers:
        """Buffers of a size, or of the next one that a kernel's blocks fit into."""
        period = max(one.period for one in self.rows.values())
        kernel, tasks, ticks = self._tasks(size * period)
        tables = [task.table(NO_ARRAYS) for task in tasks]
        calls = CallQueue(tables, [ScratchArrays()])
        events = len(calls.places) * ticks // period * len(self.rows)
        rounds = max(1, EVENTS // events)
        made = list(zip(tasks, tables, strict=True))
        return Buffers(made, calls, kernel.code.code().call, rounds, rounds * events)

    def _tasks(self, ticks: int) -> tuple[Kernel, Sequence[ChunkTask], int]:
        """A kernel, the buffers one after the other that it computes, their ticks."""
        if self.vector is not None:
            low, high = self.vector.low, self.vector.high
            ticks += -ticks % self.vector.aligned_range.multiple
            starts = np.arange(low, high - ticks + 1, ticks)[:MOST]
            kernel = self.vector.kernel
            calls = call_over(kernel, self.rows, starts, starts + ticks)
            run = VectorChunks(kernel, calls)
            return self.vector.kernel, [run], ticks
        kernel = self.kernels.sweep()
        ticks += -ticks % self.tdom.precision
        low, high = self.domain.start, self.domain.end
        starts = np.arange(low, high - ticks + 1, ticks)[:MOST]
        zero, request = np.zeros_like(starts), Request()
        coverage = Coverage(
            kernel.signature,
            zero,
            {name: RowSlices.all_of(one, zero) for name, one in self.rows.items()},
            {self.output: cells_of(self.tdom, self.domain, starts, starts + ticks)},
            request,
            support_of(kernel.signature, self.rows, request),
            changes_of(kernel.signature, self.rows, request),
        )
        return kernel, [SweepChunks(kernel, coverage)], ticks


def snapshots(stream: Stream) -> SnapshotBuffer:
    """A sampled stream as the kernels read it."""
    validity = None if stream.valid is None else pack_validity(stream.valid)
    column = Column(stream.values, validity)
    return layout.make_sampled(0, stream.period, len(stream.values), (column,))
