"""Calls of kernels that threads share out among themselves, in machine code."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tiltpy.runtime.arrays.pool import Array, ScratchArrays
from tiltpy.runtime.concurrency.offload import StopFlag, stop_flag
from tiltpy.runtime.concurrency.threads import StopWork
from tiltpy.runtime.concurrency.workers import run_all
from tiltpy.runtime.execution.kernel_arguments import Code, Numbers, address
from tiltpy.types import Scalar


@dataclass(frozen=True, slots=True)
class Needed:
    """Scratch for a slot: by which name a thread keeps it, of what, and how much."""

    key: tuple[str, int]
    type: Scalar
    size: int


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

    def __init__(
        self, batches: Sequence[Batch], scratch: Sequence[ScratchArrays]
    ) -> None:
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
    taken, flag = np.zeros(1, np.int64), stop_flag()

    def stop() -> None:
        taken[0] = len(pairs[0])

    run_all([partial(_take, code, own, taken, flag, owner) for own in pairs], stop)
    if flag.is_set:
        raise StopWork


def _take(
    code: Code, pairs: Numbers, taken: Numbers, flag: StopFlag, owner: object
) -> None:
    """Make the calls that no other thread takes."""
    code.many(address(pairs), len(pairs), address(taken), flag.place)
    del owner
