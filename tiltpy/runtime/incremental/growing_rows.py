"""Rows that grow at their end and are forgotten at their start, in one piece.

What comes costs its own rows, not those that are held: arrays have room behind the last
row, and are moved when that is full. What nobody needs is passed over until then.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltpy.abi.layouts import TimeLayout
from tiltpy.runtime.arrays.dtypes import Bits, Times
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import LOOSER
from tiltpy.runtime.incremental.concat import drop_before, gather
from tiltpy.runtime.incremental.stamped_rows import (
    EventLength,
    StampedRows,
    join_rows,
    join_steps,
)
from tiltpy.types import I64, Type, columns

LEAST_ROOM = 256
"""The rows for which there is room at least, once arrays are moved."""

_RANKS = {TimeLayout.SAMPLED: 0, **{each: 1 + n for n, each in enumerate(LOOSER)}}
"""Each layout holds where one of a lower rank does."""


class GrowingRows:
    """The rows of an object: some come behind the others, and old ones are dropped.

    Views that were handed out stay as they are. The rows have the tightest layout of
    those that are held and of those that came, which nobody has to look at again.
    """

    def __init__(self, payload: Type) -> None:
        self.payload = payload
        self.rows = SnapshotBuffer.empty(payload)
        """All rows."""
        self._arrays: _Arrays | None = None
        """The memory of the rows, once it has room behind them."""

    def replace(self, rows: SnapshotBuffer) -> None:
        """Hold other rows instead."""
        self.rows, self._arrays = rows, None

    def append(self, fresh: SnapshotBuffer) -> None:
        """Put rows behind those that are held."""
        if not fresh.n:
            return
        layout = self._find_layout(fresh) if self.rows.n else None
        if layout is None:
            self.replace(gather([self.rows, fresh], self.payload))
            return
        arrays = self._arrays
        if arrays is None or not arrays.can_take(fresh, layout, self.rows.n):
            arrays = self._arrays = _Arrays.move(self.rows, fresh, layout, self.payload)
        self.rows = arrays.append(self.rows, fresh, layout)

    def append_stamped(self, fresh: Sequence[StampedRows], length: EventLength) -> None:
        """Put rows of one length behind those that are held, which have it, too."""
        if not self._append_in_place(fresh, length):
            self.append(length.lay_out(join_rows(fresh)))

    def _append_in_place(
        self, fresh: Sequence[StampedRows], length: EventLength
    ) -> bool:
        """Write rows into the arrays, if they have room and the same form."""
        held, arrays = self.rows, self._arrays
        if arrays is None or not held.n:
            return False
        least, greatest = join_steps(held.row(held.n - 1)[0], fresh)
        kind = length.find_layout(least, greatest)
        if _RANKS[kind] < _RANKS[held.layout]:
            kind = held.layout
        is_sampled = kind is TimeLayout.SAMPLED
        if kind is TimeLayout.CONTIGUOUS or (arrays.times is None) != is_sampled:
            return False
        stop = arrays.put_stamped(arrays.first + held.n, fresh, length.ticks)
        if not stop:
            return False
        form = kind, held.fifo
        self.rows = arrays.view(held, held, stop, form, points=held.points)
        return True

    def view_with(self, fresh: SnapshotBuffer) -> SnapshotBuffer:
        """View the rows with fresh ones behind them, until others are put there."""
        held = self.rows
        self.append(fresh)
        whole, self.rows = self.rows, held
        return whole

    def _find_layout(self, fresh: SnapshotBuffer) -> tuple[TimeLayout, bool] | None:
        """Find the layout of the rows with fresh ones behind, and whether ends ascend.

        None where strings have to be given one dictionary.
        """
        held, sampled = self.rows, TimeLayout.SAMPLED
        if any(each.strings is not None for each in (*held.columns, *fresh.columns)):
            return None
        last, first = held.row(held.n - 1)[1], fresh.row(0)[0]
        kinds = {held.layout, fresh.layout} - {sampled}
        if not kinds and held.period == fresh.period and last == first:
            return sampled, True
        meets = LOOSER[0] if last == first else LOOSER[1] if last < first else LOOSER[2]
        loosest = max(map(LOOSER.index, kinds | {meets}))
        ascends = held.fifo and fresh.fifo and last <= fresh.row(0)[1]
        return LOOSER[loosest], ascends

    def drop_before(self, time: int, last_rows: int) -> None:
        """Forget rows that end by a time, but not the last that start before it."""
        held = self.rows
        left = drop_before(held, time, last_rows, self.payload)
        if left.n == held.n:
            return
        if self._arrays is None or held.layout is TimeLayout.OVERLAPPING or not left.n:
            self.replace(left)
        else:  # a view of the last rows
            self._arrays.first += held.n - left.n
            self.rows = left


class _Arrays:
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

    @staticmethod
    def move(
        rows: SnapshotBuffer,
        fresh: SnapshotBuffer,
        layout: tuple[TimeLayout, bool],
        payload: Type,
    ) -> "_Arrays":
        """Copy rows to arrays in which fresh ones, and as many again, have room."""
        count = rows.n
        room = 2 * (count + fresh.n) + LEAST_ROOM
        times: tuple[Times, Times] | None = None
        if layout[0] is not TimeLayout.SAMPLED:
            times = (
                allocate(I64, room).view(np.int64),
                allocate(I64, room).view(np.int64),
            )
            for array, part in zip(times, rows.times(), strict=True):
                array[:count] = part
        values: list[NDArray[Any]] = []
        bits: list[Bits | None] = []
        pairs = zip(rows.columns, fresh.columns, columns(payload), strict=True)
        for column, other, (_, scalar) in pairs:
            copied: NDArray[Any] = allocate(scalar, room)
            copied[:count] = column.values[:count]
            values.append(copied)
            if column.validity is None and other.validity is None:
                bits.append(None)
                continue
            packed = np.zeros(room // 8 + 2, np.uint8)
            _put_bits(packed, 0, column.valid(count))
            bits.append(packed)
        return _Arrays(times, values, bits, room)

    def can_take(
        self, fresh: SnapshotBuffer, layout: tuple[TimeLayout, bool], held: int
    ) -> bool:
        """Tell whether fresh rows fit behind those that are held, as they are laid."""
        if self.first + held + fresh.n > self.room:
            return False
        if (self.times is None) != (layout[0] is TimeLayout.SAMPLED):
            return False
        pairs = zip(self.bits, fresh.columns, strict=True)
        return all(b is not None or c.validity is None for b, c in pairs)

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
        return self.view(rows, fresh, stop, layout, points=points)

    def put_stamped(self, row: int, fresh: Sequence[StampedRows], ticks: int) -> int:
        """Write rows of so many ticks from a row on, and return the one behind them.

        Returns 0, and writes nothing, where there is no room for them, or where flags
        say which rows are null.
        """
        for bits in self.bits:
            if bits is not None:
                return 0
        count = 0
        for rows in fresh:
            count += len(rows.starts)
        if row + count > self.room:
            return 0
        for rows in fresh:
            stop = row + len(rows.starts)
            if self.times is not None:
                self.times[0][row:stop] = rows.starts
                np.add(rows.starts, ticks, out=self.times[1][row:stop])
            for values, part in zip(self.values, rows.values, strict=True):
                values[row:stop] = part
            row = stop
        return row

    def view(
        self,
        held: SnapshotBuffer,
        last: SnapshotBuffer,
        stop: int,
        layout: tuple[TimeLayout, bool],
        *,
        points: bool,
    ) -> SnapshotBuffer:
        """View the rows up to one: those that were held, and behind them the `last`."""
        first = self.first
        parts = [
            Column(values[first:stop], bits, 0 if bits is None else first)
            for values, bits in zip(self.values, self.bits, strict=True)
        ]
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
            last.domain_end,
            last.before,
            last.row_object,
        )


def _put_bits(bits: Bits, first: int, valid: NDArray[np.bool_]) -> None:
    """Write flags from a bit on; those before it in its byte stay."""
    byte, skip = divmod(first, 8)
    before = np.unpackbits(bits[byte : byte + 1], count=skip, bitorder="little")
    packed = np.packbits(np.concatenate((before, valid)), bitorder="little")
    bits[byte : byte + len(packed)] = packed
