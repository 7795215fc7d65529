"""Rows of an input that wait for their order: in order already, or as sorted runs."""

from collections import deque
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrays.block_passes import any_block
from tiltpy.runtime.arrays.dtypes import Steps, Times
from tiltpy.runtime.arrays.steps import StepFinder
from tiltpy.runtime.arrays.time_layout import shift_by_one
from tiltpy.runtime.arrivals.plain_rows import PlainRows, join_plain
from tiltpy.runtime.arrivals.slot_table import SlotTable, take_rows
from tiltpy.runtime.ingest.sort_block import order_block
from tiltpy.runtime.ingest.sorted_runs import SortedRuns

ArrowRows: TypeAlias = pa.Table | pa.RecordBatch
SORTED_ROWS = 2048
"""So many new rows are sorted, whatever they are, where fewer are appended to runs."""
MERGED_ROWS = 1024
"""So many plain rows are sorted with fewer that are new."""
SPARSE = 4
"""Slots are given anew where so many are used for each row that waits, and"""
FEW_SLOTS = 1 << 15
"""so many more: they lie in the processor's cache anyway."""
FIRST_ROWS = 2048
"""Rows that are looked at before all others: most disorder shows in them."""


def as_table(rows: ArrowRows) -> pa.Table:
    """View rows as a table."""
    return rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])


@record(frozen=True, slots=True, eq=False)
class TimedRows:
    """Rows, and the starts of their events.

    The rows are `source`, or those of plain ones from number `first` on. `steps` bounds
    those between starts in order; None where nobody knows that they are.
    """

    starts: Times
    source: pa.Table | PlainRows
    first: int = 0
    steps: Steps | None = None

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def plain(self) -> PlainRows | None:
        """Their source, if it is plain rows without nulls."""
        source = self.source
        is_plain = isinstance(source, PlainRows) and not source.has_nulls
        return source if is_plain else None

    @property
    def rows(self) -> pa.Table:
        """The rows as a table."""
        if isinstance(self.source, PlainRows):
            return self.source.table(self.first, len(self))
        return self.source

    @property
    def nbytes(self) -> int:
        """The bytes of memory that they take."""
        return int(self.starts.nbytes) + int(self.source.nbytes)

    def slice(self, first: int, stop: int) -> "TimedRows":
        """View a range of them."""
        starts = self.starts[first:stop]
        if isinstance(self.source, PlainRows):
            return TimedRows(starts, self.source, self.first + first, self.steps)
        source = self.source.slice(first, stop - first)
        return TimedRows(starts, source, 0, self.steps)

    def cut(self, row: int) -> tuple["TimedRows", "TimedRows"]:
        """Cut them in two in front of a row."""
        return self.slice(0, row), self.slice(row, len(self))


def list_plain(
    pieces: Sequence[TimedRows], *, nulls: bool = False
) -> list[tuple[PlainRows, slice]] | None:
    """List plain rows, by default without nulls; None if others are there."""
    parts = []
    for piece in pieces:
        source = piece.source if nulls else piece.plain
        if not isinstance(source, PlainRows):
            return None
        parts.append((source, slice(piece.first, piece.first + len(piece.starts))))
    return parts


class RowsInOrder:
    """Rows in the order (start, arrival), in pieces that nobody copies."""

    def __init__(self) -> None:
        self._pieces: deque[TimedRows] = deque()
        self._steps = StepFinder()
        self.count = 0

    @property
    def pieces(self) -> list[TimedRows]:
        """The rows that wait."""
        return list(self._pieces)

    @property
    def first(self) -> int:
        """The least start of a row that waits."""
        return int(self._pieces[0].starts[0])

    @property
    def bytes(self) -> int:
        """The bytes of memory that the rows take."""
        return sum(piece.nbytes for piece in self._pieces)

    def accepts(self, rows: TimedRows) -> bool:
        """Tell whether rows ascend, and follow the others."""
        starts = rows.starts
        if self._pieces and starts[0] < self._pieces[-1].starts[-1]:
            return False
        if rows.steps is not None:
            return True
        first = starts[:FIRST_ROWS]
        if (first[1:] < first[:-1]).any():
            return False
        if len(starts) <= FIRST_ROWS:
            return True  # without the passes below, which take longer to begin

        def descends(rows: slice) -> bool:
            return bool((starts[shift_by_one(rows)] < starts[rows]).any())

        return not any_block(descends, len(starts) - 1)

    def append(self, rows: TimedRows) -> None:
        """Put rows in order behind the others."""
        self._pieces.append(rows)
        self.count += len(rows.starts)

    def is_near(self, rows: TimedRows, start: int) -> bool:
        """Tell whether it takes less to sort rows from a start on than to append them.

        That is so if no more of those that wait start later, or if all are plain, as
        few of these are sorted at once.
        """
        most, later = len(rows), 0
        is_few = most < SORTED_ROWS
        if is_few:
            most = MERGED_ROWS
            if rows.plain is None:
                return False
        for piece in reversed(self._pieces):
            if piece.starts[-1] <= start:
                break
            later += len(piece) - int(piece.starts.searchsorted(start, "right"))
            if later > most or (is_few and piece.plain is None):
                return False
        return True

    def merge(self, rows: TimedRows, least: int) -> None:
        """Sort rows in any order, and with them those that wait and start later.

        That is later than `least`, the least start of the rows.
        """
        pieces = [rows]
        while self._pieces and self._pieces[-1].starts[-1] > least:
            last = self._pieces.pop()
            row = int(last.starts.searchsorted(least, "right"))
            if row:
                stays, last = last.cut(row)
                self._pieces.append(stays)
            pieces.append(last)
        pieces.reverse()
        starts = np.concatenate([piece.starts for piece in pieces])
        order = order_block(starts)
        starts = starts.take(order)
        plain = list_plain(pieces)
        source = (
            take_rows([piece.rows for piece in pieces], order)
            if plain is None
            else join_plain(plain).take(order)
        )
        self._pieces.append(TimedRows(starts, source, 0, self._steps.find(starts)))
        self.count += len(rows)

    def release(self, time: int) -> list[TimedRows]:
        """Take the rows that start before a time."""
        released = []
        pieces = self._pieces
        while pieces:
            starts = pieces[0].starts
            row = len(starts)
            if starts[-1] < time:
                released.append(pieces.popleft())
                self.count -= row
                continue
            row = int(starts.searchsorted(time))
            if row:
                first, pieces[0] = pieces[0].cut(row)
                released.append(first)
                self.count -= row
            break
        return released

    def clear(self) -> None:
        """Forget all rows."""
        self._pieces.clear()
        self.count = 0


class RowsInRuns:
    """Rows in slots by arrival, and the sorted runs of their starts."""

    def __init__(self) -> None:
        self._runs = SortedRuns()
        self._table: SlotTable | None = None
        self._checked_at = 0
        """The slots from which on some may be free."""

    @property
    def count(self) -> int:
        """The number of rows that wait."""
        return self._runs.count

    @property
    def runs(self) -> int:
        """The number of sorted runs that they are in."""
        return self._runs.runs

    @property
    def first(self) -> int:
        """The least start of a row that waits."""
        return self._runs.first

    @property
    def bytes(self) -> int:
        """The bytes of memory that rows and runs take."""
        table = 0 if self._table is None else self._table.bytes
        return self._runs.bytes + table

    def append(self, rows: TimedRows) -> None:
        """Give rows the next slots."""
        runs, table = self._runs, self._table
        if table is None:
            table = self._table = SlotTable(rows.rows.schema)
        if not runs.count:
            self.clear()
        elif runs.used >= self._checked_at:
            self._free_slots(table)
        runs.append(rows.starts)
        table.append(rows.rows)

    def _free_slots(self, table: SlotTable) -> None:
        """Let slots serve again: those in front of the first that is in use.

        Where a few rows wait long, all are given new slots.
        """
        runs = self._runs
        first = runs.first_slot
        if first >= runs.used - first:
            table.drop_slots(first)
            runs.drop_slots(first)
        elif runs.used > SPARSE * runs.count + FEW_SLOTS:
            table.renumber(runs.renumber())
        self._checked_at = 2 * runs.used + FEW_SLOTS

    def release(self, time: int) -> TimedRows | None:
        """Take the rows that start before a time, in order; None if there are none."""
        starts, slots = self._runs.release(time)
        if not len(starts):
            return None
        assert self._table is not None
        return TimedRows(starts.copy(), self._table.take(slots))

    def copy_rows(self) -> TimedRows:
        """Copy the rows that wait, in order."""
        assert self._table is not None
        starts, slots = self._runs.sort_all()
        return TimedRows(starts.copy(), self._table.take(slots))

    def clear(self) -> None:
        """Forget all rows."""
        self._runs.clear()
        self._checked_at = FEW_SLOTS
        if self._table is not None:
            self._table.clear()
