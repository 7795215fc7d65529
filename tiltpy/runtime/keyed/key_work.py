"""Bounds on the work of each key, by which keys are divided into batches."""

from collections.abc import Iterator, Mapping

import numpy as np

from tiltpy.abi.signature import Loop, Signature
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.key_domains import (
    KeyedRanges,
    RowsByKey,
    rows_by_key,
)
from tiltpy.runtime.execution.time_domain import LONGEST_CHUNK, Request
from tiltpy.runtime.execution.visit_warnings import LoopVisits
from tiltpy.runtime.keyed.sweep_calls import SweepBatch


@dataclass(frozen=True, slots=True, eq=False)
class KeyWork:
    """The rows of `count` keys, and the visits of a sweep kernel to each of them."""

    signature: Signature
    inputs: Mapping[str, RowsByKey]
    ranges: Mapping[str, KeyedRanges]
    count: int
    request: Request
    strings: Strings

    def count_own(self) -> I64Array:
        """Count the rows of each key, or the cells to visit for it."""
        own = rows_by_key(self.inputs, self.count)
        if self.beyond_rows:
            for loop, visits, again, _ in self._visits():
                if loop.beyond_rows:
                    own = np.maximum(own, np.maximum(visits, again))
        return own

    def count_shared(self) -> int:
        """Count the rows without a key that are passed for each key, one by one.

        At few visits between their changes a loop jumps to those that it reads.
        """
        return sum(
            rows.n
            for name, rows in self.inputs.items()
            if isinstance(rows, SnapshotBuffer) and self._passes(name)
        )

    def _passes(self, name: str) -> bool:
        """Tell whether a loop visits all changes of an input, or folds all its past.

        Of a past of one row it reads the last.
        """
        return any(
            any(name == source for source, _ in loop.changes)
            or any(
                read.object == name and read.is_unbounded and read.rows != 1
                for read in loop.reads
            )
            for loop in self.signature.loops
        )

    @property
    def beyond_rows(self) -> bool:
        """Return whether a loop may have far more to do than there are rows."""
        return any(loop.beyond_rows for loop in self.signature.loops)

    def _visits(self) -> Iterator[tuple[Loop, I64Array, I64Array, I64Array]]:
        """Bound the visits of a loop for each key, and those of rows in its windows.

        The rows are as many as in the middle of its time, first those of inputs, then
        those of other objects.
        """
        signature = self.signature
        every = np.arange(self.count)
        owned = {
            loop.name: self.ranges[loop.name].cells(loop.tdom)
            for loop in signature.loops
            if loop.name in self.ranges
        }
        calls = SweepBatch.of_keys(
            signature, self.inputs, owned, every, self.request, self.strings
        )
        for loop in signature.loops:
            bound = calls.coverage
            again, made = bound.again(loop), bound.again_made(loop)
            yield loop, bound.visits(loop), again, made

    def visits(self) -> dict[str, LoopVisits]:
        """Bound the visits of each loop in all."""
        return {
            loop.name: LoopVisits(
                loop,
                sum(visits.tolist()),
                sum(again.tolist()),
                made=sum(made.tolist()),
            )
            for loop, visits, again, made in self._visits()
        }


def select_long(ranges_of: Mapping[str, KeyedRanges], count: int) -> BoolArray:
    """Select the keys to cut, for differences of times in a kernel to fit."""
    long = np.zeros(count, np.bool_)
    for ranges in ranges_of.values():
        half = ranges.high // 2 - ranges.low // 2
        long |= half > LONGEST_CHUNK // 2
    return long


def select_cut(
    ranges_of: Mapping[str, KeyedRanges], count: int, interval: int
) -> BoolArray:
    """Select the keys that every run cuts at multiples of a given interval."""
    cut = np.zeros(count, np.bool_)
    for ranges in ranges_of.values():
        low, high = ranges.low, ranges.high
        cut |= ranges.nonempty & (low // interval != (high - 1) // interval)
    return cut
