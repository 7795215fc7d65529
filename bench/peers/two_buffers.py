"""A sorted buffer and an unsorted one, in numpy: how any sort becomes incremental.

New rows gather in the unsorted buffer. When rows are to be released, it is sorted and
merged with the sorted one, all of which is written again.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.runtime.arrivals.waiting_rows import TimedRows

Columns = list[NDArray[np.generic]]
"""The starts of rows, then their columns."""


class TwoBuffers:
    """Rows of numbers that wait, with the interface of `ReorderBuffer`."""

    def __init__(self) -> None:
        self._schema = pa.schema([])
        self._new: list[Columns] = []
        self._sorted: Columns = []

    def add(self, starts: NDArray[np.int64], rows: pa.Table) -> None:
        """Put rows into the unsorted buffer."""
        self._schema = rows.schema
        columns = [column.chunk(0).to_numpy() for column in rows.columns]
        self._new.append([starts, *columns])

    def release(self, time: int) -> list[TimedRows]:
        """Take the rows that start before a time, in order."""
        if self._new:
            self._sort()
        count = int(self._sorted[0].searchsorted(time))
        starts, *columns = (column[:count] for column in self._sorted)
        self._sorted = [column[count:] for column in self._sorted]
        if not count:
            return []
        arrays = [pa.array(column) for column in columns]
        rows = pa.Table.from_arrays(arrays, schema=self._schema)
        return [TimedRows(starts.view(np.int64), rows)]

    def _sort(self) -> None:
        new = [np.concatenate(parts) for parts in zip(*self._new, strict=True)]
        self._new = []
        order = np.argsort(new[0], kind="stable")
        new = [column[order] for column in new]
        self._sorted = _merge(self._sorted, new) if self._sorted else new


def _merge(waiting: Columns, new: Columns) -> Columns:
    """Merge two sorted buffers; those that wait come first where starts are equal."""
    places = waiting[0].searchsorted(new[0], "right") + np.arange(len(new[0]))
    from_waiting = np.ones(len(waiting[0]) + len(new[0]), np.bool_)
    from_waiting[places] = False
    merged = []
    for old, added in zip(waiting, new, strict=True):
        column = np.empty(len(from_waiting), old.dtype)
        column[places] = added
        column[from_waiting] = old
        merged.append(column)
    return merged
