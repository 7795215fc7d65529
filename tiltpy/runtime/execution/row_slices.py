"""The rows of an input that calls see: a slice of a buffer for each call."""

from collections.abc import Callable
from typing import Any, Generic, Literal, assert_never

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.abi.slots import SlotKind
from tiltpy.array_address import address
from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.runtime.arrays.search_slices import search_slices
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_numbers import N, choose, least, most
from tiltpy.runtime.execution.key_domains import RowsByKey
from tiltpy.runtime.execution.traced_operands import is_traced
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.types import ENDLESS

TimeRanges = tuple[Times, Times]
"""The bounds `(low[k], high[k]]` of a time range of each call; empty where the first is
beyond the second."""


class RowSlices(Generic[N]):
    """Of each call `count` rows of a buffer, from `first` on.

    `start` is when the first of them starts, or anything where starts are stored.
    `keyed`: the buffer has rows of several keys, each of which is in order by itself.
    """

    __slots__ = ("_here", "buffer", "count", "first", "keyed", "start")

    def __init__(
        self, buffer: SnapshotBuffer, first: N, count: N, start: N, *, keyed: bool
    ) -> None:
        self.buffer = buffer
        self.first: N = first
        self.count: N = count
        self.start: N = start
        self.keyed = keyed
        self._here: N | None = None

    @property
    def here(self) -> N:
        """The first row of each slice, or one that can be read."""
        if self._here is None:
            self._here = most(least(self.first, self.buffer.n - 1), 0)
        return self._here

    @staticmethod
    def all_of(buffer: SnapshotBuffer, zero: N) -> "RowSlices[N]":
        """All rows for each call; `zero` is the number 0 of each."""
        n, start = zero + buffer.n, zero + buffer.start
        return RowSlices(buffer, zero, n, start, keyed=False)

    def number(self, kind: SlotKind, column: int) -> N | int:
        """Return the value of the slot of this kind, for the rows or their column."""
        number: N | int = ROW_NUMBERS[kind](self, column)
        return number

    def narrow(self, low: N, high: N, last_rows: int = 0) -> "RowSlices[N]":
        """The rows that cover every event which overlaps `(low, high]`.

        For one call also the last rows before, by their stamps.
        """
        first, stop = self.find(low, high)
        if last_rows and low < high:
            assert isinstance(low, int)
            buffer = self.buffer.slice(self.first, self.first + self.count)
            first = min(first, buffer.find_last(low - buffer.before, last_rows))
        begin, start = self.first + first, self._start_of(first)
        return RowSlices(self.buffer, begin, stop - first, start, keyed=self.keyed)

    def find(self, low: N, high: N) -> tuple[N, N]:
        """Find the rows that cover every event which overlaps `(low, high]`.

        They are counted from the first of each slice. See `SnapshotBuffer.find`.
        """
        buffer = self.buffer
        if buffer.layout is TimeLayout.SAMPLED:
            first = (low - self.start) // buffer.period
        elif buffer.points and buffer.starts is not None:  # those end a tick later
            first = self._search(buffer.starts, low, "left")
        else:
            first = self._search(buffer.ordered_ends(), low, "right")
        exists = low < high
        first = choose(exists, most(least(first, self.count), 0), 0)
        stop = choose(exists, least(self._count_started(high), self.count), 0)
        return first, most(stop, first)

    def cover(self, first: N, stop: N) -> N:
        """Count the ticks that the rows `first` to `stop` of each slice cover.

        The rows are contiguous within each slice. Of rows without end they are fewer.
        """
        ends = self.buffer.ends
        assert ends is not None
        last = most(least(self.first + stop, self.buffer.n) - 1, 0)
        start = self._start_of(first)
        end: N = int(ends[last]) if isinstance(last, int) else ends[last]
        end = least(end, least(start, 0) + ENDLESS)  # so that the difference fits
        return choose(first < stop, end - start, 0)

    def find_stamped(self, low: N, high: N) -> tuple[N, N]:
        """Find the rows that are stamped within `(low, high]`."""
        before = self.buffer.before
        first, stop = (
            most(least(self._count_started(time - before + 1), self.count), 0)
            for time in (low, high)
        )
        exists = low < high
        return choose(exists, first, 0), choose(exists, most(stop, first), 0)

    def find_ending(self, low: N, high: N) -> tuple[N, N]:
        """Find the rows that end within `(low, high]`, if rows end in order."""
        first, stop = (
            most(least(self._count_ended(time), self.count), 0) for time in (low, high)
        )
        exists = low < high
        return choose(exists, first, 0), choose(exists, most(stop, first), 0)

    def end_of(self, row: N) -> N:
        """The last tick of a row of each slice, or any number where there is none."""
        buffer = self.buffer
        if buffer.layout is TimeLayout.SAMPLED:
            return self.start + (row + 1) * buffer.period
        assert buffer.ends is not None
        place = most(least(self.first + row, buffer.n - 1), 0)
        if isinstance(place, int):
            return int(buffer.ends[place])
        ends: I64Array = buffer.ends[place]
        return ends

    def stamp_of(self, row: N) -> N:
        """The stamp of a row of each slice, or any number where there is none."""
        buffer = self.buffer
        if buffer.starts is None:
            return self._start_of(row) + buffer.before
        place = most(least(self.first + row, buffer.n - 1), 0)
        if isinstance(place, int):
            return int(buffer.starts[place]) + buffer.before
        starts: I64Array = buffer.starts[place]
        return starts + buffer.before

    def _count_started(self, time: N) -> N:
        """Count the rows of each slice that start before a time, or more of samples."""
        buffer = self.buffer
        if buffer.layout is TimeLayout.SAMPLED:
            return -((self.start - time) // buffer.period)
        if buffer.starts is not None:
            return self._search(buffer.starts, time, "left")
        assert buffer.ends is not None
        count = 1 + self._search(buffer.ends, time, "left")
        return choose(self.start < time, count, 0)

    def _count_ended(self, time: N) -> N:
        """Count the rows of each slice that end up to a time; of samples maybe more.

        They end in order, as rows of other slices before them may not.
        """
        buffer = self.buffer
        if buffer.layout is TimeLayout.SAMPLED:
            return (time - self.start) // buffer.period
        assert buffer.ends is not None
        return self._search(buffer.ends, time, "right")

    def _search(self, times: Times, wanted: N, side: Literal["left", "right"]) -> N:
        """`searchsorted` of a time in the slice of each call."""
        if isinstance(self.first, int):
            times_of_slice = times[self.first : self.first + self.count]
            row: Any = _search_sorted(times_of_slice, wanted, side)
            return row if is_traced(row) else int(row)
        stop = self.first + self.count
        if self.keyed:
            found: I64Array = _search_slices(times, self.first, stop, wanted, side)
            return found - self.first
        rows: I64Array = _search_sorted(times[: self.buffer.n], wanted, side)
        return most(least(rows, stop), self.first) - self.first

    def _start_of(self, first: N) -> N:
        """Return the start of the row `first` of each slice, if that is not stored."""
        buffer = self.buffer
        match buffer.layout:
            case TimeLayout.SAMPLED:
                return self.start + first * buffer.period
            case TimeLayout.CONTIGUOUS:
                assert buffer.ends is not None
                row = most(self.first + first - 1, 0)
                if isinstance(row, int):
                    return int(buffer.ends[row]) if first > 0 else self.start
                return choose(first > 0, buffer.ends[row], self.start)
            case TimeLayout.INTERVALS | TimeLayout.OVERLAPPING:
                return self.start
            case _:
                assert_never(buffer.layout)


def _search_sorted(times: Any, wanted: Any, side: Literal["left", "right"]) -> Any:
    """Search times in order, or trace the search."""
    if isinstance(times, np.ndarray):
        return times.searchsorted(wanted, side)
    return times.search(wanted, side)


def _search_slices(
    times: Any, first: Any, stop: Any, wanted: Any, side: Literal["left", "right"]
) -> Any:
    """Search a slice of each call, or trace the search."""
    if isinstance(times, np.ndarray):
        return search_slices(times, first, stop, wanted, side)
    return times.search_slices(first, stop, wanted, side)


def _value_address(rows: RowSlices[Any], column: int) -> Any:
    values = rows.buffer.columns[column].values
    return _address(values) + values.itemsize * rows.here


def _address(array: Any) -> Any:
    """Find the address of an array, or trace it."""
    return address(array) if isinstance(array, np.ndarray) else array.address


ROW_NUMBERS: dict[SlotKind, Callable[[RowSlices[Any], int], Any]] = {
    SlotKind.ROWS: lambda rows, _: rows.count,
    SlotKind.START: lambda rows, _: rows.start,
    SlotKind.PERIOD: lambda rows, _: rows.buffer.period,
    SlotKind.BEFORE: lambda rows, _: rows.buffer.before,
    SlotKind.STARTS: lambda rows, _: _address(rows.buffer.starts) + 8 * rows.here,
    SlotKind.ENDS: lambda rows, _: _address(rows.buffer.ends) + 8 * rows.here,
    SlotKind.VALUES: _value_address,
    SlotKind.VALIDITY: lambda rows, j: _address(rows.buffer.columns[j].validity),
    SlotKind.VALIDITY_OFFSET: lambda rows, j: rows.buffer.columns[j].offset + rows.here,
}
"""What stands in the slots that describe the rows of an input, or their column `j`."""


def row_times(rows: RowSlices[N], first: N, stop: N) -> TimeRanges:
    """The starts and ends of the rows `[first[k], stop[k])` of the slice of each call.

    They may be the input's own arrays.
    """
    if isinstance(first, int):
        return rows.buffer.slice(rows.first + first, rows.first + stop).times()
    places = _places(rows.first + first, rows.first + stop)
    buffer = rows.buffer
    if buffer.starts is not None and buffer.ends is not None:
        return buffer.starts[places], buffer.ends[places]
    numbers: I64Array = (
        np.arange(places.start, places.stop) if isinstance(places, slice) else places
    )
    call = np.repeat(np.arange(len(first)), stop - first)
    if buffer.layout is TimeLayout.SAMPLED:
        starts = rows.start[call] + (numbers - rows.first[call]) * buffer.period
        return starts, starts + buffer.period
    assert buffer.ends is not None
    begins = numbers == rows.first[call]
    starts = np.where(begins, rows.start[call], buffer.ends[numbers - 1])
    return starts, buffer.ends[places]


def slice_by_key(
    rows: RowsByKey, keys: I64Array, *, spare: bool = False, every: bool = False
) -> RowSlices[I64Array]:
    """All rows of an input that calls for these keys may see.

    `spare`: sampled ones may be followed by those of the next keys. `every`: they are
    all keys, in order.
    """
    if not isinstance(rows, Groups):
        return RowSlices.all_of(rows, np.zeros(len(keys), np.int64))
    if every:
        first, count = rows.offsets[:-1], rows.counts
        return RowSlices(rows.buffer, first, count, rows.firsts, keyed=True)
    first, stop = rows.offsets[keys], rows.offsets[keys + 1]
    if spare and rows.buffer.layout is TimeLayout.SAMPLED:
        stop = np.full_like(stop, rows.buffer.n)
    return RowSlices(rows.buffer, first, stop - first, rows.firsts[keys], keyed=True)


def _places(first: I64Array, stop: I64Array) -> slice | I64Array:
    """The rows `[first[k], stop[k])`, one range after the other."""
    if (first[1:] == stop[:-1]).all():
        return slice(int(first[0]), int(stop[-1]))
    sizes = stop - first
    ends = np.cumsum(sizes)
    shifts = np.repeat(first - (ends - sizes), sizes)
    rows: I64Array = np.arange(len(shifts)) + shifts
    return rows
