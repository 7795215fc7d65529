"""Rows that have come and nobody has read: batches of a frame, one after the other.

Where a cell needs its own rows alone, those of complete cells are read at once.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrow.parquet_scan import RowBatch
from tiltpy.runtime.ingest.binding import InputBinding

T = TypeVar("T")


class BatchReader(Protocol):
    """Reads batches of rows; errors say where a row comes from."""

    def find_start(self, batch: RowBatch, row: int) -> int:
        """Find the start of a row, in ticks."""

    def disorder(self, column: pa.Array) -> DataError:
        """Make the error of stamps that are not in order."""

    def read_batches(
        self, batches: Sequence[RowBatch], read: Callable[[InputBinding], T]
    ) -> T:
        """Have the rows of batches read together, which are bound to an input."""


@record(frozen=True, slots=True, eq=False)
class UnreadRows:
    """At least one row: the first one starts at `start`, the last one ends at `end`."""

    batches: Sequence[RowBatch]
    reader: BatchReader
    start: int
    end: int

    def __len__(self) -> int:
        """Count the rows."""
        return sum(batch.table.num_rows for batch in self.batches)

    @property
    def nbytes(self) -> int:
        """The bytes of the rows."""
        return sum(int(batch.table.nbytes) for batch in self.batches)

    def bounds(self) -> tuple[int, int]:
        """Return the first start and the last end."""
        return self.start, self.end

    def read(self, read: Callable[[InputBinding], T]) -> T:
        """Have the rows read together."""
        return self.reader.read_batches(self.batches, read)


def join_unread(several: Sequence[UnreadRows]) -> UnreadRows:
    """Put rows behind one another, which nothing is copied for."""
    first, last = several[0], several[-1]
    batches = [batch for rows in several for batch in rows.batches]
    return UnreadRows(batches, first.reader, first.start, last.end)


def split_unread(
    rows: UnreadRows, time: int
) -> tuple[UnreadRows | None, UnreadRows | None]:
    """Split rows into those that start before a time, and the others."""
    for number, batch in enumerate(rows.batches):
        count = batch.table.num_rows

        def find_start(row: int, batch: RowBatch = batch) -> int:
            return rows.reader.find_start(batch, row)

        if find_start(count - 1) < time:
            continue
        row = bisect_left(range(count), time, key=find_start)
        before = list(rows.batches[:number])
        behind = [batch.slice(row, count), *rows.batches[number + 1 :]]
        if row:
            before.append(batch.slice(0, row))
        if not before:
            return None, rows
        first = UnreadRows(before, rows.reader, rows.start, time)
        return first, UnreadRows(behind, rows.reader, find_start(row), rows.end)
    return rows, None
