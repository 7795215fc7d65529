"""Calling a grid kernel: where it serves, and the memory that one call of it needs.

A grid kernel visits every grid point of a stretch and takes no look at times, so all
its samples must be there, and its outputs must own just the cells of the stretch.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tiltpy.abi import (
    APART,
    LANES,
    MOST_CELLS,
    Lattice,
    Loop,
    Signature,
    Slot,
    SlotKind,
    Stretch,
    TimeLayout,
)
from tiltpy.runtime import memory
from tiltpy.runtime.buffers import Column, SnapshotBuffer
from tiltpy.runtime.calls import Call, Executable, Needed, OutputSlot, wiring_of
from tiltpy.runtime.cells import CellPiece
from tiltpy.runtime.domain import Domain, Part
from tiltpy.runtime.execute import Kernel
from tiltpy.runtime.layout import sampled
from tiltpy.runtime.memory import Array
from tiltpy.runtime.sheet import Sheet, whole_vectors
from tiltpy.runtime.stitch import Piece
from tiltpy.runtime.strings import NO_STRINGS, Strings
from tiltpy.types import columns


def lattice_of(buffer: SnapshotBuffer) -> Lattice | None:
    """How a grid kernel takes an input's rows; None where they are not for it."""
    bounds = buffer.bounds()
    if bounds is None:
        return None
    match buffer.layout:
        case TimeLayout.SAMPLED:
            return Lattice(buffer.period, buffer.start % buffer.period)
        case TimeLayout.CONTIGUOUS | TimeLayout.INTERVALS:
            ticks = bounds[1] - bounds[0]
            if ticks > MOST_CELLS * buffer.n:
                return None
            return Lattice(1, 0, apart=ticks >= APART * buffer.n)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid kernel and the stretch `(low, high]` of a run in which it serves."""

    kernel: Kernel
    stretch: Stretch
    low: int
    high: int

    def fits(self, part: Part) -> bool:
        """Whether it can compute a chunk."""
        low, high = part.low, part.high
        multiple, phase = self.stretch.multiple, self.stretch.phase
        inside = self.low <= low < high <= self.high
        if not inside or (low - phase) % multiple or (high - phase) % multiple:
            return False
        for loop in self.kernel.signature.loops:
            own = part.cells.get(loop.name)
            if own is None or own.first - loop.tdom.precision != low:
                return False
            if own.last != high:
                return False
        return True

    def within(self, low: int, high: int) -> "Grid | None":
        """The same in a part of its stretch; None where nothing is left."""
        multiple, phase = self.stretch.multiple, self.stretch.phase
        low, high = max(self.low, low), min(self.high, high)
        low, high = low + (phase - low) % multiple, high - (high - phase) % multiple
        return replace(self, low=low, high=high) if low < high else None

    def sheet(self, parts: Iterable[Part]) -> Sheet | None:
        """Memory for the full outputs of those chunks that it can compute.

        None where one of them would write into the cells of the next.
        """
        own = [part for part in parts if self.fits(part)]
        step = whole_vectors(self.kernel.signature)
        if not own or any((part.low - own[0].low) % step for part in own):
            return None
        return Sheet(self.kernel.signature, own[0].low, own[-1].high)


def serving(
    kernel: Kernel, rows: Mapping[str, SnapshotBuffer], domains: Mapping[str, Domain]
) -> Grid | None:
    """The kernel with the largest stretch in which it serves; None without one."""
    signature, stretch = kernel.signature, kernel.signature.stretch
    assert stretch is not None
    if any(loop.name not in domains for loop in signature.loops):
        return None
    lows, highs = [], []
    for loop in signature.loops:
        domain = domains[loop.name]
        # A snapshot may have begun before the domain: then its value is not written,
        # and another kernel has to compute the first cell.
        first = loop.tdom.ceil(domain.start + 1)
        lows.append(first if has_covered(signature, loop) else first - 1)
        highs.append(loop.tdom.ceil(domain.end))
    seen = []
    for read in stretch.reads:
        buffer = rows[read.object]
        bounds = buffer.bounds()
        assert bounds is not None
        if buffer.layout is not TimeLayout.INTERVALS:
            lows.append(bounds[0] - read.low)
            highs.append(bounds[1] - read.high)
        seen.append((bounds[0] - read.high, bounds[1] - read.low))
    if seen:  # where it sees no row of any input, other kernels need no time at all
        lows.append(min(low for low, _ in seen))
        highs.append(max(high for _, high in seen))
    low = max(lows) + (stretch.phase - max(lows)) % stretch.multiple
    high = min(highs) - (min(highs) - stretch.phase) % stretch.multiple
    return Grid(kernel, stretch, low, high) if low < high else None


def has_covered(signature: Signature, loop: Loop) -> bool:
    """Whether an output's snapshots may be longer than a cell."""
    wanted = Slot(SlotKind.OUT_COVERED, loop.name)
    return wanted in signature.slots


class GridChunk:
    """One call of a grid kernel, over `(low, high]`.

    Full outputs go to their place in the sheet; without one each has its own memory.
    """

    most = 0
    """Snapshots that it may have, of which few may be found: the others are bits."""

    def __init__(
        self,
        signature: Signature,
        rows: Mapping[str, SnapshotBuffer],
        low: int,
        high: int,
        sheet: Sheet | None = None,
        strings: Strings = NO_STRINGS,
    ) -> None:
        assert signature.stretch is not None
        self.signature = signature
        self.strings = strings
        self.low = low
        self.high = high
        self.sheet = sheet
        self.multiples = (high - low) // signature.stretch.multiple
        self.pieces: dict[str, SnapshotBuffer] = {}
        for read in signature.stretch.reads:
            buffer = rows[read.object]
            found = buffer.find(low + read.low, high + read.high)
            self.pieces[read.object] = buffer.slice(*found)

    def prepare(self, code: Executable) -> Call:
        """The kernel with its slots filled in, but for its scratch."""
        wiring = wiring_of(self.signature, code)
        call = wiring.call(code, self.pieces, self.strings)
        sheet = self.sheet or Sheet(self.signature, self.low, self.high)
        for slot in wiring.outputs:
            call.put(slot, self._output_array(slot, sheet))
        for index, kind, _ in wiring.others:
            assert kind in (SlotKind.LOW, SlotKind.HIGH)
            call.slots[index] = self.low if kind is SlotKind.LOW else self.high
        return call

    def needed(self, code: Executable) -> dict[int, Needed]:
        """What the slots need that nobody reads afterwards."""
        found = {}
        for index, number, wanted in wiring_of(self.signature, code).scratch:
            assert all(name == "" for name, _ in wanted.rows)
            factor = sum(factor for _, factor in wanted.rows)
            size = factor * self.multiples + wanted.constant
            found[index] = Needed(("grid", number), wanted.type, size)
        return found

    def _output_array(self, slot: OutputSlot, sheet: Sheet) -> Array:
        """Memory for what is written to a slot."""
        loop, size = slot.loop, self._cells(slot.loop) + LANES
        match slot.kind:
            case SlotKind.OUT_VALUES if loop.implicit_times:
                return sheet.part(loop, slot.column, self.low, self.high)
            case SlotKind.OUT_BEGINS | SlotKind.OUT_COVERED:
                return memory.allocate(slot.type, (size + 7) // 8 + 8)
            case _:
                return memory.allocate(slot.type, size)

    def _cells(self, loop: Loop) -> int:
        return (self.high - self.low) // loop.tdom.precision

    def until(self, high: int, loop: Loop) -> Piece:
        """What this call and those behind it, up to `high`, wrote to the sheet."""
        assert self.sheet is not None
        cells = (high - self.low) // loop.tdom.precision
        values = (
            Column(self.sheet.part(loop, number, self.low, high)[:cells])
            for number in range(len(columns(loop.type)))
        )
        return sampled(self.low, loop.tdom.precision, cells, tuple(values))

    def pieces_of(self, call: Call) -> dict[str, Piece]:
        """What a call wrote, of each output."""
        return {loop.name: self._piece(loop, call) for loop in self.signature.loops}

    def _piece(self, loop: Loop, call: Call) -> Piece:
        cells, period = self._cells(loop), loop.tdom.precision
        if loop.implicit_times:
            return sampled(self.low, period, cells, call.payload(loop, cells))
        count = call.count(loop.name)
        begins = call.arrays[SlotKind.OUT_BEGINS, loop.name, 0].view(np.uint8)
        covered = call.arrays.get((SlotKind.OUT_COVERED, loop.name, 0))
        return CellPiece(
            self.low,
            period,
            cells,
            begins,
            None if covered is None else covered.view(np.uint8),
            count,
            call.payload(loop, count),
        )
