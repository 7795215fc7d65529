"""Bounds on the work of a sweep kernel: the cells and rows that its loops visit.

From facts that cost nothing to find: where the rows of each input lie in time, how many
there are in a time range (two searches), and what the signature says of each loop. The
bounds give the sizes of a call's arrays, the lengths of chunks (`chunk_sizing`), and
what a run says beforehand of loops that visit very many cells (`visit_warnings`).
"""

from collections.abc import Mapping
from typing import Generic

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.abi.signature import (
    LANES,
    MOST_RANKED,
    Loop,
    Read,
    RowCount,
    Shape,
    Signature,
)
from tiltpy.abi.slots import SlotKind
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.errors import DataError
from tiltpy.forks import cached_property
from tiltpy.runtime.arrays.dtypes import Times
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_numbers import (
    N,
    ceil_to,
    choose,
    greatest,
    least,
    most,
    multiply,
    share_of,
)
from tiltpy.runtime.execution.key_domains import EARLIEST, LATEST
from tiltpy.runtime.execution.row_slices import RowSlices
from tiltpy.runtime.execution.slot_map import OutputSlot
from tiltpy.runtime.execution.supports import FAR
from tiltpy.runtime.execution.time_domain import Cells, Request

MAX_CELLS = 1 << 36
"""Cells of an object that is evaluated at every one of them: minutes of work."""


class Coverage(Generic[N]):
    """What calls of a sweep kernel cover: grid points of each loop, rows of each input.

    `zero` is the number 0 of each call: an int for one call, a column for many. `rows`
    are those that calls may see of each input, of which they get what they need; an
    input's rows in `whole` they get as they are. `cells` are what calls own of the
    outputs. `support`: between which grid points objects may have snapshots at all, for
    loops that visit every cell.

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
        whole: Mapping[str, RowSlices[N]] | None = None,
    ) -> None:
        self.signature = signature
        self.count = 1 if isinstance(zero, int) else len(zero)
        self.zero: N = zero
        self.rows: Mapping[str, RowSlices[N]] = rows
        self.cells: Mapping[str, Cells[N]] = cells
        self.request = request
        self.support: Mapping[str, tuple[N | int, N | int]] = support
        self.extents: dict[str, tuple[N, N]] = {}
        needs: dict[str, tuple[N, N]] = {}
        for loop in reversed(signature.loops):
            extent = self._extent(loop, needs.get(loop.name))
            self.extents[loop.name] = extent
            for read in loop.reads:
                needs[read.object] = _widen(needs.get(read.object), extent, read)
        nothing = zero, zero
        self.slices: dict[str, RowSlices[N]] = {
            name: some.narrow(*needs.get(name, nothing)) for name, some in rows.items()
        }
        if whole is not None:
            self.slices.update(whole)
            self.rows = {**rows, **whole}
        self.capacity: dict[str, N] = {}
        self._row_ranges: dict[str, tuple[N, N]] = {}
        for loop in signature.loops:
            self.capacity[loop.name] = self._capacity(loop)

    def _extent(self, loop: Loop, needed: tuple[N, N] | None) -> tuple[N, N]:
        """The cells that are owned or that other loops read, and the seam cell."""
        own = self.cells.get(loop.name)
        nothing = self.zero + 1, self.zero
        if own is None and needed is None:
            return nothing
        if own is None:
            first, last = self.zero + LATEST, self.zero + EARLIEST
        else:
            first, last = own.first, own.last
            some = own.some
            if loop.shape is not Shape.ROWS:
                seam: N = choose(own.seam, loop.tdom.precision, 0)
                first = first - seam
            first, last = choose(some, first, LATEST), choose(some, last, EARLIEST)
        if needed is not None:
            low, high = needed
            some = low < high
            low, high = ceil_to(loop.tdom, low + 1), ceil_to(loop.tdom, high)
            first = least(first, choose(some, low, LATEST))
            last = most(last, choose(some, high, EARLIEST))
        start = self.request.resolve(loop.tdom.start)
        end = self.request.resolve(loop.tdom.end)
        if start is not None:
            first = most(first, loop.tdom.ceil(start + 1))
        if end is not None:
            last = least(last, loop.tdom.ceil(end))
        if start is not None and end is not None and start >= end:
            return nothing
        if loop.every_cell:  # others pass over what is empty in one visit
            begin, stop = self.support[loop.name]
            first, last = most(first, begin), least(last, stop)
        some = first <= last
        return choose(some, first, 1), choose(some, last, 0)

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
            cells = (last - first) // loop.tdom.precision + 2
            visits = least(cells, self._changes(loop))
        return choose(first > last, 1, visits)

    def _changes(self, loop: Loop) -> N:
        """A bound on the visits of a loop by its changes, or by what it passes over."""
        if not loop.every_cell:
            return self.rows_of(loop.changes, LANES)
        bound = self.zero + FAR
        if loop.skips:
            for read in loop.skips:
                bound = least(bound, self._cells_under(loop, read))
            bound = bound + self.rows_of(loop.changes, LANES)
        if loop.cut:
            edges = self.rows_of(loop.changes, LANES)
            for read in loop.cut:
                under = least(self._cells_under(loop, read), FAR // 8)
                edges = least(edges + 2 * under, FAR)
            bound = least(bound, edges)
        return bound

    def _cells_under(self, loop: Loop, read: Read) -> N:
        """In how many cells one time of a time range is under a row of an input."""
        if read.object not in self.slices:
            return self.zero + FAR
        rows, (first, last) = self.rows[read.object], self.extents[loop.name]
        begin, stop = rows.find(first + read.low, last + read.high)
        ticks = ticks_of(rows.buffer, rows.first + begin, rows.first + stop)
        cells: N = ticks // loop.tdom.precision + stop - begin
        return cells

    def check_ranked(self) -> None:
        """Refuse what structures of windows cannot number with 32 bits."""
        if not any(loop.structures for loop in self.signature.loops):
            return
        counts = {name: rows.count for name, rows in self.slices.items()}
        for name, numbers in (counts | self.capacity).items():
            count = greatest(numbers)
            if count > MOST_RANKED:
                raise DataError(
                    f"~{name} could have {count:,} rows in a chunk, and median, mode "
                    f"and their like take {MOST_RANKED:,}; give a shorter chunk"
                )

    # -- how much work that is --------------------------------------------------------

    @cached_property
    def rows_read(self) -> N:
        """How many rows of all inputs each call reads."""
        count = self.zero
        for rows in self.slices.values():
            count = count + rows.count
        return count

    @cached_property
    def work(self) -> N:
        """The visits, or the rows read, of which there are most, of each call."""
        bound = self.rows_read
        for loop in self.signature.loops:
            if loop.recomputed:
                bound = most(bound, self.again(loop))
            if loop.every_cell:
                bound = most(bound, self.visits(loop))
        return bound

    def visits(self, loop: Loop) -> N:
        """How many visits a loop makes, at most."""
        first, last = self.extents[loop.name]
        if loop.shape is Shape.ROWS:
            bound = self.rows_of(loop.changes, 0)
        else:
            cells = (last - first) // loop.tdom.precision + 1
            bound = least(cells, self.capacity[loop.name])
        return choose(first > last, 0, bound)

    def again(self, loop: Loop) -> N:
        """How many rows of inputs a loop goes through that recomputes its windows.

        Windows have as many rows as in the middle of the loop's grid points. Of an
        object that is made on the way nobody knows (`again_made`).
        """
        first, last = self.extents[loop.name]
        now = first + (last - first) // 2
        rows = self.zero
        for read in loop.recomputed:
            slices = self.rows.get(read.object)
            if slices is not None:
                begin, stop = slices.find(now + read.low, now + read.high)
                rows = rows + stop - begin
        return self.visits(loop) * rows

    def again_made(self, loop: Loop) -> N:
        """How many snapshots of other objects it goes through so, at most.

        As if those that an object may have were spread evenly over its time. It may
        have few: chunks that are cut by this would make all of it again and again.
        """
        snapshots = self.zero
        for read in loop.recomputed:
            if read.object not in self.rows:
                snapshots = snapshots + self._made_in_window(read)
        return multiply(self.visits(loop), snapshots)

    def _made_in_window(self, read: Read) -> N:
        made = self._loop(read.object)
        first, last = self.extents[made.name]
        span = most(last - first, 0) + made.tdom.precision
        return share_of(self.visits(made), read.high - read.low, span)

    # -- what stands in the slots -----------------------------------------------------

    def row_range(self, loop: Loop) -> tuple[N, N]:
        """The rows that a map over rows visits, counted from the first of each call."""
        known = self._row_ranges.get(loop.name)
        if known is not None:
            return known
        own = self.cells.get(loop.name)
        if own is None:
            return self.zero, self.zero
        low = own.first - 1
        rows = self.slices[loop.reads[0].object]
        found = rows.find(low, choose(own.some, own.last, low))
        self._row_ranges[loop.name] = found
        return found

    def _loop(self, name: str) -> Loop:
        for loop in self.signature.loops:
            if loop.name == name:
                return loop
        raise AssertionError(f"no loop of ~{name}")

    def number(self, kind: SlotKind, name: str, column: int) -> N | int:
        """Return where the loop of an object begins or ends, or what cuts its rows."""
        del column
        loop = self._loop(name)
        match kind:
            case SlotKind.FIRST | SlotKind.LAST:
                rows = loop.shape is Shape.ROWS
                bounds = self.row_range(loop) if rows else self.extents[name]
                return bounds[kind is SlotKind.LAST]
            case SlotKind.CLIP_LOW:
                start = self.request.resolve(loop.tdom.start)
                return EARLIEST if start is None else start
            case SlotKind.CLIP_HIGH:
                end = self.request.resolve(loop.tdom.end)
                return LATEST if end is None else end
            case _:
                raise AssertionError(f"no number of a loop: {kind}")

    def room(self, slot: OutputSlot) -> N:
        """How many entries each call may write to the array of a slot."""
        return self.zero + 1 if slot.is_implied else self.capacity[slot.loop.name]


def _widen(known: tuple[N, N] | None, extent: tuple[N, N], read: Read) -> tuple[N, N]:
    """The time range that is needed of an object, with what a loop reads of it."""
    first, last = extent
    some = first <= last
    low = choose(some, first + read.low, LATEST)
    high = choose(some, last + read.high, EARLIEST)
    if known is None:
        return low, high
    return least(known[0], low), most(known[1], high)


def ticks_of(buffer: SnapshotBuffer, first: N, stop: N) -> N:
    """How many ticks the rows from `first` to `stop` of a buffer cover, at most."""
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
    low, high = int(first.min()), int(stop.max())
    if low >= high:
        return np.zeros_like(count)
    part = buffer.slice(low, high)
    if buffer.layout is not TimeLayout.OVERLAPPING and len(first) == 1:
        span = part.row(part.n - 1)[1] - part.row(0)[0]
        if (
            span <= DEFAULT_COSTS.cells_per_row * part.n
        ):  # about as good, and found at once
            return np.array([span])
    starts, ends = part.times()
    # Of events that overlap the sum may be beyond 64 bits.
    total = np.concatenate(([0.0], np.cumsum(ends - starts, dtype=np.float64)))
    ticks = total[np.maximum(stop, first) - low] - total[first - low]
    found: Times = np.minimum(ticks * (1 + 2.0**-20), FAR).astype(np.int64) + 1
    return found
