"""Chunks that a sweep kernel computes: a call for each."""

from collections.abc import Iterator, Mapping, Sequence
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
    def _outputs(self) -> "list[SweepOutput]":
        """The outputs of which calls own cells."""
        return list_outputs(self.coverage)

    @cached_property
    def _rows(self) -> dict[str, SnapshotBuffer]:
        """The rows of inputs that they read."""
        return {name: each.buffer for name, each in self.coverage.slices.items()}

    def table(
        self, shared: SharedArrays = NO_ARRAYS, states: CallStates | None = None
    ) -> CallTable:
        """The calls, prepared."""
        return self._template.renew(shared, states)

    def results(self, table: CallTable) -> Iterator[Done]:
        """Return what each call wrote of each output of which it owns cells."""
        return read_results(table, self._outputs, self._rows)


def read_results(
    table: CallTable,
    outputs: "Sequence[SweepOutput]",
    rows: Mapping[str, SnapshotBuffer],
) -> Iterator[Done]:
    """Return what each call of a table wrote of outputs, and its cells of them.

    `rows` are those of inputs that the calls read.
    """
    counted = [output.count_snapshots(table) for output in outputs]
    for call in range(table.count):
        pieces: dict[str, SnapshotBuffer | JoinedRows] = {}
        cells: dict[str, Cells[int]] = {}
        for output, snapshots in zip(outputs, counted, strict=True):
            owned = output.cells.of(call)
            if owned.some:
                name = output.loop.name
                pieces[name] = output.snapshots_of(snapshots, call, rows)
                if output.may_have_others:
                    cells[name] = owned
        yield 1, pieces, cells


@record(frozen=True, slots=True, eq=False)
class _Snapshots:
    """The numbers of snapshots of an output that calls wrote, to be copied or not."""

    table: CallTable
    counts: Sequence[int]
    copy: bool


@record(frozen=True, slots=True, eq=False)
class SweepOutput:
    """An output as calls write it, which own its `cells`.

    `may_have_others`: there may be snapshots of other cells than those. `begin` is the
    first grid point that each call visits, or the first row of those that it visits,
    up to `stop`, where snapshots have the times of rows. `owns_rows`: of a row object,
    calls own all rows that they visit.
    """

    loop: Loop
    cells: Cells[Any]
    may_have_others: bool
    begin: I64Array | int
    stop: I64Array | int = 0
    owns_rows: bool = False

    def count_snapshots(self, table: CallTable) -> _Snapshots:
        """Count the snapshots that the calls of a table wrote."""
        name = self.loop.name
        if table.is_reused:
            count = table.view[table.map.counts[name]]
            return _Snapshots(table, [count], copy=not table.lend(name, count))
        counts = table.counts(name).tolist()
        values = table.arrays[SlotKind.OUT_VALUES, name, 0].array
        copy = is_sparse(values, sum(counts))
        return _Snapshots(table, counts, copy)

    def snapshots_of(
        self, snapshots: _Snapshots, call: int, rows: Mapping[str, SnapshotBuffer]
    ) -> SnapshotBuffer | JoinedRows:
        """Return the snapshots of a call, of a row object those that it owns."""
        piece = self._piece_of(snapshots, call, rows)
        if isinstance(piece, JoinedRows) or not self.loop.stamped or self.owns_rows:
            return piece
        before = rows[self.loop.reads[0].object].before
        owned = self.cells.of(call)
        starts, _ = piece.times()
        first, stop = starts.searchsorted(
            [owned.first - before, owned.last - before + 1]
        )
        return piece.slice(int(first), int(stop))

    def _piece_of(
        self, snapshots: _Snapshots, call: int, rows: Mapping[str, SnapshotBuffer]
    ) -> SnapshotBuffer | JoinedRows:
        """Return the snapshots that a call wrote."""
        table, copy = snapshots.table, snapshots.copy
        loop, count = self.loop, snapshots.counts[call]
        payload = table.payload(loop, call, count, copy=copy)
        if loop.shares_times:
            first, stop = item(self.begin, call), item(self.stop, call)
            source = rows[loop.reads[0].object]
            if not loop.distinct:
                stamped = loop.stamped
                return source.slice_times(first, stop, payload, row_object=stamped)
            marks = table.marks(loop, call, stop - first)
            source = source.slice_times(first, stop, ())
            return JoinedRows(source, marks, count, payload)
        if loop.implicit_times:
            period = loop.tdom.precision
            start = item(self.begin, call) - period
            layout = TimeLayout.SAMPLED
            return SnapshotBuffer(layout, count, start, period, None, None, payload)
        starts, ends = [
            table.arrays[kind, loop.name, 0].of(call, count, copy=copy).view(np.int64)
            for kind in TIMES
        ]
        layout = TimeLayout.OVERLAPPING if loop.stamped else TimeLayout.INTERVALS
        return SnapshotBuffer(
            layout,
            count,
            0,
            1,
            starts,
            ends,
            payload,
            not loop.stamped,
            row_object=loop.stamped,
        )


def list_outputs(coverage: Coverage[Any]) -> list[SweepOutput]:
    """List the outputs of which calls own cells."""
    outputs = coverage.signature.outputs
    return [
        _output_of(loop, coverage)
        for loop in coverage.signature.loops
        if loop.name in coverage.cells and loop.name in outputs
    ]


def _output_of(loop: Loop, coverage: Coverage[Any]) -> SweepOutput:
    owned = coverage.cells[loop.name]
    first, last = coverage.extents[loop.name]
    own_alone = coverage.count == 1 and (first, last) == (owned.first, owned.last)
    may_have_others = not loop.stamped and not (own_alone and not owned.seam)
    owns_rows = loop.stamped and own_alone and not loop.tdom.at_ends
    if not loop.shares_times:
        return SweepOutput(loop, owned, may_have_others, first, 0, owns_rows)
    begin, stop = coverage.row_range(loop)
    before = coverage.slices[loop.reads[0].object].first
    begin, stop = before + begin, before + stop
    return SweepOutput(loop, owned, may_have_others, begin, stop, owns_rows)
