"""Many keys at once: a call of the sweep kernel for each, or for some of them.

The calls are made one after the other, in machine code, and each writes behind the one
before, so that the snapshots of a key follow those of the key before.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from tiltpy.abi.signature import Loop, Shape, Signature
from tiltpy.abi.slots import SlotKind
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array
from tiltpy.runtime.arrays.masks import are_all
from tiltpy.runtime.arrays.pool import Array, ScratchArrays
from tiltpy.runtime.execution.call_states import CallStates
from tiltpy.runtime.execution.call_table import NO_ARRAYS, CallTable, is_sparse
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.runtime.execution.key_domains import EARLIEST, LATEST, RowsByKey
from tiltpy.runtime.execution.row_slices import (
    RowSlices,
    row_times,
    slice_by_key,
)
from tiltpy.runtime.execution.slot_map import BITS, TIMES
from tiltpy.runtime.execution.supports import (
    changes_by_key,
    support_by_key,
)
from tiltpy.runtime.execution.time_domain import Cells, Request
from tiltpy.runtime.execution.visit_bounds import Coverage
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.types import Scalar


class SweepBatch:
    """Calls of the sweep kernel, each of which owns some cells of the outputs."""

    def __init__(
        self,
        coverage: Coverage[Any],
        strings: Strings,
        states: CallStates | None = None,
    ) -> None:
        self.coverage = coverage
        self.signature = coverage.signature
        self.cells: AllCells = coverage.cells
        self.strings = strings
        self.states = states

    @staticmethod
    def of_keys(
        signature: Signature,
        inputs: Mapping[str, RowsByKey],
        cells: Mapping[str, Cells[I64Array]],
        keys: I64Array,
        request: Request,
        strings: Strings,
        *,
        near: bool = False,
        states: CallStates | None = None,
    ) -> "SweepBatch":
        """Make a call for each of `keys`, of which one may have several.

        `cells` are those of each output that a call computes; `near`: few of its key's.
        """
        support = support_by_key(signature, inputs, keys, request)
        changes = changes_by_key(signature, inputs, keys, request)
        rows = {name: slice_by_key(slices, keys) for name, slices in inputs.items()}
        # To find rows takes longer than a key's own take.
        whole = {
            name: slices
            for name, slices in rows.items()
            if isinstance(inputs[name], Groups) and not near
        }
        others = {name: slices for name, slices in rows.items() if name not in whole}
        zero = np.zeros(len(keys), np.int64)
        coverage = Coverage(
            signature, zero, others, cells, request, support, changes, whole
        )
        return SweepBatch(coverage, strings, states)

    def run(self, kernel: Kernel, scratch: ScratchArrays) -> dict[str, KeyedSnapshots]:
        """Make all calls; the snapshots of the outputs that overlap what is owned."""
        table = self.fill(kernel)
        table.run_in_order(scratch)
        return read_snapshots(table, self.coverage, self.cells)

    def run_again(
        self, prepared: CallTable, scratch: ScratchArrays, *, views: bool = False
    ) -> dict[str, KeyedSnapshots]:
        """Make the calls of a table that is `prepared` for many runs.

        What it returns may be `views` of arrays that have room for far more.
        """
        table = prepared.renew(NO_ARRAYS)
        table.run_in_order(scratch)
        return read_snapshots(
            table, self.coverage, self.cells, copy=False if views else None
        )

    def fill(self, kernel: Kernel) -> CallTable:
        """Fill the table of all calls."""
        table = self._lay_out(kernel)
        table.fill()
        return table

    def prepare(self, kernel: Kernel) -> CallTable:
        """Prepare a table of all calls for runs with memory of their own."""
        table = self._lay_out(kernel)
        table.prepare()
        return table

    def _lay_out(self, kernel: Kernel) -> CallTable:
        self.coverage.check_ranked()
        table = CallTable(kernel, self.coverage, self.strings, self.states)
        for slot in table.map.outputs:
            if slot.kind in BITS:  # a byte for each row, behind one another
                table.put_apart(slot, line=1)
            elif slot.loop.name in self.cells and not slot.is_implied:
                table.put_in_order(slot, self.coverage.room(slot))
            else:
                table.put_in_scratch(slot)
        return table


class CallCoverage(Protocol):
    """The rows that calls visit, and the grid points of their loops."""

    @property
    def slices(self) -> Mapping[str, RowSlices[Any]]:
        """The rows of each input that calls see."""

    @property
    def extents(self) -> Mapping[str, tuple[Any, Any]]:
        """The grid points that loops visit, from the first to the last."""

    def row_range(self, loop: Loop) -> tuple[Any, Any]:
        """The rows that a loop visits, from the first of each slice."""


AllCells = Mapping[str, Cells[Any]]


def read_snapshots(
    table: CallTable,
    covered: CallCoverage,
    cells: AllCells,
    *,
    copy: bool | None = None,
) -> dict[str, KeyedSnapshots]:
    """Return the snapshots of outputs, of which calls own `cells`, that calls wrote.

    Each wrote behind the one before. They are copied where they take little of the
    memory that calls could have written to, or as `copy` says.
    """
    return {
        loop.name: _read_loop(table, covered, loop, cells[loop.name], copy)
        for loop in table.kernel.signature.loops
        if loop.name in cells
    }


def _read_loop(
    table: CallTable,
    covered: CallCoverage,
    loop: Loop,
    cells: Cells[Any],
    copy: bool | None,
) -> KeyedSnapshots:
    """Return the snapshots that a loop wrote in all calls."""
    counts = table.counts(loop.name).copy()
    n = int(counts.sum())
    values = table.arrays[SlotKind.OUT_VALUES, loop.name, 0].array
    copy = is_sparse(values, n) if copy is None else copy
    payload = table.payload(loop, 0, n, copy=copy)
    if loop.implicit_times:
        rows = covered.slices[loop.reads[0].object]
        starts, ends = row_times(rows, *covered.row_range(loop))
        if loop.distinct and n < len(ends):
            marks = table.marks(loop, 0, len(ends))
            starts, ends = marks.join(starts, ends, n)
    else:
        starts, ends = (
            _times(table.arrays[kind, loop.name, 0].array, n, copy=copy)
            for kind in TIMES
        )
    made = KeyedSnapshots(starts, ends, payload, counts, shared=loop.implicit_times)
    if isinstance(loop.type, Scalar) and not loop.stamped:
        made = made.drop_nulls()
    if loop.stamped:
        return _drop_unowned(made, covered, loop, cells)
    return _drop_others(made, covered, loop, cells)


def _drop_others(
    made: KeyedSnapshots, covered: CallCoverage, loop: Loop, cells: Cells[Any]
) -> KeyedSnapshots:
    """Drop the snapshots that only other loops read.

    The one that ends at a seam, or goes on over it, may still be the first.
    """
    if loop.shape is Shape.ROWS and _holds(np.logical_not(cells.seam) & cells.final):
        return made
    extent = covered.extents[loop.name]
    seam = loop.tdom.precision * cells.seam
    exact = (cells.first - seam == extent[0]) & (cells.last == extent[1])
    if _holds(exact | (made.counts == 0)):
        return made
    low = np.where(cells.some, cells.first - loop.tdom.precision, LATEST)
    high = np.where(cells.some, cells.last, EARLIEST)
    return made.keep_overlapping(np.atleast_1d(low), np.atleast_1d(high))


def _drop_unowned(
    made: KeyedSnapshots, covered: CallCoverage, loop: Loop, cells: Cells[Any]
) -> KeyedSnapshots:
    """Drop the rows of a row object that are stamped elsewhere."""
    before = covered.slices[loop.reads[0].object].buffer.before
    extent = covered.extents[loop.name]
    owned = (cells.first == extent[0]) & (cells.last == extent[1])
    if _holds(owned | (made.counts == 0)):
        return made
    low = np.atleast_1d(np.where(cells.some, cells.first - before, LATEST))
    high = np.atleast_1d(np.where(cells.some, cells.last - before, EARLIEST))
    keys = np.repeat(np.arange(len(made.counts)), made.counts)
    return made.keep((made.starts >= low[keys]) & (made.starts <= high[keys]))


def _holds(truth: BoolArray) -> bool:
    """Tell whether a truth holds for all calls, perhaps for the only one."""
    return are_all(truth) if isinstance(truth, np.ndarray) else bool(truth)


def _times(array: Array, count: int, *, copy: bool) -> I64Array:
    """The times that calls wrote behind one another."""
    times = array[:count].view(np.int64)
    return times.copy() if copy else times
