"""The snapshot that is open of each key, by its code: the last one, which may go on.

What an evaluation made of a key is joined with it. Their times are in the records of
keys, the payload in tables, where those that only go on stay as they are.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from tiltpy.lean_dataclass import record
from tiltpy.routines.catalogue import CLOSE_KEYS
from tiltpy.routines.prepared_call import PreparedCall
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.execution.key_domains import EARLIEST
from tiltpy.runtime.keyed.join import join_columns, no_rows, take_rows
from tiltpy.runtime.keyed.key_records import KeyRecords
from tiltpy.runtime.keyed.payload_table import PayloadTable
from tiltpy.runtime.keyed.row_arena import holds_strings
from tiltpy.runtime.keyed.row_store import RowStore
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.types import Type


@record(frozen=True, slots=True, eq=False)
class CloseTimes:
    """Times of keys, between which their snapshots are closed.

    `seams`: where a snapshot that was made began before, it is the open one; `EARLIEST`
    where there is none. `reached`: up to when all was computed. `ends`: where domains
    end so far. `carried`: how far open snapshots go on that nothing was made of.
    """

    seams: Times
    reached: Times
    ends: Times
    carried: Mapping[int, int]


@record(frozen=True, slots=True, eq=False)
class ClosedKeys:
    """Snapshots that are final.

    `goes_on`: a key's last snapshot does, behind its domain; `is_open`: that may. At
    the `latest` a key is to be looked at again, if anything of it tells when.
    """

    final: KeyedSnapshots
    goes_on: BoolArray
    is_open: BoolArray
    latest: Times | None = None


class Payload(Protocol):
    """The payload of a row of each key, by code."""

    def resize(self, room: int, used: int) -> None:
        """Make room for so many keys, of which the first may have rows."""

    def take(self, rows: I64Array) -> tuple[Column, ...]:
        """Copy the rows of some keys, all of which have one."""

    def write(self, rows: I64Array, columns: Sequence[Column], count: int) -> None:
        """Write rows of some keys, instead of those that they may have."""

    def drop(self, rows: I64Array) -> None:
        """Let the rows of some keys go."""


class TextPayload:
    """The payload of a row of each key, with strings of whatever dictionaries."""

    def __init__(self, payload: Type) -> None:
        self._store = RowStore(payload)

    def resize(self, room: int, used: int) -> None:
        """Make room for so many keys."""
        del used
        self._store.grow(room)

    def take(self, rows: I64Array) -> tuple[Column, ...]:
        """Copy the rows of some keys, all of which have one."""
        return self._store.select(rows).columns

    def write(self, rows: I64Array, columns: Sequence[Column], count: int) -> None:
        """Write rows of some keys, instead of those that they may have."""
        self._store.drop(rows)
        times, ones = np.zeros(count, np.int64), np.ones(count, np.int64)
        self._store.put(rows, KeyedSnapshots(times, times, tuple(columns), ones))

    def drop(self, rows: I64Array) -> None:
        """Let the rows of some keys go, and strings that no other row has."""
        self._store.drop(rows)


class OpenSnapshots:
    """The open snapshots of keys, at most one of each."""

    def __init__(self, payload: Type, records: KeyRecords) -> None:
        self.payload = payload
        self._records = records
        self._room = 0
        self._payload: Payload
        make = TextPayload if holds_strings(payload) else PayloadTable
        self._payload = make(payload)
        self._close = PreparedCall.of(CLOSE_KEYS, 18)

    @property
    def _starts(self) -> Times:
        return self._records.times("open start")

    @property
    def _ends(self) -> Times:
        """The ends by code, `EARLIEST` where there is none."""
        return self._records.times("open end")

    def grow(self, codes: int) -> None:
        """Make room for the codes below a number, which records have."""
        del codes
        if self._records.count > self._room:
            self._payload.resize(self._records.count, self._room)
            self._room = self._records.count

    def select(self, codes: I64Array) -> KeyedSnapshots:
        """Return those of some keys, in the order of the codes; they stay there."""
        is_there = self._ends[codes] > EARLIEST
        some = codes[is_there]
        if not len(some):
            return no_rows(self.payload, len(codes))
        return KeyedSnapshots(
            self._starts[some],
            self._ends[some],
            self._payload.take(some),
            is_there.astype(np.int64),
        )

    def save(self) -> dict[str, object]:
        """Make what `restore` takes."""
        codes = (self._ends > EARLIEST).nonzero()[0]
        return {"codes": codes, "rows": self.select(codes)}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take over saved ones; there is room for their codes, and none are there."""
        codes, rows = saved["codes"], saved["rows"]
        if len(codes):
            self._starts[codes], self._ends[codes] = rows.starts, rows.ends
            self._payload.write(codes, rows.columns, len(codes))

    def take(self, codes: I64Array) -> KeyedSnapshots:
        """Take those of some keys out, in the order of the codes."""
        rows = self.select(codes)
        self._ends[codes] = EARLIEST
        self._payload.drop(codes)
        return rows

    def extend(self, codes: I64Array, time: int) -> None:
        """Have those of some keys end at a time."""
        ends = self._ends
        ends[codes[ends[codes] > EARLIEST]] = time

    def close(
        self, codes: I64Array, made: KeyedSnapshots, times: CloseTimes
    ) -> ClosedKeys:
        """Join what was made of some keys with what was open, and close it.

        What is open then stays here.
        """
        ends = self._ends
        for key, carried in times.carried.items():
            if ends[codes[key]] > EARLIEST:
                end = min(carried, int(times.reached[key]))
                ends[codes[key]] = max(ends[codes[key]], end)
        keys, total = len(codes), len(made.starts)
        room = keys + total
        rows, by_key = np.empty((3, room), np.int64), np.empty((4, keys), np.int64)
        flags = np.empty((2, keys), np.bool_)
        _, _, _, finals, ended, waiting, *_ = self._close(
            *(keys, total, room, 0, 0, 0),
            codes,
            *map(np.ascontiguousarray, (made.counts, made.starts, made.ends)),
            *map(self._records.find, ("open start", "open end")),
            *(times.seams, times.reached, times.ends),
            *(rows, by_key, flags),
        )
        counts, ended_codes, waiting_codes, waiting_rows = by_key
        final = no_rows(self.payload, keys)
        if finals:
            starts, ends, numbers = rows[:, :finals]
            columns = made.columns
            if ended:
                some = ended_codes[:ended]
                of = self._payload.take(some)
                self._payload.drop(some)
                zeros = np.zeros(ended, np.int64)
                columns = join_columns((made, KeyedSnapshots(zeros, zeros, of, zeros)))
            final = KeyedSnapshots(starts, ends, take_rows(columns, numbers), counts)
        if waiting:
            payload = take_rows(made.columns, waiting_rows[:waiting])
            self._payload.write(waiting_codes[:waiting], payload, waiting)
        return ClosedKeys(final, flags[0], flags[1])
