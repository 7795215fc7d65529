"""A run by key: the rows of each key are temporal objects of their own.

Keys are evaluated in batches (`key_batch`): by the sweep kernel, and by a vector kernel
where their rows are sampled or short. A key with very many rows is a `TimeRun` of its
own, whose chunks all workers share, so that one hot key keeps nobody waiting. Workers
share the batches. How a key is evaluated depends on the data alone, never on the number
of workers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial

import numpy as np

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.errors import DataError
from tiltpy.forks import cached_property
from tiltpy.ir.nodes import Query
from tiltpy.lean_dataclass import dataclass
from tiltpy.messages import quantity
from tiltpy.plan.key_plan import (
    KeyTask,
    LoopStarts,
    count_joined,
    plan_key_ranges,
    plan_keys,
    refuse_own_vector,
    refuse_vector_keys,
)
from tiltpy.plan.nodes import Refusal
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.distinct import distinct
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array
from tiltpy.runtime.arrays.pool import ThreadScratch
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.concurrency.offload import offload
from tiltpy.runtime.concurrency.workers import map_ordered
from tiltpy.runtime.execution.call_states import CallStates
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.key_domains import (
    KeyedRanges,
    RowsByKey,
    key_domains,
    rows_by_key,
)
from tiltpy.runtime.execution.quick_work import are_quick, sweep_cost
from tiltpy.runtime.execution.run_options import RunOptions, default_workers
from tiltpy.runtime.execution.stitch import Stitcher, events_of
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.execution.time_run import TimeRun
from tiltpy.runtime.execution.vector_range import find_sampling_grid
from tiltpy.runtime.execution.visit_warnings import LoopVisits
from tiltpy.runtime.ingest.cell_overlaps import check_cells
from tiltpy.runtime.ingest.keys import Groups, Keys
from tiltpy.runtime.keyed.concatenated_keys import Concatenation
from tiltpy.runtime.keyed.key_batch import KeyBatch
from tiltpy.runtime.keyed.key_work import KeyWork, select_cut, select_long
from tiltpy.runtime.keyed.vector_ranges import KeyVectorRanges, find_vector_ranges
from tiltpy.runtime.results.key_columns import KeySnapshots

Pieces = dict[str, list[KeySnapshots]]
CompileFor = Callable[[Mapping[str, Layout]], Kernels]


@dataclass(frozen=True, slots=True, eq=False)
class SharedObjects:
    """Objects that all keys share, which were computed before the keys are.

    `ranges` are all of each key's domain: it follows from the rows that these objects
    were computed of, which the run need not read.
    """

    names: tuple[str, ...]
    ranges: Mapping[str, KeyedRanges]


class KeyedRun:
    """One run of outputs that have the same keys.

    Computed is what `ranges` ask for, by default all of each key's domain. With
    `states` each key goes on from its own. Without them it can be made again and again,
    by several threads at once. Some inputs may be `shared` objects.
    """

    def __init__(
        self,
        query: Query,
        compile_for: CompileFor,
        inputs: Mapping[str, RowsByKey],
        keys: Keys,
        strings: Strings,
        request: Request,
        options: RunOptions,
        ranges: Mapping[str, KeyedRanges] | None = None,
        states: CallStates | None = None,
        shared: SharedObjects | None = None,
    ) -> None:
        self.states = states
        self.query = query
        self.compile_for = compile_for
        self.inputs = inputs
        self.keys = keys
        self.count = len(keys)
        self.strings = strings
        self.request = request
        self.options = options
        self.costs = options.costs.keys
        layouts = {n: layout_of(rows) for n, rows in inputs.items()}
        check_cells(query, inputs)
        self.kernels = compile_for(layouts)
        self.reach = {n: dict(r) for n, r in self.kernels.query.boundaries}
        self._ranges = ranges
        self._shared = shared
        self._subsets: dict[int, KeyedRun] = {}
        """The runs of keys that are not concatenated, where others are, by the first
        key."""
        self._batches: dict[int, KeyBatch] = {}
        """The batches that later runs make again, by the first key of their task."""
        self.is_first = True
        """True until it was made once."""
        self.vector: KeyVectorRanges | None = None
        self.refusal: Refusal | None = None
        """The reason for the lack of a vector kernel, once tasks are planned."""

    @property
    def rows(self) -> Mapping[str, SnapshotBuffer]:
        """The rows of all keys together, by input."""
        return {
            name: rows.buffer if isinstance(rows, Groups) else rows
            for name, rows in self.inputs.items()
        }

    @property
    def whole(self) -> bool:
        """Return whether all of each key's domain is computed."""
        return self._ranges is None

    @cached_property
    def ranges(self) -> Mapping[str, KeyedRanges]:
        """Return the time ranges of each output for each key."""
        if self._ranges is not None:
            return self._ranges
        if self._shared is not None:
            return self._shared.ranges
        return {name: self._whole(name) for name in self.query.outputs}

    def _whole(self, name: str) -> KeyedRanges:
        definition = self.kernels.query.definition(name)
        assert definition is not None
        seen = [self.inputs[source] for source in self.reach[name]]
        domains = key_domains(definition.tdom, seen, self.count, self.request)
        return KeyedRanges.whole(definition.tdom, domains)

    def run(self) -> Pieces:
        """Compute all outputs' pieces, in order of the keys."""
        if self._is_quick:
            return self.run_tasks(self.tasks)
        return offload(partial(self.run_tasks, self.tasks), self.options.progress)

    @property
    def is_few(self) -> bool:
        """Return whether one batch of sweeps may compute it: few rows, of few keys."""
        options, rows = self.options, sum([each.n for each in self.rows.values()])
        if options.chunk is not None or options.vector is not None:
            return False
        if options.progress is not None or self._shared is not None:
            return False
        most = min(options.costs.run.linear_call_rows, self.costs.many_rows)
        return self.whole and rows < most and not self._starts.are_many(self.count)

    @cached_property
    def _is_quick(self) -> bool:
        """Return whether the caller's thread may do all tasks."""
        visits = 2 * sum(task.rows for task in self.tasks)
        loops = self.kernels.sweep().signature.loops
        return are_quick([sweep_cost(visits, visits, loops)], self.options.costs.run)

    def run_tasks(self, tasks: Sequence[KeyTask]) -> Pieces:
        """Do some tasks, shared among workers."""
        workers, scratch = self._workers, ThreadScratch()
        outputs: dict[int, Pieces] = {}
        most = self.costs.shared_rows
        shared = [n for n, t in enumerate(tasks) if not t.alone or t.rows < most]
        small = sum(tasks[n].rows for n in shared) < self.costs.many_rows
        threads = 1 if small and self.options.workers is None else workers
        done = 0
        each = map_ordered(
            lambda n: self.compute(tasks[n], 1, scratch),
            shared,
            max(1, min(threads, len(shared))),
        )
        with closing(each) as results:
            for number, pieces in zip(shared, results, strict=False):
                outputs[number] = pieces
                done += 1
                self._report(done, len(tasks))
        for number, task in enumerate(tasks):
            if number not in outputs:
                outputs[number] = self.compute(task, workers, scratch)
                done += 1
                self._report(done, len(tasks))
        return {
            name: [
                snapshots
                for number in range(len(tasks))
                for snapshots in outputs[number].get(name, ())
            ]
            for name in self.query.outputs
        }

    def describe(self) -> Iterator[str]:
        """Say which kernels compute the keys, and how many share a batch."""
        tasks = self.tasks
        alone = sum(task.alone for task in tasks)
        joined = [task for task in tasks if task.concatenated]
        if self._shared is not None:
            names = ", ".join(f"~{name}" for name in self._shared.names)
            yield f"shared by all keys, computed before them: {names}"
        batched = sum(len(task.keys) for task in tasks if not task.alone)
        batches = len(tasks) - alone
        yield f"keys in batches: {batched:,} in {batches:,}"
        yield f"keys as runs of their own: {alone:,}"
        if joined:
            yield f"keys concatenated in time: {sum(len(t.keys) for t in joined):,}"
            if not isinstance(self.concatenation, Refusal):
                yield from self.concatenation.describe()
            few = sum(len(task.keys) for task in joined if task.few)
            if few:
                yield f"    of few rows, in vectors of events: {few:,}"
        elif self._starts.are_many(batched):
            refusal, reason = self.concatenation, "they have many rows"
            if isinstance(refusal, Refusal):
                reason = refusal.reason
            yield f"not concatenated in time: {reason}"
        if self.vector is not None:
            keys = quantity(int(np.count_nonzero(self.vector.some)), "key")
            yield f"vector kernel for {keys}"
        elif self.refusal is not None:
            yield f"not vector kernel: {self.refusal.reason}"

    def _report(self, done: int, total: int) -> None:
        if self.options.progress is not None:
            self.options.progress(done, total)

    # -- who does what ----------------------------------------------------------------

    @property
    def _starts(self) -> LoopStarts:
        """The loops that a call of the sweep kernel starts.

        So many at least may start before any keys are concatenated.
        """
        return LoopStarts(len(self.kernels.query.definitions), self.costs.loop_starts)

    @cached_property
    def concatenation(self) -> Concatenation | Refusal:
        """Return the plan to concatenate keys, or the reason why none are."""
        if not self._starts.are_many(self.count):
            return Refusal(f"there are no more than {quantity(self.count, 'key')}")
        if not self.whole or self.states is not None:
            return Refusal("each key is computed over a part of its time")
        if self.options.chunk is not None:
            return Refusal("the caller gives the length of chunks")
        if self.options.vector:
            return Refusal("vector kernels are used wherever they can be")
        return Concatenation.of(
            self.compile_for,
            self.inputs,
            self.request,
            self.strings,
            self.costs,
        )

    @cached_property
    def tasks(self) -> Sequence[KeyTask]:
        """The tasks into which all keys are divided, in order."""
        return tuple(self._plan_tasks())

    def _plan_tasks(self) -> Iterator[KeyTask]:
        concatenation = self.concatenation
        if isinstance(concatenation, Refusal):
            yield from self.plan_apart()
            return
        offsets = concatenation.offsets
        counts, starts, costs = concatenation.counts, concatenation.starts, self.costs
        joined = count_joined(int(offsets[-1] - offsets[0]), self._workers, costs)
        for keys in plan_key_ranges(offsets, counts, starts, costs, joined):
            first, stop = keys.first, keys.stop
            if keys.concatenated:
                rows = int(offsets[stop] - offsets[first])
                numbers = self.keys.numbers[first:stop]
                yield KeyTask(numbers, False, rows, True, keys.few)
            elif stop - first == self.count:
                yield from self.plan_apart()
            else:
                self._subsets[first] = self._subset(first, stop)
                for task in self._subsets[first].plan_apart():
                    yield replace(task, keys=first + task.keys, subset=first)

    def _subset(self, first: int, stop: int) -> "KeyedRun":
        """Make the run of successive keys, each apart from the others."""
        columns = tuple(each.slice(first, stop - first) for each in self.keys.columns)
        return KeyedRun(
            self.query,
            self.compile_for,
            {
                name: rows.of_range(first, stop) if isinstance(rows, Groups) else rows
                for name, rows in self.inputs.items()
            },
            Keys(self.keys.names, columns),
            self.strings,
            self.request,
            replace(self.options, progress=None),
        )

    def plan_apart(self) -> Iterator[KeyTask]:
        """Divide the keys for which something is wanted into tasks, in order."""
        wanted = np.zeros(self.count, np.bool_)
        for ranges in self.ranges.values():
            wanted |= ranges.nonempty
        if not wanted.any():
            return
        key_work = self._key_work()
        own, shared = key_work.count_own(), key_work.count_shared()
        work = own + shared
        alone = (work >= self.costs.shared_rows) | select_long(self.ranges, self.count)
        if self.options.chunk is not None:
            alone |= select_cut(self.ranges, self.count, self.options.chunk)
        vector = self._find_vector_ranges(work, ~alone)
        served = np.zeros(self.count, np.bool_)
        if isinstance(vector, Refusal):
            self.refusal = vector
        else:
            self.vector, served = vector, vector.some
        yield from plan_keys(
            own, wanted, alone, served, self.costs, self._workers, shared
        )

    @property
    def _workers(self) -> int:
        """The number of threads that may share the tasks."""
        return self.options.workers or default_workers()

    def _find_vector_ranges(
        self, work: I64Array, candidates: BoolArray
    ) -> KeyVectorRanges | Refusal:
        """Find where a vector kernel serves keys, if it is worth compiling."""
        if self.options.vector is False:
            return Refusal("the run uses none")
        if not self.whole:
            return Refusal("each key is computed over a part of its time")
        forced = bool(self.options.vector)
        if not forced:
            candidates &= work >= self.costs.vector_rows
            refusal = refuse_vector_keys(work, candidates, self.costs)
            if refusal is not None:
                return refusal
        rows, costs = rows_by_key(self.inputs, self.count), self.options.costs
        domains_of = {name: ranges.domains for name, ranges in self.ranges.items()}
        vector = find_vector_ranges(
            self.kernels, self.inputs, domains_of, rows, candidates, costs
        )
        if vector is None:
            return Refusal("the query has none for such rows")
        if forced:
            return vector
        enough = vector.pays(work, costs.cells_per_row)
        if vector.counts_values:
            enough &= work >= self.costs.counted_rows
        for domains in domains_of.values():
            enough &= vector.high - vector.low >= (domains.end - domains.start) // 2
        vector = vector.only(enough)
        return refuse_vector_keys(work, vector.some, self.costs) or vector

    def _key_work(self) -> KeyWork:
        return KeyWork(
            self.kernels.sweep().signature,
            self.inputs,
            self.ranges,
            self.count,
            self.request,
            self.strings,
        )

    @property
    def beyond_rows(self) -> bool:
        """Return whether a loop may have far more to do than there are rows."""
        return any(loop.beyond_rows for loop in self.kernels.sweep().signature.loops)

    def visits(self) -> dict[str, LoopVisits]:
        """Bound the visits of each loop in all."""
        return self._key_work().visits()

    def compute(self, task: KeyTask, workers: int, scratch: ThreadScratch) -> Pieces:
        """Compute the keys of a task."""
        if task.concatenated:
            most = self.costs.few_rows if task.few else None
            return self._concatenate(task.keys, most, scratch)
        subset = self._subsets.get(task.subset)
        if subset is None:
            made = self._task_apart(task, workers, scratch)
            return {name: [snapshots] for name, snapshots in made.items()}
        local = replace(task, keys=task.keys - task.subset)
        return shift_keys(subset.compute(local, workers, scratch), task.subset)

    def _concatenate(
        self, keys: I64Array, most: int | None, scratch: ThreadScratch
    ) -> Pieces:
        """Compute successive keys: concatenated, if there is time enough for all.

        Each has so many rows at `most`, if that is known.
        """
        concatenation = self.concatenation
        assert not isinstance(concatenation, Refusal)
        made = concatenation.run(keys, scratch.arrays, most)
        if made is not None:
            return {name: [snapshots] for name, snapshots in made.items()}
        middle = len(keys) // 2
        if concatenation.starts.are_many(middle):
            halves = keys[:middle], keys[middle:]
            pieces = [self._concatenate(half, most, scratch) for half in halves]
        else:
            first = int(keys[0])
            subset = self._subset(first, first + len(keys))
            pieces = [shift_keys(subset.run_tasks(list(subset.plan_apart())), first)]
        return {
            name: [snapshots for each in pieces for snapshots in each.get(name, ())]
            for name in self.query.outputs
        }

    def _task_apart(
        self, task: KeyTask, workers: int, scratch: ThreadScratch
    ) -> Mapping[str, KeySnapshots]:
        first = int(task.keys[0])
        if task.alone:
            try:
                return self._alone(first, task.keys, workers)
            except DataError as error:
                raise DataError(str(error), key=self.keys.show(first)) from error
        batch = self._batches.get(first)
        if batch is None:
            batch = self._batch(task)
            if batch.repeated:
                self._batches[first] = batch
        return batch.run(scratch.arrays)

    def _batch(self, task: KeyTask) -> KeyBatch:
        """Make the calls for the keys of a task, which share a batch."""
        vector = self.vector
        return KeyBatch(
            self.kernels.sweep(),
            self.inputs,
            {name: ranges.of(task.keys) for name, ranges in self.ranges.items()},
            task.keys,
            None if vector is None else vector.of(task.keys),
            self.request,
            self.strings,
            None if self.states is None else self.states.of(task.keys),
            repeated=self._repeats_batches,
        )

    @property
    def _repeats_batches(self) -> bool:
        """Return whether other runs may make the same calls, and they are few."""
        if self.vector is not None or self.states is not None:
            return False
        return self.whole and self.count <= self.costs.memoized_keys

    # -- a key with many rows ---------------------------------------------------------

    def _alone(
        self, key: int, numbers: I64Array, workers: int
    ) -> Mapping[str, KeySnapshots]:
        """Compute the outputs of one key as a run of its own."""
        rows = {
            name: by_key.segment(key) if isinstance(by_key, Groups) else by_key
            for name, by_key in self.inputs.items()
        }
        if self.states is not None:
            rows = {name: buffer.as_overlapping() for name, buffer in rows.items()}
        layouts = {name: buffer.abi_layout() for name, buffer in rows.items()}
        ranges = {
            name: each.of_key(key)
            for name, each in self.ranges.items()
            if each.nonempty[key]
        }
        options = replace(self.options, workers=workers, progress=None)
        refusal = refuse_own_vector(
            sum(buffer.n for buffer in rows.values()), self._phases(rows), self.costs
        )
        if self.options.vector is None and refusal is not None:
            options = replace(options, vector=False)
        kernels = self.compile_for(layouts)
        run = TimeRun(
            kernels,
            rows,
            self.strings,
            self.request,
            options,
            ranges,
            states=None if self.states is None else self.states.of_one(key),
        )
        stitchers = {
            name: Stitcher(run.outputs[name].tdom, range_.domain)
            for name, range_ in ranges.items()
        }
        run.stitch(stitchers)
        outputs = {}
        for name, stitcher in stitchers.items():
            of = run.outputs[name].type
            events = [events_of(piece, of) for piece in stitcher.finish()]
            count = np.array([sum(piece.n for piece in events)])
            outputs[name] = KeySnapshots(events, numbers, count, stitcher.carried)
        return outputs

    def _phases(self, rows: Mapping[str, SnapshotBuffer]) -> int:
        """Count the phases of the keys' rows, of a regular input that has most."""
        most = 1
        for name, buffer in rows.items():
            groups = self.inputs[name]
            if isinstance(groups, Groups):
                sampling_grid = find_sampling_grid(buffer, self.options.costs)
                if sampling_grid is not None and sampling_grid.period > 1:
                    most = max(most, phases(groups))
        return most


def shift_keys(pieces: Pieces, first: int) -> Pieces:
    """Number keys that were counted from `first` on from 0 on."""
    return {
        name: [replace(each, numbers=each.numbers + first) for each in snapshots]
        for name, snapshots in pieces.items()
    }


def phases(groups: Groups) -> int:
    """Count the phases in which the keys' regular rows are."""
    if groups.buffer.layout is not TimeLayout.SAMPLED:
        return len(groups.firsts)
    nonempty = groups.nonempty
    return len(distinct(groups.firsts[nonempty] % groups.buffer.period))


def layout_of(rows: RowsByKey) -> Layout:
    """Describe an input, by key or as it is, to specialise a kernel for it."""
    buffer = rows.buffer if isinstance(rows, Groups) else rows
    return buffer.abi_layout()
