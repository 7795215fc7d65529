"""A vector kernel in Python: the interpreter under the contract of `abi.AlignedRange`.

It reads and writes through the addresses in its slots and knows nothing else, as
machine code would. What it must not rely on is filled with noise: the entries beyond
the last cell and beyond the last value.
"""

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd, lcm
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tests.loops.trials import drivers
from tiltpy.abi.layouts import Layout, SamplingGrid, TimeLayout
from tiltpy.abi.signature import (
    LANES,
    AlignedRange,
    Loop,
    Read,
    Scratch,
    Shape,
    Signature,
)
from tiltpy.abi.slots import Slot, SlotKind
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import Compiler
from tiltpy.interpreter.evaluate import Event, Snapshot, Value, interpret
from tiltpy.ir.nodes import Query, TemporalExpr
from tiltpy.passes.resolve_boundaries import resolve_boundaries
from tiltpy.runtime.arrays.pool import dtype_of
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.types import I64, Struct, columns

Number = TypeVar("Number", bound=np.generic)

DRIVERS = drivers()
"""Made once, before any thread needs them."""


@dataclass
class FakeGrid:
    """Vector kernels for any query over infinite domains, and how often they ran."""

    query: Query
    layouts: Mapping[str, Layout]
    multiple: int = 1
    runs: int = 0
    covered: bool = True
    """Whether snapshots may be longer than a cell."""
    implicit: bool = False
    """Whether every cell is a snapshot."""

    def kernel(self, sampling_grids: Mapping[str, SamplingGrid]) -> Kernel | None:
        query = resolve_boundaries(self.query)
        outputs = [query.definition(name) for name in query.outputs]
        reads: dict[str, Read] = {}
        for _, inputs in query.boundaries:
            for name, boundary in inputs:
                low, high = -boundary.back.ticks, boundary.ahead.ticks
                known = reads.setdefault(name, Read(name, low, high))
                low, high = min(low, known.low), max(high, known.high)
                reads[name] = Read(name, low, high)
        if not all(one.tdom.is_infinite for one in query.definitions) or not reads:
            return None
        grids = [(one.tdom.precision, one.tdom.offset) for one in outputs if one]
        grids += [(one.period, one.phase) for one in sampling_grids.values()]
        phase = common_phase(grids)
        if phase is None:
            return None
        multiple = lcm(self.multiple, *(period for period, _ in grids))
        aligned = AlignedRange(
            multiple, phase % multiple, multiple, tuple(reads.values())
        )
        loops = tuple(self._loop(one) for one in outputs if one is not None)
        slots = tuple(self._slots(tuple(reads), loops))
        scratch = (Scratch(I64, (("", 3),), 5),)
        signature = Signature(slots, loops, scratch, query.outputs, aligned)
        return Kernel(signature, FakeCode(self, signature))

    def _loop(self, definition: TemporalExpr) -> Loop:
        return Loop(
            definition.name,
            definition.tdom,
            definition.type,
            Shape.STENCIL,
            (),
            (),
            every_cell=True,
            implicit_times=self.implicit,
        )

    def _slots(self, inputs: tuple[str, ...], loops: tuple[Loop, ...]) -> list[Slot]:
        found = [Slot(SlotKind.LOW, ""), Slot(SlotKind.HIGH, "")]
        found.append(Slot(SlotKind.SCRATCH, "", 0))
        for name in inputs:
            layout = self.layouts[name]
            found += [Slot(kind, name) for kind in TIME_SLOTS[layout.time]]
            for column, nullable in enumerate(layout.nullable):
                found.append(Slot(SlotKind.VALUES, name, column))
                if nullable:
                    found.append(Slot(SlotKind.VALIDITY, name, column))
                    found.append(Slot(SlotKind.VALIDITY_OFFSET, name, column))
        for loop in loops:
            for column, _ in enumerate(columns(loop.type)):
                found.append(Slot(SlotKind.OUT_VALUES, loop.name, column))
                if isinstance(loop.type, Struct):
                    found.append(Slot(SlotKind.OUT_VALIDITY, loop.name, column))
            if not self.implicit:
                found.append(Slot(SlotKind.OUT_BEGINS, loop.name))
                found.append(Slot(SlotKind.OUT_COUNT, loop.name))
                if self.covered:
                    found.append(Slot(SlotKind.OUT_COVERED, loop.name))
        return found


TIME_SLOTS = {
    TimeLayout.SAMPLED: (SlotKind.ROWS, SlotKind.START, SlotKind.PERIOD),
    TimeLayout.CONTIGUOUS: (SlotKind.ROWS, SlotKind.START, SlotKind.ENDS),
    TimeLayout.INTERVALS: (SlotKind.ROWS, SlotKind.STARTS, SlotKind.ENDS),
}


def common_phase(grids: list[tuple[int, int]]) -> int | None:
    """A time on all of these grids (period, offset), if there is one."""
    period, offset = 1, 0
    for other, place in grids:
        if (place - offset) % gcd(period, other):
            return None
        while (offset - place) % other:
            offset += period
        period = lcm(period, other)
    return offset


@dataclass(eq=False)
class FakeCode:
    """The code of a fake kernel."""

    grid: FakeGrid
    signature: Signature

    def code(self) -> "FakeCode":
        return self

    @cached_property
    def _callback(self) -> Any:
        return ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(self.call)

    @property
    def address(self) -> int:
        found = ctypes.cast(self._callback, ctypes.c_void_p).value
        assert found is not None
        return found

    @property
    def call_many(self) -> Callable[[int, int, int, int], object]:
        return DRIVERS.call_many

    def call_appending(self, *given: int) -> None:
        raise AssertionError(f"vector kernels do not append: {given}")

    def call(self, place: int, _stop: int) -> None:
        self.grid.runs += 1
        slots = at(place, np.dtype(np.int64), len(self.signature.slots))
        numbers = zip(self.signature.slots, slots.tolist(), strict=True)
        values = {(s.kind, s.object, s.column): number for s, number in numbers}
        low, high = values[SlotKind.LOW, "", 0], values[SlotKind.HIGH, "", 0]
        aligned = self.signature.aligned_range
        assert aligned is not None
        assert (high - low) % aligned.multiple == 0
        assert (low - aligned.phase) % aligned.multiple == 0
        events: dict[str, list[Event]] = {i.name: [] for i in self.grid.query.inputs}
        for read in aligned.reads:
            events[read.object], span = self._events(read.object, values)
            self._check_coverage(read, span, low, high)
        size = 3 * (high - low) // aligned.multiple + 5
        at(values[SlotKind.SCRATCH, "", 0], np.dtype(np.int64), size)[:] = -1
        for loop in self.signature.loops:
            count = self._write(loop, events, low, high, values)
            if not loop.implicit_times:
                place = self.signature.slots.index(Slot(SlotKind.OUT_COUNT, loop.name))
                slots[place] = count

    def _check_coverage(
        self, read: Read, span: tuple[int, int], low: int, high: int
    ) -> None:
        """A sampled input has a row everywhere that the kernel looks."""
        layout = self.grid.layouts[read.object]
        if layout.time is TimeLayout.SAMPLED:
            assert span[0] <= low + read.low
            assert span[1] >= high + read.high

    def _events(
        self, name: str, values: Mapping[tuple[SlotKind, str, int], int]
    ) -> tuple[list[Event], tuple[int, int]]:
        """The events of an input, and from where to where there are rows."""
        declared = self.grid.query.input(name)
        assert declared is not None
        layout = self.grid.layouts[name]
        rows = values[SlotKind.ROWS, name, 0]
        starts, ends = times(layout.time, name, rows, values)
        span = (starts[0], ends[-1]) if rows else (0, 0)
        payload: list[list[object]] = []
        for column, (_, scalar) in enumerate(columns(declared.type)):
            address = values[SlotKind.VALUES, name, column]
            cells = at(address, dtype_of(scalar), rows).tolist()
            if scalar.kind == "bool":
                cells = [bool(cell) for cell in cells]
            if layout.nullable[column]:
                first = values[SlotKind.VALIDITY_OFFSET, name, column]
                bits = at(
                    values[SlotKind.VALIDITY, name, column],
                    np.dtype(np.uint8),
                    (first + rows + 7) // 8,
                )
                valid = np.unpackbits(bits, bitorder="little")[first:]
                cells = [c if v else None for c, v in zip(cells, valid, strict=False)]
            payload.append(cells)
        found = []
        for start, end, *cells in zip(starts, ends, *payload, strict=True):
            if isinstance(declared.type, Struct):
                names = [field for field, _ in declared.type.fields]
                value: Value | None = dict(zip(names, cells, strict=True))
            else:
                value = cells[0]
            if value is not None:
                found.append(Event(start, end, value))
        return found, span

    def _write(
        self,
        loop: Loop,
        events: Mapping[str, list[Event]],
        low: int,
        high: int,
        values: Mapping[tuple[SlotKind, str, int], int],
    ) -> int:
        period = loop.tdom.precision
        query = replace(self.grid.query, outputs=(loop.name,))
        meant = interpret(query, events, start=low - period, end=high)[loop.name]
        snapshots = [one for one in meant if one.end > low]
        cells = (high - low) // period
        kept = [one for one in snapshots if one.start >= low]
        self._write_values(loop, kept, cells, values)
        if loop.implicit_times:
            assert len(kept) == cells
            return cells
        size = (cells + LANES + 7) // 8
        noise = np.random.default_rng(low & 0xFFFF)
        bits = noise.integers(0, 2, (2, 8 * size), np.uint8)
        bits[:, :cells] = 0
        for one in snapshots:
            first = (one.start - low) // period
            if first >= 0:
                bits[0, first] = 1
            assert self.grid.covered or one.end - one.start == period
            bits[1, max(0, first) : (one.end - low) // period] = 1
        kinds = [SlotKind.OUT_BEGINS]
        kinds += [SlotKind.OUT_COVERED] if self.grid.covered else []
        for kind, row in zip(kinds, bits, strict=False):
            packed = np.packbits(row, bitorder="little")
            at(values[kind, loop.name, 0], np.dtype(np.uint8), size)[:] = packed
        return len(kept)

    def _write_values(
        self,
        loop: Loop,
        kept: list[Snapshot],
        cells: int,
        values: Mapping[tuple[SlotKind, str, int], int],
    ) -> None:
        for column, (name, scalar) in enumerate(columns(loop.type)):
            kind = dtype_of(scalar)
            address = values[SlotKind.OUT_VALUES, loop.name, column]
            room = -cells % LANES if loop.implicit_times else LANES
            found = at(address, kind, cells + room)
            found[:] = 77
            payload = [
                one.value[name] if isinstance(one.value, Mapping) else one.value
                for one in kept
            ]
            present = [number is not None for number in payload]
            found[: len(kept)] = np.array([number or 0 for number in payload], kind)
            if isinstance(loop.type, Struct):
                address = values[SlotKind.OUT_VALIDITY, loop.name, column]
                valid = at(address, np.dtype(np.uint8), cells + LANES)
                valid[:] = 0
                valid[: len(kept)] = present


def at(address: int, kind: np.dtype[Number], count: int) -> NDArray[Number]:
    """The array that lies at an address."""
    items = (ctypes.c_char * (count * kind.itemsize)).from_address(address)
    memory = memoryview(items)
    return np.frombuffer(memory, kind)


def times(
    layout: TimeLayout,
    name: str,
    rows: int,
    values: Mapping[tuple[SlotKind, str, int], int],
) -> tuple[list[int], list[int]]:
    """The starts and ends of the rows of an input."""
    if layout is TimeLayout.SAMPLED:
        start = values[SlotKind.START, name, 0]
        period = values[SlotKind.PERIOD, name, 0]
        starts = [start + row * period for row in range(rows)]
        return starts, [time + period for time in starts]
    kind = np.dtype(np.int64)
    ends = at(values[SlotKind.ENDS, name, 0], kind, rows).tolist()
    if layout is TimeLayout.CONTIGUOUS:
        return [values[SlotKind.START, name, 0], *ends[:-1]][:rows], ends
    return at(values[SlotKind.STARTS, name, 0], kind, rows).tolist(), ends


class FakeKernels:
    """The kernels of a query, its vector kernels fakes."""

    def __init__(
        self, query: Query, layouts: Mapping[str, Layout], **shape: bool
    ) -> None:
        compiled = Compiler(query, CompileOptions(optimize=False))
        self._real = compiled.compile_for(layouts)
        self.query = self._real.query
        self.fake = FakeGrid(query, layouts, **shape)
        self.sweep = self._real.sweep
        self.warmup_rows = self._real.warmup_rows
        self.refuse_chunks = self._real.refuse_chunks
        self.without_hidden_rows = self._real.without_hidden_rows
        self.sees_beyond_keys = self._real.sees_beyond_keys
        self.concatenation = self._real.concatenation
        self.vector = self.fake.kernel
