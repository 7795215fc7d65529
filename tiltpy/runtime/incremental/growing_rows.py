"""Rows that grow at their end and are forgotten at their start, in one piece.

What comes costs its own rows, not those that are held: arrays have room behind the last
row, and are moved when that is full. What nobody needs is passed over until then. Rows
may also be written there before they count: they wait behind those that do. Of those
that hold until the next one, the last that count have no end, and get one later.
"""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from tiltpy.abi.layouts import TimeLayout
from tiltpy.routines.catalogue import END_ROWS, PLACE_STAMPS
from tiltpy.routines.prepared_call import PreparedCall
from tiltpy.runtime.arrays.dtypes import Steps, Times
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import LOOSER
from tiltpy.runtime.incremental.concat import drop_before, drop_first, gather
from tiltpy.runtime.incremental.growing_arrays import SHARED_ROWS, GrowingArrays
from tiltpy.runtime.incremental.stamped_rows import (
    EventLength,
    StampedRows,
    join_rows,
    join_steps,
)
from tiltpy.types import ENDLESS, Type

SHARE_KEPT = 8
"""So many times as many rows that come make those that are held few."""
_RANKS = {TimeLayout.SAMPLED: 0, **{each: 1 + n for n, each in enumerate(LOOSER)}}
"""Each layout holds where one of a lower rank does."""


class GrowingRows:
    """The rows of an object: some come behind the others, and old ones are dropped.

    Views that were handed out stay as they are, but for the ends of rows that nothing
    ended. The rows have the tightest layout of those that are held and of those that
    came, which nobody has to look at again.
    """

    def __init__(self, payload: Type, length: EventLength | None = None) -> None:
        self.payload = payload
        self._length = length
        """The length of all rows, if they have one, or hold until the next."""
        self.rows = SnapshotBuffer.empty(payload)
        """All rows that count."""
        self.waiting = 0
        """The number of rows that wait behind them, in their memory."""
        self.tail = 0
        """The number of the last rows, of those that hold, which nothing ends yet."""
        self._place = PreparedCall(PLACE_STAMPS, 0, 0, 0, 0, 0, 0, 0)
        self._end: PreparedCall | None = None
        """The call that ends rows, if they hold."""
        if length is not None and length.holds:
            self._end = PreparedCall(END_ROWS, 0, 0, 0, 0, 0)
        self._arrays: GrowingArrays | None = None
        """The memory of the rows, once it has room behind them."""
        self._kind = TimeLayout.SAMPLED
        """The layout of all rows, if some wait."""
        self._last: int | None = None
        """The start of the last row of all, if some wait."""
        self._overlaps = False
        """True if rows of one length are known to overlap, of those that came since
        some were dropped."""
        self._came = 0
        """The number of rows that were taken last."""
        self._written: tuple[int, TimeLayout, int] | None = None
        """The number of rows that were written behind all others, the layout of all
        together, and the last start."""

    def replace(self, rows: SnapshotBuffer) -> None:
        """Hold other rows instead."""
        assert not self.waiting
        assert not self.tail
        self.rows, self._arrays = rows, None

    def forget(self) -> None:
        """Forget all rows that count."""
        self.tail = 0
        if not self.waiting:
            self.replace(SnapshotBuffer.empty(self.payload))
            return
        assert self._arrays is not None
        self._arrays.first += self.rows.n
        self.rows = _none_behind(self.rows)

    def append(self, fresh: SnapshotBuffer) -> None:
        """Put rows behind those that are held."""
        if not fresh.n:
            return
        assert not self.waiting
        layout = self._find_layout(fresh) if self.rows.n else None
        if layout is None:
            self.replace(gather([self.rows, fresh], self.payload))
            return
        nullable = [column.validity is not None for column in fresh.columns]
        arrays = self._make_room(fresh.n, nullable, layout[0])
        self.rows = arrays.append(self.rows, fresh, layout)

    def append_stamped(self, fresh: Sequence[StampedRows]) -> int:
        """Put rows of the one length behind those that are held.

        Returns how many there are.
        """
        count = sum([len(rows.starts) for rows in fresh])
        if self.let_wait(fresh, count):
            self._show(count)
        else:
            assert self._length is not None
            self.append(self._length.lay_out(join_rows(fresh)))
        return count

    def let_wait(self, fresh: Sequence[StampedRows], count: int) -> bool:
        """Have rows wait behind those that are held; False if they cannot."""
        if not self._write(fresh, count):
            return False
        self.take_written()
        return True

    def reserve(self, count: int) -> bool:
        """Have room for so many rows that will be written; False if none can be."""
        is_sampled = self.rows.n > 1 and self.rows.layout is TimeLayout.SAMPLED
        if self._length is None or is_sampled:
            return False
        for column in self.rows.columns:
            if column.validity is not None or column.strings is not None:
                return False
        nullable = (False,) * len(self.rows.columns)
        arrays = self._make_room(count, nullable, TimeLayout.INTERVALS)
        return not arrays.has_bits

    def write(
        self, count: int, columns: Sequence[int]
    ) -> tuple[int, int, Steps] | None:
        """Write rows behind all others, where nobody sees them before they are taken.

        `columns` are the addresses of their stamps and of each payload column. Returns
        the first start, the last and the steps between all. None, and nothing is
        written, if they are out of order or many, or the memory is not made for them.
        """
        arrays, length, held = self._arrays, self._length, self.rows
        before = held.n + self.waiting
        if length is None or arrays is None:
            return None
        is_full = arrays.first + before + count > arrays.room
        if count >= SHARED_ROWS and (is_full or arrays.times is None):
            return None
        if is_full:
            timed = TimeLayout.SAMPLED if arrays.times is None else TimeLayout.INTERVALS
            arrays = self._make_room(count, (False,) * len(held.columns), timed)
        if arrays.has_bits:
            return None
        row, ahead = arrays.first + before, length.before
        places = arrays.locate_times(row)
        least, greatest, first, last, *_ = self._place(
            count,
            ahead,
            length.ticks - ahead,
            arrays.count_cached(row, count),
            columns[0],
            *places,
        )
        if least < 0:
            return None
        first, last, steps = first - ahead, last - ahead, (least, greatest)
        kind = self._join_layout(first, steps, before)
        if kind is TimeLayout.SAMPLED and count == 1 and not before:
            kind = arrays.find_layout(kind)
        if kind is None or (kind is TimeLayout.SAMPLED) != (arrays.times is None):
            return None
        arrays.copy_payload(row, count, columns)
        if not before:
            self.rows = length.lay_out_none(first, held.columns)
        self._written = count, kind, last
        return first, last, steps

    @property
    def is_full(self) -> bool:
        """Return whether as many rows as were written last do not fit behind others."""
        arrays, rows = self._arrays, self.rows.n + self.waiting + self._came
        return arrays is not None and arrays.first + rows > arrays.room

    def _join_layout(self, first: int, steps: Steps, before: int) -> TimeLayout | None:
        """Find the layout of all rows with others behind them, with steps between.

        None if those start earlier, or the rows do not know their starts.
        """
        length = self._length
        assert length is not None
        if not before:
            return length.layout_of(steps)
        last = self._last if self.waiting else self.rows.row(self.rows.n - 1)[0]
        assert last is not None
        step = first - last
        if step < 0:
            return None
        least, greatest = steps
        present = self._kind if self.waiting else self.rows.layout
        if present is TimeLayout.OVERLAPPING:
            self._overlaps = self._overlaps or min(step, least) < length.ticks
            return present
        kind = length.layout_of((min(step, least), max(step, greatest)))
        if length.holds and not (self.waiting or self.tail):
            _, end = self.rows.row(self.rows.n - 1)
            if end != first:  # a null row has ended it
                kind = max(kind, TimeLayout.INTERVALS, key=_RANKS.__getitem__)
        return kind if _RANKS[kind] > _RANKS[present] else present

    def _write(self, fresh: Sequence[StampedRows], count: int) -> bool:
        length = self._length
        assert length is not None
        held, before = self.rows, self.rows.n + self.waiting
        if not before and count >= SHARED_ROWS:
            return False
        first, steps = fresh[0].starts.item(0), join_steps(None, fresh)
        kind = self._join_layout(first, steps, before)
        if kind is None:
            return False
        if count == 1 and not before and self._arrays is not None:
            kind = self._arrays.find_layout(kind)
        arrays = self._make_room(count, (False,) * len(held.columns), kind)
        if arrays.has_bits:
            return False
        arrays.put_stamped(arrays.first + before, fresh, length.ticks)
        if not before:
            self.rows = length.lay_out_none(first, held.columns)
        self._written = count, kind, fresh[-1].starts.item(-1)
        return True

    def take_written(self) -> None:
        """Have the rows wait that were written last."""
        assert self._written is not None
        self._came, self._kind, self._last = self._written
        self._written = None
        self.waiting += self._came

    def settle(self, time: int) -> int:
        """Have the waiting rows count that start before a time; how many there are."""
        count = self.waiting - (self.count_waiting(time) if self.waiting else 0)
        if count:
            self._show(count)
        return count

    def count_waiting(self, time: int) -> int:
        """Count the waiting rows that do not start before a time."""
        held, arrays, waiting = self.rows, self._arrays, self.waiting
        if not waiting:
            return 0
        assert arrays is not None
        assert self._last is not None
        if self._last < time:
            return 0
        if arrays.times is None:
            ticks = time - held.start - held.n * held.period
            return waiting - max(0, -(-ticks // held.period))
        first, starts = arrays.first + held.n, arrays.times[0]
        if waiting > 1 and starts.item(first + waiting - 2) < time:
            return 1
        return waiting - int(starts[first : first + waiting].searchsorted(time))

    def _show(self, count: int) -> None:
        """Have the first waiting rows count."""
        held, arrays = self.rows, self._arrays
        assert arrays is not None
        self.waiting -= count
        stop, length = arrays.first + held.n + count, self._length
        assert length is not None
        if self._end is not None:
            tail = self.tail + count
            places = arrays.locate_times(stop - tail)
            first, *_ = self._end(tail, ENDLESS, length.longest, *places)
            self.tail = tail - first
        if arrays.times is None:
            last = held.start + held.period * (held.n + count - 1)
        else:
            last = arrays.times[0].item(stop - 1)
        domain_end = last + length.counted
        layout = self._kind, held.fifo
        self.rows = arrays.view(held, stop, layout, held.points, domain_end)

    @property
    def tail_start(self) -> int | None:
        """The start of the rows that nothing ends, if there are any."""
        return self.rows.row(self.rows.n - 1)[0] if self.tail else None

    def take_tail(self) -> tuple[Times, list[NDArray[Any]]] | None:
        """Take the rows away that nothing ends, as those that wait, which are taken."""
        assert not self.waiting
        held, tail = self.rows, self.tail
        if not tail:
            return None
        self.tail, self.rows = 0, held.slice(0, held.n - tail)
        return _copy_rows(held.slice(held.n - tail, held.n))

    def take_waiting(self) -> tuple[Times, list[NDArray[Any]]] | None:
        """Take the rows away that wait: copies of their starts and payload.

        None if there are none.
        """
        if not self.waiting:
            return None
        held = self.rows
        rows = self._all_rows().slice(held.n, held.n + self.waiting)
        self.waiting = 0
        return _copy_rows(rows)

    def _all_rows(self, kind: TimeLayout | None = None) -> SnapshotBuffer:
        """View the rows that wait, too, by default in the layout that any may have."""
        held, arrays = self.rows, self._arrays
        if not self.waiting:
            return held
        assert arrays is not None
        stop = arrays.first + held.n + self.waiting
        layout = kind or arrays.find_layout(TimeLayout.SAMPLED), held.fifo
        return arrays.view(held, stop, layout, held.points, held.domain_end)

    def _move(self, rows: SnapshotBuffer) -> None:
        """Hold other rows, behind which as many wait as before, in other memory."""
        nullable = (False,) * len(rows.columns)
        self._kind, count = rows.layout, rows.n - self.waiting
        self._arrays = GrowingArrays.move(rows, 0, nullable, rows.layout, self.payload)
        self.rows = rows.slice(0, count)

    def _make_room(
        self, count: int, nullable: Sequence[bool], kind: TimeLayout
    ) -> GrowingArrays:
        """Find the arrays with room for so many more rows, of columns that may be null.

        Those that are held are moved where there is too little, or other columns.
        """
        arrays, total = self._arrays, self.rows.n + self.waiting + count
        if arrays is None or not arrays.can_take(total, nullable, kind):
            if arrays is not None and SHARE_KEPT * (total - count) <= count:
                arrays = None
                self._set_apart()
            arrays = self._arrays = GrowingArrays.move(
                self._all_rows(), count, nullable, kind, self.payload
            )
        return arrays

    def _set_apart(self) -> None:
        """Copy the rows, which are few, so that their memory may serve again."""
        rows, held = self._all_rows(self._kind), self.rows
        nullable = [column.validity is not None for column in rows.columns]
        apart = GrowingArrays.move(rows, 0, nullable, rows.layout, self.payload)
        layout = rows.layout, held.fifo
        self._arrays = apart
        self.rows = apart.view(held, held.n, layout, held.points, held.domain_end)

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
        for each in (*held.columns, *fresh.columns):
            if each.strings is not None:
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
        in_place = held.layout is not TimeLayout.OVERLAPPING or (
            self._arrays is not None
            and (self._end is not None or self._overlaps or _overlap_in_order(held))
        )
        self._overlaps = False
        drop = drop_first if in_place else drop_before
        left = drop(held, time, last_rows, self.payload)
        if left.n == held.n:
            return
        self.tail = min(self.tail, left.n)
        if self._arrays is None or (left.n and not in_place):
            if self.waiting:
                rows = self._all_rows(self._kind)
                self._move(drop(rows, time, last_rows, self.payload))
            else:
                self.replace(left)
        else:  # a view of the last rows, or none
            self._arrays.first += held.n - left.n
            self.rows = left if left.n or not self.waiting else _none_behind(held)


def _copy_rows(rows: SnapshotBuffer) -> tuple[Times, list[NDArray[Any]]]:
    """Copy the starts and the payload of rows."""
    starts, _ = rows.times()
    values = [column.values[: rows.n].copy() for column in rows.columns]
    return starts.copy(), values


def _none_behind(rows: SnapshotBuffer) -> SnapshotBuffer:
    """View no rows, where those would be that are written behind some."""
    return rows.slice(rows.n, rows.n)


def _overlap_in_order(rows: SnapshotBuffer) -> bool:
    """Tell whether some rows overlap, and all end in the order in which they start.

    Those behind are likely to overlap as well, so that what stays keeps its layout.
    Where none overlaps any more, it is laid out anew.
    """
    if not rows.fifo:
        return False
    starts, ends = rows.times()
    return bool((starts[1:] < ends[:-1]).any())
