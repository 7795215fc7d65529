"""The calls of a kernel as a table: a row of argument slots for each call.

What fills a column is a number that is the same for all calls, or an array with one for
each. So chunks, keys, the calls of vector kernels and pane folds are prepared without a
loop over them, and made in machine code. A chunk is a call whose key is 0.

A call writes each of its outputs into a part of an array that is its own, behind what
the call before has written, or into a scratch array that all calls of a thread share.

A table that is prepared serves as a template: what it writes to is allocated for each
run, all other arguments are settled once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tiltpy.abi.signature import LANES, Loop, RowCount
from tiltpy.abi.slots import SlotKind
from tiltpy.array_address import address
from tiltpy.forks import cached_property
from tiltpy.runtime.arrays import pool as memory
from tiltpy.runtime.arrays.array_block import ArrayBlock
from tiltpy.runtime.arrays.dictionary import NO_STRINGS, Strings
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.joined_rows import RowMarks
from tiltpy.runtime.arrays.pool import Array, ScratchArrays, dtype_of
from tiltpy.runtime.arrays.snapshot_buffer import Column, pack_validity
from tiltpy.runtime.concurrency.offload import stop_flag
from tiltpy.runtime.concurrency.threads import StopWork
from tiltpy.runtime.execution.call_numbers import greatest, item, total
from tiltpy.runtime.execution.call_states import CallStates
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.runtime.execution.row_slices import RowSlices
from tiltpy.runtime.execution.slot_map import (
    BITS,
    ArrayKey,
    OutputSlot,
    SlotMap,
    map_slots,
)
from tiltpy.types import Scalar
from tiltpy.zones import zone_table

SharedArrays = Mapping[tuple[str, int], Array]
"""Arrays that calls of several tables write to, by output and column."""
NO_ARRAYS: SharedArrays = {}
LENT_ENTRIES = 1 << 12
"""Snapshots of a reused call up to which a copy takes less than other memory."""
CACHE_LINE = 64
"""Items that take whole cache lines: no two calls write into the same one."""


class CallRanges(Protocol):
    """Ranges of calls: of one call they are ints, of many they are columns."""

    @property
    def count(self) -> int:
        """Return the number of calls."""

    @property
    def slices(self) -> Mapping[str, RowSlices[Any]]:
        """The rows that they see of each input."""

    def number(self, kind: SlotKind, name: str, column: int) -> I64Array | int:
        """Return what stands in a slot that says which part of the work a call does."""

    def rows_of(self, rows: RowCount, constant: int) -> I64Array | int:
        """The values of a row count."""

    def room(self, slot: OutputSlot) -> I64Array | int:
        """Bound the entries that each call writes to the array of a slot."""


@dataclass(slots=True)
class ScratchNeed:
    """Scratch for a slot: its name in a thread's memory, its type, its size."""

    key: tuple[str, int]
    type: Scalar
    size: int


@dataclass(slots=True)
class OutputArray:
    """An array of which call `k` writes entries from `firsts[k]` on."""

    array: Array
    firsts: I64Array | int = 0

    def of(self, call: int, count: int, *, copy: bool) -> Array:
        """The first `count` entries of a call, and one in any case."""
        first = item(self.firsts, call)
        entries = self.array[first : first + (count or 1)]
        return entries.copy() if copy else entries


class CallTable:
    """Calls of one kernel over `ranges`: `slots[k]` are the arguments of call `k`.

    Outputs have to be put somewhere before `fill`, or before `prepare`, after which
    each run has a copy with memory of its own (`renew`). The table keeps all memory
    that the slots point to. With `states` a call goes on from the one that left its
    entry.
    """

    def __init__(
        self,
        kernel: Kernel,
        ranges: CallRanges,
        strings: Strings = NO_STRINGS,
        states: CallStates | None = None,
    ) -> None:
        if states is not None:
            states.check(kernel.signature)
        self.kernel = kernel
        self.ranges = ranges
        self.strings = strings
        self.states = states
        self.map = map_slots(kernel)
        self.code = kernel.code.code()
        self.count = ranges.count
        self.arrays: dict[ArrayKey, OutputArray] = {}
        self.needs: dict[int, ScratchNeed] = {}
        self.slots: I64Array
        self._apart: list[tuple[OutputSlot, int, I64Array | int]] = []
        self._shared: list[tuple[OutputSlot, I64Array | int]] = []
        self._block: ArrayBlock
        self._apart_keys: list[tuple[ArrayKey, I64Array | int]]
        self._apart_slots: NDArray[np.intp]
        self._appended: list[OutputSlot] = []
        self._rooms: list[int] = []
        """The entries that all calls append, at most, for each of these slots."""
        self._numbers: list[I64Array | int] = [0] * self.map.size
        self._room: I64Array | None = None
        """The slots of a template, of more calls than it makes."""
        self._places: dict[int, int] = {}
        """The addresses of scratch that stand in all of these."""
        self.is_reused = False
        """True if the call is made again and again, over what it has written."""
        self.version = 0
        """The number of times that the slots of a reused call were filled anew."""
        self._lent: set[str] = set()
        """The outputs whose arrays others have, of a reused call."""

    @cached_property
    def view(self) -> "memoryview[int]":
        """The slots of one call that is reused, as numbers."""
        numbers: memoryview[int] = self.slots[0].data
        return numbers

    @property
    def rooms(self) -> dict[int, int]:
        """The entries of each array that one call writes to, by its slot."""
        rooms = {index: need.size for index, need in self.needs.items()}
        for slot in self.map.outputs:
            if slot.key in self.arrays:
                rooms[slot.index] = len(self.arrays[slot.key].array)
        return rooms

    def move(
        self, ranges: CallRanges, strings: Strings, states: CallStates | None
    ) -> None:
        """Have the one call cover another range: `prepare` fills its slots anew."""
        self.ranges, self.strings = ranges, strings
        self.version += 1
        if states is not None:
            self.states = states

    def leave(self) -> None:
        """Let the ranges go that a reused call was prepared for, and their rows."""
        del self.ranges

    def as_template(self) -> "CallTable":
        """Copy a filled table for any number of other calls in order: see `repeat`."""
        table = CallTable.__new__(CallTable)
        needs = {
            index: ScratchNeed(need.key, need.type, need.size)
            for index, need in self.needs.items()
        }
        slots = self.slots[:1].copy()
        fresh = {"slots": slots, "arrays": {}, "needs": needs}
        fresh |= {"_room": slots, "_places": {}}
        vars(table).update(vars(self) | fresh)
        return table

    def repeat(self, count: int) -> None:
        """Have a template make so many calls.

        All have the numbers of the first one, until those that differ are filled in:
        all of these, as the calls of before have left theirs. There is nothing to write
        to before `take_sizes`.
        """
        assert self._room is not None
        if count > len(self._room):
            room = np.empty((2 * count, self.map.size), np.int64)
            room[:] = self._room[0]
            self._room = room
        self.slots, self.count = self._room[:count], count

    def list_appended(self) -> list[int]:
        """List the slots of outputs of which each call writes behind the one before.

        Their numbers differ once calls were made.
        """
        return [slot.index for slot in self._appended]

    def take_sizes(self, sizes: Mapping[int, int], scratch: ScratchArrays) -> None:
        """Have calls of a template write to scratch of a thread, by slot.

        Sizes of what all calls share are those that one needs at most; behind one
        another they write as many entries as all do.
        """
        for index, need in self.needs.items():
            need.size = sizes[index]
        for slot, key in self._scratch_keys:
            array = scratch.take(key, slot.type, sizes[slot.index] + LANES)
            self.arrays[slot.key] = OutputArray(array)
            self.slots[0, slot.index] = address(array)

    @cached_property
    def _scratch_keys(self) -> list[tuple[OutputSlot, tuple[str, int]]]:
        """The slots of outputs that calls append to, and the names of their scratch."""
        return [
            (slot, (f"{slot.loop.name}.{slot.kind.value}", slot.column))
            for slot in self._appended
        ]

    # -- where outputs go -------------------------------------------------------------

    def put_apart(self, slot: OutputSlot, line: int = CACHE_LINE) -> None:
        """Have each call write to entries of its own, from a multiple of `line` on."""
        sizes = self.ranges.room(slot)
        firsts: I64Array | int = 0
        if isinstance(sizes, int):
            size = sizes
        else:
            sizes = -(-sizes // line) * line
            ends = sizes.cumsum()
            size, firsts = int(ends[-1]), ends - sizes
        self._apart.append((slot, size, firsts))
        self._numbers[slot.index] = dtype_of(slot.type).itemsize * firsts

    def put_in_shared(self, slot: OutputSlot, firsts: I64Array | int) -> None:
        """Have call `k` write from entry `firsts[k]` on to an array that runs give."""
        self._shared.append((slot, firsts))
        self._numbers[slot.index] = dtype_of(slot.type).itemsize * firsts

    def put_at(self, slot: OutputSlot, array: Array, firsts: I64Array | int) -> None:
        """Have call `k` write to an array from entry `firsts[k]` on."""
        self.arrays[slot.key] = OutputArray(array, firsts)
        self._numbers[slot.index] = address(array) + array.itemsize * firsts

    def lend(self, output: str, count: int) -> bool:
        """Hand the arrays of an output out, if so many entries are not copied sooner.

        They are others in the next call that is made with this table.
        """
        values = self.arrays[SlotKind.OUT_VALUES, output, 0].array
        if count < LENT_ENTRIES or is_sparse(values, count):
            return False
        self._lent.add(output)
        return True

    def replace_lent(self) -> None:
        """Have the one call write to arrays that nobody else has."""
        if not self._lent:
            return
        for slot in self.map.outputs:
            lent = self.arrays.get(slot.key)
            if slot.loop.name in self._lent and lent is not None:
                array = memory.allocate(slot.type, len(lent.array))
                self.put_at(slot, array, 0)
                self.slots[0, slot.index] = address(array)
        self._lent.clear()
        self.version += 1

    def put_in_order(
        self,
        slot: OutputSlot,
        most: I64Array | int,
        free: I64Array | int = 0,
        behind: int = 0,
    ) -> None:
        """Have each call write behind the one before: only for `run_in_order`.

        Call `k` writes at most `most[k]` entries, and leaves `free[k]` of them free
        before; `behind` are left free after the last call's.
        """
        self._numbers[slot.index] = dtype_of(slot.type).itemsize * free
        self._appended.append(slot)
        self._rooms.append(total(most) + total(free) + behind)

    def put_in_scratch(self, slot: OutputSlot) -> None:
        """Have all calls write to scratch: nobody reads it afterwards."""
        key = f"{slot.loop.name}.{slot.kind.value}", slot.column
        size = greatest(self.ranges.room(slot))
        self.needs[slot.index] = ScratchNeed(key, slot.type, size)

    # -- the slots --------------------------------------------------------------------

    def fill(self) -> None:
        """Fill all slots but those of scratch, which are a thread's."""
        self.prepare()
        self._take_memory(NO_ARRAYS)

    def renew(
        self, shared: SharedArrays, states: CallStates | None = None
    ) -> "CallTable":
        """Copy a prepared table for a run, with memory of its own and `shared` arrays.

        Those have the values of outputs that calls of other tables write to as well.
        With `states` the calls of this run go on from them.
        """
        table = CallTable.__new__(CallTable)
        vars(table).update(vars(self), slots=self.slots.copy(), arrays={})
        if states is not None:
            states.check(self.kernel.signature)
            table.states = states
            for index, column in self.map.states:
                table.slots[:, index] = states.addresses(column)
        table._take_memory(shared)  # noqa: SLF001 - a copy of this one
        return table

    def _take_memory(self, shared: SharedArrays) -> None:
        """Allocate what each run has for itself, and fill its slots."""
        if self._apart:
            arrays, addresses = self._block.take()
            for (key, firsts), array in zip(self._apart_keys, arrays, strict=True):
                self.arrays[key] = OutputArray(array, firsts)
            if self.count == 1:
                self.slots.put(self._apart_slots, addresses)
            else:
                self.slots[:, self._apart_slots] += np.array(addresses, np.int64)
        for slot, room in zip(self._appended, self._rooms, strict=True):
            array = memory.allocate(slot.type, room + LANES)
            self.arrays[slot.key] = OutputArray(array)
            self.slots[0, slot.index] += address(array)
        for slot, firsts in self._shared:
            array = shared[slot.loop.name, slot.column]
            self.arrays[slot.key] = OutputArray(array, firsts)
            self.slots[:, slot.index] += address(array)

    def prepare(self) -> None:
        """Fill all slots but those of memory that each run has for itself."""
        if self._apart:
            items = [(slot.type, size) for slot, size, _ in self._apart]
            self._block = ArrayBlock(items)
            self._apart_keys = [(slot.key, firsts) for slot, _, firsts in self._apart]
            self._apart_slots = np.array([slot.index for slot, *_ in self._apart])
        numbers, ranges = self._numbers, self.ranges
        for index, number in list_numbers(self.map, ranges):
            numbers[index] = number
        for index, kind, string, column in self.map.strings:
            answer = self.strings.slot(kind, string, column)
            numbers[index] = answer if isinstance(answer, int) else address(answer)
        for index, zone, column in self.map.zones:
            numbers[index] = address(zone_table(zone).arrays[column])
        states = self.states or self._no_states()
        for index, column in self.map.states:
            numbers[index] = states.addresses(column)
        name = "" if self.kernel.signature.aligned_range is None else "vector"
        for index, column, scratch in self.map.scratch:
            size = greatest(ranges.rows_of(scratch.rows, scratch.constant))
            self.needs[index] = ScratchNeed((name, column), scratch.type, size)
        if self.is_reused and self.version:
            self.slots[0] = numbers
        elif self.is_reused or (
            self.count == 1 and not any(isinstance(n, np.ndarray) for n in numbers)
        ):
            self.slots = np.array([numbers], np.int64)
        else:
            self.slots = np.empty((self.count, len(numbers)), np.int64)
            self.slots[:] = [n if isinstance(n, int) else 0 for n in numbers]
            for index, number in enumerate(numbers):
                if not isinstance(number, int):
                    self.slots[:, index] = number

    def _no_states(self) -> CallStates:
        """States whose control says that nothing is taken over, and nothing left."""
        kinds = self.kernel.signature.states
        nothing = [np.zeros(1, memory.dtype_of(scalar)) for _, scalar in kinds]
        self.states = CallStates(kinds, nothing)
        return self.states

    def take_scratch(self, memory: ScratchArrays) -> None:
        """Have all calls use the scratch of a thread."""
        for index, need in self.needs.items():
            place = address(memory.take(need.key, need.type, need.size))
            if self._room is None:
                self.slots[:, index] = place
            elif self._places.get(index) != place:
                self._room[:, index] = self._places[index] = place

    def run_one(self, scratch: ScratchArrays) -> None:
        """Make the only call, in this thread."""
        self.take_scratch(scratch)
        flag = stop_flag()
        self.code.call(address(self.slots), flag.address)
        if flag.is_set:
            raise StopWork

    def run_in_order(self, scratch: ScratchArrays) -> None:
        """Make the calls one after the other, in this thread."""
        self.take_scratch(scratch)
        entries, flag = self._output_entries, stop_flag()
        calls, (rows, width) = address(self.slots), self.slots.shape
        self.code.call_appending(
            calls, rows, width, address(entries), len(entries), flag.address
        )
        if flag.is_set:
            raise StopWork

    @cached_property
    def _output_entries(self) -> I64Array:
        """The slots of outputs that calls append to, of their counts, bytes an item."""
        outputs = [
            (
                slot.index,
                self.map.counts[slot.loop.name],
                dtype_of(slot.type).itemsize,
            )
            for slot in self._appended
        ]
        return np.array(outputs, np.int64)

    # -- what the calls wrote ---------------------------------------------------------

    def counts(self, output: str) -> I64Array:
        """Return the number of snapshots of an output that each call wrote."""
        return self.slots[:, self.map.counts[output]]

    def column(self, kind: SlotKind) -> I64Array:
        """Return the value of the only slot of a kind, for each call."""
        (index,) = (index for index, slot in self.map.numbers if slot.kind is kind)
        return self.slots[:, index]

    def payload(
        self, loop: Loop, call: int, count: int, *, copy: bool
    ) -> tuple[Column, ...]:
        """The first `count` values that a call wrote, by payload column."""
        payload = []
        for values, nulls in self.map.payloads[loop.name]:
            flags = None
            if nulls is not None:
                flags = self.arrays[nulls].of(call, count, copy=False)
            column = self.arrays[values].of(call, count, copy=copy)
            payload.append(join_column(column, flags, count))
        return tuple(payload)

    def marks(self, loop: Loop, call: int, count: int) -> RowMarks:
        """The marks of `count` rows from the first on that a call visited."""
        arrays = (self.arrays.get((kind, loop.name, 0)) for kind in BITS)
        begins, covered = (
            None
            if array is None
            else array.of(call, count, copy=self.is_reused)[:count].view(np.bool_)
            for array in arrays
        )
        assert begins is not None
        return RowMarks(begins, covered)


def list_numbers(
    slots: SlotMap, ranges: CallRanges
) -> Iterator[tuple[int, I64Array | int]]:
    """List the slots, and the numbers in them, that say what calls cover."""
    for index, kind, name, column in slots.inputs:
        yield index, ranges.slices[name].number(kind, column)
    for index, slot in slots.numbers:
        yield index, ranges.number(slot.kind, slot.object, slot.column)


def list_sizes(
    slots: SlotMap, ranges: CallRanges
) -> Iterator[tuple[int, I64Array | int]]:
    """List the slots of arrays that calls write to, and how many entries they need."""
    for slot in slots.outputs:
        yield slot.index, ranges.room(slot)
    for index, _, scratch in slots.scratch:
        yield index, ranges.rows_of(scratch.rows, scratch.constant)


def join_column(values: Array, flags: Array | None, count: int) -> Column:
    """A column of `count` values that a loop wrote; `flags` has a byte for each.

    It is 0 where the value is null.
    """
    if flags is None:
        return Column(values)
    return Column(values, pack_validity(flags[:count].view(np.uint8)))


def is_sparse(array: Array, count: int) -> bool:
    """Return whether so little of an array is used that a copy beats a view."""
    return 4 * max(1, count) < array.size
