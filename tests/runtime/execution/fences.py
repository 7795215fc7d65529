"""`python -m tests.runtime.execution.fences FAMILY FIRST LAST SIDE`: fenced memory.

Queries of a family, or of `all`, are computed and compared with the interpreter: some
seeds, and those of `FAMILY:SEED FAMILY:SEED ...` before the side.

Every array that a kernel reads or writes is cut to exactly the size that the runtime
says it has, and put right before a page that nobody may touch (SIDE `high`), or right
behind one (`low`). What nobody wrote holds garbage. Each call has arrays of its own, so
that a step into what belongs to the call beside it is a fault, too. A kernel that steps
over ends the process with a fault, so this runs in a process of its own. For Linux.
"""

import ctypes
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tests.compiled import Setting, random_setting
from tests.random.confined_times import random_confined_case
from tests.random.counted_cells import random_counted_case
from tests.random.cut_windows import random_cut_case
from tests.random.events import random_event_case, random_event_setting
from tests.random.folds import random_fold_case
from tests.random.frequencies import random_frequency_case
from tests.random.grids import random_grid_case, random_grid_setting
from tests.random.lane_scans import random_scan_case, random_scan_setting
from tests.random.made_strings import random_text_case
from tests.random.matches import random_match_case
from tests.random.open_windows import random_open_case
from tests.random.overlaps import random_overlap_case
from tests.random.payloads import random_payload_case
from tests.random.present import random_present_case
from tests.random.queries import Case, random_case
from tests.random.rates import random_rate_case, random_rate_setting
from tests.random.row_queries import random_row_case
from tests.random.sample_gaps import random_gap_case, random_hop_case
from tests.random.states import random_state_case
from tests.random.whole_windows import random_whole_case
from tests.semantics.test_properties import check
from tiltpy.abi.signature import LANES, Loop
from tiltpy.abi.slots import SlotKind
from tiltpy.array_address import address
from tiltpy.errors import QueryError
from tiltpy.runtime.arrays import pool as memory
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.pool import dtype_of
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.concurrency.offload import stop_flag
from tiltpy.runtime.execution.call_numbers import item
from tiltpy.runtime.execution.call_queue import CallQueue
from tiltpy.runtime.execution.call_table import CallTable
from tiltpy.runtime.execution.row_slices import RowSlices
from tiltpy.types import Scalar

Number = TypeVar("Number", bound=np.generic)

PAGE = 4096
GARBAGE = 0x7F
"""Each byte of fresh memory: as an index, one that is far behind every array."""
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
        ctypes.memset(start, GARBAGE, size)
        memory = memoryview((ctypes.c_char * size).from_address(start))
        return np.frombuffer(memory, dtype)

    def copy(self, array: NDArray[Number]) -> NDArray[Number]:
        """Make the same items between fences."""
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

    def open(self, first: int = 0) -> None:
        """Give all of it back, from a region on."""
        for base, region in self.regions[first:]:
            _system.munmap(base, region)
        del self.regions[first:]


def rows_of(slices: RowSlices[Any], call: int) -> SnapshotBuffer:
    """The rows that a call sees, or one that must be readable."""
    buffer, first = slices.buffer, item(slices.here, call)
    rows = slice(first, first + max(1, item(slices.count, call)))
    found: SnapshotBuffer = replace(
        buffer,
        n=rows.stop - first,
        start=item(slices.start, call),
        starts=None if buffer.starts is None else buffer.starts[rows],
        ends=None if buffer.ends is None else buffer.ends[rows],
        columns=tuple(
            replace(one, values=one.values[rows], offset=one.offset + first)
            for one in buffer.columns
        ),
    )
    return found


class FencedCalls:
    """Makes the calls of a table one by one, each between fences of its own."""

    def __init__(self, fences: Fences, table: CallTable) -> None:
        self.fences = fences
        self.table = table
        self.in_order = {slot.index for slot in table._appended}

    def run(self) -> None:
        """Make them; what they write is put where it belongs."""
        stop = stop_flag().address
        for call, slots in enumerate(self.table.slots):
            own, before = slots.copy(), len(self.fences.regions)
            self._fence_inputs(own, call)
            self._fence_scratch(own, call)
            arrays = self._fence_outputs(own, call)
            self.table.code.call(address(own), stop)
            for index in self.table.map.counts.values():
                slots[index] = own[index]
                assert own[index] >= 0
            for index, _ in self.table.map.numbers:
                slots[index] = own[index]
            self._put_back(call, arrays)
            self.fences.open(before)

    def _fence_inputs(self, own: I64Array, call: int) -> None:
        rows = {
            name: RowSlices.all_of(self.fences.piece(rows_of(slices, call)), 0)
            for name, slices in self.table.ranges.slices.items()
        }
        for index, kind, name, column in self.table.map.inputs:
            if kind not in (SlotKind.ROWS, SlotKind.START):
                own[index] = rows[name].number(kind, column)

    def _fence_scratch(self, own: I64Array, call: int) -> None:
        for index, _, wanted in self.table.map.scratch:
            size = item(self.table.ranges.rows_of(wanted.rows, wanted.constant), call)
            own[index] = address(self.fences.array(dtype_of(wanted.type), size))

    def _fence_outputs(
        self, own: I64Array, call: int
    ) -> dict[int, NDArray[np.generic]]:
        found = {}
        for slot in self.table.map.outputs:
            size = item(self.table.ranges.room(slot), call)
            array = found[slot.index] = self.fences.array(dtype_of(slot.type), size)
            own[slot.index] = address(array)
        return found

    def _put_back(self, call: int, arrays: Mapping[int, NDArray[np.generic]]) -> None:
        slots = self.table.slots
        for slot in self.table.map.outputs:
            if slot.index in self.table.needs:
                continue
            array, here = arrays[slot.index], int(slots[call, slot.index])
            size = len(array)
            if slot.index in self.in_order:
                size = int(slots[call, self.table.map.counts[slot.loop.name]])
            elif slot.kind is SlotKind.OUT_VALUES and _is_aligned(slot.loop):
                size -= LANES  # what lies behind may be the next call's
            assert size <= len(array)
            ctypes.memmove(here, address(array), size * array.itemsize)
            if slot.index in self.in_order and call + 1 < len(slots):
                slots[call + 1, slot.index] += here + size * array.itemsize


def _is_aligned(loop: Loop) -> bool:
    """Tell whether calls of a vector kernel write a whole array together."""
    return loop.implicit_times and not loop.shares_times


def put_up(fences: Fences) -> None:
    """Have the runtime take all memory between fences."""

    def run_in_order(table: CallTable, memory: memory.ScratchArrays) -> None:
        del memory
        FencedCalls(fences, table).run()

    def run_queue(queue: CallQueue) -> None:
        for table in queue._tables:
            FencedCalls(fences, table).run()

    def allocate(scalar: Scalar, size: int) -> NDArray[np.generic]:
        return fences.array(dtype_of(scalar), size)

    def take(
        memory: memory.ScratchArrays, key: tuple[str, int], scalar: Scalar, size: int
    ) -> NDArray[np.generic]:
        del memory, key
        return allocate(scalar, size)

    CallTable.run_in_order = run_in_order  # type: ignore[assignment, method-assign]
    CallQueue.run = run_queue  # type: ignore[assignment, method-assign]
    memory.allocate = allocate
    memory.ScratchArrays.take = take  # type: ignore[assignment, method-assign]


def plain_setting(seed: int, span: int = 80) -> Setting:
    return random_setting(Random(seed), span)  # noqa: S311


def lane_setting(seed: int, span: int = 400) -> Setting:
    """Return a setting in which a vector kernel serves, if there is one."""
    setting = replace(plain_setting(seed, span), small=bool(seed % 3))
    if seed % 4:
        setting = replace(
            setting, vector=True, special_shapes=True, nulls="samples", layout=None
        )
    return setting


def drawn(
    make_case: Callable[[int], Case | None],
    make_setting: Callable[[int], Setting] = plain_setting,
) -> "Family":
    """Make a family of cases whose settings do not depend on them."""

    def family(seed: int) -> tuple[Case, Setting] | None:
        case = make_case(seed)
        return None if case is None else (case, make_setting(seed))

    return family


def grid_family(seed: int) -> tuple[Case, Setting]:
    case = random_grid_case(seed, exact=True, specials=seed % 3 == 0)
    return case, random_grid_setting(Random(seed), case)  # noqa: S311


def gap_family(seed: int) -> tuple[Case, Setting]:
    case = random_hop_case(seed) if seed % 2 else random_gap_case(seed)
    return case, random_grid_setting(Random(seed), case)  # noqa: S311


Family = Callable[[int], tuple[Case, Setting] | None]
FAMILIES: Mapping[str, Family] = {
    "queries": drawn(lambda n: random_case(n, exact=True, specials=n % 3 == 0)),
    "grids": grid_family,
    "events": drawn(
        lambda n: random_event_case(n, exact=True, specials=n % 3 == 0),
        lambda n: random_event_setting(Random(n)),  # noqa: S311
    ),
    "rates": drawn(
        random_rate_case,
        lambda n: random_rate_setting(Random(n)),  # noqa: S311
    ),
    "scans": drawn(
        random_scan_case,
        lambda n: random_scan_setting(Random(n)),  # noqa: S311
    ),
    "overlaps": drawn(random_overlap_case),
    "gaps": gap_family,
    "rows": drawn(lambda n: random_row_case(n, exact=True, specials=n % 5 == 1)),
    "open": drawn(random_open_case),
    "present": drawn(lambda n: random_present_case(n, opened=n % 2 == 0)),
    "payloads": drawn(lambda n: random_payload_case(n, exact=True)),
    "texts": drawn(lambda n: random_text_case(n, exact=True)),
    "folds": drawn(random_fold_case),
    "states": drawn(random_state_case, lambda n: plain_setting(n, 300)),
    "confined": drawn(random_confined_case),
    "cut": drawn(random_cut_case),
    "matches": drawn(random_match_case),
    "whole": drawn(random_whole_case, lane_setting),
    "counted": drawn(random_counted_case, lane_setting),
    "frequencies": drawn(random_frequency_case, lane_setting),
}


def list_seeds(words: Sequence[str]) -> Iterator[tuple[str, int]]:
    """List the families and seeds that a command names."""
    for word in words[3:]:
        name, _, text = word.partition(":")
        yield name, int(text)
    family, first, last = words[:3]
    names = list(FAMILIES) if family == "all" else [family]
    for number in range(int(first), int(last)):
        seed, place = divmod(number, len(names))
        yield names[place], seed


def main() -> None:
    *words, side = sys.argv[1:]
    fences = Fences(low=side == "low")
    put_up(fences)
    for name, seed in list_seeds(words):
        drawn_case = FAMILIES[name](seed)
        if drawn_case is None:
            continue
        case, setting = drawn_case
        print(f"{name} {seed}, {setting}", file=sys.stderr, flush=True)
        try:
            difference = check(case, replace(setting, workers=1), exact=True)
        except QueryError:  # its windows are refused
            continue
        assert difference is None, difference
        fences.open()


if __name__ == "__main__":
    main()
