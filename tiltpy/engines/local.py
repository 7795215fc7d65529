"""The engine over tables: reads the inputs and computes all outputs at once."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary, ref

from tiltpy.engines.engine import Engine, Evaluation
from tiltpy.ir.nodes import Query
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.timestamps import OutputStamp, StampType, output_stamp
from tiltpy.runtime.concurrency.offload import allow_threads
from tiltpy.runtime.execution.hidden_rows import HiddenRows
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions, default_workers
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.execution.time_run import TimeRun
from tiltpy.runtime.execution.visit_warnings import Announcement
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.ingest.read_input import InputRows, ingest
from tiltpy.runtime.results.key_columns import Order
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.runtime.results.result import Result
from tiltpy.runtime.results.windows import Grid, IntervalGrid
from tiltpy.types import TDom

if TYPE_CHECKING:
    from tiltpy.engines.keyed_engine import KeyedEvaluation
    from tiltpy.runtime.keyed.keyed_run import KeyedRun
    from tiltpy.runtime.preaggregation.run import FoldKernels, PreaggregatedRun


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
    hidden: HiddenRows | None = None,
) -> Result:
    """Compute the outputs of a query, those of each set of keys by themselves.

    `hidden` counts the rows that no output for each row shows. Workers share what is
    done over all rows of an input, too.
    """
    with allow_threads(options.workers or default_workers()):
        return _run_parts(query, parts, bindings, request, options, order, hidden)


def _run_parts(
    query: Query,
    parts: "Sequence[OutputGroup[FoldKernels]]",
    bindings: Mapping[str, InputBinding],
    request: Request,
    options: RunOptions,
    order: Order,
    hidden: HiddenRows | None,
) -> Result:
    direct: dict[OutputGroup[FoldKernels], PreaggregatedRun] = {}
    stamps: dict[str, StampType] = {}
    grouped: set[str] = set()
    for group in parts:
        folded = None
        if group.is_keyed:
            from tiltpy.engines import keyed_tables  # noqa: PLC0415 - late

            folded = keyed_tables.fold_rows(
                group, bindings, request, options, alone=len(parts) == 1
            )
        if folded is None:
            grouped |= group.inputs
        else:
            direct[group] = folded
            stamps[folded.rows_of] = folded.stamps
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
    stamp = output_stamp(stamps, query.unit)
    tables: dict[str, OutputTable] = {}
    made: Iterable[OutputTable]
    for group in parts:
        if group in direct:
            workers = options.workers or default_workers()
            made = direct[group].tables(stamp, order, workers)
        else:
            made = _run(group, bound, request, options, order, stamp)
        for table in made:
            tables[table.name] = table
            tdom = group.outputs[table.name].tdom
            if tdom.rows is None:
                table.grid = find_grid(tdom, query, request, bindings, bound)
    return Result([tables[name] for name in query.outputs])


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
    return Result(_run(group, inputs, request, options, order, stamp))


def _run(
    group: OutputGroup[Kernels],
    inputs: Mapping[str, InputRows],
    request: Request,
    options: RunOptions,
    order: Order,
    stamp: OutputStamp,
) -> list[OutputTable]:
    announcement = Announcement(group.query, options.costs.run)
    evaluation: Evaluation | KeyedEvaluation
    rows = _rows(group.query, inputs)
    if group.is_keyed:
        from tiltpy.engines import keyed_tables  # noqa: PLC0415 - late

        plan_keys = partial(keyed_tables.plan, group, inputs, request, options)
        keyed_run = _plan_once(group, inputs, rows, request, options, plan_keys)
        evaluation = keyed_tables.evaluate(keyed_run, announcement, order)
    else:
        engine = Engine(group, request, options, announcement)
        plan = partial(engine.plan, None, rows)
        time_run = _plan_once(group, inputs, rows, request, options, plan)
        evaluation = engine.evaluate(None, rows, plan=time_run)
    workers = options.workers or default_workers()
    return [
        evaluation.table(name, of, stamp, workers) for name, of in group.types.items()
    ]


class _Plan(Protocol):
    """A run that can be made again and again, by several threads at once."""

    @property
    def rows(self) -> Mapping[str, SnapshotBuffer]:
        """The rows that it reads."""


P = TypeVar("P", bound=_Plan)


@dataclass(frozen=True, slots=True)
class _LastPlan(Generic[P]):
    """The plan of the last run over some rows, and of what.

    `others` are the rows of its inputs but the first, which drop the plan when they go.
    """

    group: OutputGroup[Kernels]
    request: Request
    options: RunOptions
    run: P
    others: tuple[ref[InputRows], ...]

    def is_of(
        self,
        group: OutputGroup[Kernels],
        request: Request,
        options: RunOptions,
        others: Sequence[InputRows],
    ) -> bool:
        """Tell whether it is the plan of a run like this."""
        if self.group is not group or len(self.others) != len(others):
            return False
        if not all(
            one() is rows for one, rows in zip(self.others, others, strict=True)
        ):
            return False
        return self.request == request and self.options == options


_LAST_PLANS: WeakKeyDictionary[InputRows, _LastPlan[Any]] = WeakKeyDictionary()
"""Plans by the rows of their first input."""


def _plan_once(
    group: OutputGroup[Kernels],
    inputs: Mapping[str, InputRows],
    rows: Mapping[str, SnapshotBuffer],
    request: Request,
    options: RunOptions,
    plan: Callable[[], P],
) -> P:
    """Plan a run, or return the plan of the last one over bound rows if it is alike."""
    if not rows or options.progress is not None:
        return plan()
    first, *others = [inputs[name] for name in rows]
    last: _LastPlan[P] | None = _LAST_PLANS.get(first)
    if last is not None and last.is_of(group, request, options, others):
        return last.run
    run = plan()
    if all(_reads(run.rows[name], buffer) for name, buffer in rows.items()):
        place = ref(first)

        def drop(_: ref[InputRows]) -> None:
            known = place()
            if known is not None:
                _LAST_PLANS.pop(known, None)

        known = tuple(ref(each, drop) for each in others)
        _LAST_PLANS[first] = _LastPlan(group, request, options, run, known)
    return run


def _reads(read: SnapshotBuffer, buffer: SnapshotBuffer) -> bool:
    """Tell whether a run reads the rows of a buffer, and no codes of strings beside."""
    return read is buffer or read in (buffer.without_hidden or ())


def plan_bound(
    group: OutputGroup[Kernels],
    inputs: Mapping[str, InputRows],
    request: Request,
    options: RunOptions,
) -> "KeyedRun | TimeRun":
    """Plan a run of a group over its bound inputs; nothing is computed."""
    if group.is_keyed:
        from tiltpy.engines import keyed_tables  # noqa: PLC0415 - late

        return keyed_tables.plan(group, inputs, request, options)
    return Engine(group, request, options).plan(None, _rows(group.query, inputs))


def _rows(query: Query, inputs: Mapping[str, InputRows]) -> dict[str, SnapshotBuffer]:
    return {declared.name: inputs[declared.name].buffer for declared in query.inputs}
