"""Many small keys at once: a call of the general kernel for each, made in machine code.

What `execute.Chunk` finds for one call is found here for all of them together, as
columns of an array of slots: a row for each key. The calls are made one after the
other without Python in between, and each writes where the one before has ended, so that
the snapshots of a key follow those of the key before.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tiltpy.abi import Loop, Shape, Signature, SlotKind
from tiltpy.abi import Rows as RowCount
from tiltpy.runtime import memory
from tiltpy.runtime.calls import OutputSlot, address, wiring_of, written, written_column
from tiltpy.runtime.domain import Request
from tiltpy.runtime.execute import TIMES, Kernel
from tiltpy.runtime.key_domains import (
    EARLIEST,
    LATEST,
    Domains,
    Rows,
    Times,
    tdom_ceil,
)
from tiltpy.runtime.key_pieces import KeyedPiece
from tiltpy.runtime.memory import Array, Memory
from tiltpy.runtime.segment_rows import Part, find_in_parts, part_of
from tiltpy.runtime.segment_snapshots import Snapshots
from tiltpy.runtime.strings import Strings
from tiltpy.types import Scalar, TDom, columns

Stretches = tuple[Times, Times]
"""From where to where, for each key; nothing where the first is beyond the second."""


class Segments:
    """The calls of a kernel for some keys, each over all of its key's domain."""

    def __init__(
        self,
        signature: Signature,
        inputs: Mapping[str, Rows],
        domains: Mapping[str, Domains],
        keys: NDArray[np.int64],
        request: Request,
        strings: Strings,
    ) -> None:
        self.signature = signature
        self.keys = keys
        self.domains = {name: one.of(keys) for name, one in domains.items()}
        self.request = request
        self.strings = strings
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
            name: part_of(rows, keys, needs.get(name)) for name, rows in inputs.items()
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
        """The first and the last grid point of each key that a loop's output owns."""
        none = np.full(len(self.keys), LATEST), np.full(len(self.keys), EARLIEST)
        domains = self.domains.get(loop.name)
        if domains is None:
            return none
        first = tdom_ceil(loop.tdom, domains.start + 1)
        last = tdom_ceil(loop.tdom, domains.end)
        wanted = domains.wanted
        return np.where(wanted, first, none[0]), np.where(wanted, last, none[1])

    def _extent(self, loop: Loop, needed: Stretches | None) -> Stretches:
        """The cells that are owned or that other loops read."""
        first, last = self._own(loop)
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
        if not loop.every_cell:
            changes = self.rows_of(loop.changes, 4)
            rows = loop.shape is Shape.ROWS
            cells = changes if rows else np.minimum(cells, changes)
        return np.where(first > last, 1, cells)

    def _row_range(self, loop: Loop) -> Stretches:
        """The rows of a map over rows, counted from the first of each key."""
        part = self.parts[loop.reads[0].object]
        first, last = self._own(loop)
        return find_in_parts(part, first - 1, np.where(first > last, first - 1, last))

    # -- the calls --------------------------------------------------------------------

    def run(self, kernel: Kernel, scratch: Memory) -> dict[str, KeyedPiece]:
        """Make all calls; the pieces of the outputs."""
        wiring = wiring_of(self.signature, kernel.code)
        code = kernel.code.code()
        slots = np.empty((len(self.keys), wiring.size), np.int64)
        slots[:] = wiring.slots(self.strings)
        for index, kind, name, column in wiring.inputs:
            slots[:, index] = self.parts[name].number(kind, column)
        for index, number, wanted in wiring.scratch:
            size = int(self.rows_of(wanted.rows, wanted.constant).max())
            array = scratch.take(("", number), wanted.type, size)
            slots[:, index] = address(array)
        for index, kind, name in wiring.others:
            slots[:, index] = self._number(name, kind)
        arrays: dict[tuple[SlotKind, str, int], Array] = {}
        follow = []
        for slot in wiring.outputs:
            array = arrays[slot.key] = self._output_array(slot, scratch)
            slots[:, slot.index] = address(array)
            if self._appends(slot):
                follow += [slot.index, wiring.counts[slot.loop.name], array.itemsize]
        outputs = np.array(follow, np.int64)
        rows, width = slots.shape
        code.appended(address(slots), rows, width, address(outputs), len(outputs) // 3)
        return {
            loop.name: self._piece(
                loop, slots[:, wiring.counts[loop.name]].copy(), arrays
            )
            for loop in self.signature.loops
            if loop.name in self.domains
        }

    def _appends(self, slot: OutputSlot) -> bool:
        """Whether what is written to a slot is an output's, key after key."""
        implied = slot.loop.implicit_times and slot.kind in TIMES
        return slot.loop.name in self.domains and not implied

    def _output_array(self, slot: OutputSlot, scratch: Memory) -> Array:
        name, capacity = slot.loop.name, self.capacity[slot.loop.name]
        if self._appends(slot):
            return memory.allocate(slot.type, int(capacity.sum()))
        implied = slot.loop.implicit_times and slot.kind in TIMES
        size = 1 if implied else int(capacity.max())
        return scratch.take((f"{name}.{slot.kind.value}", slot.column), slot.type, size)

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

    def _piece(
        self,
        loop: Loop,
        counts: NDArray[np.int64],
        arrays: Mapping[tuple[SlotKind, str, int], Array],
    ) -> KeyedPiece:
        """What a loop wrote for all keys, cut to their domains."""
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
        made = Snapshots(starts, ends, payload, counts)
        if isinstance(loop.type, Scalar):
            made = made.without_nulls()
        made = self._owned(loop, made)
        made = made.cut(self.domains[loop.name], shared=loop.implicit_times)
        return KeyedPiece((made.buffer(),), self.keys, made.counts)

    def _owned(self, loop: Loop, made: Snapshots) -> Snapshots:
        """The snapshots without those that only other loops read."""
        if loop.shape is Shape.ROWS:
            return made
        first, last = self._own(loop)
        extent = self.extents[loop.name]
        some = first <= last
        exact = (first == extent[0]) & (last == extent[1])
        if (exact | (made.counts == 0)).all():
            return made
        low = np.where(some, first - loop.tdom.precision, LATEST)
        return made.within(low, np.where(some, last, EARLIEST))


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
