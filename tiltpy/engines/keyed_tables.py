"""Runs over tables with outputs by key: by groups of rows, or folded as they come."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from tiltpy.engines.engine import are_read
from tiltpy.engines.keyed_engine import (
    KeyedEngine,
    KeyedEvaluation,
    Rows,
    announce,
)
from tiltpy.errors import DataError
from tiltpy.ir.nodes import Query
from tiltpy.lean_dataclass import record
from tiltpy.plan.nodes import Misfit
from tiltpy.runtime.arrays.arrow_pool import are_arrow_pages_reused
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.parquet_scan import ParquetScan
from tiltpy.runtime.arrow.timestamps import OutputStamp
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.execution.visit_warnings import Announcement
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.ingest.read_input import InputRows
from tiltpy.runtime.keyed.keyed_run import KeyedRun
from tiltpy.runtime.preaggregation.fold_parts import fold_in_parts
from tiltpy.runtime.preaggregation.run import (
    DirectFolds,
    FoldKernels,
    PreaggregatedRun,
    only_input,
)
from tiltpy.runtime.preaggregation.time_ordered_rows import read_in_time_order
from tiltpy.runtime.results.key_columns import Order
from tiltpy.runtime.results.output_table import OutputTable


@record(frozen=True, slots=True, eq=False)
class PlannedByKey:
    """Outputs by key, planned over groups of rows."""

    group: OutputGroup[Kernels]
    options: RunOptions
    rows: Mapping[str, SnapshotBuffer]
    plan: KeyedRun

    @property
    def reads_in_place(self) -> bool:
        """Return whether runs read bound rows where they lie: no codes of strings."""
        return are_read(self.rows, self.plan.rows)

    def tables(
        self, stamp: OutputStamp, order: Order, workers: int
    ) -> Iterator[OutputTable]:
        """Compute the outputs, and make a table of each."""
        run = self.plan
        announce(run, Announcement(self.group.query, self.options.costs.run))
        evaluation = KeyedEvaluation(run.run(), run.keys, None, run.strings, order)
        for name, of in self.group.types.items():
            yield evaluation.table(name, of, stamp, workers)


def plan_folds_of(
    group: OutputGroup[FoldKernels],
    bindings: Mapping[str, InputBinding],
    request: Request,
    options: RunOptions,
    *,
    alone: bool = False,
) -> PreaggregatedRun | DirectFolds | None:
    """Plan the outputs of a group without grouping any rows, where that can be.

    `alone`: nothing else is computed from these rows. Then those of a file are read and
    folded part by part, at once.
    """
    declared = only_input(group.query)
    if declared is None or options.preaggregate is False:
        return None
    binding, costs = bindings[declared.name], options.costs.preaggregation
    in_parts = alone and isinstance(binding.frame, ParquetScan)
    if in_parts and are_arrow_pages_reused():
        with suppress(Misfit, DataError):  # the error says where, over all rows at once
            return fold_in_parts(group, binding, request, options)
    rows = read_in_time_order(declared, binding, group.query.unit, costs)
    if isinstance(rows, str):
        return None
    try:
        return DirectFolds(group, rows, request, options)
    except Misfit:
        return None


def plan(
    group: OutputGroup[Kernels],
    inputs: Mapping[str, InputRows],
    request: Request,
    options: RunOptions,
) -> PlannedByKey:
    """Plan a run of a group by key; nothing is computed."""
    rows = _rows(group.query, inputs)
    buffers = {each.name: inputs[each.name].buffer for each in group.query.inputs}
    run = KeyedEngine(group, request, options).plan(rows)
    return PlannedByKey(group, options, buffers, run)


def _rows(query: Query, inputs: Mapping[str, InputRows]) -> dict[str, Rows]:
    bound = {declared.name: inputs[declared.name] for declared in query.inputs}
    return {
        name: rows.buffer if rows.keys is None else (rows,)
        for name, rows in bound.items()
    }
