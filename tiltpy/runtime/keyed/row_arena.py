"""Rows by key code that wait between two evaluations, in one array for each column.

Rows are put behind all others, and those that were taken stay as garbage until there is
as much of it as there are rows: then the rows are written anew. So each row is copied a
few times, whatever the number of keys, and to take some keys' rows is one gather.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.routines.catalogue import DROP_ROWS, JOIN_ROWS
from tiltpy.routines.prepared_call import PreparedCall
from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.runtime.arrays.pool import empty_times
from tiltpy.runtime.ingest.ungrouped_rows import UngroupedRows
from tiltpy.runtime.keyed.join import no_rows
from tiltpy.runtime.keyed.payload_table import PayloadTable
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.types import Type, columns

INTERVALS, OVERLAPPING = TimeLayout.INTERVALS, TimeLayout.OVERLAPPING
FEW_ROWS = 1 << 12
"""Rows of garbage that may stay; more do where there are very many keys."""
KEYS_PER_ROW = 8
"""Keys to look through for each row of garbage, at most."""


class RowArena:
    """The rows of each key that has any, by its code. None has strings."""

    def __init__(self, payload: Type) -> None:
        self.payload = payload
        self._used = 0
        self._live = 0
        """Rows that were not taken, among those in use."""
        self._times: list[Times] = [empty_times(0), empty_times(0)]
        self._values = PayloadTable(payload)
        self._join = PreparedCall.of(JOIN_ROWS, 13)
        self._drop = PreparedCall.of(DROP_ROWS, 4)
        self._rows = np.zeros((0, 2), np.int64)
        """The first row of each code, and how many it has."""

    def __len__(self) -> int:
        """Count the rows in memory."""
        return self._used

    def grow(self, codes: int) -> None:
        """Make room for the codes below a number."""
        missing = codes - len(self._rows)
        if missing > 0:
            room = np.zeros((max(missing, len(self._rows)), 2), np.int64)
            self._rows = np.concatenate([self._rows, room])

    def select(self, codes: I64Array) -> KeyedSnapshots:
        """Return the rows of some keys, in the order of the codes; they stay there."""
        firsts, counts = self._rows[codes, 0], self._rows[codes, 1]
        stops = counts.cumsum()
        total = int(stops[-1]) if len(codes) else 0
        if not total:
            return no_rows(self.payload, len(codes))
        begins: I64Array = stops - counts
        rows = (firsts - begins).repeat(counts)
        rows += np.arange(total)
        starts, ends = [times[rows] for times in self._times]
        return KeyedSnapshots(starts, ends, self._values.take(rows), counts)

    def save(self) -> dict[str, object]:
        """Make what `restore` takes."""
        codes = self._rows[:, 1].nonzero()[0]
        return {"codes": codes, "rows": self.select(codes)}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take over saved rows; there is room for their codes, and none are there."""
        self.put(saved["codes"], saved["rows"])

    def take(self, codes: I64Array) -> KeyedSnapshots:
        """Take the rows of some keys out, in the order of the codes."""
        rows = self.select(codes)
        self.drop(codes)
        return rows

    def drop(self, codes: I64Array) -> None:
        """Forget the rows of some keys."""
        _, count, *_ = self._drop(len(codes), 0, codes, self._rows)
        self._live -= count
        if not self._live:
            self._used = 0

    def join(
        self,
        codes: I64Array,
        came: Sequence[tuple[I64Array, UngroupedRows]],
        keys_of: I64Array,
        edges: I64Array,
    ) -> tuple[KeyedSnapshots, TimeLayout, bool]:
        """Take the rows of some keys out, with those behind them that came.

        `came` has the code of the key of each row, `keys_of` the number of each code.
        The columns of `edges` are written, as by the routine. With the rows comes their
        layout as intervals, and whether their ends are in order.
        """
        count = sum(len(rows) for _, rows in came)
        # To count the rows of the keys takes longer than a few rows too many.
        held = self._live if self._live <= count else int(self._rows[codes, 1].sum())
        self._append(came, count)
        joined = np.empty((4, held + count), np.int64)
        facts = np.empty(3, np.int64)
        of_rows = [each for each, _ in came] or [codes[:0]]
        of_row = of_rows[0] if len(of_rows) == 1 else np.concatenate(of_rows)
        self._join(
            *(len(codes), count, self._used),
            *(codes, of_row, keys_of, *self._times, self._rows),
            *(edges, joined, held + count, facts),
        )
        overlaps, is_out_of_order, total = facts.tolist()
        numbers, starts, ends = joined[:3, :total]
        self._live -= total - count
        if not self._live:
            self._used = 0
        rows = KeyedSnapshots(starts, ends, self._values.take(numbers), edges[1])
        return rows, OVERLAPPING if overlaps else INTERVALS, not is_out_of_order

    def _append(
        self, came: Sequence[tuple[I64Array, UngroupedRows]], count: int
    ) -> None:
        """Write rows behind those in use."""
        stop = self._used
        if stop + count > len(self._times[0]):
            self._resize(2 * (stop + count))
        for _, rows in came:
            here = slice(stop, stop + len(rows))
            for array, times in zip(self._times, rows.events(), strict=True):
                array[here] = times
            self._values.write(here, rows.payload, len(rows))
            stop = here.stop

    def put(self, codes: I64Array, rows: KeyedSnapshots) -> None:
        """Put rows there; none of their keys has any yet."""
        total = len(rows.starts)
        if not total:
            return
        counts = rows.counts
        if total < len(codes):
            some = counts.nonzero()[0]
            codes, counts = codes[some], counts[some]
        garbage = self._used - self._live
        least = FEW_ROWS + len(self._rows) // KEYS_PER_ROW
        if garbage > max(self._live, least):
            self._compact()
        first, stop = self._used, self._used + total
        if stop > len(self._times[0]):
            self._resize(2 * stop)
        here = slice(first, stop)
        for array, times in zip(self._times, (rows.starts, rows.ends), strict=True):
            array[here] = times
        self._values.write(here, rows.columns, total)
        self._rows[codes, 0] = counts.cumsum() - counts + first
        self._rows[codes, 1] = counts
        self._used = stop
        self._live += total

    def _resize(self, room: int) -> None:
        """Make room for so many rows."""
        used = self._used
        for number, times in enumerate(self._times):
            self._times[number] = empty_times(room)
            self._times[number][:used] = times[:used]
        self._values.resize(room, used)

    def _compact(self) -> None:
        """Write the rows anew, without garbage."""
        codes = self._rows[:, 1].nonzero()[0]
        rows = self.take(codes)
        self._used = 0
        self.put(codes, rows)


def holds_strings(payload: Type) -> bool:
    """Tell whether rows of a payload have strings, whose dictionaries differ."""
    return any(scalar.kind == "string" for _, scalar in columns(payload))
