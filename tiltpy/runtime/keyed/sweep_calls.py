"""Many keys at once: calls of the general kernel for them, made in machine code.

What `execute.Chunk` finds for one call is found here for all of them together, as
columns of an array of slots: a row for each call. They are made one after the other
without Python in between, and each writes where the one before has ended, so that the
snapshots of a key follow those of the key before.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tiltpy.abi import Loop, Read, Shape, Signature, SlotKind
from tiltpy.abi import Rows as RowCount
from tiltpy.runtime.arrays import pool as memory
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.pool import Array, ScratchArrays, dtype_of
from tiltpy.runtime.concurrency.offload import stop_flag
from tiltpy.runtime.concurrency.threads import StopWork
from tiltpy.runtime.execution.chunk_call import TIMES, Kernel
from tiltpy.runtime.execution.kernel_arguments import (
    Code,
    OutputSlot,
    Wiring,
    address,
    wiring_of,
    written,
    written_column,
)
from tiltpy.runtime.execution.key_domains import (
    EARLIEST,
    LATEST,
    Owned,
    Rows,
    Times,
    tdom_ceil,
)
from tiltpy.runtime.execution.row_slices import Part, Stretches, find_in_parts, part_of
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.execution.visit_bounds import FAR, supports, ticks_of
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.runtime.keyed.snapshots import Snapshots
from tiltpy.types import Scalar, TDom, columns


class Segments:
    """Calls of the general kernel, one for each of `keys`: a key may have several.

    `owned` says of each output which cells a call computes; `near`: few of its key's.
    """

    def __init__(
        self,
        signature: Signature,
        inputs: Mapping[str, Rows],
        owned: Mapping[str, Owned],
        keys: NDArray[np.int64],
        request: Request,
        strings: Strings,
        *,
        near: bool = False,
    ) -> None:
        self.signature = signature
        self.keys = keys
        self.owned = owned
        self.request = request
        self.strings = strings
        bounds = {name: _bounds(rows, keys) for name, rows in inputs.items()}
        self.support = supports(signature, bounds, request, len(keys))
        self.extents: dict[str, Stretches] = {}
        needs: dict[str, Stretches] = {}
        for loop in reversed(signature.loops):
            extent = self._extent(loop, needs.get(loop.name))
            self.extents[loop.name] = extent
            for read in loop.reads:
                needs[read.object] = _wider(
                    needs.get(read.object), extent, read.low, read.high
                )
        self.parts: dict[str, Part] = {
            name: part_of(rows, keys, needs.get(name), near=near)
            for name, rows in inputs.items()
        }
        self.capacity: dict[str, Times] = {}
        for loop in signature.loops:
            self.capacity[loop.name] = self._capacity(loop)
        self.visits = {
            loop.name: self._row_range(loop)
            if loop.shape is Shape.ROWS
            else self.extents[loop.name]
            for loop in signature.loops
        }

    # -- what each call covers --------------------------------------------------------

    def _own(self, loop: Loop) -> Stretches:
        """The first and the last grid point of each call that a loop's output owns."""
        owned = self.owned.get(loop.name)
        if owned is None:
            return np.full(len(self.keys), LATEST), np.full(len(self.keys), EARLIEST)
        some = owned.some
        return np.where(some, owned.first, LATEST), np.where(some, owned.last, EARLIEST)

    def _extent(self, loop: Loop, needed: Stretches | None) -> Stretches:
        """The cells that are owned or that other loops read, and the seam cell."""
        first, last = self._own(loop)
        if loop.name in self.owned and loop.shape is not Shape.ROWS:
            first = first - loop.tdom.precision * self.owned[loop.name].seam
        if needed is not None:
            low, high = needed
            some = low < high
            low, high = tdom_ceil(loop.tdom, low + 1), tdom_ceil(loop.tdom, high)
            first = np.minimum(first, np.where(some, low, LATEST))
            last = np.maximum(last, np.where(some, high, EARLIEST))
        some = first <= last
        start = self.request.resolve(loop.tdom.start)
        end = self.request.resolve(loop.tdom.end)
        if start is not None:
            first = np.maximum(first, loop.tdom.ceil(start + 1))
        if end is not None:
            last = np.minimum(last, loop.tdom.ceil(end))
        if start is not None and end is not None and start >= end:
            some = np.zeros_like(some)
        if loop.every_cell:  # others pass over what is empty in one visit
            low, high = self.support[loop.name]
            first, last = np.maximum(first, low), np.minimum(last, high)
        some &= first <= last
        return np.where(some, first, 1), np.where(some, last, 0)

    def rows_of(self, rows: RowCount, constant: int) -> Times:
        """The values of a row count."""
        total = np.full(len(self.keys), constant)
        for name, factor in rows:
            part = self.parts.get(name)
            total += factor * (self.capacity[name] if part is None else part.count)
        return total

    def _capacity(self, loop: Loop) -> Times:
        """How many snapshots a loop may write for each key, at most."""
        first, last = self.extents[loop.name]
        cells = (last - first) // loop.tdom.precision + 2
        if loop.every_cell:
            cells = np.minimum(cells, self._visited(loop))
        else:
            changes = self.rows_of(loop.changes, 4)
            rows = loop.shape is Shape.ROWS
            cells = changes if rows else np.minimum(cells, changes)
        return np.where(first > last, 1, cells)

    def _visited(self, loop: Loop) -> Times:
        """How many cells a loop over all of them visits (`Coverage`)."""
        most = np.full(len(self.keys), FAR)
        within = [self._under(loop, read) for read in loop.skips]
        if within:
            most = np.minimum.reduce(within) + self.rows_of(loop.changes, 4)
        if loop.cut:
            edges = self.rows_of(loop.changes, 4)
            for read in loop.cut:
                edges += 2 * np.minimum(self._under(loop, read), FAR // 16)
            most = np.minimum(most, edges)
        return most

    def _under(self, loop: Loop, read: Read) -> Times:
        """In how many cells one time of a stretch is under a row, for each call."""
        part = self.parts.get(read.object)
        if part is None:
            return np.full(len(self.keys), FAR // 2)
        ticks = ticks_of(part.buffer, part.first, part.first + part.count)
        found: Times = ticks // loop.tdom.precision + part.count
        return found

    def visits_of(self, loop: Loop) -> Times:
        """How many visits a loop makes for each key, at most."""
        first, last = self.extents[loop.name]
        capacity = self.capacity[loop.name]
        if loop.shape is not Shape.ROWS:
            cells = (last - first) // loop.tdom.precision + 1
            capacity = np.minimum(capacity, cells)
        return np.where(first > last, 0, capacity)

    def in_windows(self, loop: Loop) -> Times:
        """How many rows a loop goes through anew in the middle of each key's time.

        Of inputs: nobody knows of an object that is made on the way.
        """
        first, last = self.extents[loop.name]
        now = first + (last - first) // 2
        total = np.zeros(len(self.keys), np.int64)
        for read in loop.anew:
            part = self.parts.get(read.object)
            if part is not None:
                begin, stop = find_in_parts(part, now + read.low, now + read.high)
                total += stop - begin
        return total

    def made_in_windows(self, loop: Loop) -> Times:
        """Bound the computed snapshots in a window (`Coverage.again_made`)."""
        total = np.zeros(len(self.keys), np.int64)
        for made in self.signature.loops:
            first, last = self.extents[made.name]
            span = np.maximum(last - first, 0) + made.tdom.precision
            most = self.visits_of(made)
            for read in loop.anew:
                if read.object == made.name:
                    share = np.minimum((read.high - read.low) / span, 1.0)
                    total += np.ceil(most * share).astype(np.int64)
        return total

    def _row_range(self, loop: Loop) -> Stretches:
        """The rows of a map over rows, counted from the first of each key."""
        part = self.parts[loop.reads[0].object]
        first, last = self._own(loop)
        return find_in_parts(part, first - 1, np.where(first > last, first - 1, last))

    # -- the calls --------------------------------------------------------------------

    def run(self, kernel: Kernel, scratch: ScratchArrays) -> dict[str, Snapshots]:
        """Make all calls; the snapshots of the outputs that overlap what is owned."""
        wiring = wiring_of(self.signature, kernel.code)
        slots = wiring.rows(self.parts, len(self.keys), self.strings)
        put_scratch(self, wiring, slots, scratch)
        for index, kind, name in wiring.others:
            slots[:, index] = self._number(name, kind)
        arrays: dict[tuple[SlotKind, str, int], Array] = {}
        appended = []
        for slot in wiring.outputs:
            array = arrays[slot.key] = self._output_array(slot, scratch)
            slots[:, slot.index] = address(array)
            if self._appends(slot):
                slots[1:, slot.index] = 0
                appended.append(slot)
        append(kernel.code.code(), wiring, slots, appended)
        return {
            loop.name: self._snapshots(
                loop, slots[:, wiring.counts[loop.name]].copy(), arrays
            )
            for loop in self.signature.loops
            if loop.name in self.owned
        }

    def room(self, slot: OutputSlot) -> Times:
        """How many entries each call may write."""
        implied = slot.loop.implicit_times and slot.kind in TIMES
        capacity = self.capacity[slot.loop.name]
        return np.ones_like(capacity) if implied else capacity

    def _appends(self, slot: OutputSlot) -> bool:
        """Whether what is written to a slot is an output's, key after key."""
        implied = slot.loop.implicit_times and slot.kind in TIMES
        return slot.loop.name in self.owned and not implied

    def _output_array(self, slot: OutputSlot, scratch: ScratchArrays) -> Array:
        room = self.room(slot)
        if self._appends(slot):
            return memory.allocate(slot.type, int(room.sum()))
        key = f"{slot.loop.name}.{slot.kind.value}", slot.column
        return scratch.take(key, slot.type, int(room.max()))

    def _number(self, name: str, kind: SlotKind) -> Times | int:
        """Where a loop begins and ends, or what cuts its snapshots."""
        match kind:
            case SlotKind.FIRST:
                return self.visits[name][0]
            case SlotKind.LAST:
                return self.visits[name][1]
            case SlotKind.CLIP_LOW:
                start = self.request.resolve(self._tdom(name).start)
                return int(EARLIEST) if start is None else start
            case SlotKind.CLIP_HIGH:
                end = self.request.resolve(self._tdom(name).end)
                return int(LATEST) if end is None else end
            case _:
                raise AssertionError(f"no number of a loop: {kind}")

    def _tdom(self, name: str) -> TDom:
        return next(loop.tdom for loop in self.signature.loops if loop.name == name)

    # -- what they wrote --------------------------------------------------------------

    def _snapshots(
        self,
        loop: Loop,
        counts: NDArray[np.int64],
        arrays: Mapping[tuple[SlotKind, str, int], Array],
    ) -> Snapshots:
        """What a loop wrote in all calls."""
        n = int(counts.sum())
        payload = tuple(
            written_column(
                arrays[SlotKind.OUT_VALUES, loop.name, number],
                arrays.get((SlotKind.OUT_VALIDITY, loop.name, number)),
                n,
            )
            for number in range(len(columns(loop.type)))
        )
        if loop.implicit_times:
            first, stop = self.visits[loop.name]
            part = self.parts[loop.reads[0].object]
            starts, ends = part.times(first, stop)
        else:
            starts, ends = (
                written(arrays[kind, loop.name, 0], n)[:n].view(np.int64)
                for kind in TIMES
            )
        made = Snapshots(starts, ends, payload, counts, shared=loop.implicit_times)
        if isinstance(loop.type, Scalar):
            made = made.without_nulls()
        return self._owned(loop, made)

    def _owned(self, loop: Loop, made: Snapshots) -> Snapshots:
        """The snapshots without those that only other loops read.

        The one that ends at a seam, or goes on over it, may still be the first.
        """
        if loop.shape is Shape.ROWS:
            return made
        first, last = self._own(loop)
        extent = self.extents[loop.name]
        some = first <= last
        seam = loop.tdom.precision * self.owned[loop.name].seam
        exact = (first - seam == extent[0]) & (last == extent[1])
        if (exact | (made.counts == 0)).all():
            return made
        low = np.where(some, first - loop.tdom.precision, LATEST)
        return made.within(low, np.where(some, last, EARLIEST))


class Batch(Protocol):
    """Calls for some keys, as columns: a number for each call."""

    @property
    def keys(self) -> NDArray[np.int64]:
        """Whose calls they are."""

    @property
    def parts(self) -> Mapping[str, Part]:
        """The rows that they see of each input."""

    def rows_of(self, rows: RowCount, constant: int) -> Times:
        """The values of a row count."""

    def room(self, slot: OutputSlot) -> Times:
        """How many entries each may write."""


def put_scratch(
    batch: Batch, wiring: Wiring, slots: NDArray[np.int64], scratch: ScratchArrays
) -> None:
    """Have all calls use the worker's scratch."""
    for index, number, wanted in wiring.scratch:
        size = int(batch.rows_of(wanted.rows, wanted.constant).max())
        array = scratch.take(("", number), wanted.type, size)
        slots[:, index] = address(array)


def append(
    code: Code,
    wiring: Wiring,
    slots: NDArray[np.int64],
    outputs: Sequence[OutputSlot],
) -> None:
    """Make the calls, each of which writes these outputs behind the one before.

    The first has their addresses in its slots, every other one how many bytes are left
    free before what it writes.
    """
    numbers = [
        (one.index, wiring.counts[one.loop.name], dtype_of(one.type).itemsize)
        for one in outputs
    ]
    follow = np.array(numbers, np.int64)
    rows, width = slots.shape
    flag = stop_flag()
    place, outs = address(slots), address(follow)
    code.appended(place, rows, width, outs, len(outputs), flag.place)
    if flag.is_set:
        raise StopWork


def _bounds(rows: Rows, keys: NDArray[np.int64]) -> Stretches:
    """The first start and the last end of each key's rows."""
    if isinstance(rows, Groups):
        some = rows.offsets[keys] < rows.offsets[keys + 1]
        low, high = rows.firsts[keys], rows.lasts[keys]
        if rows.buffer.domain_end is not None:  # last rows may hold on
            high = np.full(len(keys), FAR)
        return np.where(some, low, FAR), np.where(some, high, -FAR)
    first, last = rows.bounds() or (FAR, -FAR)
    if rows.domain_end is not None:
        last = FAR
    return np.full(len(keys), first), np.full(len(keys), last)


def _wider(
    known: Stretches | None, extent: Stretches, low: int, high: int
) -> Stretches:
    """What is needed of an object, with what a loop reads of it over its cells."""
    some = extent[0] <= extent[1]
    lows = np.where(some, extent[0] + low, LATEST)
    highs = np.where(some, extent[1] + high, EARLIEST)
    if known is None:
        return lows, highs
    return np.minimum(known[0], lows), np.maximum(known[1], highs)
