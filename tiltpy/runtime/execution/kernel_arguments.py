"""A kernel's argument slots, filled in, and the memory behind them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.abi import OF_STRINGS, Loop, Scratch, Signature, SlotKind
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.pool import Array
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer, pack_validity
from tiltpy.runtime.concurrency.offload import stop_flag
from tiltpy.runtime.concurrency.threads import StopWork
from tiltpy.types import BOOL, I64, U8, Scalar, columns


class Code(Protocol):
    """Machine code of a kernel; what it holds is there as long as itself."""

    @property
    def place(self) -> int:
        """Where the kernel lies."""

    def one(self, slots: int, stop: int, /) -> object:
        """The kernel. It is given the address of its slots, and of a stop flag."""

    @property
    def many(self) -> Callable[[int, int, int, int], object]:
        """Any kernels, over one array of slots after the other.

        It is given the place of the calls (the kernel's place and that of its slots, of
        each), their number, the place of a counter (how many of them are taken), and
        that of a stop flag.
        """

    @property
    def appended(self) -> Callable[[int, int, int, int, int, int], object]:
        """The kernel for each row of an array of slots, outputs behind one another.

        It is given the array's place, its rows and columns, and where how many outputs
        are described: each by its slot, the slot of its count, the bytes of an item.
        That slot holds an address in the first row, in others what is left free before.
        The last is the place of a stop flag.
        """


class Executable(Protocol):
    """A kernel that may still have to be compiled; hashed by identity."""

    def code(self) -> Code:
        """Its machine code."""


Numbers = NDArray[np.int64]
InputNumber = Callable[[SnapshotBuffer, int], int]

INPUT_NUMBERS: dict[SlotKind, InputNumber] = {
    SlotKind.ROWS: lambda piece, _: piece.n,
    SlotKind.START: lambda piece, _: piece.start,
    SlotKind.PERIOD: lambda piece, _: piece.period,
    SlotKind.STARTS: lambda piece, _: address(piece.starts),
    SlotKind.ENDS: lambda piece, _: address(piece.ends),
    SlotKind.VALUES: lambda piece, j: address(piece.columns[j].values),
    SlotKind.VALIDITY: lambda piece, j: address(piece.columns[j].validity),
    SlotKind.VALIDITY_OFFSET: lambda piece, j: piece.columns[j].offset,
}
"""What stands in the slots that tell of a piece of an input, or of its column `j`."""

WRITTEN_TYPES = {
    SlotKind.OUT_STARTS: I64,
    SlotKind.OUT_ENDS: I64,
    SlotKind.OUT_VALIDITY: BOOL,
    SlotKind.OUT_BEGINS: U8,
    SlotKind.OUT_COVERED: U8,
}
"""The types of what loops write besides values."""


@dataclass(frozen=True, slots=True)
class OutputSlot:
    """A slot with the address of an array that a loop writes."""

    index: int
    kind: SlotKind
    loop: Loop
    column: int
    type: Scalar

    @property
    def key(self) -> tuple[SlotKind, str, int]:
        return self.kind, self.loop.name, self.column


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A kernel and its arguments: `run` may be called again and again.

    Each time it reads and writes the same memory, which the call keeps alive.
    """

    code: Code
    slots: NDArray[np.int64]
    place: int
    """The address of the slots."""
    inputs: tuple[SnapshotBuffer, ...]
    counts: Mapping[str, int]
    """The slot that holds each output's number of snapshots."""
    arrays: dict[tuple[SlotKind, str, int], Array] = field(default_factory=dict)

    def put(self, slot: OutputSlot, array: Array) -> None:
        """Fill a slot with the address of an array, which is kept."""
        self.arrays[slot.key] = array
        self.slots[slot.index] = address(array)

    def run(self) -> None:
        """Call the kernel."""
        flag = stop_flag()
        self.code.one(self.place, flag.place)
        if flag.is_set:
            raise StopWork

    def count(self, output: str) -> int:
        """How many snapshots of an output there are."""
        return int(self.slots[self.counts[output]])

    def payload(self, loop: Loop, count: int) -> tuple[Column, ...]:
        """The first `count` values that a loop wrote, by column."""
        return tuple(
            written_column(
                self.arrays[SlotKind.OUT_VALUES, loop.name, number],
                self.arrays.get((SlotKind.OUT_VALIDITY, loop.name, number)),
                count,
            )
            for number in range(len(columns(loop.type)))
        )


class Rows(Protocol):
    """The rows that some calls see of an input."""

    def number(self, kind: SlotKind, column: int) -> Numbers | int:
        """What stands in the slot that tells of them, or of their column."""


class Wiring:
    """A signature's slots by where their contents come from; made once for a kernel."""

    def __init__(self, signature: Signature) -> None:
        self.size = len(signature.slots) or 1
        self.inputs: list[tuple[int, SlotKind, str, int]] = []
        self.outputs: list[OutputSlot] = []
        self.scratch: list[tuple[int, int, Scratch]] = []
        self.counts: dict[str, int] = {}
        self.strings: list[tuple[int, SlotKind, str]] = []
        self.others: list[tuple[int, SlotKind, str]] = []
        loops = {loop.name: loop for loop in signature.loops}
        for index, slot in enumerate(signature.slots):
            kind, name, column = slot.kind, slot.object, slot.column
            if kind in INPUT_NUMBERS:
                self.inputs.append((index, kind, name, column))
            elif kind in OF_STRINGS:
                self.strings.append((index, kind, name))
            elif kind is SlotKind.SCRATCH:
                self.scratch.append((index, column, signature.scratch[column]))
            elif kind is SlotKind.OUT_COUNT:
                self.counts[name] = index
            elif kind in WRITTEN_TYPES or kind is SlotKind.OUT_VALUES:
                loop = loops[name]
                scalar = WRITTEN_TYPES.get(kind) or columns(loop.type)[column][1]
                self.outputs.append(OutputSlot(index, kind, loop, column, scalar))
            else:
                self.others.append((index, kind, name))

    def rows(
        self, parts: Mapping[str, "Rows"], count: int, strings: Strings
    ) -> Numbers:
        """A row of slots for each of some calls, which see these parts of the inputs.

        The other slots are still to be filled.
        """
        slots = np.empty((count, self.size), np.int64)
        slots[:] = self.slots(strings)
        for index, kind, name, column in self.inputs:
            slots[:, index] = parts[name].number(kind, column)
        return slots

    def slots(self, strings: Strings) -> NDArray[np.int64]:
        """Slots of which those are filled that the run's strings decide."""
        slots = np.zeros(self.size, np.int64)
        for index, kind, string in self.strings:
            found = strings.slot(kind, string)
            slots[index] = found if isinstance(found, int) else address(found)
        return slots

    def call(
        self, code: Executable, pieces: Mapping[str, SnapshotBuffer], strings: Strings
    ) -> Call:
        """A call over pieces of the inputs; the other slots are still to be filled.

        `strings` is the run's dictionary, which must live as long as the call.
        """
        slots = self.slots(strings)
        for index, kind, name, column in self.inputs:
            slots[index] = INPUT_NUMBERS[kind](pieces[name], column)
        inputs = tuple(pieces.values())
        return Call(code.code(), slots, address(slots), inputs, self.counts)


_WIRINGS: WeakKeyDictionary[Executable, Wiring] = WeakKeyDictionary()


def wiring_of(signature: Signature, code: Executable) -> Wiring:
    """The wiring of a kernel, kept as long as its code."""
    found = _WIRINGS.get(code)
    if found is None:
        found = _WIRINGS[code] = Wiring(signature)
    return found


def written_column(values: Array, validity: Array | None, count: int) -> Column:
    """The first `count` values that a loop wrote, as a column."""
    kept = written(values, count)
    if validity is None:
        return Column(kept)
    return Column(kept, pack_validity(validity[:count].view(np.uint8)))


def written(array: Array, count: int) -> Array:
    """What a loop wrote; a copy where that is little of what it could have."""
    kept = array[: max(1, count)]
    return kept.copy() if 4 * kept.size < array.size else kept


def address(array: Array | None) -> int:
    """Where an array's first item lies. (numpy takes six times as long to say so.)"""
    assert array is not None
    return int(pa.py_buffer(array).address)
