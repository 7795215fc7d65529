"""Bounds on the work of a general kernel: the cells and rows that its loops visit.

From facts that cost nothing to find: where the rows of each input lie in time, how many
there are in a stretch (two searches), and what the signature says of each loop. The
bounds give the sizes of a call's arrays, the lengths of chunks (`pace`), and what a run
says beforehand of loops that visit very many cells (`announce`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tiltpy.abi import LANES, MOST_CELLS, Loop, Read, Rows, Shape, Signature, TimeLayout
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer, Times
from tiltpy.runtime.execution.time_domain import Cells, Request
from tiltpy.types import MAX_TIME, TDom

FAR = MAX_TIME + MAX_TIME // 2
"""Later than all times; a whole lookback away from it still has 64 bits."""

MAX_CELLS = 1 << 36
"""Cells of an object that is evaluated at every one of them: minutes of work."""

Points = tuple[Times, Times]
"""The first and the last grid points of an object, for each of some keys."""


def supports(
    signature: Signature, bounds: Mapping[str, Points], request: Request, count: int
) -> dict[str, Points]:
    """Between which grid points each loop's object may have snapshots, for each key.

    `bounds` are the first start and the last end of each input's rows, `(FAR, -FAR)`
    where it has none. An object that is φ without a snapshot of another one has none
    where that has none; so no loop goes further back than the rows do, however far its
    readers look.
    """
    covered = dict(bounds)
    found: dict[str, Points] = {}
    for loop in signature.loops:
        first, last = np.full(count, -FAR), np.full(count, FAR)
        for read in loop.strict:
            low, high = covered[read.object]
            first = np.maximum(first, np.minimum(low - read.high + 1, FAR))
            last = np.minimum(last, np.maximum(high - read.low - 1, -FAR))
        start, end = request.resolve(loop.tdom.start), request.resolve(loop.tdom.end)
        if start is not None:
            first = np.maximum(first, start + 1)
        if end is not None:
            last = np.minimum(last, loop.tdom.ceil(end))
        first = _ceil(loop.tdom, first)
        last = last - (last - loop.tdom.offset) % loop.tdom.precision
        some = first <= last
        first, last = np.where(some, first, FAR), np.where(some, last, -FAR)
        found[loop.name] = first, last
        low = np.maximum(first - loop.tdom.precision, -FAR)
        covered[loop.name] = np.where(some, low, FAR), last
    return found


def _ceil(tdom: TDom, times: Times) -> Times:
    found: Times = times + (tdom.offset - times) % tdom.precision
    return found


def support_of(
    signature: Signature, rows: Mapping[str, SnapshotBuffer], request: Request
) -> dict[str, "Extent"]:
    """The grid points between which the objects of one run may have snapshots.

    Only loops that visit every cell must know.
    """
    if not any(loop.every_cell for loop in signature.loops):
        return {}
    bounds = {}
    for name, buffer in rows.items():
        low, high = buffer.bounds() or (FAR, -FAR)
        if buffer.domain_end is not None:  # a last row may hold on
            high = FAR
        bounds[name] = np.array([low]), np.array([high])
    found = supports(signature, bounds, request, 1)
    return {
        name: Extent(int(low[0]), int(high[0])) for name, (low, high) in found.items()
    }


@dataclass(frozen=True, slots=True)
class Extent:
    """What a loop visits: grid points `first..last`, or for rows `[first, last)`."""

    first: int
    last: int

    @property
    def is_empty(self) -> bool:
        return self.first > self.last


NOTHING = Extent(1, 0)


class Coverage:
    """What one call covers: grid points of each loop, rows of each input.

    `cells` are those that it owns of the outputs, `support` is where objects may have
    snapshots at all. `capacity` bounds the visits of each loop, and the snapshots that
    it writes.
    """

    def __init__(
        self,
        signature: Signature,
        rows: Mapping[str, SnapshotBuffer],
        cells: Mapping[str, Cells],
        request: Request,
        support: Mapping[str, Extent],
    ) -> None:
        self.signature = signature
        self.rows = rows
        self.cells = cells
        self.request = request
        self.support = support
        self.extents: dict[str, Extent] = {}
        needs: dict[str, list[tuple[int, int]]] = {}
        for loop in reversed(signature.loops):
            extent = self._extent(loop, needs.get(loop.name, []))
            self.extents[loop.name] = extent
            if not extent.is_empty:
                for read in loop.reads:
                    stretch = (extent.first + read.low, extent.last + read.high)
                    needs.setdefault(read.object, []).append(stretch)
        self.ranges: dict[str, tuple[int, int]] = {}
        for name, buffer in rows.items():
            some = needs.get(name, [(0, 0)])
            low, high = min(low for low, _ in some), max(high for _, high in some)
            self.ranges[name] = buffer.find(low, high)
        self.capacity: dict[str, int] = {}
        for loop in signature.loops:
            self.capacity[loop.name] = self._capacity(loop)
        self.rows_read = sum(stop - first for first, stop in self.ranges.values())
        """How many rows of all inputs the call reads."""
        self.work = self._work()
        """The visits, or the rows read, of which there are most."""

    def _extent(self, loop: Loop, needs: list[tuple[int, int]]) -> Extent:
        """The cells that are owned or that other loops read, and the seam cell."""
        own = self.cells.get(loop.name)
        firsts, lasts = [], []
        if own is not None:
            seam = own.seam and loop.shape is not Shape.ROWS
            firsts.append(own.first - loop.tdom.precision * seam)
            lasts.append(own.last)
        for low, high in needs:
            firsts.append(loop.tdom.ceil(low + 1))
            lasts.append(loop.tdom.ceil(high))
        if not firsts:
            return NOTHING
        first, last = min(firsts), max(lasts)
        start = self.request.resolve(loop.tdom.start)
        end = self.request.resolve(loop.tdom.end)
        if start is not None:
            first = max(first, loop.tdom.ceil(start + 1))
        if end is not None:
            last = min(last, loop.tdom.ceil(end))
        if start is not None and end is not None and start >= end:
            return NOTHING
        if loop.every_cell:  # others pass over what is empty in one visit
            support = self.support[loop.name]
            first, last = max(first, support.first), min(last, support.last)
        return Extent(first, last) if first <= last else NOTHING

    def rows_of(self, rows: Rows, constant: int) -> int:
        """The value of a row count."""
        return constant + sum(factor * self._count(name) for name, factor in rows)

    def _count(self, name: str) -> int:
        if name not in self.ranges:
            return self.capacity[name]
        first, stop = self.ranges[name]
        return stop - first

    def _capacity(self, loop: Loop) -> int:
        extent = self.extents[loop.name]
        if extent.is_empty:
            return 1
        cells = (extent.last - extent.first) // loop.tdom.precision + 2
        if loop.every_cell:
            return min(cells, self._visited(loop, extent))
        changes = self.rows_of(loop.changes, LANES)
        return changes if loop.shape is Shape.ROWS else min(cells, changes)

    def _visited(self, loop: Loop, extent: Extent) -> int:
        """How many cells a loop over all of them visits, by what it passes over."""
        within = [self._under(loop, extent, read) for read in loop.skips]
        most = FAR
        if within:
            most = min(within) + self.rows_of(loop.changes, LANES)
        if loop.cut:
            edges = sum(2 * self._under(loop, extent, read) for read in loop.cut)
            most = min(most, edges + self.rows_of(loop.changes, LANES))
        return most

    def _under(self, loop: Loop, extent: Extent, read: Read) -> int:
        """In how many cells one time of a stretch is under a row of an input."""
        if read.object not in self.ranges:
            return FAR
        buffer = self.rows[read.object]
        first, stop = buffer.find(extent.first + read.low, extent.last + read.high)
        (ticks,) = ticks_of(buffer, np.array([first]), np.array([stop])).tolist()
        return int(ticks) // loop.tdom.precision + stop - first

    def _work(self) -> int:
        most = self.rows_read
        for loop in self.signature.loops:
            if loop.anew:
                most = max(most, self.again(loop))
            if loop.every_cell:
                most = max(most, self.visits(loop))
        return most

    def again(self, loop: Loop) -> int:
        """How many rows of inputs a loop goes through that folds its windows anew."""
        rows = sum(self._in_window(loop, read) for read in loop.anew)
        return self.visits(loop) * rows

    def again_made(self, loop: Loop) -> int:
        """How many snapshots of other objects it goes through so, at most.

        As if those that an object may have were spread evenly over its time. It may
        have few: chunks that are cut by this would make all of it again and again.
        """
        rows = sum(self._made_in_window(read) for read in loop.anew)
        return self.visits(loop) * rows

    def _made_in_window(self, read: Read) -> int:
        if read.object in self.ranges:
            return 0
        (made,) = (one for one in self.signature.loops if one.name == read.object)
        extent, most = self.extents[made.name], self.visits(made)
        span = extent.last - extent.first + made.tdom.precision
        return min(most, -(-most * (read.high - read.low) // span)) if most else 0

    def _in_window(self, loop: Loop, read: Read) -> int:
        """How many rows a window has in the middle of its loop's grid points.

        Of an object that is made on the way nobody knows (`again_made`).
        """
        extent = self.extents[loop.name]
        if extent.is_empty or read.object not in self.ranges:
            return 0
        now = (extent.first + extent.last) // 2
        first, stop = self.rows[read.object].find(now + read.low, now + read.high)
        return stop - first

    def visits(self, loop: Loop) -> int:
        """How many visits a loop makes, at most."""
        extent = self.extents[loop.name]
        if extent.is_empty:
            return 0
        if loop.shape is Shape.ROWS:
            return self.rows_of(loop.changes, 0)
        cells = (extent.last - extent.first) // loop.tdom.precision + 1
        return min(cells, self.capacity[loop.name])


def ticks_of(buffer: SnapshotBuffer, first: Times, stop: Times) -> Times:
    """How many ticks rows `[first[k], stop[k])` of a buffer cover, at most."""
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
        if span <= MOST_CELLS * part.n:  # about as good, and found at once
            return np.array([span])
    starts, ends = part.times()
    # Of events that overlap the sum may be beyond 64 bits.
    total = np.concatenate(([0.0], np.cumsum(ends - starts, dtype=np.float64)))
    ticks = total[np.maximum(stop, first) - low] - total[first - low]
    found: Times = np.minimum(ticks * (1 + 2.0**-20), FAR).astype(np.int64) + 1
    return found
