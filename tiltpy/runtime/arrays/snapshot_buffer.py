"""Snapshot buffers: numpy views that kernels read, and that are sliced without copying.

The arrays are those `tiltpy.abi` documents. They may be views of Arrow memory, whose
owner numpy keeps alive; nobody writes to them once they stand in a buffer.
"""

import builtins
from dataclasses import field, replace

import numpy as np
from numpy.typing import NDArray

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrays.block_passes import CACHE_BLOCK, for_each_block
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.dtypes import Bits, BoolArray, I64Array, Times
from tiltpy.runtime.arrays.pool import allocate, dtype_of
from tiltpy.types import ENDLESS, I64, MAX_TIME, Type, columns


@record(frozen=True, slots=True, eq=False)
class Column:
    """One payload column: row `i` is `values[i]`, null where its validity bit is 0.

    `validity` is Arrow's bitmap (least significant bit first), or None where no row is
    null; row 0 is its bit `offset`. `strings` is the dictionary of a column of strings
    that has its own; null rows have codes of it, too.
    """

    values: NDArray[np.generic]
    validity: Bits | None = None
    offset: int = 0
    strings: Strings | None = None

    def slice(self, start: int, count: int) -> "Column":
        """View some rows, or one readable row where there are none."""
        values = self.values[start : start + max(1, count)]
        offset = self.offset + start if self.validity is not None else 0
        return Column(values, self.validity, offset, self.strings)

    def valid(self, count: int) -> BoolArray:
        """Unpack which of the first `count` rows are not null."""
        if self.validity is None:
            return np.ones(count, np.bool_)
        first, skip = divmod(self.offset, 8)
        bitmap = self.validity[first : first + (skip + count + 7) // 8]
        bits = np.unpackbits(bitmap, count=skip + count, bitorder="little")
        return bits[skip:].view(np.bool_)


@record(frozen=True, slots=True, eq=False)
class SnapshotBuffer:
    """The rows of one temporal object in order of start, then tie order.

    `start` belongs to sampled and contiguous buffers, `period` to sampled ones,
    `starts` to intervals and overlapping ones, `ends` to all but sampled ones. Times
    are ticks. Without rows the arrays still have one readable element.
    """

    layout: TimeLayout
    n: int
    start: int
    period: int
    starts: Times | None
    ends: Times | None
    columns: tuple[Column, ...]
    fifo: bool = True
    points: bool = False
    """Whether every row is known to last one tick."""
    domain_end: int | None = None
    """The end that counts for a domain, where it is another: the last rows of an input
    `until_next` hold on, but extend no domain."""
    before: int = 1
    """The ticks between the start of a row of an input and its stamp."""
    row_object: bool = False
    """Whether these are rows of a row object, which are out of order by their ends,
    null rows that are no gaps among them."""
    _ends_so_far: Times | None = field(default=None, init=False, repr=False)
    """The running maximum of `ends`, once `find` has needed it (ends out of order)."""
    hidden: I64Array | None = field(default=None, init=False, repr=False)
    """The numbers of its hidden rows, once anyone has asked (`ingest.visible_rows`)."""
    without_hidden: "tuple[SnapshotBuffer | None] | None" = field(
        default=None, init=False, repr=False
    )
    """The buffer without hidden rows, once a run has asked; None in it if that is no
    other (`ingest.visible_rows`)."""

    @staticmethod
    def empty(payload: Type) -> "SnapshotBuffer":
        """Make a buffer without rows."""
        dummies = (Column(np.zeros(1, dtype_of(t))) for _, t in columns(payload))
        return SnapshotBuffer(
            TimeLayout.SAMPLED, 0, 0, 1, None, None, tuple(dummies), fifo=True
        )

    def abi_layout(self) -> Layout:
        """Describe the layout that a kernel over this buffer is specialised for."""
        nullable = tuple([column.validity is not None for column in self.columns])
        return Layout(self.layout, nullable, self.fifo, self.points)

    def bounds(self) -> tuple[int, int] | None:
        """Find the smallest start and the largest end; None where there are no rows.

        An end is what counts for a domain (`domain_end`).
        """
        if self.n == 0:
            return None
        if self.layout is TimeLayout.SAMPLED:
            first, last = self.start, self.start + self.n * self.period
        else:
            assert self.ends is not None
            first = self.start if self.starts is None else int(self.starts[0])
            last = int(
                self.ends[self.n - 1] if self.fifo else self.ends[: self.n].max()
            )
        return first, last if self.domain_end is None else min(last, self.domain_end)

    def row(self, number: int) -> tuple[int, int]:
        """Find the start and the end of one row."""
        if self.layout is TimeLayout.SAMPLED:
            start = self.start + number * self.period
            return start, start + self.period
        assert self.ends is not None
        end = int(self.ends[number])
        if self.starts is not None:
            return int(self.starts[number]), end
        return int(self.ends[number - 1]) if number else self.start, end

    def times(self) -> tuple[Times, Times]:
        """Return the starts and the ends of all rows.

        Computed where they are not stored.
        """
        if self.layout is TimeLayout.SAMPLED:
            steps = space_equally(self.start, self.period, self.n + 1)
            return steps[:-1], steps[1:]
        assert self.ends is not None
        ends = self.ends[: self.n]
        if self.starts is not None:
            return self.starts[: self.n], ends
        starts = np.empty(self.n, np.int64)
        starts[:1] = self.start
        starts[1:] = ends[:-1]
        return starts, ends

    def as_overlapping(
        self, times: tuple[Times, Times] | None = None
    ) -> "SnapshotBuffer":
        """Lay the rows out as any may lie, since the states of a kernel depend on it.

        `times` are those of the rows where they are segments.
        """
        if self.layout is TimeLayout.OVERLAPPING:
            return replace(self, points=False)
        starts, ends = times or self.times()
        if self.n == 0:
            starts = ends = np.zeros(1, np.int64)
        return replace(
            self,
            layout=TimeLayout.OVERLAPPING,
            period=0,
            starts=starts,
            ends=ends,
            points=False,
        )

    def slice(
        self, start: int, stop: int, *, row_object: bool = False
    ) -> "SnapshotBuffer":
        """View the rows `start` to `stop` (exclusive); nothing is copied.

        `row_object`: they are those of a row object.
        """
        count = stop - start
        first = self._readable(start, count).start
        columns = tuple([c.slice(first, count) for c in self.columns])
        return self.slice_times(start, stop, columns, row_object=row_object)

    def slice_times(
        self,
        start: int,
        stop: int,
        columns: tuple[Column, ...],
        *,
        row_object: bool = False,
    ) -> "SnapshotBuffer":
        """View the times of the rows `start` to `stop`, which have other columns."""
        assert 0 <= start <= stop <= self.n
        rows, first = self._readable(start, stop - start), self.start
        if self.layout is TimeLayout.SAMPLED:
            first += start * self.period
        elif self.starts is None and start > 0:
            assert self.ends is not None
            first = int(self.ends[start - 1])
        return SnapshotBuffer(
            self.layout,
            stop - start,
            first,
            self.period,
            None if self.starts is None else self.starts[rows],
            None if self.ends is None else self.ends[rows],
            columns,
            self.fifo,
            self.points,
            self.domain_end,
            self.before,
            row_object or self.row_object,
        )

    def _readable(self, start: int, count: int) -> builtins.slice:
        """Return so many rows from one on; where there are none, any to be readable."""
        if count:
            return slice(start, start + count)
        return slice(max(0, min(start, self.n - 1)), None)

    def with_columns(self, columns: tuple[Column, ...]) -> "SnapshotBuffer":
        """Replace the payload columns."""
        return SnapshotBuffer(
            self.layout,
            self.n,
            self.start,
            self.period,
            self.starts,
            self.ends,
            columns,
            self.fifo,
            self.points,
            self.domain_end,
            self.before,
            self.row_object,
        )

    def find(self, low: int, high: int) -> tuple[int, int]:
        """Find the rows that cover every event that overlaps `(low, high]`.

        Overlapping buffers may have others between them. An empty range has no rows.
        """
        if self.n == 0 or low >= high:
            return 0, 0
        first = self.count_ended(low)
        if self.layout is TimeLayout.SAMPLED:
            stop = -((self.start - high) // self.period)
        else:
            stop = self._rows_started_before(high)
        return first, max(first, min(stop, self.n))

    def count_ended(self, time: int) -> int:
        """Count the first rows that all end by a time."""
        if not self.n:
            return 0
        if self.layout is TimeLayout.SAMPLED:
            return min(max((time - self.start) // self.period, 0), self.n)
        return int(self.ordered_ends().searchsorted(time, "right"))

    def find_last(self, time: int, count: int, *, gaps: bool = True) -> int:
        """Find the first of the last `count` events that start before a time.

        `gaps`: null rows are no events, if there is one column.
        """
        _, before = self.find(-ENDLESS, time)
        first = max(0, before - count)
        if not gaps or len(self.columns) > 1 or self.columns[0].validity is None:
            return first
        while True:
            column = self.columns[0].slice(first, before - first)
            events = np.flatnonzero(column.valid(before - first))
            if len(events) >= count:
                return first + int(events[-count])
            if first == 0:
                return 0
            first = max(0, before - 2 * (before - first))

    def _rows_started_before(self, time: int) -> int:
        if self.starts is not None:
            return int(self.starts[: self.n].searchsorted(time))
        assert self.ends is not None
        if self.start >= time:
            return 0
        return 1 + int(self.ends[: self.n].searchsorted(time))

    def ordered_ends(self) -> Times:
        """Return the ends in order: of row `i`, or the largest of rows 0 to `i`."""
        assert self.ends is not None
        if self.fifo:
            return self.ends[: self.n]
        if self._ends_so_far is None:
            self.memoize("_ends_so_far", np.maximum.accumulate(self.ends[: self.n]))
            assert self._ends_so_far is not None
        return self._ends_so_far

    def memoize(self, name: str, value: object) -> None:
        """Keep what was computed of these rows, which never change."""
        object.__setattr__(self, name, value)


def pack_validity(valid: NDArray[np.uint8] | BoolArray) -> Bits | None:
    """Pack one byte per row (0 is null) into Arrow's bitmap.

    None where no row is null.
    """
    if valid.all():
        return None
    return np.packbits(valid, bitorder="little")


def space_equally(start: int, period: int, count: int) -> Times:
    """Make times from `start` on, `period` ticks apart; threads share them."""
    if period > MAX_TIME:  # of the one row that is longer than any step of numpy's
        return np.array([start + i * period for i in range(count)], np.int64)
    times = allocate(I64, count).view(np.int64)
    steps = np.arange(min(count, CACHE_BLOCK), dtype=np.int64)
    steps *= period

    def space(block: slice) -> None:
        ticks = times[block]
        np.add(steps[: len(ticks)], start + block.start * period, out=ticks)

    for_each_block(space, count)
    return times
