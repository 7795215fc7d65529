"""Calling a kernel for one chunk: what each loop covers, memory, and argument slots.

The snapshots of an output come back as a piece: a snapshot buffer of that chunk.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.abi import Loop, Rows, Shape, Signature, SlotKind, TimeLayout
from tiltpy.errors import DataError
from tiltpy.runtime.buffers import Column, SnapshotBuffer, dtype_of, pack_validity
from tiltpy.runtime.domain import Cells, Request
from tiltpy.types import BOOL, I64, Scalar, columns

Array = NDArray[np.generic]


class Executable(Protocol):
    """Machine code of a kernel."""

    def run(self, slots: NDArray[np.int64]) -> None:
        """Execute it over an argument array."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel ready to be called, and how."""

    signature: Signature
    code: Executable


class Memory:
    """A worker's scratch arrays, kept from chunk to chunk."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[str, int], Array] = {}

    def take(self, key: tuple[str, int], scalar: Scalar, size: int) -> Array:
        """An array of at least that size; its content is anything."""
        found = self._arrays.get(key)
        if found is None or found.size < size:
            found = self._arrays[key] = allocate(scalar, size)
        return found


def allocate(scalar: Scalar, size: int) -> Array:
    """Uninitialised memory for a column.

    It is Arrow's pool's, which keeps the pages of what was given back: memory fresh
    from the system costs more than most queries.
    """
    kind = dtype_of(scalar)
    count = max(1, size) * kind.itemsize
    if count + pa.total_allocated_bytes() <= installed_memory():
        with suppress(MemoryError):
            return np.frombuffer(pa.allocate_buffer(count), kind)
    raise DataError(
        f"a chunk could have {size:,} snapshots, which with all the others do not fit "
        "into memory; give a shorter chunk, a smaller domain or a coarser precision"
    )


@cache
def installed_memory() -> int:
    """The bytes of memory that this machine, or this container, has.

    The system would promise more, and end the process when it comes to keeping that.
    """
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with suppress(OSError, ValueError):  # "max": the container has no limit
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text("ascii")))
    return min(limits)


@dataclass(frozen=True, slots=True)
class Extent:
    """What a loop visits: grid points `first..last`, or for rows `[first, last)`."""

    first: int
    last: int

    @property
    def is_empty(self) -> bool:
        return self.first > self.last


NOTHING = Extent(1, 0)


class Chunk:
    """One call of a kernel: the cells it owns and the rows it needs for them."""

    def __init__(
        self,
        signature: Signature,
        rows: Mapping[str, SnapshotBuffer],
        cells: Mapping[str, Cells],
        request: Request,
    ) -> None:
        self.signature = signature
        self.cells = cells
        self.request = request
        self.extents: dict[str, Extent] = {}
        needs: dict[str, list[tuple[int, int]]] = {}
        for loop in reversed(signature.loops):
            extent = self._extent(loop, needs.get(loop.name, []))
            self.extents[loop.name] = extent
            if not extent.is_empty:
                for read in loop.reads:
                    stretch = (extent.first + read.low, extent.last + read.high)
                    needs.setdefault(read.object, []).append(stretch)
        self.needs = {
            name: (min(low for low, _ in some), max(high for _, high in some))
            for name, some in needs.items()
        }
        self.pieces = {
            name: buffer.slice(*buffer.find(*self.needs.get(name, (0, 0))))
            for name, buffer in rows.items()
        }
        self.capacity: dict[str, int] = {}
        for loop in signature.loops:
            self.capacity[loop.name] = self._capacity(loop)

    def _extent(self, loop: Loop, needs: list[tuple[int, int]]) -> Extent:
        """The cells that are owned or that other loops read, and the seam cell."""
        own = self.cells.get(loop.name)
        firsts, lasts = [], []
        if own is not None:
            seam = own.seam and loop.shape is Shape.SWEEP
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
        return Extent(first, last)

    def covered(self) -> bool:
        """Whether every sampled loop finds a row wherever it looks."""
        for loop in self.signature.loops:
            extent = self.extents[loop.name]
            for read in loop.reads:
                piece = self.pieces[read.object]
                if piece.period != loop.tdom.precision:
                    return False
                end = piece.start + piece.n * piece.period
                if extent.first + read.low < piece.start:
                    return False
                if extent.last + read.high > end:
                    return False
        return True

    def rows_of(self, rows: Rows, constant: int) -> int:
        """The value of a row count."""
        sizes = (
            factor * (self.pieces[n].n if n in self.pieces else self.capacity[n])
            for n, factor in rows
        )
        return constant + sum(sizes)

    def _capacity(self, loop: Loop) -> int:
        extent = self.extents[loop.name]
        if extent.is_empty:
            return 1
        cells = (extent.last - extent.first) // loop.tdom.precision + 2
        if loop.every_cell:
            return cells
        changes = self.rows_of(loop.changes, 4)
        return changes if loop.shape is Shape.ROWS else min(cells, changes)

    def row_range(self, loop: Loop) -> Extent:
        """The rows of a map over rows: those that end in the chunk's stretch."""
        own = self.cells.get(loop.name)
        piece = self.pieces[loop.reads[0].object]
        if own is None:
            return Extent(0, 0)
        first, last = piece.find(own.first - 1, own.last)
        if last > first and not own.final:
            # A row that goes on past the chunk belongs to the one in which it ends.
            span = piece.slice(last - 1, last).bounds()
            last -= span is not None and span[1] > own.last
        return Extent(first, last)

    def run(self, code: Executable, memory: Memory) -> dict[str, SnapshotBuffer]:
        """Call the kernel; the pieces of its outputs."""
        slots = np.zeros(len(self.signature.slots) or 1, np.int64)
        arrays: dict[tuple[SlotKind, str, int], Array] = {}
        loops = {loop.name: loop for loop in self.signature.loops}
        for index, slot in enumerate(self.signature.slots):
            name, column = slot.object, slot.column
            match slot.kind:
                case SlotKind.SCRATCH:
                    scratch = self.signature.scratch[column]
                    size = self.rows_of(scratch.rows, scratch.constant)
                    array = memory.take(("", column), scratch.type, size)
                    slots[index] = array.ctypes.data
                case SlotKind.OUT_COUNT:
                    pass
                case _ if slot.kind.name.startswith("OUT_"):
                    array = self._output_array(loops[name], slot.kind, column, memory)
                    arrays[slot.kind, name, column] = array
                    slots[index] = array.ctypes.data
                case _:
                    slots[index] = self._number(loops, slot.kind, name, column)
        code.run(slots)
        counts = {
            slot.object: int(slots[index])
            for index, slot in enumerate(self.signature.slots)
            if slot.kind is SlotKind.OUT_COUNT
        }
        return {
            name: self._piece(loops[name], counts[name], arrays)
            for name in self.signature.outputs
            if name in self.cells
        }

    def _output_array(
        self, loop: Loop, kind: SlotKind, column: int, memory: Memory
    ) -> Array:
        """Memory for what a loop writes: an output's own, otherwise the worker's."""
        size = self.capacity[loop.name]
        times = kind in (SlotKind.OUT_STARTS, SlotKind.OUT_ENDS)
        scalar = I64 if times else columns(loop.type)[column][1]
        if kind is SlotKind.OUT_VALIDITY:
            scalar = BOOL
        if loop.implicit_times and times:
            size = 1
        if loop.name in self.cells and loop.name in self.signature.outputs:
            return allocate(scalar, size)
        return memory.take((f"{loop.name}.{kind.value}", column), scalar, size)

    def _number(
        self, loops: Mapping[str, Loop], kind: SlotKind, name: str, column: int
    ) -> int:
        """What stands in an input's slot, or where a loop begins and ends."""
        match kind:
            case SlotKind.ROWS:
                return self.pieces[name].n
            case SlotKind.START:
                return self.pieces[name].start
            case SlotKind.PERIOD:
                return self.pieces[name].period
            case SlotKind.STARTS:
                return _address(self.pieces[name].starts)
            case SlotKind.ENDS:
                return _address(self.pieces[name].ends)
            case SlotKind.VALUES:
                return _address(self.pieces[name].columns[column].values)
            case SlotKind.VALIDITY:
                return _address(self.pieces[name].columns[column].validity)
            case SlotKind.VALIDITY_OFFSET:
                return self.pieces[name].columns[column].offset
            case SlotKind.FIRST:
                return self._visits(loops[name]).first
            case SlotKind.LAST:
                return self._visits(loops[name]).last
            case SlotKind.CLIP_LOW:
                start = self.request.resolve(loops[name].tdom.start)
                return -(2**63) if start is None else start
            case SlotKind.CLIP_HIGH:
                end = self.request.resolve(loops[name].tdom.end)
                return 2**63 - 1 if end is None else end
            case _:
                raise AssertionError(f"no number for {kind}")

    def _visits(self, loop: Loop) -> Extent:
        if loop.shape is Shape.ROWS:
            return self.row_range(loop)
        return self.extents[loop.name]

    def _piece(
        self,
        loop: Loop,
        count: int,
        arrays: Mapping[tuple[SlotKind, str, int], Array],
    ) -> SnapshotBuffer:
        """What a loop wrote, as a snapshot buffer."""
        payload = tuple(
            _column(
                arrays[SlotKind.OUT_VALUES, loop.name, j],
                arrays.get((SlotKind.OUT_VALIDITY, loop.name, j)),
                count,
            )
            for j in range(len(columns(loop.type)))
        )
        if loop.implicit_times and loop.shape is Shape.ROWS:
            extent = self.row_range(loop)
            source = self.pieces[loop.reads[0].object]
            return source.slice(extent.first, extent.last).with_columns(payload)
        if loop.implicit_times:
            period = loop.tdom.precision
            start = self.extents[loop.name].first - period
            return SnapshotBuffer(
                TimeLayout.SAMPLED, count, start, period, None, None, payload
            )
        starts = _written(arrays[SlotKind.OUT_STARTS, loop.name, 0], count)
        ends = _written(arrays[SlotKind.OUT_ENDS, loop.name, 0], count)
        return SnapshotBuffer(
            TimeLayout.INTERVALS,
            count,
            0,
            1,
            starts.view(np.int64),
            ends.view(np.int64),
            payload,
        )


def _column(values: Array, validity: Array | None, count: int) -> Column:
    kept = _written(values, count)
    if validity is None:
        return Column(kept)
    return Column(kept, pack_validity(validity[:count].view(np.uint8)))


def _written(array: Array, count: int) -> Array:
    """What a loop wrote; a copy where that is little of what it could have."""
    kept = array[: max(1, count)]
    return kept.copy() if 4 * kept.size < array.size else kept


def _address(array: Array | None) -> int:
    assert array is not None
    return array.ctypes.data
