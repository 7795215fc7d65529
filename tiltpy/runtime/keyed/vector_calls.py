"""Keys of which a grid kernel serves a stretch: its calls, made in machine code.

The cells beside the stretches are computed first, by calls of the general kernel
(`Edges`): so it is known how many snapshots stand between those of two calls of the
grid kernel, which then leave so much room free. Keys that it does not serve are calls
of the general kernel alone. Nothing is done in Python for each key.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiltpy.abi import LANES, Loop, SlotKind
from tiltpy.runtime.arrays import pool as memory
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.pool import Array, ScratchArrays
from tiltpy.runtime.execution.kernel_arguments import address, wiring_of
from tiltpy.runtime.execution.key_domains import Domains, Owned, Rows, Times
from tiltpy.runtime.execution.vector_calls import BITS, GridCalls
from tiltpy.runtime.keyed.sweep_calls import append, put_scratch
from tiltpy.runtime.keyed.vector_ranges import KeyGrids
from tiltpy.runtime.results.keyed_bitmaps import KeyBits
from tiltpy.types import TDom

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """The general kernel's calls for keys: one before each stretch, one behind it.

    `keys` are their keys, by place in the batch, `firsts` the first call of each key;
    `before` are the calls before the stretches, which those behind follow. A key
    without a stretch has one call.
    """

    keys: Numbers
    firsts: Numbers
    before: Numbers

    @staticmethod
    def of(grids: KeyGrids) -> "Edges":
        """Those of a batch."""
        served = grids.some
        keys = np.repeat(np.arange(len(served)), 1 + served)
        firsts = np.arange(len(served)) + served.cumsum() - served
        return Edges(keys, firsts, firsts[served])

    def owned(self, tdom: TDom, domains: Domains, grids: KeyGrids) -> Owned:
        """Which cells of an output each call computes."""
        whole = Owned.all_of(tdom, domains)
        first, last = whole.first[self.keys], whole.last[self.keys]
        served, behind = grids.some, self.before + 1
        last[self.before] = grids.low[served]
        first[behind] = grids.high[served] + tdom.precision
        seam = np.zeros(len(first), np.bool_)
        seam[behind] = first[behind] <= last[behind]
        return Owned(first, last, seam)


class GridSegments(GridCalls):
    """The calls of a grid kernel for some keys, each over its stretch."""

    def __init__(
        self,
        grids: KeyGrids,
        inputs: Mapping[str, Rows],
        keys: Numbers,
        strings: Strings,
    ) -> None:
        super().__init__(grids.kernel, inputs, keys, grids.low, grids.high, strings)

    def run(
        self,
        free: Mapping[str, Times],
        behind: Mapping[str, int],
        scratch: ScratchArrays,
    ) -> dict[str, "Written"]:
        """Make all calls, with room for other snapshots.

        `free` says how many snapshots of an output to leave room for before each call's
        own, `behind` how many behind the last one's.
        """
        wiring = wiring_of(self.signature, self.kernel.code)
        slots = self.slots()
        put_scratch(self, wiring, slots, scratch)
        found: dict[str, dict[tuple[SlotKind, int], Array]] = {}
        appended = []
        for slot in wiring.outputs:
            name, room = slot.loop.name, self.room(slot)
            if slot.kind in BITS:
                size = int(room.sum())
                array = memory.allocate(slot.type, size)
                slots[:, slot.index] = address(array) + room.cumsum() - room
            else:
                size = int((free[name] + self.cells(slot.loop)).sum()) + behind[name]
                array = memory.allocate(slot.type, size + LANES)
                slots[:, slot.index] = free[name] * array.itemsize
                slots[0, slot.index] += address(array)
                appended.append(slot)
            found.setdefault(name, {})[slot.kind, slot.column] = array
        append(self.kernel.code.code(), wiring, slots, appended)
        return {
            name: Written(arrays, slots[:, wiring.counts[name]].copy())
            for name, arrays in found.items()
        }

    def bits(
        self, loop: Loop, written: "Written"
    ) -> tuple[KeyBits | None, KeyBits | None]:
        """In which cells snapshots of an output begin, and where there is any.

        None where each cell is one, and where each snapshot is one cell.
        """
        begins, covered = (
            KeyBits.of(array.view(np.uint8), self.cells(loop), self.bytes_of(loop))
            if (array := written.arrays.get((kind, 0))) is not None
            else None
            for kind in BITS
        )
        return begins, covered


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """What the calls of a grid kernel wrote of an output, and how many snapshots."""

    arrays: dict[tuple[SlotKind, int], Array]
    counts: Numbers
