"""Runs over tables with outputs by key whose rows are folded as they come.

They import nothing of runs by groups of rows.
"""

from collections.abc import Mapping
from contextlib import suppress

from tiltpy.errors import DataError
from tiltpy.plan.nodes import Misfit
from tiltpy.plan.pane_limits import refuse_few_rows
from tiltpy.runtime.arrays.arrow_pool import are_arrow_pages_reused
from tiltpy.runtime.arrays.pool import physical_memory
from tiltpy.runtime.arrow.parquet_scan import ParquetScan
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.quick_work import count_rows
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.preaggregation.fold_parts import fold_in_parts
from tiltpy.runtime.preaggregation.run import (
    DirectFolds,
    FoldKernels,
    PreaggregatedRun,
    only_input,
)
from tiltpy.runtime.preaggregation.time_ordered_rows import read_in_time_order


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
    count = count_rows(binding.frame)
    forced = bool(options.preaggregate)
    if count is not None and refuse_few_rows(
        declared.name, count, costs, forced=forced
    ):
        return None
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
