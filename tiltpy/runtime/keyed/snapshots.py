"""The snapshots that many keys have of an output, key after key, cut to their domains.

What `stitch` does for the pieces of one output is done here for all keys together.
"""

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.arrays.masks import are_all, is_any
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.execution.key_domains import Domains
from tiltpy.runtime.ingest.drop_nulls import keep_values


@record(frozen=True, slots=True, eq=False)
class KeyedSnapshots:
    """Some snapshots, of which the next `counts[k]` are those of key `k`.

    `shared`: the times may be an input's own, which are never written.
    """

    starts: Times
    ends: Times
    columns: tuple[Column, ...]
    counts: I64Array
    shared: bool = False

    def buffer(self, *, row_object: bool = False) -> SnapshotBuffer:
        """All of them; only those of one key are in order."""
        layout = TimeLayout.OVERLAPPING if row_object else TimeLayout.INTERVALS
        return SnapshotBuffer(
            layout,
            len(self.starts),
            0,
            1,
            self.starts,
            self.ends,
            self.columns,
            fifo=not row_object,
            row_object=row_object,
        )

    def keep(self, mask: BoolArray) -> "KeyedSnapshots":
        """Keep those that a mask selects."""
        if are_all(mask):
            return self
        stops = mask.nonzero()[0].searchsorted(self.counts.cumsum())
        counts = stops.copy()
        counts[1:] -= stops[:-1]
        columns = tuple(keep_values(column, mask) for column in self.columns)
        return KeyedSnapshots(self.starts[mask], self.ends[mask], columns, counts)

    def _keys(self) -> I64Array:
        return np.arange(len(self.counts)).repeat(self.counts)

    def drop_nulls(self) -> "KeyedSnapshots":
        """Drop those of a scalar whose value is null: they are no snapshots."""
        (column,) = self.columns
        if column.validity is None:
            return self
        return self.keep(column.valid(len(self.starts)))

    def keep_overlapping(self, low: Times, high: Times) -> "KeyedSnapshots":
        """Keep those that overlap their key's time range `(low[k], high[k]]`."""
        keys = self._keys()
        return self.keep((self.ends > low[keys]) & (self.starts < high[keys]))

    def cut(self, domains: Domains) -> "KeyedSnapshots":
        """Cut each key's first and last one to its domain."""
        nonempty = self.counts.nonzero()[0]
        stops = self.counts.cumsum()[nonempty]
        begins, finals = stops - self.counts[nonempty], stops - 1
        start, end = domains.start[nonempty], domains.end[nonempty]
        starts, ends = self.starts, self.ends
        if not (is_any(starts[begins] < start) or is_any(ends[finals] > end)):
            return self
        if self.shared:
            starts, ends = starts.copy(), ends.copy()
        starts[begins] = np.maximum(starts[begins], start)
        ends[finals] = np.minimum(ends[finals], end)
        return KeyedSnapshots(starts, ends, self.columns, self.counts)
