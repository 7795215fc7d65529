"""Chunks that a sweep kernel computes: a call for each."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.abi.signature import Loop
from tiltpy.abi.slots import SlotKind
from tiltpy.runtime.arrays.dictionary import NO_STRINGS, Strings
from tiltpy.runtime.arrays.joined_rows import JoinedRows
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_batches import Done
from tiltpy.runtime.execution.call_numbers import item, total
from tiltpy.runtime.execution.call_states import CallStates
from tiltpy.runtime.execution.call_table import CallTable, is_sparse
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.runtime.execution.slot_map import TIMES
from tiltpy.runtime.execution.time_domain import Cells
from tiltpy.runtime.execution.visit_bounds import Coverage


class SweepChunks:
    """Chunks as calls of a sweep kernel, each over what `coverage` says."""

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
        self._table: CallTable | None = None

    @property
    def most(self) -> int:
        """How many snapshots of their outputs there may be."""
        return sum(total(self.coverage.capacity[name]) for name in self.coverage.cells)

    def table(self) -> CallTable:
        """The calls, prepared."""
        table = self._table = CallTable(
            self.kernel, self.coverage, self.strings, self.states
        )
        for slot in table.map.outputs:
            if slot.loop.name in self.signature.outputs:
                table.put_apart(slot)
            else:
                table.put_in_scratch(slot)
        table.fill()
        return table

    def results(self) -> Iterator[Done]:
        """What each call wrote, of each output of which it owns cells."""
        assert self._table is not None
        outputs = [
            _ChunkOutput(loop, self.coverage, self._table)
            for loop in self.signature.loops
            if loop.name in self.coverage.cells and loop.name in self.signature.outputs
        ]
        for call in range(self.count):
            pieces: dict[str, SnapshotBuffer | JoinedRows] = {}
            cells: dict[str, Cells[int]] = {}
            for output in outputs:
                owned = output.cells.of(call)
                if owned.some:
                    pieces[output.loop.name] = output.snapshots_of(call)
                    if not output.loop.stamped:
                        cells[output.loop.name] = owned
            yield 1, pieces, cells


class _ChunkOutput:
    """What the calls of a table wrote of an output."""

    def __init__(self, loop: Loop, coverage: Coverage[Any], table: CallTable) -> None:
        self.loop = loop
        self.cells: Cells[Any] = coverage.cells[loop.name]
        self.coverage = coverage
        self.table = table
        counts = table.counts(loop.name)
        self.counts: list[int] = counts.tolist()
        values = table.arrays[SlotKind.OUT_VALUES, loop.name, 0].array
        self.copy = is_sparse(values, sum(self.counts))
        if loop.shares_times:
            self.first, self.stop = coverage.row_range(loop)

    def snapshots_of(self, call: int) -> SnapshotBuffer | JoinedRows:
        """The snapshots that a call wrote, of a row object those that it owns."""
        piece = self._piece_of(call)
        if isinstance(piece, JoinedRows) or not self.loop.stamped:
            return piece
        before = self.coverage.slices[self.loop.reads[0].object].buffer.before
        owned = self.cells.of(call)
        starts, _ = piece.times()
        first, stop = starts.searchsorted(
            [owned.first - before, owned.last - before + 1]
        )
        return replace(piece.slice(int(first), int(stop)), row_object=True)

    def _piece_of(self, call: int) -> SnapshotBuffer | JoinedRows:
        """The snapshots that a call wrote."""
        loop, count = self.loop, self.counts[call]
        payload = self.table.payload(loop, call, count, copy=self.copy)
        if loop.shares_times:
            rows = self.coverage.slices[loop.reads[0].object]
            begin = item(rows.first, call)
            first, stop = item(self.first, call), item(self.stop, call)
            source = rows.buffer.slice(begin + first, begin + stop)
            if not loop.distinct:
                return source.with_columns(payload)
            marks = self.table.marks(loop, call, source.n)
            source = source.with_columns(())
            return JoinedRows(source, marks, count, payload)
        if loop.implicit_times:
            period = loop.tdom.precision
            start = item(self.coverage.extents[loop.name][0], call) - period
            layout = TimeLayout.SAMPLED
            return SnapshotBuffer(layout, count, start, period, None, None, payload)
        starts, ends = (
            self.table.arrays[kind, loop.name, 0]
            .of(call, count, copy=self.copy)
            .view(np.int64)
            for kind in TIMES
        )
        layout = TimeLayout.OVERLAPPING if loop.stamped else TimeLayout.INTERVALS
        fifo = not loop.stamped
        return SnapshotBuffer(layout, count, 0, 1, starts, ends, payload, fifo)
