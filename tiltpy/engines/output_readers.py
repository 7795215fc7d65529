"""Readers of what a call of a known form wrote of its outputs.

What reads snapshots in a run serves any layout and any number of calls. Each reader
here serves outputs of one kind in the form that most of their snapshots have; all
others are stitched as in a run.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltpy.abi.layouts import TimeLayout
from tiltpy.abi.signature import Loop
from tiltpy.engines.engine import split_open
from tiltpy.runtime.arrays.dictionary import NO_STRINGS
from tiltpy.runtime.arrays.dtypes import Times
from tiltpy.runtime.arrays.pool import Array
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.execution.call_table import LENT_ENTRIES, CallTable
from tiltpy.runtime.execution.slot_map import TIMES
from tiltpy.runtime.execution.stitch import Piece, Stitcher
from tiltpy.runtime.execution.sweep_calls import SweepOutput
from tiltpy.runtime.execution.time_domain import Cells, Domain, OutputRange
from tiltpy.runtime.incremental.last_pieces import copy_row
from tiltpy.types import ENDLESS, Type

SHARED_SNAPSHOTS = 1 << 12
"""So many final snapshots may stay in memory as long as the open one behind them."""
Rows = Mapping[str, SnapshotBuffer]
Split = tuple[list[Piece], Piece | None]
"""The final snapshots of an output, and the open one."""


class OutputReader:
    """Reads what a call wrote of an output."""

    def __init__(
        self, loop: Loop, of: Type, may_have_others: bool, owns_rows: bool
    ) -> None:
        self.loop = loop
        self.of = of
        self.may_have_others = may_have_others
        self.owns_rows = owns_rows
        self.values: list[Array] = []
        """The arrays that the call writes its payload to, if that is never null."""
        self._serves = False
        self._version = -1

    def read(
        self,
        table: CallTable,
        count: int,
        numbers: Sequence[int],
        rows: Rows,
        range_: OutputRange,
        before: Piece | None,
    ) -> Split | None:
        """Read `count` snapshots, if they have the form of most.

        `numbers` are those of `RangeFormulas.fill`, `before` is the open snapshot.
        """
        del table, count, numbers, rows, range_, before
        return None

    def stitch(
        self,
        table: CallTable,
        numbers: Sequence[int],
        rows: Rows,
        range_: OutputRange,
        before: Piece | None,
    ) -> Stitcher:
        """Put snapshots of any form behind the open one."""
        first, last, seam, begin, stop = numbers
        cells = Cells(first, last, bool(seam))
        output = SweepOutput(
            self.loop, cells, self.may_have_others, begin, stop, self.owns_rows
        )
        stitcher = Stitcher(self.loop.tdom, range_.domain)
        if before is not None:
            stitcher.pieces.append(before)
        piece = output.snapshots_of(output.count_snapshots(table), 0, rows)
        stitcher.add(piece, cells if self.may_have_others else None)
        return stitcher

    def split(self, stitcher: Stitcher, range_: OutputRange) -> Split:
        """Split snapshots into final ones and an open one."""
        return split_open(stitcher, range_, self.of, NO_STRINGS)

    def find_arrays(self, table: CallTable) -> bool:
        """Find the arrays that the call writes to; False if values may be null."""
        if self._version != table.version:
            payloads = table.map.payloads[self.loop.name]
            self._serves = all(nulls is None for _, nulls in payloads)
            self.values = [table.arrays[values].array for values, _ in payloads]
            self._version = table.version
            self.find_times(table)
        return self._serves

    def find_times(self, table: CallTable) -> None:
        """Find the arrays of times, if there are some."""


class RowReader(OutputReader):
    """Reads rows of a row object, which have the times of an input's."""

    def read(
        self,
        table: CallTable,
        count: int,
        numbers: Sequence[int],
        rows: Rows,
        range_: OutputRange,
        before: Piece | None,
    ) -> Split | None:
        del range_, before
        if not 0 < count < LENT_ENTRIES or not self.find_arrays(table):
            return None
        payload = tuple(map(Column, [each[:count].copy() for each in self.values]))
        return [self.view(count, payload, numbers, rows)], None

    def view(
        self,
        count: int,
        payload: tuple[Column, ...],
        numbers: Sequence[int],
        rows: Rows,
    ) -> SnapshotBuffer:
        """View the times of so many rows, which have a payload."""
        del count
        source = rows[self.loop.reads[0].object]
        begin, stop = numbers[-2:]
        return source.slice_times(begin, stop, payload, row_object=True)


class TimedReader(OutputReader):
    """Reads snapshots that have times of their own."""

    def find_times(self, table: CallTable) -> None:
        """Find the arrays of times."""
        name = self.loop.name
        starts, ends = [table.arrays[kind, name, 0].array for kind in TIMES]
        self._starts: Times = starts.view(np.int64)
        self._ends: Times = ends.view(np.int64)


class TimedRowReader(RowReader, TimedReader):
    """Reads rows of a row object that leaves out some of an input's."""

    def view(
        self,
        count: int,
        payload: tuple[Column, ...],
        numbers: Sequence[int],
        rows: Rows,
    ) -> SnapshotBuffer:
        """Copy the times of so many rows, which have a payload."""
        del numbers, rows
        starts, ends = self._starts[:count].copy(), self._ends[:count].copy()
        layout = TimeLayout.OVERLAPPING
        return SnapshotBuffer(
            layout, count, 0, 1, starts, ends, payload, False, row_object=True
        )


class IntervalReader(TimedReader):
    """Reads snapshots of any object that have times of their own."""

    def read(
        self,
        table: CallTable,
        count: int,
        numbers: Sequence[int],
        rows: Rows,
        range_: OutputRange,
        before: Piece | None,
    ) -> Split | None:
        """Read final snapshots and the open one, as `Stitcher` and `split_at` do.

        None where a snapshot of before goes on that is not open, or goes on beyond the
        domain.
        """
        del rows
        domain, through = range_.domain, range_.through
        if through is None and range_.final:
            through = ENDLESS
        if through is None or count >= LENT_ENTRIES or not self.find_arrays(table):
            return None
        starts, ends = self._starts, self._ends
        first, stop, end = 0, count, -ENDLESS
        if count and starts.item(count - 1) >= through:
            stop = int(starts[:count].searchsorted(through))
        if stop and self.may_have_others:
            seam = numbers[0] - self.loop.tdom.precision
            if ends.item(0) <= seam:
                first = int(ends[:stop].searchsorted(seam, "right"))
            if first < stop and numbers[2] and starts.item(first) < seam:
                end = ends.item(first)
                first += 1
        open_from = through if range_.high == through else through + 1
        """The least end of a snapshot that may go on."""
        if before is None:
            if end > -ENDLESS:
                return None
            return self._split(first, stop, None, domain, open_from, through)
        if not isinstance(before, SnapshotBuffer) or before.ends is None:
            return None
        for column in before.columns:
            if column.validity is not None:
                return None
        end = max(end, before.ends.item(0))
        if end > domain.end:
            return None
        before.ends[0] = min(end, through)
        if end >= open_from:
            return [], before
        return self._split(first, stop, before, domain, open_from, through)

    def _split(
        self,
        first: int,
        stop: int,
        before: SnapshotBuffer | None,
        domain: Domain,
        open_from: int,
        through: int,
    ) -> Split:
        """Copy snapshots behind the one `before`, and split the last off if it is open.

        It is if its end is `open_from` or later. They are cut to the domain.
        """
        skip = 0 if before is None else 1
        count = skip + stop - first
        if not count:
            return [], None
        arrays: list[NDArray[Any]] = []
        for written in (self._starts, self._ends, *self.values):
            copied: NDArray[Any] = np.empty(count, written.dtype)
            copied[skip:] = written[first:stop]
            arrays.append(copied)
        starts, ends, *values = arrays
        last = count - 1
        if before is None:
            starts[0] = max(starts.item(0), domain.start)
        else:
            assert before.starts is not None
            assert before.ends is not None
            starts[0], ends[0] = before.starts[0], before.ends[0]
            for copied, column in zip(values, before.columns, strict=True):
                copied[0] = column.values[0]
        if first < stop:
            ends[last] = min(ends.item(last), domain.end)
        if first == stop or ends.item(last) < open_from:
            return [_intervals(starts, ends, values)], None
        ends[last] = min(ends.item(last), through)
        open_ = _intervals(starts[last:], ends[last:], [each[last:] for each in values])
        if last > SHARED_SNAPSHOTS:
            open_ = copy_row(open_, open_.columns, 0, through)
        if not last:
            return [], open_
        values = [each[:last] for each in values]
        return [_intervals(starts[:last], ends[:last], values)], open_


def _intervals(
    starts: Times, ends: Times, values: Sequence[NDArray[Any]]
) -> SnapshotBuffer:
    """Make snapshots with times of their own."""
    payload = tuple([Column(each) for each in values])
    layout = TimeLayout.INTERVALS
    return SnapshotBuffer(layout, len(starts), 0, 1, starts, ends, payload)
