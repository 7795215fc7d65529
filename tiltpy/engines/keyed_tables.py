"""Runs over tables with outputs by key: by groups of rows, or folded as they come."""

from collections.abc import Mapping
from contextlib import suppress

from tiltpy.engines.keyed_engine import (
    KeyedEngine,
    KeyedEvaluation,
    Rows,
    align_rows,
    announce,
)
from tiltpy.engines.shared_rows import pays_to_share, share_objects
from tiltpy.errors import DataError
from tiltpy.ir.nodes import Query
from tiltpy.plan.nodes import Misfit
from tiltpy.runtime.arrays.arrow_pool import are_arrow_pages_reused
from tiltpy.runtime.arrays.pool import physical_memory
from tiltpy.runtime.arrow.parquet_scan import ParquetScan
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
    if alone and are_arrow_pages_reused():
        folded = fold_file(group, bindings, request, options, physical_memory())
        if folded is not None:
            return folded
    rows = read_in_time_order(declared, binding, group.query.unit, costs)
    if isinstance(rows, str):
        return None
    try:
        return DirectFolds(group, rows, request, options)
    except Misfit:
        return None


def fold_file(
    group: OutputGroup[FoldKernels],
    bindings: Mapping[str, InputBinding],
    request: Request,
    options: RunOptions,
    memory: int,
    *,
    several_panes: bool = True,
) -> PreaggregatedRun | None:
    """Fold the rows of a group's only input part by part, where it is read of files.

    `memory` and `several_panes` are as in `fold_in_parts`. None where it cannot be; an
    error says where it is only over rows that are read otherwise.
    """
    declared = only_input(group.query)
    if declared is None or options.preaggregate is False:
        return None
    binding = bindings[declared.name]
    if not isinstance(binding.frame, ParquetScan):
        return None
    with suppress(Misfit, DataError):
        return fold_in_parts(
            group, binding, request, options, memory, several_panes=several_panes
        )
    return None


def evaluate(
    run: KeyedRun, announcement: Announcement, order: Order
) -> KeyedEvaluation:
    """Compute the outputs of a planned run over their whole domains."""
    announce(run, announcement)
    return KeyedEvaluation(run.run(), run.keys, None, run.strings, order)


def plan(
    group: OutputGroup[Kernels],
    inputs: Mapping[str, InputRows],
    request: Request,
    options: RunOptions,
) -> KeyedRun:
    """Plan a run of a group; nothing is computed but what its keys share."""
    keys, rows = align_rows(_rows(group.query, inputs))
    run = KeyedEngine(group, request, options).run_over(keys, rows)
    shared = group.shared
    if shared is None or not run.whole:
        return run
    if not pays_to_share(run, shared.objects.query, options.costs.keys):
        return run
    return share_objects(run, rows, shared, request, options)


def _rows(query: Query, inputs: Mapping[str, InputRows]) -> dict[str, Rows]:
    bound = {declared.name: inputs[declared.name] for declared in query.inputs}
    return {
        name: rows.buffer if rows.keys is None else (rows,)
        for name, rows in bound.items()
    }
