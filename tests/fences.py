"""`python -m tests.fences FIRST LAST`: random queries over memory with fences.

Every array that a kernel reads or writes is cut to exactly the size that the runtime
says it has, and put right before a page that nobody may touch (with `low`: right behind
one). A kernel that steps over the end of the process with a fault, so this runs in a
process of its own. For Linux.
"""

import ctypes
import sys
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tests.compiled import random_setting
from tests.random_events import random_event_case, random_event_setting
from tests.random_grids import random_grid_case, random_grid_setting
from tests.random_queries import random_case
from tests.test_properties import check
from tiltpy.abi import SlotKind
from tiltpy.runtime.arrays import pool as memory
from tiltpy.runtime.arrays.pool import dtype_of
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.execution import chunk_call as execute
from tiltpy.runtime.execution.kernel_arguments import INPUT_NUMBERS, Wiring, wiring_of
from tiltpy.runtime.execution.row_slices import Part
from tiltpy.runtime.execution.vector_calls import GridRun
from tiltpy.types import Scalar

Number = TypeVar("Number", bound=np.generic)
Slots = NDArray[np.int64]

PAGE = 4096
READ_WRITE, PRIVATE_ANONYMOUS = 3, 0x22

_system = ctypes.CDLL(None)
_system.mmap.restype = ctypes.c_void_p
_system.mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long
]  # fmt: skip
_system.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_system.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Fences:
    """Memory between pages that nobody may touch."""

    def __init__(self, *, low: bool) -> None:
        self.low = low
        self.regions: list[tuple[int, int]] = []

    def array(self, dtype: np.dtype[Number], count: int) -> NDArray[Number]:
        """An array of that many items, or of the one that must be readable."""
        size = max(1, count) * dtype.itemsize
        pages = -(-size // PAGE)
        region = (pages + 2) * PAGE
        base = _system.mmap(None, region, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0)
        end = base + (pages + 1) * PAGE
        for fence in (base, end):
            assert _system.mprotect(fence, PAGE, 0) == 0
        self.regions.append((base, region))
        start = base + PAGE if self.low else end - size
        memory = memoryview((ctypes.c_char * size).from_address(start))
        return np.frombuffer(memory, dtype)

    def copy(self, array: NDArray[Number]) -> NDArray[Number]:
        """The same items between fences."""
        fenced = self.array(array.dtype, array.size)
        fenced[: array.size] = array
        return fenced

    def column(self, column: Column, rows: int) -> Column:
        values, validity = self.copy(column.values[:rows]), column.validity
        if validity is None:
            return Column(values)
        first, offset = divmod(column.offset, 8)
        bits = validity[first : first + (offset + rows + 7) // 8]
        return Column(values, self.copy(bits), offset)

    def piece(self, piece: SnapshotBuffer) -> SnapshotBuffer:
        rows = max(1, piece.n)
        return replace(
            piece,
            starts=None if piece.starts is None else self.copy(piece.starts[:rows]),
            ends=None if piece.ends is None else self.copy(piece.ends[:rows]),
            columns=tuple(self.column(column, rows) for column in piece.columns),
        )

    def open(self) -> None:
        """Give all of it back."""
        for base, region in self.regions:
            _system.munmap(base, region)
        self.regions.clear()


def rows_of(part: Part, call: int) -> SnapshotBuffer:
    """The rows that a call sees, or one that must be readable."""
    buffer = part.buffer
    first = min(int(part.first[call]), max(0, buffer.n - 1))
    rows = slice(first, first + max(1, int(part.count[call])))
    found: SnapshotBuffer = replace(
        buffer,
        n=rows.stop - first,
        starts=None if buffer.starts is None else buffer.starts[rows],
        ends=None if buffer.ends is None else buffer.ends[rows],
        columns=tuple(
            replace(one, values=one.values[rows], offset=one.offset + first)
            for one in buffer.columns
        ),
    )
    return found


def fence_inputs(
    fences: Fences, wiring: Wiring, parts: Mapping[str, Part], own: Slots, call: int
) -> None:
    """Have a call, with slots of its own, see its rows between fences."""
    rows = {name: fences.piece(rows_of(part, call)) for name, part in parts.items()}
    for index, kind, name, column in wiring.inputs:
        if kind not in (SlotKind.ROWS, SlotKind.START):
            own[index] = INPUT_NUMBERS[kind](rows[name], column)


def put_up(fences: Fences) -> None:
    """Have the runtime take all memory between fences."""
    make_chunk, slots_of = execute.Chunk.__init__, GridRun.slots

    def fenced_chunk(chunk: execute.Chunk, *given: object, **named: object) -> None:
        make_chunk(chunk, *given, **named)  # type: ignore[arg-type]
        chunk.pieces = {n: fences.piece(piece) for n, piece in chunk.pieces.items()}

    def fenced_slots(run: GridRun) -> Slots:
        slots = slots_of(run)
        wiring = wiring_of(run.signature, run.kernel.code)
        for call, own in enumerate(slots):
            fence_inputs(fences, wiring, run.parts, own, call)
        return slots

    def allocate(scalar: Scalar, size: int) -> NDArray[np.generic]:
        return fences.array(dtype_of(scalar), size)

    def take(
        memory: memory.ScratchArrays, key: tuple[str, int], scalar: Scalar, size: int
    ) -> NDArray[np.generic]:
        del memory, key
        return allocate(scalar, size)

    execute.Chunk.__init__ = fenced_chunk  # type: ignore[assignment, method-assign]
    GridRun.slots = fenced_slots  # type: ignore[assignment, method-assign]
    memory.allocate = allocate
    memory.ScratchArrays.take = take  # type: ignore[assignment, method-assign]


def main() -> None:
    first, last = int(sys.argv[1]), int(sys.argv[2])
    fences = Fences(low="low" in sys.argv)
    put_up(fences)
    for seed in range(first, last):
        specials, random = seed % 3 == 0, Random(seed)  # noqa: S311
        if seed % 4 == 2:
            case = random_event_case(seed, exact=True, specials=specials)
            setting = random_event_setting(random)
        elif seed % 2:
            case = random_grid_case(seed, exact=True, specials=specials)
            setting = random_grid_setting(random, case)
        else:
            case = random_case(seed, exact=True, specials=specials)
            setting = random_setting(random, span=80)
        print(f"seed {seed}, {setting}", file=sys.stderr, flush=True)
        difference = check(case, replace(setting, workers=1), exact=True)
        assert difference is None, difference
        fences.open()


if __name__ == "__main__":
    main()
