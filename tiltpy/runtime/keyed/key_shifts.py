"""Keys shifted to time ranges behind one another, and what they make shifted back.

The time ranges are so far apart that nothing sees the rows of another key.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.abi.signature import Loop
from tiltpy.lean_dataclass import dataclass
from tiltpy.routines.catalogue import (
    CUT_RUNS,
    FIND_RUNS,
    LAY_OUT_KEYS,
    SHIFT_BY_KEY,
    SHIFT_POINTS,
)
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.arrays.pool import allocate, empty_times
from tiltpy.runtime.arrays.repetition import repeat_numbers
from tiltpy.runtime.arrays.runs import Runs
from tiltpy.runtime.arrays.same_memory import are_same
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer, pack_validity
from tiltpy.runtime.execution.call_numbers import ceil_to
from tiltpy.runtime.execution.key_domains import (
    EARLIEST,
    LATEST,
    Domains,
)
from tiltpy.runtime.execution.time_domain import Cells
from tiltpy.runtime.ingest.group_by_code import offsets_of
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.types import I64, TDom

LONGEST = 1 << 60
"""The ticks of all time ranges of a batch, at most."""


def concatenated_layout(buffer: SnapshotBuffer, most: int | None = None) -> Layout:
    """Describe the rows of an input once they are concatenated, at `most` of a key."""
    return replace(
        buffer.abi_layout(),
        time=_time_layout(buffer),
        points=_are_points(buffer),
        together=most,
    )


STARTS_LAYOUT = Layout(TimeLayout.INTERVALS, (False,), points=True)
"""The layout of `KeyShifts.starts`."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyRows:
    """The rows of an input that some keys have, `counts[k]` of key `k`, as they are."""

    buffer: SnapshotBuffer
    first: int
    counts: I64Array
    starts: Times
    ends: Times

    @staticmethod
    def of(groups: Groups, counts: I64Array) -> "KeyRows":
        """Find the times of rows, which may be the input's own."""
        buffer, offsets = groups.buffer, groups.offsets
        first, stop = int(offsets[0]), int(offsets[-1])
        if buffer.starts is not None and buffer.ends is not None:
            starts, ends = buffer.starts[first:stop], buffer.ends[first:stop]
            return KeyRows(buffer, first, counts, starts, ends)
        heads = offsets[:-1] - first
        if buffer.layout is TimeLayout.SAMPLED:
            origins = groups.firsts - heads * buffer.period
            starts = repeat_numbers(origins, counts, stop - first)
            starts += np.arange(stop - first) * buffer.period
            return KeyRows(buffer, first, counts, starts, starts + buffer.period)
        assert buffer.ends is not None
        ends = buffer.ends[first:stop]
        starts = np.empty_like(ends)
        starts[1:] = ends[:-1]
        nonempty = counts > 0
        starts[heads[nonempty]] = groups.firsts[nonempty]
        return KeyRows(buffer, first, counts, starts, ends)

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.ends)

    def repeat(self, numbers: I64Array) -> I64Array:
        """Repeat the number of each key for its rows."""
        return repeat_numbers(numbers, self.counts, self.count)

    def shift(self, ends: Times, shifts: I64Array) -> tuple[Times, Times]:
        """Add the shift of its key to the start of each row, and to its end."""
        keys, count = np.ascontiguousarray(self.counts), self.count
        made = (allocate(I64, count).view(np.int64)[:count] for _ in range(2))
        shifted_starts, shifted_ends = made
        if _are_points(self.buffer):
            SHIFT_POINTS(
                *(len(keys), count, keys, shifts, np.ascontiguousarray(ends)),
                *(shifted_ends, shifted_starts),
            )
            return shifted_starts, shifted_ends
        for times, shifted in ((self.starts, shifted_starts), (ends, shifted_ends)):
            contiguous = np.ascontiguousarray(times)
            SHIFT_BY_KEY(len(keys), count, keys, shifts, contiguous, shifted)
        return shifted_starts, shifted_ends

    def are(self, loop: Loop, made: KeyedSnapshots) -> bool:
        """Tell whether snapshots are these rows, each in its key's domain."""
        every = len(made.starts) == self.count and self.buffer.domain_end is None
        return every and (loop.stamped or (loop.implicit_times and made.shared))


@dataclass(frozen=True, slots=True, eq=False)
class KeyShifts:
    """The shifts of successive keys to time ranges behind one another.

    After it nothing of key `k` is at or before `lows[k]`, or ends after `highs[k]`.
    """

    shifts: Times
    lows: Times
    highs: Times

    @staticmethod
    def of(
        inputs: Iterable[Groups],
        domains: Iterable[Domains],
        apart: int,
        precision: int,
    ) -> "KeyShifts | None":
        """Lay out some keys; None if there is no time enough.

        Time ranges are so many ticks `apart`, and shifts are multiples of `precision`.
        """
        low = high = None
        ranges = [
            _where(None if each.complete else each.wanted, each.start, each.end)
            for each in domains
        ]
        ranges += [
            _where(None if each.complete else each.nonempty, each.firsts, each.lasts)
            for each in inputs
        ]
        for begin, end in ranges:
            if low is None or high is None:
                low, high = begin, end
            elif not (are_same(low, begin) and are_same(high, end)):
                low, high = np.minimum(low, begin), np.maximum(high, end)
        assert low is not None
        assert high is not None
        if apart > LONGEST:
            return None
        shifts = np.empty(len(low) + 1, np.int64)
        times = np.ascontiguousarray(low), np.ascontiguousarray(high)
        LAY_OUT_KEYS(len(low), apart, precision, LONGEST, *times, shifts)
        if shifts[-1] > LONGEST:
            return None
        return KeyShifts(shifts[:-1], low, high)

    def cells(self, tdom: TDom, heads: I64Array) -> Cells[I64Array]:
        """The cells of calls, each from one of the keys `heads` up to the next."""
        last = np.append(heads[1:], len(self.shifts)) - 1
        low = self.lows[heads] + self.shifts[heads]
        high = self.highs[last] + self.shifts[last]
        return Cells(ceil_to(tdom, low + 1), ceil_to(tdom, high), False, True)

    def starts(self, reach: int) -> tuple[SnapshotBuffer, I64Array]:
        """Make a true row before whatever can be seen of each key that has something.

        Nothing of the keys before reaches it. The offsets count the rows before each
        key, and all.
        """
        some = self.lows <= self.highs
        ends = (self.lows + self.shifts)[some] - reach
        offsets = offsets_of(some.astype(np.int64))
        count = len(ends)
        if not count:
            ends = np.zeros(1, np.int64)
        true = Column(np.ones(len(ends), np.bool_))
        buffer = SnapshotBuffer(
            *(TimeLayout.INTERVALS, count, 0, 1, ends - 1, ends, (true,)), points=True
        )
        return buffer, offsets

    def shift(self, rows: "KeyRows", reach: int) -> SnapshotBuffer:
        """Shift the rows of an input, and end those that hold on beyond any reach."""
        buffer, ends = rows.buffer, rows.ends
        if buffer.domain_end is not None:
            ends = np.minimum(ends, rows.repeat(self.highs + reach))
        starts, ends = rows.shift(ends, self.shifts)
        made = replace(
            buffer.slice(rows.first, rows.first + rows.count),
            layout=_time_layout(buffer),
            start=0,
            period=1,
            starts=starts,
            ends=ends,
            points=_are_points(buffer),
            domain_end=None,
        )
        if rows.count:
            return made
        nothing = np.zeros(1, np.int64)
        return replace(made, starts=nothing, ends=nothing)

    def cut(
        self,
        loop: Loop,
        made: KeyedSnapshots,
        domains: Domains,
        before: int,
    ) -> KeyedSnapshots:
        """Shift snapshots back, and cut them to the keys' domains.

        Rows are those of a key whose stamps its domain has, `before` ticks after they
        start, and keep their lifetimes.
        """
        lows, highs = domains.start + self.shifts, domains.end + self.shifts
        ends = made.ends
        if loop.stamped:
            lows, highs = lows - before, highs - before + 1
            ends = made.starts
        if not domains.complete:
            wanted = domains.wanted
            lows, highs = (np.where(wanted, each, EARLIEST) for each in (lows, highs))
        count, keys = len(made.starts), len(self.shifts)
        firsts, counts = np.empty(keys, np.int64), np.empty(keys + 1, np.int64)
        FIND_RUNS(count, keys, made.starts, ends, lows, highs, firsts, counts)
        counts, again = counts[:-1], int(counts[-1])
        total = int(counts.sum())
        starts, ends = made.starts, made.ends
        if made.shared or again:  # else they are written where they are
            starts, ends = empty_times(total), empty_times(total)
        if loop.stamped:
            highs = np.full(keys, LATEST)
        CUT_RUNS(
            *(keys, firsts, counts, lows, highs, self.shifts),
            *(made.starts, made.ends, starts, ends),
        )
        columns = made.columns
        if again or total != count:
            runs = Runs(firsts, counts, total)
            columns = tuple(_take(column, runs, count) for column in columns)
        return KeyedSnapshots(starts[:total], ends[:total], columns, counts)

    def move_back(
        self, made: KeyedSnapshots, moving: tuple[bool, ...]
    ) -> KeyedSnapshots:
        """Shift the times in some columns back, those of each key by its shift."""
        count, keys = len(made.starts), len(self.shifts)
        if not count or not any(moving):
            return made
        counts, back = np.ascontiguousarray(made.counts), -self.shifts
        columns = list(made.columns)
        for number in np.flatnonzero(moving):
            values = columns[number].values[:count]
            times = allocate(I64, count).view(np.int64)
            SHIFT_BY_KEY(keys, count, counts, back, values, times)
            columns[number] = replace(columns[number], values=times)
        return replace(made, columns=tuple(columns))


def _where(wanted: BoolArray | None, low: Times, high: Times) -> tuple[Times, Times]:
    """Return the time ranges of some keys, by default of all; others have none."""
    if wanted is None:
        return low, high
    return np.where(wanted, low, LATEST), np.where(wanted, high, EARLIEST)


def _take(column: Column, runs: Runs, count: int) -> Column:
    """Copy some of `count` values of a column, or one where there are none."""
    if not runs.total:
        return Column(column.values[:1].copy(), strings=column.strings)
    validity = None
    if column.validity is not None:
        validity = pack_validity(runs.take(column.valid(count)))
    return Column(runs.take(column.values), validity, strings=column.strings)


def _time_layout(buffer: SnapshotBuffer) -> TimeLayout:
    if buffer.layout is TimeLayout.OVERLAPPING:
        return TimeLayout.OVERLAPPING
    return TimeLayout.INTERVALS


def _are_points(buffer: SnapshotBuffer) -> bool:
    return buffer.points or (buffer.layout is TimeLayout.SAMPLED and buffer.period == 1)
