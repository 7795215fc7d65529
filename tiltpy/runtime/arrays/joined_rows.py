"""Snapshots that are rows of an input, those joined that are one.

A kernel marks the rows with which snapshots begin. Their times follow from these marks
and from the rows' own, and are computed on demand: a result that is only counted, or
whose values alone are read, needs none.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.lean_dataclass import dataclass
from tiltpy.routines.catalogue import SELECT_ENTRIES, SPARE
from tiltpy.runtime.arrays.dtypes import BoolArray, Times
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.types import I64, MAX_TIME


@dataclass(frozen=True, slots=True, eq=False)
class RowMarks:
    """Marks of successive rows, maybe of several keys: a bool for each.

    A snapshot begins where `begins`, and lasts until the next begins or there is none;
    without `covered` there is one in each row.
    """

    begins: BoolArray
    covered: BoolArray | None

    def slice(self, first: int, stop: int | None = None) -> "RowMarks":
        """View the marks of some rows."""
        covered = None if self.covered is None else self.covered[first:stop]
        return RowMarks(self.begins[first:stop], covered)

    def has_snapshot(self, row: int) -> bool:
        """Tell whether there is a snapshot in a row."""
        return self.covered is None or bool(self.covered[row])

    def next_begin(self, row: int) -> int:
        """Find the first row from `row` on with which a snapshot begins."""
        return row + _count_before(self.begins[row:], True)

    def end_of(self, row: int) -> int:
        """Find the first row behind the snapshot that has a row."""
        stop = self.next_begin(row + 1)
        if self.covered is None:
            return stop
        return row + _count_before(self.covered[row:stop], False)

    def join(self, starts: Times | int, ends: Times, count: int) -> tuple[Times, Times]:
        """Compute the times of `count` snapshots from those of the rows.

        Rows that start where the one before ends need the first start alone.
        """
        lasts = np.ones(len(self.begins), np.bool_)
        lasts[:-1] = self.begins[1:]
        if self.covered is not None:
            lasts[:-1] |= ~self.covered[1:]
            lasts &= self.covered
        joined_starts, joined_ends = (
            allocate(I64, count + SPARE).view(np.int64) for _ in range(2)
        )

        def copy(times: Times, flags: BoolArray, target: Times) -> None:
            SELECT_ENTRIES(len(flags), times, flags, target)

        copy(ends, lasts, joined_ends)
        if isinstance(starts, int):
            joined_starts[0] = starts
            copy(ends[:-1], self.begins[1:], joined_starts[int(self.begins[0]) :])
        else:
            copy(starts, self.begins, joined_starts)
        return joined_starts[:count], joined_ends[:count]


def _count_before(flags: BoolArray, flag: bool) -> int:
    """Count the entries before the first that is `flag`."""
    if not len(flags):
        return 0
    place = int(flags.argmax() if flag else flags.argmin())
    return place if flags[place] == flag else len(flags)


@dataclass(frozen=True, slots=True, eq=False)
class JoinedRows:
    """`n` snapshots of the marked `rows`, which have no columns of their own.

    `reach`, if there is one, is the end of the last snapshot, which continues in later
    pieces. All times are clipped to `(floor, ceiling]`.
    """

    rows: SnapshotBuffer
    marks: RowMarks
    n: int
    columns: tuple[Column, ...]
    reach: int | None = None
    floor: int | None = None
    ceiling: int | None = None

    def after(self, seam: int) -> tuple["JoinedRows", int | None]:
        """Drop what begins before a seam; where a snapshot goes on over it, its end."""
        row, _ = self.rows.find(seam, MAX_TIME)
        first, carry_end = self.marks.next_begin(row), None
        goes_on = row < self.rows.n and self.marks.has_snapshot(row)
        if goes_on and (first > row or self.rows.row(row)[0] < seam):
            first = self.marks.next_begin(row + 1)
            carry_end = self.rows.row(self.marks.end_of(row) - 1)[1]
        if first == 0:
            return self, carry_end
        dropped = int(np.count_nonzero(self.marks.begins[:first]))
        rest = replace(
            self,
            rows=self.rows.slice(first, self.rows.n),
            marks=self.marks.slice(first),
            n=self.n - dropped,
            columns=tuple(c.slice(dropped, self.n - dropped) for c in self.columns),
        )
        return rest, carry_end

    def times(self) -> tuple[Times, Times]:
        """Compute the starts and the ends of all snapshots, in ticks."""
        shared = self.n == self.rows.n
        starts, ends = self.rows.times() if shared else self._join()
        if not self.n:
            return starts, ends
        start, end = int(starts[0]), int(ends[-1])
        if self.floor is not None:
            start = max(start, self.floor)
        if self.reach is not None:
            end = self.reach
        if self.ceiling is not None:
            end = min(end, self.ceiling)
        return _replace(starts, 0, start, shared), _replace(ends, -1, end, shared)

    def _join(self) -> tuple[Times, Times]:
        rows = self.rows
        starts: Times | int
        if rows.layout is TimeLayout.CONTIGUOUS:
            assert rows.ends is not None
            starts, ends = rows.start, rows.ends[: rows.n]
        else:
            starts, ends = rows.times()
        return self.marks.join(starts, ends, self.n)

    def __reduce__(self) -> tuple[type[SnapshotBuffer], tuple[Any, ...]]:
        """Pickle them with their times, without the rows that they are of."""
        times = self.times()
        layout = TimeLayout.INTERVALS
        return SnapshotBuffer, (layout, self.n, 0, 1, *times, self.columns)


def _replace(times: Times, index: int, time: int, shared: bool) -> Times:
    if times[index] == time:
        return times
    if shared:
        times = times.copy()
    times[index] = time
    return times
