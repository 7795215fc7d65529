"""The chunks of a run: where its time is cut, and which kernel computes each."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from tiltpy.abi.signature import Signature
from tiltpy.costs import RunCosts
from tiltpy.errors import DataError
from tiltpy.plan.run_plan import ChunkRule
from tiltpy.runtime.arrays.distinct import distinct
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.chunk_sizing import (
    is_overfull,
    lengthen,
    split,
    sweep_interval,
    vector_interval,
)
from tiltpy.runtime.execution.row_slices import TimeRanges
from tiltpy.runtime.execution.run_coverage import RunCoverage
from tiltpy.runtime.execution.time_domain import cut_chunks
from tiltpy.runtime.execution.vector_range import VectorRange, last_seam
from tiltpy.runtime.execution.visit_bounds import MAX_CELLS, Coverage

Chunks = Coverage[int] | Coverage[I64Array] | TimeRanges
"""What calls of the sweep kernel cover, or time ranges for the vector kernel."""


class RunChunks:
    """Cuts a time range `(low, high]` into chunks by a rule.

    `interval` is what the caller gives, if anything, in ticks. Chunks in the range of
    the `vector` kernel are for it, those beside it for the sweep kernel. Several
    workers have them `shared` out.
    """

    def __init__(
        self,
        signature: Signature,
        coverage: RunCoverage,
        rows: Mapping[str, SnapshotBuffer],
        vector: VectorRange | None,
        rule: ChunkRule,
        interval: int | None,
        costs: RunCosts,
        *,
        shared: bool = True,
    ) -> None:
        self.signature = signature
        self.coverage = coverage
        self.rows = rows
        self.vector = vector
        self.rule = rule
        self.interval = interval
        self.costs = costs
        self.shared = shared

    def work(self, low: int, high: int) -> int:
        """Bound the visits in a chunk, by the kernel that computes most of it."""
        if self.vector is not None:
            return self.vector.aligned_range.visits(high - low)
        return self.coverage.of(low, high).work

    def cut(self, low: int, high: int) -> Times:
        """Find the times at which chunks begin and end."""
        edges = [] if self.vector is None else [self.vector.low, self.vector.high]
        every_cell = self._visits_every_cell(low, high)
        carried = self.coverage.resumes
        if not carried and any(loop.is_unbounded for loop in self.signature.loops):
            # Each chunk would fold all that was before it.
            return np.array([low, high], np.int64)
        cuts = cut_chunks(
            low,
            high,
            self._find_interval(low, high),
            edges,
            self.rows,
            most=self.costs.carried_chunks if carried else self.costs.most_chunks,
            every_cell=every_cell,
            phase=self._phase(),
        )
        cuts = self._align(cuts)
        if self.rule is not ChunkRule.WORK:
            return cuts
        ranked = self._keeps_structures()
        more = [
            cut
            for (start, end), work in zip(
                pairwise(cuts.tolist()), self.coverage.works(cuts), strict=True
            )
            if is_overfull(work, self.costs, ranked=ranked)
            for cut in split(
                start, end, self.work, self.rows, self.costs, ranked=ranked
            )
        ]
        if not more:
            return cuts
        return np.sort(np.concatenate((cuts, np.array(more, np.int64))))

    def _keeps_structures(self) -> bool:
        """Return whether a loop keeps structures of windows."""
        return any(loop.structures for loop in self.signature.loops)

    def _align(self, cuts: Times) -> Times:
        """Move cuts in the vector kernel's range to where its calls may begin."""
        if self.vector is None:
            return cuts
        inside = (self.vector.low < cuts) & (cuts < self.vector.high)
        seams = last_seam(self.vector.aligned_range, cuts)
        seams = np.maximum(seams, self.vector.low)
        return distinct(np.where(inside, seams, cuts))

    def _phase(self) -> int:
        """Find a phase by which all chunks of a vector kernel but one are as long."""
        if self.rule is not ChunkRule.VECTOR:
            return 0
        assert self.vector is not None
        return self.vector.call_low

    def _find_interval(self, low: int, high: int) -> int | None:
        match self.rule:
            case ChunkRule.VECTOR:
                assert self.vector is not None
                return vector_interval(
                    self.vector, self.rows, self.costs, shared=self.shared
                )
            case ChunkRule.GIVEN:
                assert self.interval is not None
                limit = max(self.costs.repeated_visits, self.work(low, high))
                return lengthen(self.interval, low, high, self.work, limit, self.costs)
            case ChunkRule.WORK:
                return sweep_interval(
                    low,
                    high,
                    self.work,
                    self.rows,
                    self.costs,
                    ranked=self._keeps_structures(),
                    shared=self.shared,
                )

    def _visits_every_cell(self, low: int, high: int) -> bool:
        """Return whether a loop visits every cell; `DataError` if they are too many."""
        any_cell = False
        for loop in self.signature.loops:
            if loop.every_cell:
                cells = self.coverage.of(low, high).visits(loop)
                if cells > MAX_CELLS:
                    why = "sees where windows cut rows" if loop.cut else ""
                    raise DataError(
                        f"~{loop.name} {why or 'uses t as a number'} and so has a "
                        f"snapshot in each of {cells:,} cells, more than 2**36; give "
                        "it a coarser precision, or cut the run with start= and end="
                    )
                any_cell = any_cell or cells > 0
        return any_cell

    def of(self, low: Times, high: Times, fit: BoolArray | None) -> Iterator[Chunks]:
        """Yield the chunks `(low[k], high[k]]` in order, some of one kernel together.

        Those that `fit` are for the vector kernel, if there is one.
        """
        if fit is None:
            yield from self.coverage.of_chunks(low, high)
            return
        at_once = self.coverage.at_once
        turns = (1 + np.flatnonzero(fit[1:] != fit[:-1])).tolist()
        for first, stop in zip([0, *turns], [*turns, len(fit)], strict=True):
            if fit[first]:
                for begin in range(first, stop, at_once):
                    together = slice(begin, min(begin + at_once, stop))
                    yield low[together], high[together]
            else:
                yield from self.coverage.of_chunks(low[first:stop], high[first:stop])
