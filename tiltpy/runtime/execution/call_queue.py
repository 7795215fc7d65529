"""Calls of kernels that threads share out among themselves, in machine code."""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from tiltpy.array_address import address
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.pool import Array, ScratchArrays
from tiltpy.runtime.concurrency.offload import StopFlag, stop_flag
from tiltpy.runtime.concurrency.threads import StopWork
from tiltpy.runtime.concurrency.workers import run_all
from tiltpy.runtime.execution.call_table import CallTable, ScratchNeed
from tiltpy.runtime.execution.kernel import Code
from tiltpy.types import Scalar


class CallQueue:
    """The calls of some tables, made one after the other without Python in between.

    There is a thread for each memory of `scratch`; threads claim the next call from a
    shared counter. The caller's thread uses the slots of the tables themselves, each
    other one has a copy, with the scratch that is its.
    """

    def __init__(
        self, tables: Sequence[CallTable], scratch: Sequence[ScratchArrays]
    ) -> None:
        self._tables = tables
        self._scratch: list[Array] = []
        self._slots: list[list[I64Array]] = []
        """The slots of each table, for each thread."""
        needs = _largest(need for table in tables for need in table.needs.values())
        for thread, memory in enumerate(scratch):
            slots = [table.slots for table in tables]
            if thread and needs:
                slots = [table_slots.copy() for table_slots in slots]
            places = {}
            for key, of in needs.items():
                array = memory.take(key, *of)
                self._scratch.append(array)
                places[key] = address(array)
            for table_slots, table in zip(slots, tables, strict=True):
                for index, need in table.needs.items():
                    table_slots[:, index] = places[need.key]
            self._slots.append(slots)
        self._pairs = [_pairs(tables, slots) for slots in self._slots]

    def run(self) -> None:
        """Make them all. The tables' slots then say how much was written."""
        _make(self._tables[0].code, self._pairs, self)
        first, *others = self._slots
        for slots in others:
            for table, first_slots, other in zip(
                self._tables, first, slots, strict=True
            ):
                for index in table.map.counts.values():
                    np.maximum(
                        first_slots[:, index],
                        other[:, index],
                        out=first_slots[:, index],
                    )

    @property
    def places(self) -> I64Array:
        """The addresses of the calls' slots."""
        return self._pairs[0][:, 1]


def _pairs(tables: Sequence[CallTable], slots: Sequence[I64Array]) -> I64Array:
    """The calls of some tables: the kernel's address and that of the slots, of each."""
    calls = [
        (table.code.address, place)
        for table, rows in zip(tables, slots, strict=True)
        for place in _places(rows)
    ]
    return np.array(calls, np.int64)


def _places(slots: I64Array) -> Sequence[int]:
    """The addresses of the slots of each call of a table."""
    first, count, step = address(slots), len(slots), slots.strides[0]
    return range(first, first + count * step, step)


def _largest(
    needs: Iterable[ScratchNeed],
) -> dict[tuple[str, int], tuple[Scalar, int]]:
    """The type and the size of scratch that is enough for each of some calls."""
    largest: dict[tuple[str, int], tuple[Scalar, int]] = {}
    for need in needs:
        _, size = largest.get(need.key, (need.type, 0))
        largest[need.key] = need.type, max(size, need.size)
    return largest


def _make(code: Code, pairs: Sequence[I64Array], owner: object) -> None:
    """Make calls, each of which some thread takes: `pairs` has an array of each thread.

    A call is an address of a kernel, and one of slots. `code` is that of any kernel.
    `owner` keeps all memory of the calls: each thread holds it, for one may still be at
    work when an interrupt has ended the run.
    """
    taken, flag = np.zeros(1, np.int64), stop_flag()

    def stop() -> None:
        taken[0] = len(pairs[0])

    run_all([partial(_take, code, pair, taken, flag, owner) for pair in pairs], stop)
    if flag.is_set:
        raise StopWork


def _take(
    code: Code, pairs: I64Array, taken: I64Array, flag: StopFlag, owner: object
) -> None:
    """Make the calls that no other thread takes."""
    code.call_many(address(pairs), len(pairs), address(taken), flag.address)
    del owner
