"""A kernel's argument slots, filled in, and the memory behind them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.abi import OF_STRINGS, Loop, Scratch, Signature, SlotKind
from tiltpy.runtime.buffers import Column, SnapshotBuffer, pack_validity
from tiltpy.runtime.memory import Array
from tiltpy.runtime.strings import Strings
from tiltpy.types import BOOL, I64, U8, Scalar, columns


class Code(Protocol):
    """Machine code of a kernel; what it holds is there as long as itself."""

    @property
    def one(self) -> Callable[[int], object]:
        """The kernel. It is given the address of its slots."""

    @property
    def many(self) -> Callable[[int, int, int], object]:
        """The kernel for each of some addresses.

        It is given their place, their number, and the place of a counter: how many of
        them are taken.
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
    scratch: list[Array] = field(default_factory=list)

    def put(self, slot: OutputSlot, array: Array) -> None:
        """Fill a slot with the address of an array, which is kept."""
        self.arrays[slot.key] = array
        self.slots[slot.index] = address(array)

    def put_scratch(self, index: int, array: Array) -> None:
        """The same with an array whose content nobody looks at."""
        self.scratch.append(array)
        self.slots[index] = address(array)

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


class Calls:
    """Calls of one kernel, made one after the other without Python in between.

    Threads may share them: whoever is done takes the next one. Then each thread has
    slots of its own, with scratch of its own, and the calls are the pattern for them.
    """

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = tuple(calls)
        self._code = self._calls[0].code
        assert all(call.code is self._code for call in calls), "calls of two kernels"
        self._places = np.array([call.place for call in self._calls], np.int64)
        self._taken = np.zeros(1, np.int64)
        self._shares: list[NDArray[np.int64]] = []

    def run(self) -> None:
        """Make them all."""
        self._taken[0] = 0
        self._make(self._places)

    def share(self, scratch: Mapping[int, Array]) -> None:
        """Make those that no other thread has taken, with scratch for these slots."""
        slots = np.stack([call.slots for call in self._calls])
        for index, array in scratch.items():
            slots[:, index] = address(array)
        self._shares.append(slots)
        first = address(slots)
        self._make(np.arange(len(slots)) * slots.strides[0] + first)

    def _make(self, places: NDArray[np.int64]) -> None:
        self._code.many(address(places), len(places), address(self._taken))

    def stop(self) -> None:
        """Have no thread take another one."""
        self._taken[0] = len(self._calls)

    def settle(self) -> None:
        """When all threads are done: each call says how much was written."""
        counts = list(self._calls[0].counts.values())
        for index in counts:
            found = np.max([slots[:, index] for slots in self._shares], axis=0)
            for call, count in zip(self._calls, found.tolist(), strict=True):
                call.slots[index] = count

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls)


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
