"""Pre-aggregated runs by key: rows are accumulated in arrival order, never grouped.

They serve where the plan admits all outputs (`plan.preaggregation_plan`), rows are in
order of time, each in one pane, and there are not too many keys for a state of each in
every pane. Otherwise rows are grouped by key (`keyed`), with the same results.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.abi.signature import PaneAggregation
from tiltpy.ir.nodes import CutWindow, Input, Query
from tiltpy.plan.nodes import Misfit, Refusal
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.pool import physical_memory
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.encode_strings import encode
from tiltpy.runtime.arrow.timestamps import OutputStamp
from tiltpy.runtime.execution.kernel import Kernel, Kernels
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.execution.time_run import SMALL_ROWS, RunOptions, default_workers
from tiltpy.runtime.ingest.keys import Keys
from tiltpy.runtime.preaggregation.finalize import PaneAggregate, PaneSnapshots
from tiltpy.runtime.preaggregation.pane_states import (
    MERGED,
    PER_ROW,
    CodedKeys,
    Matrices,
    Panes,
    cut_panes,
    pane_count,
)
from tiltpy.runtime.preaggregation.time_ordered_rows import TimeOrderedRows
from tiltpy.runtime.results.key_columns import KeyColumns, Order
from tiltpy.runtime.results.result import OutputTable
from tiltpy.runtime.results.table import DeferredRows, OutputRows
from tiltpy.types import Scalar

NARROW = 1 << 16
"""Rows of a pane from which on their counts need wide numbers ..."""
WIDE = 1 << 32
"""... and from which on there are none that are wide enough."""
MEMORY = 4
"""The part of the memory that the states of an output may take."""


class FoldKernels(Kernels, Protocol):
    """Kernels that fold by key, too."""

    def pane_aggregation(self, output: str) -> PaneAggregation | Refusal:
        """Plan the pre-aggregation of an output's windows, or refuse it."""

    def preaggregation_kernels(
        self, output: str, key: Scalar, *, narrow: bool
    ) -> tuple[Kernel, Kernel]:
        """The kernels that fold an output's windows, and make cells of that.

        `key` is the type of the keys; `narrow`: no pane has more than 2**16 - 1 rows.
        """


def only_input(query: Query) -> Input | None:
    """The input by key, if the outputs look at windows of nothing else."""
    if len(query.inputs) != 1 or not query.inputs[0].keys:
        return None
    for name in query.outputs:
        definition = query.definition(name)
        cuts = () if definition is None else definition.cuts
        if not cuts or not all(isinstance(cut, CutWindow) for cut in cuts):
            return None
    return query.inputs[0]


@dataclass(frozen=True, slots=True, eq=False)
class PreaggregatedRun:
    """The outputs of a query, folded: their tables can be made."""

    query: Query
    rows: TimeOrderedRows
    strings: Strings
    folded: dict[str, PaneAggregate]

    @property
    def rows_of(self) -> str:
        """The input that the rows are of."""
        return self.query.inputs[0].name

    def tables(self, stamp: OutputStamp, order: Order) -> Iterator[OutputTable]:
        """A table of each output, whose snapshots are made on demand."""
        for name, folded in self.folded.items():
            pending = _Pending(folded, self.rows, order)
            of = self.query.type_of(name)
            yield OutputTable(name, of, pending, stamp, self.strings)


@dataclass(frozen=True, slots=True, eq=False)
class _Pending(DeferredRows):
    """The snapshots of an output that was folded."""

    folded: PaneAggregate
    rows: TimeOrderedRows
    order: Order

    def key_fields(self) -> list[tuple[str, pa.DataType]]:
        """The names and types of the key columns."""
        none = np.zeros(0, np.int64)
        columns = self.folded.matrices.keys.columns(none)
        return [(n, c.type) for n, c in zip(self.rows.names, columns, strict=True)]

    def make(self) -> OutputRows:
        """Make cells of the states, and snapshots of the cells."""
        parts = self.folded.snapshots()
        none = np.zeros(0, np.int64)
        keys = np.concatenate([none, *(part.keys for part in parts)])
        counts = np.concatenate([none, *(part.counts for part in parts)])
        known = Keys(self.rows.names, self.folded.matrices.keys.columns(keys))
        columns = KeyColumns(known, np.arange(len(keys)), counts, self.order)
        return OutputRows([_piece(part) for part in parts], columns)


def _piece(part: PaneSnapshots) -> SnapshotBuffer:
    layout, count = TimeLayout.INTERVALS, len(part.starts)
    return SnapshotBuffer(layout, count, 0, 1, part.starts, part.ends, part.columns)


def fold_directly(
    part: OutputGroup[FoldKernels],
    rows: TimeOrderedRows,
    request: Request,
    options: RunOptions,
) -> PreaggregatedRun:
    """Fold the rows of the only input of a query; `Misfit` if not."""
    query, plan = part.query, plan_folds(part, rows, few=bool(options.preaggregate))
    workers = options.workers or default_workers()
    found = {}
    for fold in plan.folds:
        matrices, cells = fold.fill(plan.rows, plan.strings, workers)
        definition = query.definition(fold.name)
        assert definition is not None
        tdom, of = definition.tdom, definition.type
        found[fold.name] = PaneAggregate(matrices, cells, tdom, of, request)
    if options.progress is not None:
        options.progress(1, 1)
    return PreaggregatedRun(query, rows, plan.strings, found)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The folds of a query's outputs, and the rows with their strings encoded."""

    layouts: Mapping[str, Layout]
    rows: SnapshotBuffer
    strings: Strings
    folds: list["Fold"]


def plan_folds(
    part: OutputGroup[FoldKernels], rows: TimeOrderedRows, *, few: bool = False
) -> Plan:
    """Plan the folds, of `few` rows too; `Misfit` if one is refused."""
    (declared,) = part.query.inputs
    if rows.buffer.n < SMALL_ROWS and not few:
        raise Misfit(f"~{declared.name} has few rows")
    encoded, strings = encode(part.vocabulary, {declared.name: rows.buffer})
    buffer = encoded[declared.name]
    layouts = {declared.name: _layout(buffer)}
    kernels = part.compile_for(layouts)
    aggregations = {}
    for name in part.query.outputs:
        aggregation = kernels.pane_aggregation(name)
        if isinstance(aggregation, Refusal):
            raise Misfit(aggregation.reason)
        aggregations[name] = aggregation
    folds = [
        Fold.of(name, aggregation, rows, kernels)
        for name, aggregation in aggregations.items()
    ]
    return Plan(layouts, buffer, strings, folds)


def _layout(buffer: SnapshotBuffer) -> Layout:
    """What the kernels are specialised for: nulls, and whether rows may overlap."""
    overlap = buffer.layout is TimeLayout.OVERLAPPING
    time = TimeLayout.OVERLAPPING if overlap else TimeLayout.SAMPLED
    return Layout(time, tuple(one.validity is not None for one in buffer.columns))


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One output, about to be folded: its panes, and its keys, `most` of them."""

    name: str
    aggregation: PaneAggregation
    panes: Panes
    keys: CodedKeys
    most: int
    rows: TimeOrderedRows
    kernels: FoldKernels

    @staticmethod
    def of(
        name: str,
        aggregation: PaneAggregation,
        rows: TimeOrderedRows,
        kernels: FoldKernels,
    ) -> "Fold":
        """The output with its panes and keys; or `Misfit`."""
        bounds = rows.buffer.bounds()
        assert bounds is not None
        count = pane_count(aggregation.pane, aggregation.phase, bounds)
        most = min(
            PER_ROW * rows.buffer.n // (count * len(aggregation.states)),
            MERGED * rows.buffer.n // (count * aggregation.merged),
        )
        if most == 0:
            raise Misfit(
                f"~{aggregation.input} has few rows for {count:,} panes, of which "
                f"windows have {aggregation.merged:,}"
            )
        keys = _keys(aggregation, rows, most, count)
        panes = cut_panes(aggregation.pane, aggregation.phase, rows.buffer)
        if panes is None:
            raise Misfit(f"rows of ~{aggregation.input} are in more than one pane")
        if panes.longest >= WIDE:
            raise Misfit(f"a pane of ~{aggregation.input} has {panes.longest:,} rows")
        entry = sum(scalar.bits // 8 or 1 for scalar in aggregation.states)
        if count * keys.count * entry > physical_memory() // MEMORY:
            raise Misfit(f"the states of ~{name} would take too much memory")
        return Fold(name, aggregation, panes, keys, most, rows, kernels)

    @property
    def narrow(self) -> bool:
        """Whether counts in a pane are small."""
        return self.panes.longest < NARROW

    def fill(
        self, rows: SnapshotBuffer, strings: Strings, workers: int
    ) -> tuple[Matrices, Kernel]:
        """The states, and the kernel that makes cells of them.

        Where a key is out of the range that a sample has, all keys are looked at.
        """
        keys = self.keys
        while True:
            fold, cells = self.kernels.preaggregation_kernels(
                self.name, keys.scalar, narrow=self.narrow
            )
            found = Matrices(fold.signature, rows, keys, self.panes, strings)
            if found.fill(fold, workers):
                return found, cells
            self.rows.widen()
            keys = _keys(self.aggregation, self.rows, self.most, len(self.panes))


def _keys(
    aggregation: PaneAggregation, rows: TimeOrderedRows, most: int, panes: int
) -> CodedKeys:
    keys = rows.keys(most)
    if keys is None:
        raise Misfit(
            f"~{aggregation.input} may have more than {most:,} keys, too many for a "
            f"state of each in {panes:,} panes"
        )
    return keys
