"""Coverage of sweep calls in a run over time: of one chunk, or of many."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from tiltpy.abi.signature import Signature
from tiltpy.costs import RunCosts
from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_numbers import N, least, most
from tiltpy.runtime.execution.row_slices import RowSlices
from tiltpy.runtime.execution.supports import changes_of, support_of
from tiltpy.runtime.execution.time_domain import Cells, OutputRange, Request, cells_of
from tiltpy.runtime.execution.visit_bounds import Coverage
from tiltpy.types import TDom


class RunCoverage:
    """The coverage of calls that own time ranges of a run, of all outputs `wanted`.

    If it `resumes`, they go on from the states of the one before, one by one.
    """

    def __init__(
        self,
        signature: Signature,
        rows: Mapping[str, SnapshotBuffer],
        tdoms: Mapping[str, TDom],
        wanted: Mapping[str, OutputRange],
        request: Request,
        costs: RunCosts,
        *,
        resumed: bool = False,
    ) -> None:
        self._signature = signature
        self._rows = rows
        self._tdoms = tdoms
        self._wanted = wanted
        self._request = request
        self._costs = costs
        self.at_once = costs.round_chunks // 2
        """Chunks that are prepared together, at most."""
        self._support = support_of(signature, rows, request)
        self._changes = changes_of(signature, rows, request)
        self._known: dict[tuple[int, int], Coverage[int]] = {}
        self._known_columns: list[tuple[Times, Times, Coverage[I64Array]]] = []
        self._resumed_from: int | None = None
        if resumed:
            self._resumed_from = self._find_first_states()

    @property
    def resumes(self) -> bool:
        """Return whether calls go on from states."""
        return self._resumed_from is not None

    def _find_first_states(self) -> int:
        """Find the first time at which all loops that fold on have left states."""
        low = min(range_.low for range_ in self._wanted.values())
        high = max(range_.high for range_ in self._wanted.values())
        extents = self._cover(0, low, high).extents
        for loop in self._signature.loops:
            first, last = extents[loop.name]
            if loop.is_unbounded and first <= last:
                low = max(low, first)
        return low

    def of(self, low: int, high: int) -> Coverage[int]:
        """Return the coverage of a call that owns the time range `(low, high]`.

        Who cuts chunks asks first, and then who makes the calls.
        """
        known = self._known.get((low, high))
        if known is None:
            known = self._known[low, high] = self._cover(0, low, high)
        return known

    def over(self, rows: Mapping[str, SnapshotBuffer]) -> "RunCoverage":
        """Return the coverage of calls over other rows, not resumed."""
        return RunCoverage(
            self._signature,
            rows,
            self._tdoms,
            self._wanted,
            self._request,
            self._costs,
        )

    def before(self, time: int) -> Coverage[int]:
        """Return what a call covers that owns the last cells before a time."""
        longest = max(tdom.longest for tdom in self._tdoms.values())
        return self.of(time - longest, time)

    def works(self, cuts: Times) -> list[int]:
        """A bound on the visits of each chunk between two cuts."""
        low, high = cuts[:-1], cuts[1:]
        if self.resumes or len(low) < self._costs.column_chunks:
            times = cuts.tolist()
            return [self.of(start, end).work for start, end in pairwise(times)]
        works: list[int] = []
        for first in range(0, len(low), self.at_once):
            together = slice(first, first + self.at_once)
            works += self._columns(low[together], high[together]).work.tolist()
        return works

    def _columns(self, low: Times, high: Times) -> Coverage[I64Array]:
        """Cover the chunks `(low[k], high[k]]`, memoised for the calls that follow."""
        for known_low, known_high, coverage in self._known_columns:
            if np.array_equal(known_low, low) and np.array_equal(known_high, high):
                return coverage
        coverage = self._cover(np.zeros_like(low), low, high)
        if len(self._known_columns) < self._costs.memoized_columns:
            self._known_columns.append((low, high, coverage))
        return coverage

    def of_chunks(
        self, low: Times, high: Times
    ) -> Iterator[Coverage[int] | Coverage[I64Array]]:
        """Cover those chunks `(low[k], high[k]]` that own any cells, in order."""
        if self.resumes or len(low) < self._costs.column_chunks:
            for start, end in zip(low.tolist(), high.tolist(), strict=True):
                coverage = self.of(start, end)
                if coverage.cells:
                    yield coverage
            return
        for first in range(0, len(low), self.at_once):
            together = slice(first, first + self.at_once)
            yield from self._of_many(low[together], high[together])

    def _of_many(self, low: Times, high: Times) -> Iterator[Coverage[I64Array]]:
        """Cover some chunks, in several parts where they could write much."""
        owning = np.zeros(len(low), np.bool_)
        for cells in self._cells(low, high).values():
            owning |= cells.some
        if not owning.all():
            low, high = low[owning], high[owning]
        if not len(low):
            return
        coverage = self._columns(low, high)
        written = np.zeros_like(low)
        for name in coverage.cells:
            written += coverage.capacity[name]
        batch = (written.cumsum() - 1) // self._costs.round_snapshots
        cuts = 1 + np.flatnonzero(batch[1:] != batch[:-1])
        if not len(cuts):
            yield coverage
            return
        for chunks in np.split(np.arange(len(low)), cuts):
            yield self._cover(
                np.zeros(len(chunks), np.int64), low[chunks], high[chunks]
            )

    def _cover(self, zero: N, low: N, high: N) -> Coverage[N]:
        rows = {
            name: RowSlices.all_of(buffer, zero) for name, buffer in self._rows.items()
        }
        cells = {
            name: owned
            for name, owned in self._cells(low, high).items()
            if not isinstance(owned.some, bool) or owned.some
        }
        return Coverage(
            self._signature,
            zero,
            rows,
            cells,
            self._request,
            self._support,
            self._changes,
            resumed=self._resumed_from is not None
            and isinstance(low, int)
            and self._resumed_from <= low,
        )

    def _cells(self, low: N, high: N) -> dict[str, Cells[N]]:
        """The cells of each output that calls own over `(low, high]`."""
        return {
            name: cells_of(
                self._tdoms[name],
                range_.domain,
                most(low, range_.low),
                least(high, range_.high),
            )
            for name, range_ in self._wanted.items()
        }
