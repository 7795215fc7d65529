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


@dataclass(frozen=True, slots=True)
class Needed:
    """Scratch for a slot: by which name a thread keeps it, of what, and how much."""

    key: tuple[str, int]
    type: Scalar
    size: int


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


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Calls of one kernel: a row of slots for each.

    `counts` are the slots with each output's number of snapshots, `needed` is the
    scratch that each of the calls needs, by slot. `owner` keeps what the other slots
    say where to find.
    """

    code: Code
    slots: Numbers
    counts: Mapping[str, int]
    needed: Mapping[int, Needed]
    owner: object


class Calls:
    """Calls of kernels, made one after the other without Python in between.

    There is a thread for each memory of `scratch`: whoever is done takes the next call.
    The caller's thread uses the slots of the batches themselves, each other one has a
    copy, with the scratch that is its.
    """

    def __init__(self, batches: Sequence[Batch], scratch: Sequence[Memory]) -> None:
        self._batches = batches
        self._scratch: list[Array] = []
        self._slots: list[list[Numbers]] = []
        """Those of the batches, for each thread."""
        most = _most(batch.needed for batch in batches)
        for thread, memory in enumerate(scratch):
            slots = [batch.slots for batch in batches]
            if thread:
                slots = [own.copy() for own in slots]
            arrays = {key: memory.take(key, *of) for key, of in most.items()}
            places = {key: address(array) for key, array in arrays.items()}
            for own, batch in zip(slots, batches, strict=True):
                for index, one in batch.needed.items():
                    own[:, index] = places[one.key]
            self._scratch += arrays.values()
            self._slots.append(slots)
        self._pairs = [
            np.array(
                [
                    pair
                    for batch, own in zip(batches, slots, strict=True)
                    for pair in _pairs(batch.code, own)
                ],
                np.int64,
            )
            for slots in self._slots
        ]

    def run(self) -> None:
        """Make them all. The batches' slots then say how much was written."""
        make(self._batches[0].code, self._pairs, self)
        first, *others = self._slots
        for slots in others:
            for batch, own, other in zip(self._batches, first, slots, strict=True):
                for index in batch.counts.values():
                    np.maximum(own[:, index], other[:, index], out=own[:, index])

    @property
    def places(self) -> Numbers:
        """The addresses of the calls' slots."""
        return self._pairs[0][:, 1]


def _pairs(code: Code, slots: Numbers) -> Iterator[tuple[int, int]]:
    """The calls of a kernel for rows of slots: its address, and theirs."""
    kernel, first, step = code.place, address(slots), slots.strides[0]
    return ((kernel, first + row * step) for row in range(len(slots)))


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


def make(code: Code, pairs: Sequence[Numbers], owner: object) -> None:
    """Make calls, each of which some thread takes: `pairs` has one array for each.

    A call is an address of a kernel, and one of slots. `code` is that of any kernel.
    `owner` keeps all memory of the calls: each thread holds it, for one may still be at
    work when an interrupt has ended the run.
    """
    taken = np.zeros(1, np.int64)

    def stop() -> None:
        taken[0] = len(pairs[0])

    together([partial(_take, code, own, taken, owner) for own in pairs], stop)


def _take(code: Code, pairs: Numbers, taken: Numbers, owner: object) -> None:
    """Make the calls that no other thread takes."""
    code.many(address(pairs), len(pairs), address(taken))
    del owner


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
