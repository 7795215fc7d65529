"""Pre-aggregated runs by key: rows are accumulated in arrival order, never grouped.

They serve where the plan admits all outputs (`plan.preaggregation_plan`), rows are in
order of time, each in one pane, and there are not too many keys for a state of each in
every pane. Otherwise rows are grouped by key (`keyed`), with the same results.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.abi.signature import PaneAggregation
from tiltpy.costs import PreaggregationCosts
from tiltpy.ir.nodes import CutWindow, Input, Query
from tiltpy.ir.reductions import adds_floats
from tiltpy.lean_dataclass import dataclass
from tiltpy.plan.nodes import Misfit, Refusal
from tiltpy.plan.pane_limits import PaneFacts, most_keys, refuse_few_rows, refuse_size
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.pool import physical_memory
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.encode_strings import encode
from tiltpy.runtime.arrow.timestamps import OutputStamp, StampType
from tiltpy.runtime.concurrency.offload import allow_threads
from tiltpy.runtime.execution.kernel import Kernel, Kernels
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.ingest.keys import Keys
from tiltpy.runtime.preaggregation.finalize import PaneAggregate
from tiltpy.runtime.preaggregation.pane_states import (
    CodedKeys,
    FoldCalls,
    Matrices,
    Panes,
    cut_panes,
    pane_grid,
)
from tiltpy.runtime.preaggregation.time_ordered_rows import TimeOrderedRows
from tiltpy.runtime.results.key_columns import KeyColumns, Order
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.runtime.results.table import DeferredRows, OutputRows, format_of
from tiltpy.types import Scalar

NARROW = 1 << 16
"""Rows of a pane from which on their counts need wide numbers."""


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
    names: tuple[str, ...]
    """Those of the keys."""
    stamps: StampType
    strings: Strings
    folded: dict[str, PaneAggregate]
    may_repeat = False
    """It has been made, and is not made again."""

    @property
    def rows_of(self) -> str:
        """The input that the rows are of."""
        return self.query.inputs[0].name

    def tables(
        self, stamp: OutputStamp, order: Order, workers: int = 1
    ) -> Iterator[OutputTable]:
        """A table of each output, whose snapshots are made on demand."""
        for name, folded in self.folded.items():
            pending = _Pending(folded, self.names, order, workers)
            form = format_of(name, self.query.type_of(name), stamp)
            yield OutputTable(form, pending, self.strings, workers=workers)


@dataclass(frozen=True, slots=True, eq=False)
class _Pending(DeferredRows):
    """The snapshots of an output that was folded; workers share making them."""

    folded: PaneAggregate
    names: tuple[str, ...]
    order: Order
    workers: int

    def key_fields(self) -> list[tuple[str, pa.DataType]]:
        """The names and types of the key columns."""
        none = np.zeros(0, np.int64)
        columns = self.folded.matrices.keys.columns(none)
        return [(n, c.type) for n, c in zip(self.names, columns, strict=True)]

    def make(self) -> OutputRows:
        """Make cells of the states, and snapshots of the cells."""
        shared = self.folded.cells_in_all > self.folded.matrices.costs.shared_cells
        with allow_threads(self.workers if shared else 1):
            blocks = self.folded.snapshots()
        none = np.zeros(0, np.int64)
        keys = np.concatenate([none, *(block.keys for block in blocks)])
        counts = np.concatenate([none, *(block.counts for block in blocks)])
        known = Keys(self.names, self.folded.matrices.keys.columns(keys))
        columns = KeyColumns(known, np.arange(len(keys)), counts, self.order)
        return OutputRows([block.buffer() for block in blocks], columns)


class DirectFolds:
    """The outputs of a query over the rows of its only input, folded in each run.

    `Misfit` where they cannot be planned, or where the keys that a run meets, and a
    sample has not, are too many. `are_parts`: as in `plan_folds`.
    """

    def __init__(
        self,
        group: OutputGroup[FoldKernels],
        rows: TimeOrderedRows,
        request: Request,
        options: RunOptions,
        *,
        are_parts: bool = False,
    ) -> None:
        plan = plan_folds(
            group,
            rows,
            options.costs.preaggregation,
            forced=bool(options.preaggregate),
            are_parts=are_parts,
        )
        self._group = group
        self._rows = rows
        self._request = request
        self._progress = options.progress
        self._strings = plan.strings
        self.may_repeat = plan.rows is rows.buffer
        """Runs read no codes of strings."""
        self._folds = [ReadyFold(each, plan.rows, plan.strings) for each in plan.folds]

    @property
    def rows_of(self) -> str:
        """The input that the rows are of."""
        return self._group.query.inputs[0].name

    @property
    def stamps(self) -> StampType:
        """The kind of times of the rows."""
        return self._rows.stamps

    def run(self, workers: int) -> PreaggregatedRun:
        """Fold the rows."""
        folded = {}
        for number, ready in enumerate(self._folds):
            fold, matrices = ready.fill(self._rows, workers)
            self._folds[number] = fold
            definition = self._group.outputs[fold.name]
            folded[fold.name] = PaneAggregate(
                matrices, fold.cells, definition.tdom, definition.type, self._request
            )
        if self._progress is not None:
            self._progress(1, 1)
        rows, query = self._rows, self._group.query
        return PreaggregatedRun(query, rows.names, rows.stamps, self._strings, folded)

    def tables(
        self, stamp: OutputStamp, order: Order, workers: int
    ) -> Iterator[OutputTable]:
        """Fold the rows, and make a table of each output."""
        return self.run(workers).tables(stamp, order, workers)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The folds of a query's outputs, and the rows with their strings encoded."""

    layouts: Mapping[str, Layout]
    rows: SnapshotBuffer
    strings: Strings
    folds: list["Fold"]


def plan_folds(
    group: OutputGroup[FoldKernels],
    rows: TimeOrderedRows,
    costs: PreaggregationCosts,
    *,
    forced: bool = False,
    are_parts: bool = False,
) -> Plan:
    """Plan the folds; `Misfit` if one is refused, unless it is `forced`.

    `are_parts`: these are some rows of many, whose folds have the same kernels, and add
    up floats as grouped rows do.
    """
    (declared,) = group.query.inputs
    refusal = refuse_few_rows(declared.name, rows.buffer.n, costs, forced=forced)
    if refusal is not None:
        raise Misfit(refusal.reason)
    encoded, strings = encode(group.vocabulary, {declared.name: rows.buffer})
    buffer = encoded[declared.name]
    layouts = {declared.name: _layout(buffer, may_overlap=are_parts)}
    kernels = group.compile_for(layouts)
    aggregations = {}
    for name in group.query.outputs:
        aggregation = kernels.pane_aggregation(name)
        if isinstance(aggregation, Refusal):
            raise Misfit(aggregation.reason)
        if are_parts and aggregation.merged > 1 and adds_floats(group.query):
            raise Misfit(f"windows of ~{name} have several panes")
        aggregations[name] = aggregation
    folds = [
        replace(Fold.of(name, aggregation, rows, kernels, costs), wide=are_parts)
        for name, aggregation in aggregations.items()
    ]
    return Plan(layouts, buffer, strings, folds)


def _layout(buffer: SnapshotBuffer, *, may_overlap: bool) -> Layout:
    """Return what kernels are specialised for: nulls, and rows that may overlap."""
    overlap = may_overlap or buffer.layout is TimeLayout.OVERLAPPING
    time = TimeLayout.OVERLAPPING if overlap else TimeLayout.SAMPLED
    return Layout(time, tuple(column.validity is not None for column in buffer.columns))


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One output, about to be folded: its panes, and its keys, `most` of them."""

    name: str
    aggregation: PaneAggregation
    panes: Panes
    keys: CodedKeys
    most: int
    kernels: FoldKernels
    costs: PreaggregationCosts
    wide: bool = False
    """Counts are wide, as those of other rows may be large."""

    @staticmethod
    def of(
        name: str,
        aggregation: PaneAggregation,
        rows: TimeOrderedRows,
        kernels: FoldKernels,
        costs: PreaggregationCosts,
        most: int | None = None,
    ) -> "Fold":
        """Find the panes and keys of an output, or raise `Misfit`.

        `most` bounds the keys where these are not all rows.
        """
        bounds = rows.buffer.bounds()
        assert bounds is not None
        grid = pane_grid(aggregation)
        _, count = grid.span(bounds)
        facts = PaneFacts(
            aggregation.input,
            rows.buffer.n,
            count,
            len(aggregation.states),
            aggregation.merged,
        )
        bound = most_keys(facts, costs) if most is None else most
        if isinstance(bound, Refusal):
            raise Misfit(bound.reason)
        keys = _keys(aggregation, rows, bound, count)
        panes = cut_panes(grid, rows.buffer)
        if panes is None:
            raise Misfit(f"rows of ~{aggregation.input} are in more than one pane")
        entry = sum(scalar.entry_bytes for scalar in aggregation.states)
        size, memory = count * keys.count * entry, physical_memory()
        refusal = refuse_size(name, panes.longest, size, memory, facts, costs)
        if refusal is not None:
            raise Misfit(refusal.reason)
        return Fold(name, aggregation, panes, keys, bound, kernels, costs)

    @property
    def narrow(self) -> bool:
        """Return whether counts in a pane are small."""
        return not self.wide and self.panes.longest < NARROW

    def widen(self, rows: TimeOrderedRows) -> "Fold":
        """Return the fold of all keys, where the sampled range has not all."""
        rows.widen()
        keys = _keys(self.aggregation, rows, self.most, len(self.panes))
        return replace(self, keys=keys)


class ReadyFold:
    """A fold with its calls over rows, for any number of runs.

    `cells` is the kernel that makes cells of its states.
    """

    def __init__(self, fold: Fold, rows: SnapshotBuffer, strings: Strings) -> None:
        kernel, self.cells = fold.kernels.preaggregation_kernels(
            fold.name, fold.keys.scalar, narrow=fold.narrow
        )
        self.name = fold.name
        self._fold = fold
        self._rows = rows
        self._strings = strings
        matrices = Matrices(
            kernel.signature, rows, fold.keys, fold.panes, strings, fold.costs
        )
        self._calls = FoldCalls(kernel, matrices)

    def fill(self, rows: TimeOrderedRows, workers: int) -> tuple["ReadyFold", Matrices]:
        """Make the states, and return them with the fold that has all keys.

        It is another one if a key is out of the range that a sample of the rows has.
        """
        matrices = self._calls.run(workers)
        if matrices is not None:
            return self, matrices
        wide = self._fold.widen(rows)
        return ReadyFold(wide, self._rows, self._strings).fill(rows, workers)


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
