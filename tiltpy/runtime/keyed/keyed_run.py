"""A run by key: the rows of each key are temporal objects of their own.

Small keys are evaluated in batches (`key_batch`): by the sweep kernel, and by a vector
kernel where their rows are sampled or short. A key with very many rows, or with many
that no vector kernel serves, is a `TimeRun` of its own, with its own chunks. Workers
share batches and keys; a key with as many rows as all of them can share is computed by
all together, so that one hot key keeps nobody waiting. How a key is evaluated depends
on the data alone, never on the number of workers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.abi.signature import Loop
from tiltpy.errors import DataError
from tiltpy.ir.nodes import Query
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array
from tiltpy.runtime.arrays.pool import ThreadScratch
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.concurrency.offload import offload
from tiltpy.runtime.concurrency.workers import map_ordered
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.key_domains import (
    Domains,
    RowsByKey,
    cells_by_key,
    key_domains,
    rows_by_key,
)
from tiltpy.runtime.execution.quick_work import are_quick, sweep_cost
from tiltpy.runtime.execution.stitch import events_of
from tiltpy.runtime.execution.time_domain import LONGEST_CHUNK, OutputRange, Request
from tiltpy.runtime.execution.time_run import RunOptions, TimeRun, default_workers
from tiltpy.runtime.execution.vector_range import find_sampling_grid
from tiltpy.runtime.execution.visit_warnings import LoopVisits
from tiltpy.runtime.ingest.keys import Groups, Keys
from tiltpy.runtime.keyed.key_batch import KeyBatch
from tiltpy.runtime.keyed.sweep_calls import SweepBatch
from tiltpy.runtime.keyed.vector_ranges import KeyVectorRanges, find_vector_ranges
from tiltpy.runtime.results.key_columns import KeySnapshots

Pieces = dict[str, list[KeySnapshots]]
CompileFor = Callable[[Mapping[str, Layout]], Kernels]

MANY = 1 << 15
"""Rows, or cells of a loop over all of them, from which on a key is a run of its own,
unless a vector kernel serves it: to start one takes as long as some thousand rows. As
many must be served in all."""
ALL_WORKERS = 1 << 21
"""Rows from which on all workers share a key."""
BATCH_ROWS = 1 << 17
BATCH_KEYS = 1 << 12
"""How much goes into a batch, at most: so that its arrays stay in the cache."""
LEAST = 1 << 8
"""Rows from which on a key may be served by a vector kernel: it goes over the halo of
each key, and leaves its edges to calls of the sweep kernel."""
FASTER = 1 << 3
"""How many times as many rows it visits in some time."""
FEW_PHASES = 4
"""Regular rows of so many different phases get a vector kernel for each."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyTask:
    """Some keys: a batch of small ones, or one with many rows."""

    keys: I64Array
    alone: bool
    rows: int


class KeyedRun:
    """One run of outputs that have the same keys."""

    def __init__(
        self,
        query: Query,
        compile_for: CompileFor,
        inputs: Mapping[str, RowsByKey],
        keys: Keys,
        strings: Strings,
        request: Request,
        options: RunOptions,
    ) -> None:
        self.query = query
        self.compile_for = compile_for
        self.inputs = inputs
        self.keys = keys
        self.count = len(keys)
        self.strings = strings
        self.request = request
        self.options = options
        layouts = {n: layout_of(rows) for n, rows in inputs.items()}
        self.kernels = compile_for(layouts)
        self.reach = {n: dict(r) for n, r in self.kernels.query.boundaries}
        self.domains = {name: self._domains(name) for name in query.outputs}
        self.grids: KeyVectorRanges | None = None
        self.scratch = ThreadScratch()

    def _domains(self, name: str) -> Domains:
        definition = self.kernels.query.definition(name)
        assert definition is not None
        seen = [self.inputs[one] for one in self.reach[name]]
        return key_domains(definition.tdom, seen, self.count, self.request)

    def run(self) -> Pieces:
        """All outputs' pieces, in order of the keys."""
        tasks = list(self._tasks())
        visits = 2 * sum(task.rows for task in tasks)
        if are_quick([sweep_cost(visits, visits)]):
            return self._run(tasks)
        return offload(partial(self._run, tasks), self.options.progress)

    def _run(self, tasks: Sequence[KeyTask]) -> Pieces:
        workers = self.options.workers or default_workers()
        found: dict[int, Mapping[str, KeySnapshots]] = {}
        shared = [n for n, t in enumerate(tasks) if t.rows < ALL_WORKERS]
        small = sum(tasks[n].rows for n in shared) < MANY
        most = 1 if small and self.options.workers is None else workers
        done = 0
        each = map_ordered(
            lambda n: self._task(tasks[n], 1), shared, max(1, min(most, len(shared)))
        )
        with closing(each) as results:
            for number, pieces in zip(shared, results, strict=False):
                found[number] = pieces
                done += 1
                self._report(done, len(tasks))
        for number, task in enumerate(tasks):
            if number not in found:
                found[number] = self._task(task, workers)
                done += 1
                self._report(done, len(tasks))
        return {
            name: [found[n][name] for n in range(len(tasks)) if name in found[n]]
            for name in self.query.outputs
        }

    def _report(self, done: int, total: int) -> None:
        if self.options.progress is not None:
            self.options.progress(done, total)

    # -- who does what ----------------------------------------------------------------

    def _tasks(self) -> Iterator[KeyTask]:
        """The keys for which something is wanted, in order."""
        wanted = np.zeros(self.count, np.bool_)
        for domains in self.domains.values():
            wanted |= domains.wanted
        keys = np.flatnonzero(wanted)
        if not len(keys):
            return
        work = self._work()
        forced = (work >= ALL_WORKERS) | self._long()
        if self.options.chunk is not None:
            forced |= self._cut(self.options.chunk)
        self.grids = self._grids(work, ~forced)
        served = np.zeros(self.count, np.bool_)
        if self.grids is not None:
            served = self.grids.some
        alone = (forced | (work >= MANY) & ~served)[keys]
        cost = np.where(served, work // FASTER, work)[keys]
        share = np.maximum(cost, BATCH_ROWS // BATCH_KEYS)
        batch = np.where(alone, 0, share).cumsum() // BATCH_ROWS
        new = alone[1:] | alone[:-1] | (batch[1:] != batch[:-1])
        for part in np.split(np.arange(len(keys)), np.flatnonzero(new) + 1):
            rows = int(work[keys[part]].sum())
            yield KeyTask(keys[part], bool(alone[part[0]]), rows)

    def _grids(self, work: I64Array, candidates: BoolArray) -> KeyVectorRanges | None:
        """Where a vector kernel serves keys, if it is worth compiling."""
        if self.options.vector is False:
            return None
        if not self.options.vector:
            candidates &= work >= LEAST
            if work[candidates].sum() < MANY:
                return None
        rows = rows_by_key(self.inputs, self.count)
        found = find_vector_ranges(
            self.kernels, self.inputs, self.domains, rows, candidates
        )
        if found is None or self.options.vector:
            return found
        enough = found.pays(work)
        for one in self.domains.values():
            enough &= found.high - found.low >= (one.end - one.start) // 2
        found = found.only(enough)
        return found if work[found.some].sum() >= MANY else None

    def _work(self) -> I64Array:
        """How many rows, or cells, there are to visit for each key."""
        work = rows_by_key(self.inputs, self.count)
        for rows in self.inputs.values():
            if isinstance(rows, SnapshotBuffer):
                work += rows.n
        if self.beyond_rows:
            for loop, visits, again, _ in self._visits():
                if loop.beyond_rows:
                    work = np.maximum(work, np.maximum(visits, again))
        return work

    @property
    def beyond_rows(self) -> bool:
        """Whether a loop may have far more to do than there are rows."""
        loops = self.kernels.sweep().signature.loops
        return any(loop.beyond_rows for loop in loops)

    def _visits(self) -> Iterator[tuple[Loop, I64Array, I64Array, I64Array]]:
        """How many visits a loop makes for each key, and of rows in its windows.

        At most; of rows as many as there are in the middle of its time, first of those
        of inputs, then of other objects.
        """
        signature = self.kernels.sweep().signature
        every = np.arange(self.count)
        owned = {
            loop.name: cells_by_key(loop.tdom, self.domains[loop.name])
            for loop in signature.loops
            if loop.name in self.domains
        }
        calls = SweepBatch(
            signature, self.inputs, owned, every, self.request, self.strings
        )
        for loop in signature.loops:
            bound = calls.coverage
            again, made = bound.again(loop), bound.again_made(loop)
            yield loop, bound.visits(loop), again, made

    def visits(self) -> dict[str, LoopVisits]:
        """How many visits each loop makes in all, at most."""
        return {
            loop.name: LoopVisits(
                loop,
                sum(visits.tolist()),
                sum(again.tolist()),
                made=sum(made.tolist()),
            )
            for loop, visits, again, made in self._visits()
        }

    def _long(self) -> BoolArray:
        """Which keys must be cut, for differences of times in a kernel to fit."""
        long = np.zeros(self.count, np.bool_)
        for domains in self.domains.values():
            half = domains.end // 2 - domains.start // 2
            long |= half > LONGEST_CHUNK // 2
        return long

    def _cut(self, interval: int) -> BoolArray:
        """Which keys are cut, as every run is at multiples of a given interval."""
        cut = np.zeros(self.count, np.bool_)
        for domains in self.domains.values():
            start, end = domains.start, domains.end
            cut |= (start < end) & (start // interval != (end - 1) // interval)
        return cut

    def _task(self, task: KeyTask, workers: int) -> Mapping[str, KeySnapshots]:
        if task.alone:
            key = int(task.keys[0])
            try:
                return self._alone(key, task.keys, workers)
            except DataError as error:
                raise DataError(str(error), key=self.keys.show(key)) from error
        grids = self.grids
        batch = KeyBatch(
            self.kernels.sweep(),
            self.inputs,
            {name: one.of(task.keys) for name, one in self.domains.items()},
            task.keys,
            None if grids is None else grids.of(task.keys),
            self.request,
            self.strings,
        )
        return batch.run(self.scratch.arrays)

    # -- a key with many rows ---------------------------------------------------------

    def _alone(
        self, key: int, numbers: I64Array, workers: int
    ) -> Mapping[str, KeySnapshots]:
        """The outputs of one key, computed as a run of its own."""
        rows = {
            name: one.segment(key) if isinstance(one, Groups) else one
            for name, one in self.inputs.items()
        }
        layouts = {name: one.abi_layout() for name, one in rows.items()}
        ranges = {}
        for name, domains in self.domains.items():
            domain = domains.one(key)
            if not domain.is_empty:
                definition = self.kernels.query.definition(name)
                assert definition is not None
                high = definition.tdom.ceil(domain.end)
                ranges[name] = OutputRange(domain, domain.start, high)
        options = replace(self.options, workers=workers, progress=None)
        if self.options.vector is None and not self._pays(rows):
            options = replace(options, vector=False)
        kernels = self.compile_for(layouts)
        job = TimeRun(kernels, rows, self.strings, self.request, options, ranges)
        found = {}
        for name, pieces in job.run().items():
            definition = self.query.definition(name)
            assert definition is not None
            own = [events_of(piece, definition.type) for piece in pieces]
            count = np.array([sum(piece.n for piece in own)])
            found[name] = KeySnapshots(own, numbers, count)
        return found

    def _pays(self, rows: Mapping[str, SnapshotBuffer]) -> bool:
        """Whether a vector kernel for a key's rows is worth compiling.

        Regular rows need one for each phase that they are in.
        """
        if sum(one.n for one in rows.values()) >= ALL_WORKERS:
            return True
        for name, one in rows.items():
            sampling_grid = find_sampling_grid(one)
            if sampling_grid is not None and sampling_grid.period > 1:
                groups = self.inputs[name]
                if isinstance(groups, Groups) and phases(groups) > FEW_PHASES:
                    return False
        return True


def phases(groups: Groups) -> int:
    """In how many phases the keys' regular rows are."""
    if groups.buffer.layout is not TimeLayout.SAMPLED:
        return len(groups.firsts)
    some = groups.offsets[1:] > groups.offsets[:-1]
    return len(np.unique(groups.firsts[some] % groups.buffer.period))


def layout_of(rows: RowsByKey) -> Layout:
    """What a kernel is specialised for that reads an input by key, or as it is."""
    buffer = rows.buffer if isinstance(rows, Groups) else rows
    return buffer.abi_layout()
