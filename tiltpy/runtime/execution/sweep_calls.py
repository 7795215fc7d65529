"""Chunks that a sweep kernel computes: a call for each."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.abi.signature import Loop
from tiltpy.abi.slots import SlotKind
from tiltpy.forks import cached_property
from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrays.dictionary import NO_STRINGS, Strings
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.joined_rows import JoinedRows
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_batches import Done
from tiltpy.runtime.execution.call_numbers import item, total
from tiltpy.runtime.execution.call_states import CallStates
from tiltpy.runtime.execution.call_table import (
    NO_ARRAYS,
    CallTable,
    SharedArrays,
    is_sparse,
)
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.runtime.execution.slot_map import TIMES
from tiltpy.runtime.execution.time_domain import Cells
from tiltpy.runtime.execution.visit_bounds import Coverage


class SweepChunks:
    """Chunks as calls of a sweep kernel, each over what `coverage` says.

    Without states they can be computed again and again, by several threads at once.
    """

    def __init__(
        self,
        kernel: Kernel,
        coverage: Coverage[Any],
        strings: Strings = NO_STRINGS,
        states: CallStates | None = None,
    ) -> None:
        coverage.check_ranked()
        self.kernel = kernel
        self.signature = kernel.signature
        self.coverage = coverage
        self.count = coverage.count
        self.strings = strings
        self.states = states

    @cached_property
    def most(self) -> int:
        """Bound the snapshots of their outputs."""
        return sum(total(self.coverage.capacity[name]) for name in self.coverage.cells)

    @cached_property
    def _template(self) -> CallTable:
        """The calls, prepared for any number of runs."""
        table = CallTable(self.kernel, self.coverage, self.strings, self.states)
        for slot in table.map.outputs:
            if slot.loop.name in self.signature.outputs:
                table.put_apart(slot)
            else:
                table.put_in_scratch(slot)
        table.prepare()
        return table

    @cached_property
    def _outputs(self) -> "list[_ChunkOutput]":
        """The outputs of which calls own cells."""
        return [
            _ChunkOutput(loop, self.coverage)
            for loop in self.signature.loops
            if loop.name in self.coverage.cells and loop.name in self.signature.outputs
        ]

    def table(
        self, shared: SharedArrays = NO_ARRAYS, states: CallStates | None = None
    ) -> CallTable:
        """The calls, prepared."""
        return self._template.renew(shared, states)

    def results(self, table: CallTable) -> Iterator[Done]:
        """Return what each call wrote of each output of which it owns cells."""
        counted = [output.count_snapshots(table) for output in self._outputs]
        for call in range(self.count):
            pieces: dict[str, SnapshotBuffer | JoinedRows] = {}
            cells: dict[str, Cells[int]] = {}
            for output, snapshots in zip(self._outputs, counted, strict=True):
                owned = output.cells.of(call)
                if owned.some:
                    pieces[output.name] = output.snapshots_of(snapshots, call)
                    if output.may_have_others:
                        cells[output.name] = owned
            yield 1, pieces, cells


@record(frozen=True, slots=True, eq=False)
class _Snapshots:
    """The numbers of snapshots of an output that calls wrote, to be copied or not."""

    table: CallTable
    counts: Sequence[int]
    copy: bool


class _ChunkOutput:
    """An output as calls write it."""

    def __init__(self, loop: Loop, coverage: Coverage[Any]) -> None:
        self.loop = loop
        self.name = loop.name
        self.cells: Cells[Any] = coverage.cells[loop.name]
        self.coverage = coverage
        first, last = coverage.extents[loop.name]
        owned = self.cells
        own_alone = coverage.count == 1 and not owned.seam
        own_alone = own_alone and (first, last) == (owned.first, owned.last)
        self.may_have_others = not loop.stamped and not own_alone
        """Whether there may be snapshots of other cells than those that calls own."""
        self.first: I64Array | int = 0
        self.stop: I64Array | int = 0
        if loop.shares_times:
            self.first, self.stop = coverage.row_range(loop)

    def count_snapshots(self, table: CallTable) -> _Snapshots:
        """Count the snapshots that the calls of a table wrote."""
        counts = table.counts(self.name).tolist()
        values = table.arrays[SlotKind.OUT_VALUES, self.name, 0].array
        copy = table.is_reused or is_sparse(values, sum(counts))
        return _Snapshots(table, counts, copy)

    def snapshots_of(
        self, snapshots: _Snapshots, call: int
    ) -> SnapshotBuffer | JoinedRows:
        """Return the snapshots of a call, of a row object those that it owns."""
        piece = self._piece_of(snapshots, call)
        if isinstance(piece, JoinedRows) or not self.loop.stamped:
            return piece
        before = self.coverage.slices[self.loop.reads[0].object].buffer.before
        owned = self.cells.of(call)
        starts, _ = piece.times()
        first, stop = starts.searchsorted(
            [owned.first - before, owned.last - before + 1]
        )
        return replace(piece.slice(int(first), int(stop)), row_object=True)

    def _piece_of(
        self, snapshots: _Snapshots, call: int
    ) -> SnapshotBuffer | JoinedRows:
        """Return the snapshots that a call wrote."""
        table, copy = snapshots.table, snapshots.copy
        loop, count = self.loop, snapshots.counts[call]
        payload = table.payload(loop, call, count, copy=copy)
        if loop.shares_times:
            rows = self.coverage.slices[loop.reads[0].object]
            begin = item(rows.first, call)
            first, stop = item(self.first, call), item(self.stop, call)
            source = rows.buffer.slice(begin + first, begin + stop)
            if not loop.distinct:
                return source.with_columns(payload)
            marks = table.marks(loop, call, source.n)
            source = source.with_columns(())
            return JoinedRows(source, marks, count, payload)
        if loop.implicit_times:
            period = loop.tdom.precision
            start = item(self.coverage.extents[loop.name][0], call) - period
            layout = TimeLayout.SAMPLED
            return SnapshotBuffer(layout, count, start, period, None, None, payload)
        starts, ends = (
            table.arrays[kind, loop.name, 0].of(call, count, copy=copy).view(np.int64)
            for kind in TIMES
        )
        layout = TimeLayout.OVERLAPPING if loop.stamped else TimeLayout.INTERVALS
        fifo = not loop.stamped
        return SnapshotBuffer(layout, count, 0, 1, starts, ends, payload, fifo)
