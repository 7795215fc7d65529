"""A kernel's argument slots, filled in, and the memory behind them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.abi import OF_STRINGS, Loop, Scratch, Signature, SlotKind
from tiltpy.runtime.buffers import Column, SnapshotBuffer, pack_validity
from tiltpy.runtime.memory import Array, Memory
from tiltpy.runtime.strings import Strings
from tiltpy.runtime.workers import together
from tiltpy.types import BOOL, I64, U8, Scalar, columns


class Code(Protocol):
    """Machine code of a kernel; what it holds is there as long as itself."""

    @property
    def place(self) -> int:
        """Where the kernel lies."""

    @property
    def one(self) -> Callable[[int], object]:
        """The kernel. It is given the address of its slots."""

    @property
    def many(self) -> Callable[[int, int, int], object]:
        """Any kernels, over one array of slots after the other.

        It is given the place of the calls (the kernel's place and that of its slots, of
        each), their number, and the place of a counter: how many of them are taken.
        """

    @property
    def appended(self) -> Callable[[int, int, int, int, int], object]:
        """The kernel for each row of an array of slots, outputs behind one another.

        It is given the array's place, its rows and columns, and where how many outputs
        are described: each by its slot, the slot of its count, the bytes of an item.
        That slot holds an address in the first row, in others what is left free before.
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
        self.code.one(self.place)

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


@dataclass(frozen=True, slots=True)
class Needed:
    """Scratch for a slot: by which name a thread keeps it, of what, and how much."""

    key: tuple[str, int]
    type: Scalar
    size: int


class Calls:
    """Calls of kernels, made one after the other without Python in between.

    `needed` is the scratch of each call, by slot. There is a thread for each memory of
    `scratch`: whoever is done takes the next call. The caller's thread uses the slots
    of the calls themselves, each other one has a copy, with the scratch that is its.
    """

    def __init__(
        self,
        calls: Sequence[Call],
        needed: Sequence[Mapping[int, Needed]],
        scratch: Sequence[Memory],
    ) -> None:
        self._calls = tuple(calls)
        self._arrays: list[Array] = []
        self._slots: list[list[Numbers]] = []
        """Those of all calls, for each thread."""
        most = _most(needed)
        for thread, memory in enumerate(scratch):
            slots = [call.slots for call in self._calls]
            if thread:
                slots = [own.copy() for own in slots]
            arrays = {key: memory.take(key, *of) for key, of in most.items()}
            places = {key: address(array) for key, array in arrays.items()}
            for own, needs in zip(slots, needed, strict=True):
                for index, one in needs.items():
                    own[index] = places[one.key]
            self._arrays += arrays.values()
            self._slots.append(slots)
        self._kernels = np.array([call.code.place for call in self._calls], np.int64)
        self._places = [
            np.array([address(own) for own in slots], np.int64) for slots in self._slots
        ]

    def run(self) -> None:
        """Make them all. Each call then says how much was written."""
        make(self._calls[0].code, self._kernels, self._places)
        if len(self._slots) > 1:
            for call, *slots in zip(self._calls, *self._slots, strict=True):
                for index in call.counts.values():
                    call.slots[index] = max(int(own[index]) for own in slots)

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls)


def _most(
    needed: Iterable[Mapping[int, Needed]],
) -> dict[tuple[str, int], tuple[Scalar, int]]:
    """What is enough for each of some calls."""
    most: dict[tuple[str, int], tuple[Scalar, int]] = {}
    for needs in needed:
        for one in needs.values():
            _, size = most.get(one.key, (one.type, 0))
            most[one.key] = one.type, max(size, one.size)
    return most


def make(code: Code, kernels: Numbers, places: Sequence[Numbers]) -> None:
    """Call kernels that lie at these addresses.

    `places` are their slots' addresses, for each thread. `code` is that of any kernel.
    """
    taken = np.zeros(1, np.int64)
    pairs = [np.stack((kernels, own), axis=1) for own in places]

    def stop() -> None:
        taken[0] = len(kernels)

    together(
        [partial(code.many, address(own), len(own), address(taken)) for own in pairs],
        stop,
    )


class Wiring:
    """A signature's slots by where their contents come from; made once for a kernel."""

    def __init__(self, signature: Signature) -> None:
        self.size = len(signature.slots) or 1
        self.inputs: list[tuple[int, SlotKind, str, int]] = []
        self.outputs: list[OutputSlot] = []
        self.scratch: list[tuple[int, int, Scratch]] = []
        self.counts: dict[str, int] = {}
        self.full = True
        """Whether outputs are values alone, one for each cell."""
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
                self.full &= kind is SlotKind.OUT_VALUES and loop.implicit_times
            else:
                self.others.append((index, kind, name))

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
