"""Extents of a sweep kernel's loops: grid points of each, rows of each input.

From facts that cost nothing to find: where the rows of each input lie in time, how many
there are in a time range (two searches), and what the signature says of each loop.
"""

from collections.abc import Mapping
from typing import Generic

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.abi.signature import LANES, Loop, Read, RowCount, Shape, Signature
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.runtime.arrays.dtypes import Times
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_numbers import (
    N,
    ceil_to,
    choose,
    least,
    most,
    multiply,
)
from tiltpy.runtime.execution.key_domains import EARLIEST, LATEST
from tiltpy.runtime.execution.row_slices import RowSlices
from tiltpy.runtime.execution.supports import FAR
from tiltpy.runtime.execution.time_domain import Cells, Request
from tiltpy.types import ALL_FUTURE, ALL_PAST, ENDLESS

MOST_CELLS = FAR // 8
"""A bound on cells that is as good as none: a few of them fit 64 bits together."""


class Extents(Generic[N]):
    """The grid points of each loop and the rows of each input that calls cover.

    `zero` is the number 0 of each call: an int for one call, a column for many. `rows`
    are those that calls may see of each input, of which they get what they need; an
    input's rows in `whole` they get as they are. `cells` are what calls own of the
    outputs. `support`: between which grid points objects may have snapshots at all, for
    loops that visit every cell. `changes`: between which grid points objects change at
    all, for kernels with reads without bound. Calls that are `resumed` have states of
    all rows that only windows that fold on would need, and the last rows before theirs
    of inputs that are read by their number.

    `extents` are the grid points that loops visit, from the first to the last, none
    where the first is beyond the last. `capacity` bounds the visits of each loop, and
    the snapshots that it writes.
    """

    def __init__(
        self,
        signature: Signature,
        zero: N,
        rows: Mapping[str, RowSlices[N]],
        cells: Mapping[str, Cells[N]],
        request: Request,
        support: Mapping[str, tuple[N | int, N | int]],
        changes: Mapping[str, tuple[N | int, N | int]],
        whole: Mapping[str, RowSlices[N]] | None = None,
        *,
        resumed: bool = False,
    ) -> None:
        self.signature = signature
        self.count = 1 if isinstance(zero, int) else len(zero)
        self.zero: N = zero
        self.rows: Mapping[str, RowSlices[N]] = rows
        self.cells: Mapping[str, Cells[N]] = cells
        self.request = request
        self.support: Mapping[str, tuple[N | int, N | int]] = support
        self.changes: Mapping[str, tuple[N | int, N | int]] = changes
        reads = [read for loop in signature.loops for read in loop.reads]
        past = {read.object for read in reads if read.low <= ALL_PAST}
        self._past = set[str]() if resumed else past
        self._future = {read.object for read in reads if read.high >= ALL_FUTURE}
        self.extents: dict[str, tuple[N, N]] = {}
        if whole is not None:
            self.rows = {**rows, **whole}
        needs: dict[str, tuple[N, N]] = {}
        counts: dict[str, int] = {}
        for loop in reversed(signature.loops):
            extent = self._extent(loop, needs.get(loop.name))
            self.extents[loop.name] = extent
            owned = self.cells.get(loop.name)
            if loop.keeps_states and owned is not None:
                # Its states go on to the last cell. Which snapshots they know is told
                # by starts, and objects begin one where they are first asked for. So
                # they are asked for before what is new, as by a seam cell: rows have
                # none.
                before = 1 if loop.shape is Shape.ROWS else 0
                last = choose(owned.some, owned.last, extent[1])
                first = least(extent[0], last) - before
                first = choose(owned.some, first, extent[0])
                extent = first, most(extent[1], last)
            for read in self._reads(loop):
                needed = _range_of(extent, read)
                if read.cells:
                    needed = self._from_cells(loop, extent, read.cells), needed[1]
                needs[read.object] = _widen(needs.get(read.object), needed)
                counts[read.object] = max(counts.get(read.object, 0), read.rows)
        nothing = zero, zero
        self.slices: dict[str, RowSlices[N]] = {}
        for name, slices in rows.items():
            low, high = needs.get(name, nothing)
            exists = low < high
            if name in self._past:
                low = choose(exists, -FAR, low)
            if name in self._future:
                high = choose(exists, FAR, high)
            last_rows = counts.get(name, 0) if resumed else 0
            self.slices[name] = slices.narrow(low, high, last_rows)
        if whole is not None:
            self.slices.update(whole)
        self.capacity: dict[str, N] = {}
        self._row_ranges: dict[str, tuple[N, N]] = {}
        for loop in signature.loops:
            self.capacity[loop.name] = self._capacity(loop)

    def _reads(self, loop: Loop) -> tuple[Read, ...]:
        """The time ranges that a loop reads around its grid points."""
        if not loop.stamped or loop.tdom.at_ends:
            return loop.reads
        rows, *others = loop.reads
        before = self.rows[rows.object].buffer.before
        return Read(rows.object, -before, 0), *others

    def _stamps(
        self, loop: Loop, needed: tuple[N, N], first: N, last: N
    ) -> tuple[N, N]:
        """Widen a range of stamps by those of rows that other loops read."""
        low, high = needed
        exists = low < high
        if loop.name in self._past:
            low = choose(exists, -FAR, low)
        if loop.name in self._future:
            high = choose(exists, FAR, high)
        rows = self.rows[loop.reads[0].object]
        begin, stop = rows.find(low, high)
        exists = begin < stop
        stamp_of = rows.end_of if loop.tdom.at_ends else rows.stamp_of
        earliest = choose(exists, stamp_of(begin), LATEST)
        latest = choose(exists, stamp_of(most(stop - 1, 0)), EARLIEST)
        return least(first, earliest), most(last, latest)

    def _from_cells(self, loop: Loop, extent: tuple[N, N], count: int) -> N:
        """Find where the first of so many cells starts at which a loop begins."""
        rows, (first, last) = self.rows[loop.reads[0].object], extent
        begin, stop = rows.find(first - 1, last)
        earliest = most(begin - (count - 1), 0)
        start = rows.stamp_of(earliest) - rows.buffer.before
        return choose(begin < stop, start, LATEST)

    def _extent(self, loop: Loop, needed: tuple[N, N] | None) -> tuple[N, N]:
        """The cells that are owned or that other loops read, and the seam cell."""
        owned = self.cells.get(loop.name)
        nothing = self.zero + 1, self.zero
        if owned is None and needed is None:
            return nothing
        if owned is None:
            first, last = self.zero + LATEST, self.zero + EARLIEST
        else:
            first, last = owned.first, owned.last
            exists = owned.some
            if loop.shape is not Shape.ROWS or loop.distinct:
                seam: N = choose(owned.seam, loop.tdom.precision, 0)
                first = first - seam
            first, last = (
                choose(exists, first, LATEST),
                choose(exists, last, EARLIEST),
            )
        if needed is not None and loop.stamped:
            first, last = self._stamps(loop, needed, first, last)
        elif needed is not None:
            low, high = needed
            exists = low < high
            low, high = ceil_to(loop.tdom, low + 1), ceil_to(loop.tdom, high)
            first = least(first, choose(exists, low, LATEST))
            last = most(last, choose(exists, high, EARLIEST))
        support = self.support.get(loop.name, (EARLIEST, LATEST))
        begin: N = self.zero + support[0]
        stop: N = self.zero + support[1]
        if loop.name in self.changes:
            low, high = (self.zero + time for time in self.changes[loop.name])
            exists = first <= last
            if loop.name in self._past:
                begin = least(begin, low)
                first = choose(exists, least(first, low), first)
            if loop.name in self._future:
                stop = most(stop, high)
                last = choose(exists, most(last, high), last)
        start = self.request.resolve(loop.tdom.start)
        end = self.request.resolve(loop.tdom.end)
        if start is not None:
            first = most(first, loop.tdom.ceil(start + 1))
        if end is not None:
            last = least(last, loop.tdom.ceil(end))
        if start is not None and end is not None and start >= end:
            return nothing
        if loop.every_cell:  # others pass over what is empty in one visit
            first, last = most(first, begin), least(last, stop)
        exists = first <= last
        return choose(exists, first, 1), choose(exists, last, 0)

    def rows_of(self, rows: RowCount, constant: int) -> N:
        """The values of a row count."""
        count = self.zero + constant
        for name, factor in rows:
            count = count + factor * self._count(name)
        return count

    def _count(self, name: str) -> N:
        slices = self.slices.get(name)
        return self.capacity[name] if slices is None else slices.count

    def _capacity(self, loop: Loop) -> N:
        first, last = self.extents[loop.name]
        if loop.shape is Shape.ROWS:
            visits = self.rows_of(loop.changes, LANES)
        else:
            cells = (last - first) // loop.tdom.shortest + 2 + loop.tdom.irregular
            visits = least(cells, self._changes(loop))
        return choose(first > last, 1, visits)

    def _changes(self, loop: Loop) -> N:
        """A bound on the visits of a loop by its changes, or by what it passes over."""
        if not loop.every_cell:
            return self.rows_of(loop.changes, LANES)
        bound = self.zero + FAR
        if loop.skips:
            for group in loop.skips:
                cells = self.zero
                for read in group:
                    cells = least(cells + self._cells_with(loop, read), FAR // 2)
                bound = least(bound, cells)
            bound = bound + self.rows_of(loop.changes, LANES)
        if loop.cut:
            edges = self.rows_of(loop.changes, LANES)
            for read in loop.cut:
                edges = least(edges + 2 * self._cells_under(loop, read), FAR)
            bound = least(bound, edges)
        return bound

    def _cells_with(self, loop: Loop, read: Read) -> N:
        """In how many cells any time of a time range is under a row of an input."""
        further = read.high - read.low - 1
        if read.object not in self.slices or not further:
            return self._cells_under(loop, read)
        rows, (first, last) = self.rows[read.object], self.extents[loop.name]
        begin, stop = rows.find(first + read.low, last + read.high)
        each = self.zero + (further // loop.tdom.shortest + 1)
        beside = least(multiply(each, stop - begin), MOST_CELLS)
        return self._cells_under(loop, read) + beside

    def _cells_under(self, loop: Loop, read: Read) -> N:
        """In how many cells one time of a time range is under a row of an input.

        A few of these numbers can be added, however long rows hold.
        """
        if read.object not in self.slices:
            return self.zero + MOST_CELLS
        rows, (first, last) = self.rows[read.object], self.extents[loop.name]
        begin, stop = rows.find(first + read.low, last + read.high)
        if rows.buffer.layout is TimeLayout.CONTIGUOUS:
            ticks = rows.cover(begin, stop)
        else:
            ticks = ticks_of(rows.buffer, rows.first + begin, rows.first + stop)
        cells: N = ticks // loop.tdom.shortest + stop - begin
        return least(cells, MOST_CELLS)


def _range_of(extent: tuple[N, N], read: Read) -> tuple[N, N]:
    """The time range that a loop reads.

    Of a read without bound on a side it is a tick beside the other one.
    """
    first, last = extent
    exists = first <= last
    near = read.high - 1 if read.low <= ALL_PAST else read.low
    far = read.low + 1 if read.high >= ALL_FUTURE else read.high
    low, high = first + near, last + far
    return choose(exists, low, LATEST), choose(exists, high, EARLIEST)


def _widen(known: tuple[N, N] | None, needed: tuple[N, N]) -> tuple[N, N]:
    """The time range that is needed of an object, with one that is needed, too."""
    if known is None:
        return needed
    return least(known[0], needed[0]), most(known[1], needed[1])


def ticks_of(buffer: SnapshotBuffer, first: N, stop: N) -> N:
    """Bound the ticks that the rows from `first` to `stop` of a buffer cover."""
    if isinstance(first, int):
        return int(_ticks_of(buffer, np.array([first]), np.array([stop]))[0])
    return _ticks_of(buffer, first, stop)


def _ticks_of(buffer: SnapshotBuffer, first: Times, stop: Times) -> Times:
    count = stop - first
    if buffer.points:
        return count
    if buffer.layout is TimeLayout.SAMPLED:
        sampled: Times = np.minimum(count, FAR // buffer.period) * buffer.period
        return sampled
    if not len(count):
        return count
    low, high = int(first.min()), int(stop.max())
    if low >= high:
        return np.zeros_like(count)
    rows = buffer.slice(low, high)
    if buffer.layout is not TimeLayout.OVERLAPPING and len(first) == 1:
        span = rows.row(rows.n - 1)[1] - rows.row(0)[0]
        if span <= DEFAULT_COSTS.cells_per_row * rows.n:  # about as good, and faster
            return np.array([span])
    starts, ends = rows.times()
    first, stop = first - low, np.maximum(stop, first) - low
    # So that the length of a row without end fits 64 bits.
    ends = np.minimum(ends, np.minimum(starts, 0) + ENDLESS)
    return _sums_between(ends - starts, first, stop)


_LOW_BITS = 31


def _sums_between(values: Times, first: Times, stop: Times) -> Times:
    """Sum values from `first` to `stop`, exactly, or `FAR` where that is less.

    A sum may be beyond 64 bits, and a row that holds on is longer than all others
    together: the sums of the halves of all values stay exact, for up to 2^31 of them.
    """
    high = _prefix_sums(values >> _LOW_BITS)
    low = _prefix_sums(values & ((1 << _LOW_BITS) - 1))
    highs, lows = high[stop] - high[first], low[stop] - low[first]
    far = highs + (lows >> _LOW_BITS) >= FAR >> _LOW_BITS
    return np.where(far, FAR, (np.where(far, 0, highs) << _LOW_BITS) + lows)


def _prefix_sums(values: Times) -> Times:
    """Sum what comes before each value, and all values at the end."""
    sums = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    return sums
