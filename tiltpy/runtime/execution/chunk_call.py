"""Calling a kernel for one chunk: what each loop covers, memory, and argument slots.

The snapshots of an output come back as a piece: a snapshot buffer of that chunk.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tiltpy.abi import (
    MOST_RANKED,
    Lattice,
    Loop,
    Shape,
    Signature,
    SlotKind,
    TimeLayout,
)
from tiltpy.errors import DataError
from tiltpy.ir.nodes import Query
from tiltpy.runtime.arrays import pool as memory
from tiltpy.runtime.arrays.dictionary import NO_STRINGS, Strings
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_queue import Batch, Needed
from tiltpy.runtime.execution.kernel_arguments import (
    Call,
    Executable,
    OutputSlot,
    Wiring,
    wiring_of,
    written,
)
from tiltpy.runtime.execution.time_domain import Cells
from tiltpy.runtime.execution.visit_bounds import Coverage, Extent
from tiltpy.types import TDom


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel ready to be called, and how."""

    signature: Signature
    code: Executable


class Kernels(Protocol):
    """Kernels for the layouts of a run, compiled when first asked for."""

    query: Query
    """The optimised query, with its boundaries."""

    def general(self, *, few: bool = False) -> Kernel:
        """The kernel for any rows, or for `few`."""

    def grid(self, lattices: Mapping[str, Lattice]) -> Kernel | None:
        """The kernel that visits every grid point of inputs on these lattices."""


TIMES = SlotKind.OUT_STARTS, SlotKind.OUT_ENDS


class Chunk:
    """One call of a kernel: the cells it owns and the rows it needs for them."""

    count = 1

    def __init__(
        self, kernel: Kernel, coverage: Coverage, strings: Strings = NO_STRINGS
    ) -> None:
        signature = self.signature = kernel.signature
        self.code = kernel.code
        self.strings = strings
        self.cells = coverage.cells
        self.request = coverage.request
        self._call: Call | None = None
        self.extents = coverage.extents
        self.capacity = coverage.capacity
        self.rows_of = coverage.rows_of
        self.pieces = {
            name: buffer.slice(*coverage.ranges[name])
            for name, buffer in coverage.rows.items()
        }
        if any(loop.structures for loop in signature.loops):
            self._check_ranked()
        self.visits = {
            loop.name: self._row_range(loop)
            if loop.shape is Shape.ROWS
            else self.extents[loop.name]
            for loop in signature.loops
        }

    def _check_ranked(self) -> None:
        """Structures of windows number rows with 32 bits."""
        rows = {name: piece.n for name, piece in self.pieces.items()}
        for name, count in (rows | self.capacity).items():
            if count > MOST_RANKED:
                raise DataError(
                    f"~{name} could have {count:,} rows in a chunk, and median, mode "
                    f"and their like take {MOST_RANKED:,}; give a shorter chunk"
                )

    def _row_range(self, loop: Loop) -> Extent:
        """The rows of a map over rows: those that overlap the chunk's stretch."""
        own = self.cells.get(loop.name)
        if own is None:
            return Extent(0, 0)
        piece = self.pieces[loop.reads[0].object]
        return Extent(*piece.find(own.first - 1, own.last))

    def batch(self) -> Batch:
        """The call, prepared."""
        wiring = wiring_of(self.signature, self.code)
        call = self._call = wiring.call(self.code, self.pieces, self.strings)
        for slot in wiring.outputs:
            if slot.loop.name in self.signature.outputs:
                call.put(slot, memory.allocate(slot.type, self._size(slot)))
        for index, kind, name in wiring.others:
            call.slots[index] = self._number(name, kind)
        needed = self._needed(wiring)
        return Batch(call.code, call.slots[None], wiring.counts, needed, self)

    def results(
        self,
    ) -> Iterator[tuple[int, dict[str, SnapshotBuffer], Mapping[str, Cells]]]:
        """What the call wrote, of each output."""
        assert self._call is not None
        pieces = {
            loop.name: self._piece(loop, self._call)
            for loop in self.signature.loops
            if loop.name in self.cells and loop.name in self.signature.outputs
        }
        yield self.count, pieces, self.cells

    def _needed(self, wiring: Wiring) -> dict[int, Needed]:
        """The scratch for what nobody reads afterwards."""
        found = {}
        for index, number, wanted in wiring.scratch:
            size = self.rows_of(wanted.rows, wanted.constant)
            found[index] = Needed(("", number), wanted.type, size)
        for slot in wiring.outputs:
            if slot.loop.name not in self.signature.outputs:
                key = f"{slot.loop.name}.{slot.kind.value}", slot.column
                found[slot.index] = Needed(key, slot.type, self._size(slot))
        return found

    def _size(self, slot: OutputSlot) -> int:
        """How much a loop may write to a slot."""
        implicit = slot.loop.implicit_times and slot.kind in TIMES
        return 1 if implicit else self.capacity[slot.loop.name]

    @property
    def most(self) -> int:
        """How many snapshots of its outputs there may be, if there are many."""
        return sum(self.capacity[name] for name in self.cells)

    def _number(self, name: str, kind: SlotKind) -> int:
        """Where a loop begins and ends, or what cuts its snapshots."""
        match kind:
            case SlotKind.FIRST:
                return self.visits[name].first
            case SlotKind.LAST:
                return self.visits[name].last
            case SlotKind.CLIP_LOW:
                start = self.request.resolve(self._tdom(name).start)
                return -(2**63) if start is None else start
            case SlotKind.CLIP_HIGH:
                end = self.request.resolve(self._tdom(name).end)
                return 2**63 - 1 if end is None else end
            case _:
                raise AssertionError(f"no number of a loop: {kind}")

    def _tdom(self, name: str) -> TDom:
        return next(loop.tdom for loop in self.signature.loops if loop.name == name)

    def _piece(self, loop: Loop, call: Call) -> SnapshotBuffer:
        """What a loop wrote, as a snapshot buffer."""
        count = call.count(loop.name)
        payload = call.payload(loop, count)
        if loop.implicit_times and loop.shape is Shape.ROWS:
            extent = self.visits[loop.name]
            source = self.pieces[loop.reads[0].object]
            return source.slice(extent.first, extent.last).with_columns(payload)
        if loop.implicit_times:
            period = loop.tdom.precision
            start = self.extents[loop.name].first - period
            return SnapshotBuffer(
                TimeLayout.SAMPLED, count, start, period, None, None, payload
            )
        starts = written(call.arrays[SlotKind.OUT_STARTS, loop.name, 0], count)
        ends = written(call.arrays[SlotKind.OUT_ENDS, loop.name, 0], count)
        return SnapshotBuffer(
            TimeLayout.INTERVALS,
            count,
            0,
            1,
            starts.view(np.int64),
            ends.view(np.int64),
            payload,
        )
