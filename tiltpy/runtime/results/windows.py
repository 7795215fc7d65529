"""Outputs with a row for each window: each cell of their grid, empty or not."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tiltpy.calendars import cell_numbers, cell_starts
from tiltpy.errors import TiltError
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.timestamps import OutputStamp, from_ticks
from tiltpy.types import TDom

MOST_WINDOWS = 1 << 31
"""Rows beyond which a table of windows is refused."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The grid of an output, and its domain as far as the run's caller gave it."""

    tdom: TDom
    start: int | None = None
    end: int | None = None

    def cells(self, times: Times) -> I64Array:
        """Number the cells that hold some times."""
        if self.tdom.calendar is not None:
            return cell_numbers(self.tdom.calendar, times)
        numbers: I64Array = -((self.tdom.offset - times) // self.tdom.precision)
        return numbers

    def labels(self, cells: I64Array) -> Times:
        """Find the grid points of cells, or the first ticks of `left` ones."""
        if self.tdom.calendar is not None:
            return cell_starts(self.tdom.calendar, cells) + 1
        points: Times = self.tdom.offset + cells * self.tdom.precision
        return points - self.tdom.precision + 1 if self.tdom.left else points

    def there(self, cells: I64Array) -> BoolArray:
        """Tell which cells there are: no zone skips all of a month, but some a day."""
        there: BoolArray = np.ones(len(cells), np.bool_)
        if self.tdom.calendar is not None:
            starts = cell_starts(self.tdom.calendar, cells)
            there = starts < cell_starts(self.tdom.calendar, cells + 1)
        return there

    def span(self, first: I64Array, last: I64Array) -> tuple[int, int] | None:
        """Find the first of the cells of some rows, and the one behind the last.

        As far as the domain, where that was given; None where there is no cell.
        """
        if not len(first) and (self.start is None or self.end is None):
            return None
        low = int(first[0]) if self.start is None else self._cell(self.start + 1)
        high = int(last[-1]) if self.end is None else self._cell(self.end)
        return low, high + 1

    def _cell(self, time: int) -> int:
        return int(self.cells(np.array([time]))[0])


@dataclass(frozen=True, slots=True)
class IntervalGrid(Grid):
    """The intervals of an input as the cells of an output.

    They are labelled as they are bound: `before` ticks after they start.
    """

    intervals: SnapshotBuffer | None = None
    before: int = 0

    def cells(self, times: Times) -> I64Array:
        numbers: I64Array = self._times()[1].searchsorted(times, "left")
        return numbers

    def labels(self, cells: I64Array) -> Times:
        labels: Times = self._times()[0][cells] + self.before
        return labels

    def span(self, first: I64Array, last: I64Array) -> tuple[int, int] | None:
        starts, _ = self._times()
        if not len(first) and (self.start is None or self.end is None):
            return None
        low = int(first[0]) if self.start is None else self._cell(self.start + 1)
        stop = int(last[-1]) + 1 if len(last) else 0
        if self.end is not None:
            stop = int(starts.searchsorted(self.end, "left"))
        return low, max(low, stop)

    def _times(self) -> tuple[Times, Times]:
        if self.intervals is None:
            raise TiltError(
                f"windows() needs the intervals of '{self.tdom.cells}', which a "
                "stream does not keep, and keys have each their own; an output that is "
                "a struct has a row for each of them already"
            )
        return self.intervals.times()


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """The cells of an output, those of one key after those of another.

    `rows` has the row that holds each, -1 where there is none; `owners` has a row of
    the key that each is of.
    """

    cells: I64Array
    rows: I64Array
    owners: I64Array

    def keep(self, mask: BoolArray) -> "Windows":
        """Keep those that a mask selects."""
        return Windows(self.cells[mask], self.rows[mask], self.owners[mask])


def find_windows(
    grid: Grid, starts: Times, ends: Times, keys: Iterable[slice], name: str
) -> Windows:
    """Find the cells of the output `name`, whose rows are in slices by key.

    They go from the first to the last that has a value, or as far as the domain.
    """
    first, last = grid.cells(starts + 1), grid.cells(ends)
    spans: list[tuple[int, int]] = []
    owners: list[int] = []
    origins = np.zeros(len(starts), np.int64)
    total = 0
    for rows in keys:
        span = grid.span(first[rows], last[rows])
        if span is None:
            continue
        origins[rows] = total - span[0]
        spans.append(span)
        owners.append(rows.start)
        total += span[1] - span[0]
    if total > MOST_WINDOWS:
        raise TiltError(
            f"output '{name}' has {total:,} windows, far more than its "
            f"{len(starts):,} rows; give it a coarser precision, or take its snapshots"
        )
    counts = last - first + 1
    position = _count_up(first + origins, counts)
    row = np.full(total, -1)
    row[position] = np.repeat(np.arange(len(starts)), counts)
    begins, stops = np.array(spans, np.int64).reshape(-1, 2).T
    owner = np.repeat(np.array(owners, np.int64), stops - begins)
    windows = Windows(_count_up(begins, stops - begins), row, owner)
    return windows.keep(grid.there(windows.cells))


def _count_up(firsts: I64Array, counts: I64Array) -> I64Array:
    """Concatenate ranges: `counts[i]` numbers from `firsts[i]` on."""
    ahead = np.cumsum(counts) - counts
    numbers: I64Array = np.arange(counts.sum()) + np.repeat(firsts - ahead, counts)
    return numbers


def windows_table(
    table: pa.Table,
    windows: Windows,
    labels: Times,
    stamp: OutputStamp,
    keys: tuple[str, ...],
    time: str,
    name: str,
) -> pa.Table:
    """Make the table of windows of a table of snapshots: keys, label, payload."""
    payload = table.drop_columns(["start", "end", *keys])
    if time in (*keys, *payload.column_names):
        raise TiltError(
            f"output '{name}' has a column '{time}' already; give the labels "
            "another name: windows(time=...)"
        )
    rows = pa.array(windows.rows, mask=windows.rows < 0)
    named = {key: table[key].take(pa.array(windows.owners)) for key in keys}
    named[time] = from_ticks(labels, stamp, name)
    payload = payload.take(rows)
    named |= dict(zip(payload.column_names, payload.columns, strict=True))
    return pa.table(named)
