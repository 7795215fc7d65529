"""Arrays of rows with room behind the last one, which others are written into."""

from collections.abc import Sequence
from ctypes import memmove
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltpy.abi.layouts import TimeLayout
from tiltpy.array_address import address
from tiltpy.routines.catalogue import COPY_ENTRIES
from tiltpy.routines.prepared_call import PreparedCall
from tiltpy.runtime.arrays.dtypes import Bits, Times
from tiltpy.runtime.arrays.pool import allocate, empty_times
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.incremental.stamped_rows import StampedRows
from tiltpy.types import Type, columns

LEAST_ROOM = 1 << 12
"""The rows for which there is room behind others at least, once arrays are moved."""
ROOM_FOR = 12
"""So many times as many as come then have room: to move rows takes half a push."""
MOST_ROOM = 1 << 14
"""But no more than these, which the second cache has room for, too."""
SHARED_ROWS = 1 << 11
"""So many rows are held as they came, or joined, where there are no others: arrays with
room would be other memory each time, which is in no cache."""
TICK_BYTES = 8
BOTH_TIMES = 2 * TICK_BYTES
_SPARE_TIMES = np.empty(SHARED_ROWS, np.int64), np.empty(SHARED_ROWS, np.int64)
"""Memory for times that are not stored: they follow from the number of a row."""
FAR_BYTES = 1 << 23
"""Bytes of arrays from which on rows are copied past the caches, which hold fewer until
a kernel has them: those stores spare that lines are read first (pieces)."""
CACHE_LINE = 64
SHARE_MOVED = 16
"""So many times as many rows that come make those that are moved few."""


class GrowingArrays:
    """Arrays with room: the rows that are held begin at row `first`."""

    def __init__(
        self,
        times: tuple[Times, Times] | None,
        values: list[NDArray[Any]],
        bits: list[Bits | None],
        room: int,
    ) -> None:
        self.times = times
        self.values = values
        self.bits = bits
        self.room = room
        self.first = 0
        self.has_bits = any(each is not None for each in bits)
        self._places = [(address(each), each.itemsize) for each in values]
        """The address of each payload column, and the bytes of a row."""
        self._time_places = list(map(address, times or _SPARE_TIMES))
        self._copies = self._prepare_copies()
        """The calls that copy a payload past the caches, by the bytes of a row."""

    @staticmethod
    def move(
        rows: SnapshotBuffer,
        added: int,
        nullable: Sequence[bool],
        kind: TimeLayout,
        payload: Type,
    ) -> "GrowingArrays":
        """Copy rows to arrays in which those `added`, and many like them, have room.

        Not as many as are moved, if those are few: memory that served lately is in the
        caches.
        """
        count = rows.n
        room = count + added + max(LEAST_ROOM, min(ROOM_FOR * added, MOST_ROOM))
        if added < SHARE_MOVED * count:
            room += count + added
        times: tuple[Times, Times] | None = None
        if kind is not TimeLayout.SAMPLED:
            times = empty_times(room), empty_times(room)
            if count:
                for array, part in zip(times, rows.times(), strict=True):
                    array[:count] = part
        values: list[NDArray[Any]] = []
        bits: list[Bits | None] = []
        of = zip(rows.columns, nullable, columns(payload), strict=True)
        for column, may_be_null, (_, scalar) in of:
            copied: NDArray[Any] = allocate(scalar, room)
            copied[:count] = column.values[:count]
            values.append(copied)
            if column.validity is None and not may_be_null:
                bits.append(None)
                continue
            packed = np.zeros(room // 8 + 2, np.uint8)
            _put_bits(packed, 0, column.valid(count))
            bits.append(packed)
        return GrowingArrays(times, values, bits, room)

    def find_layout(self, kind: TimeLayout) -> TimeLayout:
        """Find the layout that one row has in these arrays: any serves."""
        is_timed = kind is TimeLayout.SAMPLED and self.times is not None
        return TimeLayout.INTERVALS if is_timed else kind

    def can_take(self, count: int, nullable: Sequence[bool], kind: TimeLayout) -> bool:
        """Tell whether so many rows fit from the first on, as they are laid."""
        if self.first + count > self.room:
            return False
        if (self.times is None) != (kind is TimeLayout.SAMPLED):
            return False
        for bits, may_be_null in zip(self.bits, nullable, strict=True):
            if may_be_null and bits is None:
                return False
        return True

    def append(
        self,
        rows: SnapshotBuffer,
        fresh: SnapshotBuffer,
        layout: tuple[TimeLayout, bool],
    ) -> SnapshotBuffer:
        """Write fresh rows behind the held ones, and view all of them."""
        held = self.first + rows.n
        stop = held + fresh.n
        if self.times is not None:
            for array, part in zip(self.times, fresh.times(), strict=True):
                array[held:stop] = part
        parts = zip(self.values, self.bits, fresh.columns, strict=True)
        for values, bits, column in parts:
            values[held:stop] = column.values[: fresh.n]
            if bits is not None:
                _put_bits(bits, held, column.valid(fresh.n))
        points = rows.points and fresh.points
        return self.view(rows, stop, layout, points, fresh.domain_end)

    def put_stamped(self, row: int, fresh: Sequence[StampedRows], ticks: int) -> int:
        """Write rows of so many ticks from a row on, and return the one behind them."""
        for rows in fresh:
            stop = row + len(rows.starts)
            if stop == row + 1:  # a slice of one takes longer
                self._put_one(row, rows, ticks)
                row = stop
                continue
            if self.times is not None:
                self.times[0][row:stop] = rows.starts
                np.add(rows.starts, ticks, out=self.times[1][row:stop])
            for values, part in zip(self.values, rows.values, strict=True):
                values[row:stop] = part
            row = stop
        return row

    def locate_times(self, row: int) -> tuple[int, int]:
        """Find the addresses of the start and the end of a row, to write them."""
        starts, ends = self._time_places
        if self.times is None:
            return starts, ends
        return starts + TICK_BYTES * row, ends + TICK_BYTES * row

    def count_cached(self, row: int, count: int, width: int = TICK_BYTES) -> int:
        """Count the entries of rows that are written through the caches.

        All are, if the arrays stay there, else those up to a whole cache line.
        """
        if not self._copies:
            return count
        return min(count, -row % (CACHE_LINE // width))

    def copy_payload(self, row: int, count: int, columns: Sequence[int]) -> None:
        """Copy the payload of rows that are placed: `columns` as in `GrowingRows`."""
        for column, (place, width) in enumerate(self._places, 1):
            source, target = columns[column], place + width * row
            copy = self._copies.get(width)
            if copy is None or source % width:
                memmove(target, source, width * count)
            else:
                copy(count, self.count_cached(row, count, width), source, target)

    def _prepare_copies(self) -> dict[int, PreparedCall]:
        """Prepare copies, if the arrays are more than the caches hold."""
        places = [*self._time_places, *(place for place, _ in self._places)]
        width = BOTH_TIMES + sum(width for _, width in self._places)
        is_far = self.times is not None and width * self.room >= FAR_BYTES
        if not is_far or any(place % CACHE_LINE for place in places):
            return {}
        return {
            bits // 8: PreparedCall(copy, 0, 0, 0, 0)
            for bits, copy in COPY_ENTRIES.items()
        }

    def _put_one(self, row: int, rows: StampedRows, ticks: int) -> None:
        """Write one row."""
        if self.times is not None:
            start = rows.starts.item(0)
            self.times[0][row] = start
            self.times[1][row] = start + ticks
        for values, part in zip(self.values, rows.values, strict=True):
            values[row] = part[0]

    def view(
        self,
        held: SnapshotBuffer,
        stop: int,
        layout: tuple[TimeLayout, bool],
        points: bool,
        domain_end: int | None,
    ) -> SnapshotBuffer:
        """View the rows up to one: those that were held, and others behind them."""
        first = self.first
        parts = []
        for values, bits in zip(self.values, self.bits, strict=True):
            offset = 0 if bits is None else first
            parts.append(Column(values[first:stop], bits, offset))
        starts = ends = None
        kind, ascends = layout
        if self.times is not None:
            ends = self.times[1][first:stop]
            if kind is not TimeLayout.CONTIGUOUS:
                starts = self.times[0][first:stop]
        return SnapshotBuffer(
            kind,
            stop - first,
            held.start,
            held.period if self.times is None else 0,
            starts,
            ends,
            tuple(parts),
            ascends,
            points,
            domain_end,
            held.before,
            held.row_object,
        )


def _put_bits(bits: Bits, first: int, valid: NDArray[np.bool_]) -> None:
    """Write flags from a bit on; those before it in its byte stay."""
    byte, skip = divmod(first, 8)
    before = np.unpackbits(bits[byte : byte + 1], count=skip, bitorder="little")
    packed = np.packbits(np.concatenate((before, valid)), bitorder="little")
    bits[byte : byte + len(packed)] = packed
