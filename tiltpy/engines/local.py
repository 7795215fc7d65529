"""The engine over tables: reads the inputs and computes all outputs at once.

What follows from the rows that are bound is planned (`plan_parts`), and can be run
again and again: a plan depends on no values that a run computes.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from tiltpy.engines.engine import Engine, Evaluation
from tiltpy.ir.nodes import Query
from tiltpy.lean_dataclass import record
from tiltpy.plan.nodes import Misfit
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.timestamps import OutputStamp, StampType, output_stamp
from tiltpy.runtime.concurrency.offload import allow_threads
from tiltpy.runtime.execution.hidden_rows import HiddenRows
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions, default_workers
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.execution.time_run import TimeRun
from tiltpy.runtime.execution.vector_range import find_sampling_grid
from tiltpy.runtime.execution.visit_warnings import Announcement
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.ingest.read_input import InputRows, ingest
from tiltpy.runtime.results.key_columns import Order
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.runtime.results.result import Result
from tiltpy.runtime.results.table import format_of
from tiltpy.runtime.results.windows import Grid, IntervalGrid
from tiltpy.types import TDom

if TYPE_CHECKING:
    from tiltpy.engines.keyed_engine import KeyedEvaluation
    from tiltpy.runtime.keyed.keyed_run import KeyedRun
    from tiltpy.runtime.preaggregation.run import FoldKernels


class PlannedPart(Protocol):
    """Outputs that have the same keys, planned over their rows."""

    @property
    def may_repeat(self) -> bool:
        """Return whether other runs over the same bound rows may be made by this plan.

        They may where those are read as they lie, and no copies of them, unless such
        runs are planned in another way from now on.
        """

    def tables(
        self, stamp: OutputStamp, order: Order, workers: int
    ) -> Iterator[OutputTable]:
        """Compute the outputs, and make a table of each."""


@record(frozen=True, slots=True, eq=False)
class PlannedRun:
    """A run over bound rows, planned; several threads may make it at once.

    `inputs` are the rows that are not folded as they come.
    """

    query: Query
    parts: Sequence[PlannedPart]
    inputs: Mapping[str, InputRows]
    stamp: OutputStamp
    grids: Mapping[str, Grid]
    options: RunOptions
    hidden: HiddenRows | None

    def run(self, order: Order = "key") -> Result:
        """Compute the outputs; `Misfit` if a fold meets more keys than it can have."""
        workers = self.options.workers or default_workers()
        with allow_threads(workers):
            tables: dict[str, OutputTable] = {}
            for part in self.parts:
                for table in part.tables(self.stamp, order, workers):
                    tables[table.name] = table
                    table.grid = self.grids.get(table.name)
            return Result([tables[name] for name in self.query.outputs])


@record(frozen=True, slots=True, eq=False)
class PlannedGroup:
    """Outputs that are not folded, planned over time or by key.

    `may_repeat` is as in `PlannedPart`: where strings are encoded for the query, runs
    read copies of rows.
    """

    group: OutputGroup[Kernels]
    options: RunOptions
    plan: "TimeRun | KeyedRun"
    evaluate: "Callable[[Announcement, Order], Evaluation | KeyedEvaluation]"
    may_repeat: bool

    def tables(
        self, stamp: OutputStamp, order: Order, workers: int
    ) -> Iterator[OutputTable]:
        """Compute the outputs, and make a table of each."""
        announcement = Announcement(self.group.query, self.options.costs.run)
        evaluation = self.evaluate(announcement, order)
        for name, of in self.group.types.items():
            yield evaluation.table(format_of(name, of, stamp), workers)


def bind_inputs(
    query: Query,
    bindings: Mapping[str, InputBinding],
    *,
    allow_sort: bool,
    leave: Collection[str] = (),
) -> dict[str, InputRows]:
    """Read every input of a query, but for those to `leave`."""
    rows = {}
    for declared in query.inputs:
        if declared.name not in leave:
            rows[declared.name] = ingest(
                declared,
                bindings[declared.name],
                unit=query.unit,
                allow_sort=allow_sort,
            )
    return rows


def run_parts(
    query: Query,
    parts: "Sequence[OutputGroup[FoldKernels]]",
    bindings: Mapping[str, InputBinding],
    request: Request,
    options: RunOptions,
    order: Order = "key",
) -> Result:
    """Compute the outputs of a query, those of each set of keys by themselves."""
    plan = partial(plan_parts, query, parts, bindings, request)
    return plan_and_run(plan, options, order)[0]


def plan_and_run(
    plan: Callable[[RunOptions], PlannedRun], options: RunOptions, order: Order
) -> tuple[Result, PlannedRun]:
    """Plan a run and make it; rows are grouped where a fold meets too many keys.

    Its plan was made of a sample of them.
    """
    planned = plan(options)
    try:
        return planned.run(order), planned
    except Misfit:
        planned = plan(replace(options, preaggregate=False))
        return planned.run(order), planned


def plan_parts(
    query: Query,
    parts: "Sequence[OutputGroup[FoldKernels]]",
    bindings: Mapping[str, InputBinding],
    request: Request,
    options: RunOptions,
    hidden: HiddenRows | None = None,
) -> PlannedRun:
    """Plan the outputs of a query, those of each set of keys by themselves.

    `hidden` counts the rows that no output for each row shows. Workers share what is
    done over all rows of an input.
    """
    with allow_threads(options.workers or default_workers()):
        return _plan_parts(query, parts, bindings, request, options, hidden)


def _plan_parts(
    query: Query,
    parts: "Sequence[OutputGroup[FoldKernels]]",
    bindings: Mapping[str, InputBinding],
    request: Request,
    options: RunOptions,
    hidden: HiddenRows | None,
) -> PlannedRun:
    folds: dict[OutputGroup[FoldKernels], PlannedPart] = {}
    stamps: dict[str, StampType] = {}
    grouped: set[str] = set()
    for group in parts:
        fold = None
        if group.is_keyed:
            from tiltpy.engines import folded_tables  # noqa: PLC0415 - late

            fold = folded_tables.plan_folds_of(
                group, bindings, request, options, alone=len(parts) == 1
            )
        if fold is None:
            grouped |= group.inputs
        else:
            folds[group] = fold
            stamps[fold.rows_of] = fold.stamps
    bound = bind_inputs(
        query,
        bindings,
        allow_sort=options.allow_sort,
        leave=stamps.keys() - grouped,
    )
    for name, rows in bound.items():
        stamps[name] = rows.stamps
        if hidden is not None:
            hidden.add(name, rows.buffer, rows.groups)
    planned = [
        folds[group] if group in folds else plan_part(group, bound, request, options)
        for group in parts
    ]
    grids = {
        name: find_grid(definition.tdom, query, request, bindings, bound)
        for group in parts
        for name, definition in group.outputs.items()
        if definition.tdom.rows is None
    }
    stamp = output_stamp(stamps, query.unit)
    return PlannedRun(query, planned, bound, stamp, grids, options, hidden)


def find_grid(
    tdom: TDom,
    query: Query,
    request: Request,
    bindings: Mapping[str, InputBinding],
    inputs: Mapping[str, InputRows],
) -> Grid:
    """Find the grid of an output, not one of rows, of a run over some inputs."""
    limits = request.limits(tdom)
    if tdom.cells is None:
        return Grid(tdom, *limits)
    declared = query.input(tdom.cells)
    assert declared is not None
    lifetime = declared.lifetime or bindings[tdom.cells].lifetime
    before = 0 if lifetime is None or lifetime.columns else lifetime.before
    buffer = None if declared.keys else inputs[tdom.cells].buffer
    return IntervalGrid(tdom, *limits, buffer, before)


def run(
    group: OutputGroup[Kernels],
    inputs: Mapping[str, InputRows],
    request: Request,
    options: RunOptions,
    order: Order = "key",
    stamp: OutputStamp | None = None,
) -> Result:
    """Compute the outputs of a group over its bound inputs.

    `stamp` is the kind of their times, of these inputs and others. `order` is that of
    the rows of outputs by key.
    """
    if stamp is None:
        stamps = {name: rows.stamps for name, rows in inputs.items()}
        stamp = output_stamp(stamps, group.query.unit)
    workers = options.workers or default_workers()
    part = plan_part(group, inputs, request, options)
    return Result(list(part.tables(stamp, order, workers)))


def plan_part(
    group: OutputGroup[Kernels],
    inputs: Mapping[str, InputRows],
    request: Request,
    options: RunOptions,
) -> PlannedPart:
    """Plan a run of a group over its bound inputs; nothing is computed.

    A run over few rows is one call, once there was one before: what that needs takes
    as long to import as a few runs.
    """
    rows = {each.name: inputs[each.name].buffer for each in group.query.inputs}
    if group.is_keyed or not _are_few(rows, options):
        return plan_group(group, inputs, request, options)
    if group.has_run:
        from tiltpy.engines import prompt_runs  # noqa: PLC0415 - late

        prompt = prompt_runs.plan(group, rows, request, options.costs)
        if prompt is not None:
            return prompt
    planned = plan_group(group, inputs, request, options)
    if not group.has_run:
        group.has_run = True
        planned = replace(planned, may_repeat=False)
    return planned


def _are_few(rows: Mapping[str, SnapshotBuffer], options: RunOptions) -> bool:
    """Tell whether one sweep may compute a run over rows: they are few, or not regular.

    A vector kernel serves where there are more than few, and all are regular.
    """
    costs, total = options.costs.run, sum([buffer.n for buffer in rows.values()])
    if total > costs.linear_call_rows or options.vector is not None:
        return False
    if options.chunk is not None or options.progress is not None:
        return False
    return total < costs.vector_rows or any(
        find_sampling_grid(buffer, options.costs) is None for buffer in rows.values()
    )


def plan_group(
    group: OutputGroup[Kernels],
    inputs: Mapping[str, InputRows],
    request: Request,
    options: RunOptions,
) -> PlannedGroup:
    """Plan a run of a group over its bound inputs; nothing is computed."""
    rows = {each.name: inputs[each.name].buffer for each in group.query.inputs}
    plan: TimeRun | KeyedRun
    evaluate: Callable[[Announcement, Order], Evaluation | KeyedEvaluation]
    if group.is_keyed:
        from tiltpy.engines import keyed_tables  # noqa: PLC0415 - late

        plan = keyed_tables.plan(group, inputs, request, options)
        evaluate = partial(keyed_tables.evaluate, group, plan)
    else:
        plan = time_run = Engine(group, request, options).plan(None, rows)

        def evaluate(announcement: Announcement, order: Order) -> Evaluation:
            del order  # rows without keys have but one
            engine = Engine(group, request, options, announcement)
            return engine.evaluate(None, rows, plan=time_run)

    return PlannedGroup(group, options, plan, evaluate, _are_read(rows, plan.rows))


def _are_read(
    rows: Mapping[str, SnapshotBuffer], read: Mapping[str, SnapshotBuffer]
) -> bool:
    """Tell whether what is read is bound rows, or those of them that are not hidden."""
    return read.keys() <= rows.keys() and all(
        read[name] is buffer or read[name] in (buffer.without_hidden or ())
        for name, buffer in rows.items()
    )
