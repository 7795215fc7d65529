"""`python -m tests.keyed_fences FIRST LAST`: queries by key over memory with fences.

As `fences`, for what is made of keys. Each call of a batch sees its own key's rows, and
room for just what that key may write, so that a step into the rows or the snapshots of
the key beside it is a fault, too. What is folded without grouping has fences around its
rows, its keys and its states.
"""

import ctypes
import sys
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tests.fences import Fences, fence_inputs, put_up
from tests.keyed import check_keyed
from tests.test_keyed_properties import CASES
from tiltpy.runtime.arrays.pool import ScratchArrays, dtype_of
from tiltpy.runtime.execution.chunk_call import Kernel
from tiltpy.runtime.execution.kernel_arguments import Executable, Wiring, address
from tiltpy.runtime.execution.key_domains import Times
from tiltpy.runtime.execution.vector_calls import BITS
from tiltpy.runtime.keyed.snapshots import Snapshots
from tiltpy.runtime.keyed.sweep_calls import Segments
from tiltpy.runtime.keyed.vector_calls import GridSegments, Written
from tiltpy.runtime.preaggregation import finalize as folded
from tiltpy.runtime.preaggregation import pane_states as folding
from tiltpy.runtime.preaggregation.pane_states import Matrices
from tiltpy.types import Scalar

Numbers = NDArray[np.int64]
Calls = Segments | GridSegments


class FencedCalls:
    """Machine code, each of whose calls for a key is made between fences."""

    def __init__(self, fences: Fences, batch: Calls, code: Executable) -> None:
        self.fences = fences
        self.batch = batch
        self.wiring = Wiring(batch.signature)
        self.machine = code.code()

    def code(self) -> "FencedCalls":
        return self

    def appended(
        self,
        place: int,
        count: int,
        width: int,
        outputs: int,
        number: int,
        stop: int,
    ) -> None:
        """The calls one by one; what they wrote is put where it belongs."""
        slots = _numbers(place, count * width).reshape(count, width)
        follow = {index for index, _, _ in _numbers(outputs, 3 * number).reshape(-1, 3)}
        for key in range(count):
            own = slots[key].copy()
            fence_inputs(self.fences, self.wiring, self.batch.parts, own, key)
            self._scratch(own, key)
            arrays = self._outputs(own, key)
            self.machine.one(address(own), stop)
            for index in self.wiring.counts.values():
                slots[key, index] = own[index]
                assert own[index] >= 0
            for slot in self.wiring.outputs:
                array, here = arrays[slot.index], int(slots[key, slot.index])
                if slot.kind in BITS:
                    ctypes.memmove(here, address(array), array.nbytes)
                if slot.index not in follow:
                    continue
                written = int(own[self.wiring.counts[slot.loop.name]])
                assert written <= len(array)
                size = written * array.itemsize
                ctypes.memmove(here, address(array), size)
                if key + 1 < count:
                    slots[key + 1, slot.index] += here + size

    def _scratch(self, own: Numbers, key: int) -> None:
        for index, _, wanted in self.wiring.scratch:
            size = self.batch.rows_of(wanted.rows, wanted.constant)[key]
            own[index] = address(self.fences.array(dtype_of(wanted.type), int(size)))

    def _outputs(self, own: Numbers, key: int) -> dict[int, NDArray[np.generic]]:
        found = {}
        for slot in self.wiring.outputs:
            size = int(self.batch.room(slot)[key])
            array = found[slot.index] = self.fences.array(dtype_of(slot.type), size)
            own[slot.index] = address(array)
        return found


def _numbers(place: int, count: int) -> Numbers:
    """The 64-bit numbers at an address."""
    memory = memoryview((ctypes.c_int64 * count).from_address(place))
    return np.frombuffer(memory, np.int64)


def put_up_by_key(fences: Fences) -> None:
    """Have batches and folded rows take all memory between fences."""
    put_up(fences)
    run, make = Segments.run, Matrices.__init__
    run_grids = GridSegments.run

    def fenced_grids(
        batch: GridSegments,
        free: Mapping[str, Times],
        left: Mapping[str, int],
        scratch: ScratchArrays,
    ) -> dict[str, Written]:
        calls = FencedCalls(fences, batch, batch.kernel.code)
        batch.kernel = Kernel(batch.signature, calls)  # type: ignore[arg-type]
        return run_grids(batch, free, left, scratch)

    def fenced_run(
        batch: Segments, kernel: Kernel, scratch: ScratchArrays
    ) -> dict[str, Snapshots]:
        calls = FencedCalls(fences, batch, kernel.code)
        return run(batch, Kernel(kernel.signature, calls), scratch)  # type: ignore[arg-type]

    def fenced_matrices(made: Matrices, *given: object, **named: object) -> None:
        make(made, *given, **named)  # type: ignore[arg-type]
        made.rows = fences.piece(made.rows)
        made.keys = replace(made.keys, values=fences.copy(made.keys.values))
        made.panes = replace(made.panes, rows=fences.copy(made.panes.rows))

    def allocate(scalar: Scalar, size: int) -> NDArray[np.generic]:
        return fences.array(dtype_of(scalar), size)

    Segments.run = fenced_run  # type: ignore[assignment, method-assign]
    GridSegments.run = fenced_grids  # type: ignore[assignment, method-assign]
    Matrices.__init__ = fenced_matrices  # type: ignore[assignment, method-assign]
    folding.allocate = folded.allocate = allocate  # type: ignore[attr-defined]


def main() -> None:
    first, last = int(sys.argv[1]), int(sys.argv[2])
    fences = Fences(low="low" in sys.argv)
    put_up_by_key(fences)
    for seed in range(first, last):
        kind = ("plain", "regular", "folds", "plain", "grids")[seed % 5]
        case, setting = CASES[kind](seed)
        plain = replace(setting.plain, workers=1)
        print(f"{kind}, seed {seed}, {setting}", file=sys.stderr, flush=True)
        difference = check_keyed(case, replace(setting, plain=plain), exact=True)
        assert difference is None, difference
        fences.open()


if __name__ == "__main__":
    main()
