"""Batches of rows, in the order in which they come: joined, grouped and cut.

A large batch is read by itself; small ones are joined, for which each costs less.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from tiltpy.costs import DEFAULT_COSTS
from tiltpy.errors import DataError
from tiltpy.runtime.arrow.parquet_scan import RowBatch

COSTS = DEFAULT_COSTS.spans


class BatchQueue:
    """Hands batches out, with the columns that are used.

    With `by_chunk` one of several chunks is as many batches.
    """

    def __init__(
        self, batches: Iterator[RowBatch], columns: Sequence[str], *, by_chunk: bool
    ) -> None:
        self._batches = batches
        self._columns = list(columns)
        self._by_chunk = by_chunk
        self._ahead: list[RowBatch] = []

    def collect(self, rows: int) -> list[RowBatch]:
        """Collect small batches that are joined, or take a large one by itself."""
        collected: list[RowBatch] = []
        while rows > 0:
            batch = self._ahead.pop(0) if self._ahead else self._next_batch()
            if batch is None:
                break
            count = batch.table.num_rows
            if collected and is_large(batch):
                self._ahead.insert(0, batch)
                break
            if count > rows + rows // 8:  # a few rows are not worth another batch
                self._ahead.insert(0, batch.slice(rows, count))
                batch = batch.slice(0, rows)
            if count:
                collected.append(batch)
            rows -= count
            if is_large(batch):
                break
        return collected

    def put_back(self, batches: Sequence[RowBatch]) -> None:
        """Put batches before all others."""
        self._ahead = [*batches, *self._ahead]

    def _next_batch(self) -> RowBatch | None:
        """Take the next batch, or the next chunk of it."""
        batch = next(self._batches, None)
        if batch is None:
            return None
        batch = RowBatch(batch.table.select(self._columns), batch.source, batch.first)
        if not self._by_chunk or batch.table.column(0).num_chunks <= 1:
            return batch
        first, parts = 0, []
        for chunk in batch.table.to_batches():
            parts.append(batch.slice(first, first + chunk.num_rows))
            first += chunk.num_rows
        self._ahead = parts[1:]
        return parts[0] if parts else batch


def is_large(batch: RowBatch) -> bool:
    """Tell whether a batch is read by itself."""
    rows: int = batch.table.num_rows
    return rows >= COSTS.apart_rows


def group_small(batches: list[RowBatch]) -> Iterator[list[RowBatch]]:
    """Group batches that are so small that to join them costs less than each does."""
    group: list[RowBatch] = []
    rows = 0
    for batch in batches:
        rows += batch.table.num_rows
        if group and rows > COSTS.grouped_rows:
            yield group
            group, rows = [], batch.table.num_rows
        group.append(batch)
    if group:
        yield group


def join_batches(batches: list[RowBatch]) -> pa.Table | None:
    """Join the rows of all batches to one piece; None without any."""
    if len(batches) < 2:
        return batches[0].table if batches else None
    return pa.concat_tables([batch.table for batch in batches]).combine_chunks()


def skip_rows(batches: list[RowBatch], row: int) -> list[RowBatch]:
    """Take the rows from one on, of as many batches as have some."""
    rest_of = []
    for batch in batches:
        count = batch.table.num_rows
        if row < count:
            rest_of.append(batch.slice(row, count))
        row = max(0, row - count)
    return rest_of


def locate_error(
    batches: Sequence[RowBatch], error: DataError, beyond: int = 0
) -> DataError:
    """Give an error the row's number where it comes from, and the file's name."""
    where = {"input": error.input, "column": error.column}
    message = str(error)[len(str(DataError("", row=error.row, **where))) :]
    row, rest = None, (error.row or 0) + beyond
    for batch in batches:
        if rest < batch.table.num_rows:
            break
        rest -= batch.table.num_rows
    if error.row is not None:
        row = rest + batch.first
    where_from = f"in {batch.source}: " if batch.source else ""
    return DataError(f"{where_from}{message}", row=row, **where)
