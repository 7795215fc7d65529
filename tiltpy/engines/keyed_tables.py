"""Runs over tables with outputs by key, by groups of rows."""

from collections.abc import Mapping

from tiltpy.engines.keyed_engine import (
    KeyedEngine,
    KeyedEvaluation,
    Rows,
    align_rows,
    announce,
)
from tiltpy.engines.shared_rows import pays_to_share, share_objects
from tiltpy.ir.nodes import Query
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.execution.visit_warnings import Announcement
from tiltpy.runtime.ingest.read_input import InputRows
from tiltpy.runtime.keyed.keyed_run import KeyedRun
from tiltpy.runtime.results.key_columns import Order


def evaluate(
    group: OutputGroup[Kernels],
    run: KeyedRun,
    announcement: Announcement,
    order: Order,
) -> KeyedEvaluation:
    """Compute the outputs of a planned run over their whole domains.

    Few keys and rows are one batch of calls, once there was a run before: what that
    needs takes as long to import as a few runs. A run that is made again has its tasks
    already, which are as fast.
    """
    announce(run, announcement)
    made = None
    if run.is_first and run.is_few and group.has_run:
        from tiltpy.engines import prompt_keyed_runs  # noqa: PLC0415 - late

        made = prompt_keyed_runs.compute(group, run)
    if made is None:
        made = run.run()
    run.is_first = False
    group.has_run = True
    return KeyedEvaluation(made, run.keys, None, run.strings, order)


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
