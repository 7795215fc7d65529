"""Keys that a vector kernel computes over a time range: its calls, in machine code.

The cells beside the time ranges are computed first, by calls of the sweep kernel
(`RangeEdges`): so it is known how many snapshots stand between those of two calls of
the vector kernel, which then leave so much room free. Keys without a time range are
calls of the sweep kernel alone. Nothing is done in Python for each key.
"""

from collections.abc import Mapping

import numpy as np

from tiltpy.abi.signature import Loop
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.pool import ScratchArrays
from tiltpy.runtime.execution.call_table import CallTable
from tiltpy.runtime.execution.key_domains import KeyedRanges, RowsByKey
from tiltpy.runtime.execution.row_slices import slice_by_key
from tiltpy.runtime.execution.slot_map import BITS
from tiltpy.runtime.execution.time_domain import Cells
from tiltpy.runtime.execution.vector_calls import VectorCalls
from tiltpy.runtime.keyed.vector_ranges import KeyVectorRanges
from tiltpy.runtime.results.keyed_bitmaps import KeyBits
from tiltpy.types import TDom


@dataclass(frozen=True, slots=True, eq=False)
class RangeEdges:
    """The sweep kernel's calls for keys: one before each time range, one behind it.

    `keys` are their keys, by place in the batch, `firsts` the first call of each key;
    `before` are the calls before the time ranges, which those behind follow. A key
    without a time range has one call.
    """

    keys: I64Array
    firsts: I64Array
    before: I64Array

    @staticmethod
    def of(grids: KeyVectorRanges) -> "RangeEdges":
        """Those of a batch."""
        served = grids.some
        keys = np.repeat(np.arange(len(served)), 1 + served)
        firsts = np.arange(len(served)) + served.cumsum() - served
        return RangeEdges(keys, firsts, firsts[served])

    def cells(
        self, tdom: TDom, ranges: KeyedRanges, grids: KeyVectorRanges
    ) -> Cells[I64Array]:
        """Return the range of an output's cells that each call computes."""
        whole = ranges.cells(tdom)
        first, last = whole.first[self.keys], whole.last[self.keys]
        served, behind = grids.some, self.before + 1
        last[self.before] = grids.low[served]
        first[behind] = grids.high[served] + tdom.precision
        seam = np.zeros(len(first), np.bool_)
        seam[behind] = first[behind] <= last[behind]
        return Cells(first, last, seam)


class VectorBatch(VectorCalls[I64Array]):
    """The calls of a vector kernel for some keys, each over its time range."""

    def __init__(
        self,
        grids: KeyVectorRanges,
        inputs: Mapping[str, RowsByKey],
        keys: I64Array,
        strings: Strings,
    ) -> None:
        self.keys = keys
        rows = {
            name: slice_by_key(by_key, keys, spare=True)
            for name, by_key in inputs.items()
        }
        super().__init__(grids.kernel, rows, grids.low, grids.high)
        self.kernel = grids.kernel
        self.strings = strings

    def run(
        self,
        free: Mapping[str, I64Array],
        behind: Mapping[str, int],
        scratch: ScratchArrays,
    ) -> CallTable:
        """Make all calls, with room for other snapshots.

        `free` says how many snapshots of an output to leave room for before each call's
        own, `behind` how many behind the last one's.
        """
        table = CallTable(self.kernel, self, self.strings)
        for slot in table.map.outputs:
            if slot.kind in BITS:
                table.put_apart(slot, line=1)
            else:
                name, cells = slot.loop.name, self.cells(slot.loop)
                table.put_in_order(slot, cells, free[name], behind[name])
        table.fill()
        table.run_in_order(scratch)
        return table

    def bits(
        self, loop: Loop, table: CallTable
    ) -> tuple[KeyBits | None, KeyBits | None]:
        """In which cells snapshots of an output begin, and where there is any.

        None where each cell is one, and where each snapshot is one cell.
        """
        begins, covered = (
            None
            if (made := table.arrays.get((kind, loop.name, 0))) is None
            else KeyBits(made.array.view(np.uint8), np.asarray(made.firsts))
            for kind in BITS
        )
        return begins, covered
