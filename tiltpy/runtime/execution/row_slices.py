"""The rows that many keys have of an input, as columns: a number for each key."""

from dataclasses import dataclass
from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from tiltpy.abi import SlotKind, TimeLayout
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.kernel_arguments import INPUT_NUMBERS
from tiltpy.runtime.execution.key_domains import Rows, Times
from tiltpy.runtime.ingest.keys import Groups

Stretches = tuple[Times, Times]
"""From where to where, for each key or call; nothing where the first is beyond the
second."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Of each key `count` rows from `first` on; `start` is where the first one starts.

    `start` is anything where the rows' starts are stored.
    """

    buffer: SnapshotBuffer
    first: Times
    count: Times
    start: Times

    def number(self, kind: SlotKind, column: int) -> Times | int:
        """What stands in the slot that tells of the rows, or of their column."""
        buffer = self.buffer
        match kind:
            case SlotKind.ROWS:
                return self.count
            case SlotKind.START:
                return self.start
            case SlotKind.STARTS | SlotKind.ENDS:
                return INPUT_NUMBERS[kind](buffer, column) + 8 * self._here
            case SlotKind.VALUES:
                size = buffer.columns[column].values.itemsize
                return INPUT_NUMBERS[kind](buffer, column) + size * self._here
            case SlotKind.VALIDITY_OFFSET:
                return buffer.columns[column].offset + self._here
            case _:
                return INPUT_NUMBERS[kind](buffer, column)

    @property
    def _here(self) -> Times:
        """The first row of each key, or one that can be read."""
        return clipped(self.first, max(0, self.buffer.n - 1))

    def times(self, first: Times, stop: Times) -> tuple[Times, Times]:
        """The starts and ends of the rows `[first[k], stop[k])` of each key `k`.

        They may be the input's own arrays.
        """
        places = _ranges(self.first + first, self.first + stop)
        buffer = self.buffer
        if buffer.starts is not None and buffer.ends is not None:
            return buffer.starts[places], buffer.ends[places]
        rows: Times = (
            np.arange(places.start, places.stop)
            if isinstance(places, slice)
            else places
        )
        of = np.repeat(np.arange(len(first)), stop - first)
        if buffer.layout is TimeLayout.SAMPLED:
            starts = self.start[of] + (rows - self.first[of]) * buffer.period
            return starts, starts + buffer.period
        assert buffer.ends is not None
        ends = buffer.ends[places]
        begun = rows == self.first[of]
        return np.where(begun, self.start[of], buffer.ends[rows - 1]), ends


def part_of(
    rows: Rows,
    keys: NDArray[np.int64],
    needed: Stretches | None,
    *,
    near: bool = False,
    spare: bool = False,
) -> Part:
    """What each key has of an input: its own rows, or those of all keys it needs.

    `near`: of its own, too, those that it needs alone, which are few of them. `spare`:
    regular ones may be followed by those of the next key.
    """
    none = np.zeros(len(keys), np.int64)
    if isinstance(rows, Groups):
        first, stop = rows.offsets[keys], rows.offsets[keys + 1]
        if spare and rows.buffer.layout is TimeLayout.SAMPLED:
            stop = np.full_like(stop, rows.buffer.n)
        whole = Part(rows.buffer, first, stop - first, rows.firsts[keys])
        if not near:
            return whole
    else:
        whole = Part(rows, none, none + rows.n, none + rows.start)
    if needed is None:
        return Part(whole.buffer, none, none, none)
    first, stop = find_in_parts(whole, *needed)
    return Part(whole.buffer, whole.first + first, stop - first, _starts(whole, first))


def find_in_parts(part: Part, low: Times, high: Times) -> Stretches:
    """The rows of each key that cover every event which overlaps `(low, high]`.

    They are counted from the first of its key. See `SnapshotBuffer.find`.
    """
    buffer = part.buffer
    if buffer.layout is TimeLayout.SAMPLED:
        first = (low - part.start) // buffer.period
        stop = -((part.start - high) // buffer.period)
    else:
        begin, end = part.first, part.first + part.count
        first = _bisect(buffer.ordered_ends(), begin, end, low, "right") - begin
        if buffer.starts is not None:
            stop = _bisect(buffer.starts, begin, end, high, "left") - begin
        else:
            assert buffer.ends is not None
            stop = 1 + _bisect(buffer.ends, begin, end, high, "left") - begin
            stop = np.where(part.start < high, stop, 0)
    some = low < high
    first = np.where(some, clipped(first, part.count), 0)
    stop = np.where(some, np.minimum(stop, part.count), 0)
    return first, np.maximum(first, stop)


def clipped(rows: Times, most: Times | int) -> Times:
    """The rows from 0 to `most`. (numpy's own asks its types for their limits.)"""
    found: Times = np.maximum(np.minimum(rows, most), 0)
    return found


def _starts(part: Part, first: Times) -> Times:
    """Where the row `first[k]` of each key starts, if that is not stored."""
    buffer = part.buffer
    match buffer.layout:
        case TimeLayout.SAMPLED:
            return part.start + first * buffer.period
        case TimeLayout.CONTIGUOUS:
            assert buffer.ends is not None
            before = buffer.ends[np.maximum(part.first + first - 1, 0)]
            return np.where(first > 0, before, part.start)
        case TimeLayout.INTERVALS | TimeLayout.OVERLAPPING:
            return part.start
        case _:
            assert_never(buffer.layout)


def _bisect(
    times: Times,
    first: Times,
    stop: Times,
    wanted: Times,
    side: Literal["left", "right"],
) -> Times:
    """`searchsorted` of one time in each of many stretches of an array."""
    low, high = first.copy(), stop.copy()
    while (active := low < high).any():
        middle = (low + high) >> 1
        found = times[np.where(active, middle, 0)]
        below = found < wanted if side == "left" else found <= wanted
        low = np.where(active & below, middle + 1, low)
        high = np.where(active & ~below, middle, high)
    return low


def _ranges(first: Times, stop: Times) -> slice | NDArray[np.int64]:
    """The places `first[k]` to `stop[k]`, one stretch after the other."""
    if (first[1:] == stop[:-1]).all():
        return slice(int(first[0]), int(stop[-1]))
    sizes = stop - first
    ends = np.cumsum(sizes)
    shifts = np.repeat(first - (ends - sizes), sizes)
    places: Times = np.arange(len(shifts)) + shifts
    return places
