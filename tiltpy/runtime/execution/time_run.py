"""One run of a kernel's outputs over buffers: chunks of time, a worker for each.

Section 6.2 of the paper. What a chunk computes depends on its cells and on the rows
near them only, so the result is the same whatever the number of workers.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from tiltpy.abi.signature import Loop
from tiltpy.forks import cached_property
from tiltpy.ir.nodes import TemporalExpr
from tiltpy.lean_dataclass import dataclass
from tiltpy.messages import quantity
from tiltpy.plan.nodes import Refusal
from tiltpy.plan.run_plan import RunFacts, needs_threads, plan_run, refuse_vector
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.dtypes import Times
from tiltpy.runtime.arrays.pool import ScratchArrays
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.concurrency.offload import offload
from tiltpy.runtime.execution.call_batches import (
    ChunkTask,
    Done,
    compute,
    in_rounds,
)
from tiltpy.runtime.execution.call_numbers import total
from tiltpy.runtime.execution.call_states import CallStates
from tiltpy.runtime.execution.call_table import NO_ARRAYS
from tiltpy.runtime.execution.carried_states import CarriedChunks
from tiltpy.runtime.execution.dense_output import DenseOutput
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.quick_work import (
    are_quick,
    sweep_cost,
    vector_cost,
)
from tiltpy.runtime.execution.run_chunks import Chunks, RunChunks
from tiltpy.runtime.execution.run_coverage import RunCoverage
from tiltpy.runtime.execution.run_options import RunOptions, default_workers
from tiltpy.runtime.execution.stitch import Piece, Stitcher
from tiltpy.runtime.execution.sweep_calls import SweepChunks
from tiltpy.runtime.execution.time_domain import OutputRange, Request
from tiltpy.runtime.execution.vector_calls import VectorCalls, VectorChunks, call_over
from tiltpy.runtime.execution.vector_range import (
    VectorRange,
    find_sampling_grid,
    find_vector_range,
)
from tiltpy.runtime.execution.visit_bounds import Coverage
from tiltpy.runtime.execution.visit_warnings import LoopVisits


@dataclass(frozen=True, slots=True)
class _Work:
    """All rounds of a run, and what they write to together.

    `count`: of chunks. `is_quick`: whether the caller's thread may make the calls.
    """

    rounds: Iterable[Sequence[ChunkTask]]
    dense: DenseOutput | None
    count: int
    is_quick: bool


class TimeRun:
    """One run over buffers, of the outputs that have `ranges`.

    `whole`: nothing else of them is ever computed, so that a run over few rows may have
    the kernel that compiles fastest. `plan` says which kernels it uses. Without states
    it can be made again and again, by several threads at once.
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
        states: CallStates | None = None,
    ) -> None:
        self.kernels = kernels
        self.states = states
        self.rows = rows
        self.strings = strings
        self.request = request
        self.options = options
        self.costs = options.costs.run
        self.outputs = {name: self._definition(name) for name in kernels.query.outputs}
        self.ranges = ranges
        self.total = sum(buffer.n for buffer in rows.values())
        facts = RunFacts(self.total, whole, options.chunk, options.vector)
        vector = refuse_vector(facts, self.costs) or self._find_vector_range()
        known = vector if isinstance(vector, Refusal) else vector.facts(rows)
        self.plan = plan_run(facts, known, options.costs)
        self.vector: VectorRange | None = None
        if isinstance(vector, VectorRange) and self.plan.vector is None:
            self.vector = vector
        self.sweep = kernels.sweep(baseline=self.plan.baseline is None)
        tdoms = {name: output.tdom for name, output in self.outputs.items()}
        self.one_chunk = self._refuse_chunks()
        """The reason why windows without bound make it one chunk, if they do."""
        self.warmup_rows = self._find_warmup_rows()
        self.coverage = RunCoverage(
            self.sweep.signature,
            rows,
            tdoms,
            ranges,
            request,
            self.costs,
            resumed=self.one_chunk is None,
        )
        self._kept_work: _Work | None = None
        self.chunks = RunChunks(
            self.sweep.signature,
            self.coverage,
            rows,
            self.vector,
            self.plan.chunks,
            options.chunk,
            self.costs,
            shared=self._count_workers(2) > 1
            or not all(buffer.fifo for buffer in rows.values()),
        )

    def _refuse_chunks(self) -> str | None:
        """Say why no chunks go on from the states of windows that fold on."""
        if self.states is not None:
            return "it goes on from states that it was given"
        if not self.ranges:
            return "no window folds on"
        if self.vector is not None:
            return None if self.vector.carries else "no window folds on"
        if self.options.chunk is None and self._count_workers(2) == 1:
            few = f"too few for several threads: {quantity(self.total, 'row')}"
            return "there is one worker" if self.options.workers else few
        reason = self.kernels.refuse_chunks(self.sweep)
        if reason is not None or self.options.chunk is not None:
            return reason
        if self.total < 2 * self.costs.warmup_share * self.kernels.warmup_rows:
            rows = quantity(self.total, "row")
            return f"too few beside those that chunks warm up with: {rows}"
        return None

    def _find_warmup_rows(self) -> int:
        """Choose the rows from which states are guessed: none for one chunk at a time.

        A few chunks must be long beside what is folded once more before them.
        """
        if self.one_chunk is not None or self._count_workers(2) == 1:
            return 0
        if self.kernels.refuse_chunks(self.sweep) is not None:
            return 0
        return min(self.kernels.warmup_rows, self.costs.most_warmup_rows)

    def _count_workers(self, chunks: int) -> int:
        """Choose how many threads take chunks."""
        threads = needs_threads(self.total, chunks, self.costs)
        return self.options.workers or (default_workers() if threads else 1)

    def _find_vector_range(self) -> VectorRange | Refusal:
        """Find the vector kernel for the inputs' rows, and where it serves."""
        sampling_grids = {}
        for name in {n for _, reach in self.kernels.query.boundaries for n, _ in reach}:
            sampling_grid = find_sampling_grid(self.rows[name], self.options.costs)
            if sampling_grid is None:
                return Refusal(f"rows of ~{name} are neither regular nor short")
            sampling_grids[name] = sampling_grid
        if not sampling_grids or not self.ranges:
            return Refusal("there are no inputs, or nothing is wanted")
        kernel = self.kernels.vector(sampling_grids)
        if kernel is None:
            return Refusal("the query has none for such rows")
        domains = {name: range_.domain for name, range_ in self.ranges.items()}
        serves = find_vector_range(kernel, self.rows, domains)
        if serves is not None and serves.carries:
            refusal = self._refuse_states()
            if refusal is not None:
                return refusal
        if serves is not None:
            low = max(range_.low for range_ in self.ranges.values())
            high = min(range_.high for range_ in self.ranges.values())
            if serves.carries:  # a sweep leaves states after a cell of each output
                first = max(range_.domain.start for range_ in self.ranges.values())
                cells = (output.tdom.longest for output in self.outputs.values())
                low = max(low, first) + max(cells)
            serves = serves.within(low, high)
        return serves or Refusal("there is no time in which all of its rows exist")

    def _refuse_states(self) -> Refusal | None:
        """Refuse a vector kernel that goes on from the states of a sweep."""
        if self.states is not None:
            return Refusal("the run goes on from states that it was given")
        if any(range_.low > range_.domain.start for range_ in self.ranges.values()):
            return Refusal("states before the run are unknown")
        signature = self.kernels.sweep(baseline=True).signature
        reason = signature.refuse_states(in_chains=True)
        return None if reason is None else Refusal(reason)

    def _definition(self, name: str) -> TemporalExpr:
        definition = self.kernels.query.definition(name)
        assert definition is not None
        return definition

    def run(self) -> Mapping[str, list[Piece]]:
        """Compute all outputs' pieces."""
        stitchers = {
            name: Stitcher(self.outputs[name].tdom, range_.domain)
            for name, range_ in self.ranges.items()
        }
        self.stitch(stitchers)
        return {name: stitcher.finish() for name, stitcher in stitchers.items()}

    def stitch(self, stitchers: Mapping[str, Stitcher]) -> None:
        """Compute what is wanted; each output's pieces go to its stitcher."""
        work = self._kept_work or self._prepare()
        if work.is_quick:
            self._stitch(work, stitchers)
        else:
            offload(partial(self._stitch, work, stitchers), self.options.progress)

    def _prepare(self) -> "_Work":
        """Cut the run into rounds of chunks; few are kept for the next run."""
        chunks, dense = self._cut() if self.ranges else ([], None)
        count = sum(
            chunk.count if isinstance(chunk, Coverage) else len(chunk[0])
            for chunk in chunks
        )
        is_quick = are_quick(self._times(chunks), self.costs)
        tasks = map(partial(self._task, dense), chunks)
        rounds = in_rounds(tasks, self.costs)
        if len(chunks) > self.costs.round_chunks:
            return _Work(rounds, dense, count, is_quick)
        self._kept_work = _Work(list(rounds), dense, count, is_quick)
        return self._kept_work

    def _times(self, chunks: Iterable[Chunks]) -> Iterator[int]:
        """Bound the time of chunks, in nanoseconds."""
        if self.vector is not None:
            yield vector_cost(self.vector.visits, len(self.outputs), self.costs)
        loops = self.sweep.signature.loops
        for chunk in chunks:
            if isinstance(chunk, Coverage):
                yield sweep_cost(total(chunk.work), total(chunk.rows_read), loops)

    def _stitch(self, work: "_Work", stitchers: Mapping[str, Stitcher]) -> None:
        done, progress = 0, self.options.progress
        for more, pieces, cells in self._results(work):
            for name, piece in pieces.items():
                stitchers[name].add(piece, cells.get(name))
            done += more
            if progress is not None:
                progress(done, work.count)

    def _span(self) -> tuple[int, int]:
        """The time range that holds all that is wanted."""
        low = min(range_.low for range_ in self.ranges.values())
        return low, max(range_.high for range_ in self.ranges.values())

    @cached_property
    def _cuts(self) -> Times:
        """The times at which chunks begin and end."""
        return self.chunks.cut(*self._span())

    def _cut(self) -> tuple[list[Chunks], DenseOutput | None]:
        """Cut the run into chunks, in order; find what they write together."""
        low, high = self._cuts[:-1], self._cuts[1:]
        if len(low) == 0:
            return [], None
        if self.vector is None:
            return list(self.chunks.of(low, high, None)), None
        fit = self.vector.fit(low, high)
        calls_low = self.vector.begin_calls(low[fit])
        dense = self.vector.dense_output(calls_low, high[fit])
        return list(self.chunks.of(low, high, fit)), dense

    def describe(self) -> Iterator[str]:
        """Say which kernels compute the run, a line each."""
        yield from self.plan.describe()
        unbounded = any(loop.is_unbounded for loop in self.sweep.signature.loops)
        if unbounded and self.one_chunk is not None:
            yield f"one chunk: {self.one_chunk}"
        if self.coverage.resumes:
            rows = f"{self.warmup_rows:,} rows before them"
            guessed = f", guessed from the {rows}" if self.warmup_rows else ""
            yield f"chunks go on from states{guessed}"

    @cached_property
    def _far_loops(self) -> list[Loop]:
        """The loops that may go beyond the rows of their inputs."""
        return [loop for loop in self.sweep.signature.loops if loop.beyond_rows]

    def may_visit(self, most: int) -> bool:
        """Return whether a loop may go beyond its rows, with more visits than `most`.

        Told by the length of the time range alone, which costs less than `visits`.
        """
        loops = self._far_loops
        if not loops or not self.ranges:
            return False
        low, high = self._span()
        cells = max((high - low) // loop.tdom.precision for loop in loops)
        return any(loop.recomputed for loop in loops) or 2 * cells >= most

    def visits(self) -> dict[str, LoopVisits]:
        """Bound the visits of each loop."""
        if not self.ranges:
            return {}
        low, high = self._span()
        calls, vector_visits = [self.coverage.of(low, high)], 0
        if self.vector is not None:
            calls = [self.coverage.of(low, self.vector.low)]
            calls.append(self.coverage.of(self.vector.high, high))
            vector_visits = self.vector.visits
        return {
            loop.name: LoopVisits(
                loop,
                sum(call.visits(loop) for call in calls),
                sum(call.again(loop) for call in calls),
                vector_visits * (loop.name in self.outputs),
                sum(call.again_made(loop) for call in calls),
            )
            for loop in self.sweep.signature.loops
        }

    def _results(self, work: "_Work") -> Generator[Done]:
        workers = self._count_workers(work.count)
        scratch = [ScratchArrays() for _ in range(min(workers, work.count))]
        shared = NO_ARRAYS if work.dense is None else work.dense.allocate()
        if self.coverage.resumes and not self.warmup_rows:
            states = CallStates.first(self.sweep.signature.states)
            for round_ in work.rounds:
                yield from compute(round_, scratch[:1], shared, states)
            return
        if self.coverage.resumes:
            carried = CarriedChunks(
                self.sweep,
                self.coverage,
                self.vector,
                self.rows,
                self.strings,
                self.warmup_rows,
                self.costs,
            )
            yield from carried.compute(self._cuts, scratch, work.dense, shared)
            return
        for round_ in work.rounds:
            yield from compute(round_, scratch, shared)

    def _task(self, dense: DenseOutput | None, chunks: Chunks) -> ChunkTask:
        """Make the calls that compute chunks."""
        if isinstance(chunks, Coverage):
            return SweepChunks(self.sweep, chunks, self.strings, self.states)
        assert self.vector is not None
        low, high = chunks
        kernel, begin = self.vector.kernel, self.vector.begin_calls(low)
        calls: VectorCalls[Any] = (
            call_over(kernel, self.rows, int(begin[0]), int(high[0]))
            if len(low) == 1
            else call_over(kernel, self.rows, begin, high)
        )
        skipped = int(low[0] - begin[0])
        return VectorChunks(kernel, calls, dense, self.strings, skipped)
