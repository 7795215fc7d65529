"""The reorder buffer of an input: rows come as they arrive, and go in order."""

from itertools import pairwise

from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrivals.waiting_rows import (
    ArrowRows,
    RowsInOrder,
    RowsInRuns,
    TimedRows,
    as_table,
)
from tiltpy.runtime.ingest.sort_block import BLOCK_ROWS

RETRIED = 16
"""Runs are left when so many rows for each that waits have been added to them."""

MOST_IDLE_BYTES = 1 << 24
"""Memory of runs that is kept for the next ones."""


class ReorderBuffer:
    """Rows that wait until no row to come can start before them.

    What arrives in order is neither copied nor sorted. Rows that are a little out of
    order are sorted with those that wait and start later, where these are hardly more.
    Where they are, as behind a failure, no row may cost what waits: Impatience sort
    serves until it has one run, and now and then it is asked whether it still must.
    """

    def __init__(self) -> None:
        self._in_order = RowsInOrder()
        self._in_runs = RowsInRuns()
        self._since_moved = 0
        """Rows added since those in order were moved to runs."""

    def __len__(self) -> int:
        """Count the rows that wait."""
        return self._in_order.count + self._in_runs.count

    @property
    def bytes(self) -> int:
        """The bytes of memory that the rows, and what sorts them, take."""
        return self._in_order.bytes + self._in_runs.bytes

    @property
    def first(self) -> int | None:
        """The least start of a row that waits, if there is one."""
        if self._in_order.count:
            return self._in_order.first
        return self._in_runs.first if self._in_runs.count else None

    def add(self, starts: I64Array, rows: ArrowRows) -> None:
        """Add rows in order of arrival, with the starts of their events in ticks.

        None starts before a time up to which rows have been released; all have one
        schema. Starts and rows are not copied, and must not change.
        """
        self.put(TimedRows(starts, as_table(rows)))

    def put(self, added: TimedRows) -> None:
        """Add rows, which may know that their starts ascend."""
        if not len(added.starts):
            return
        if self._in_runs.count:
            self._append_to_runs(added)
        elif self._in_order.accepts(added):
            self._in_order.append(added)
        else:
            self._sort(added)

    def _sort(self, added: TimedRows) -> None:
        """Sort rows block by block, with those that wait and start later.

        Where these are too many, or the rows too few, the rest goes to runs.
        """
        rows = len(added)
        blocks = -(-rows // BLOCK_ROWS)
        for first, stop in pairwise(
            rows * block // blocks for block in range(blocks + 1)
        ):
            block = added.slice(first, stop)
            least = int(block.starts.min())
            if not self._in_order.is_near(block, least):
                self._enter_runs()
                self._append_to_runs(added.slice(first, rows))
                break
            self._in_order.merge(block, least)

    def _append_to_runs(self, added: TimedRows) -> None:
        self._in_runs.append(added)
        self._since_moved += len(added)

    def release(self, time: int) -> list[TimedRows]:
        """Take the rows that start before a time, in the order (start, arrival).

        They come in pieces, one after the other.
        """
        if not self._in_runs.count:
            return self._in_order.release(time)
        released = self._in_runs.release(time)
        many = 1 if self._in_runs.runs <= 1 else RETRIED
        if many * self._in_runs.count <= self._since_moved:
            self._leave_runs()
        return [] if released is None else [released]

    def rows(self) -> list[TimedRows]:
        """Find the rows that wait, in the order (start, arrival), in pieces.

        An empty buffer to which they are added goes on as this one does.
        """
        if self._in_runs.count:
            return [self._in_runs.copy_rows()]
        return self._in_order.pieces

    def take(self) -> list[TimedRows]:
        """Take all rows, in the order (start, arrival), in pieces."""
        rows = self.rows()
        self._in_order.clear()
        if self._in_runs.count:
            self._in_runs.clear()
        return rows

    def _enter_runs(self) -> None:
        self._since_moved = 0
        for piece in self._in_order.pieces:
            self._in_runs.append(piece)
        self._in_order.clear()

    def _leave_runs(self) -> None:
        if self._in_runs.count:
            self._in_order.append(self._in_runs.copy_rows())
        self._in_runs.clear()
        if self._in_runs.bytes > MOST_IDLE_BYTES:
            self._in_runs = RowsInRuns()
