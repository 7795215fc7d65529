"""The engine over tables: reads the inputs and computes all outputs at once."""

from collections.abc import Collection, Mapping, Sequence

from tiltpy.engines.engine import Engine
from tiltpy.ir.nodes import Query
from tiltpy.plan.nodes import Misfit
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.encode_strings import encode
from tiltpy.runtime.arrow.timestamps import OutputStamp, StampType, output_stamp
from tiltpy.runtime.execution.hidden_rows import HiddenRows
from tiltpy.runtime.execution.kernel import Kernels
from tiltpy.runtime.execution.key_domains import RowsByKey
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.execution.run_options import RunOptions
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.execution.time_run import TimeRun
from tiltpy.runtime.execution.visit_warnings import Announcement
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.ingest.keys import Groups, Keys, align
from tiltpy.runtime.ingest.read_input import InputRows, ingest
from tiltpy.runtime.keyed.keyed_run import KeyedRun
from tiltpy.runtime.preaggregation.run import (
    FoldKernels,
    PreaggregatedRun,
    fold_directly,
    only_input,
)
from tiltpy.runtime.preaggregation.time_ordered_rows import read_in_time_order
from tiltpy.runtime.results.key_columns import KeyColumns, Order
from tiltpy.runtime.results.result import OutputTable, Result
from tiltpy.types import Unit


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
    parts: Sequence[OutputGroup[FoldKernels]],
    bindings: Mapping[str, InputBinding],
    request: Request,
    options: RunOptions,
    order: Order = "key",
    hidden: HiddenRows | None = None,
) -> Result:
    """Compute the outputs of a query, those of each set of keys by themselves.

    `hidden` counts the rows that no output for each row shows.
    """
    direct: dict[OutputGroup[FoldKernels], PreaggregatedRun] = {}
    stamps: dict[str, StampType] = {}
    grouped: set[str] = set()
    for group in parts:
        folded = _directly(group, bindings, query.unit, request, options)
        if folded is None:
            grouped |= group.inputs
        else:
            direct[group] = folded
            stamps[folded.rows_of] = folded.rows.stamps
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
    for group in parts:
        if group in direct:
            made = direct[group].tables(stamp, order)
            tables.update((table.name, table) for table in made)
        else:
            result = run(group, bound, request, options, order, stamp)
            tables.update(result.items())
    return Result([tables[name] for name in query.outputs])


def _directly(
    group: OutputGroup[FoldKernels],
    bindings: Mapping[str, InputBinding],
    unit: Unit | None,
    request: Request,
    options: RunOptions,
) -> PreaggregatedRun | None:
    """A part's outputs without grouping any rows, where that can be."""
    declared = only_input(group.query)
    if declared is None or options.preaggregate is False:
        return None
    rows = read_in_time_order(
        declared, bindings[declared.name], unit, options.costs.preaggregation
    )
    if isinstance(rows, str):
        return None
    try:
        return fold_directly(group, rows, request, options)
    except Misfit:
        return None


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
    query = group.query
    if stamp is None:
        stamp = output_stamp({n: i.stamps for n, i in inputs.items()}, query.unit)
    announcement = Announcement(query, options.costs.run)
    by_key = _by_key(group, inputs, request, options)
    if by_key is not None:
        if by_key.beyond_rows:
            announcement.expect(by_key.visits())
        return _run_by_key(query, by_key, order, stamp)
    rows = {declared.name: inputs[declared.name].buffer for declared in query.inputs}
    evaluation = Engine(group, request, options, announcement).evaluate(None, rows)
    return Result(
        [
            OutputTable(
                name,
                query.type_of(name),
                evaluation.pieces.get(name, []),
                stamp,
                evaluation.strings,
            )
            for name in query.outputs
        ]
    )


def plan_bound(
    group: OutputGroup[Kernels],
    inputs: Mapping[str, InputRows],
    request: Request,
    options: RunOptions,
) -> KeyedRun | TimeRun:
    """Plan a run of a group over its bound inputs; nothing is computed."""
    by_key = _by_key(group, inputs, request, options)
    if by_key is not None:
        return by_key
    rows = {
        declared.name: inputs[declared.name].buffer for declared in group.query.inputs
    }
    return Engine(group, request, options).plan(None, rows)


def _by_key(
    group: OutputGroup[Kernels],
    inputs: Mapping[str, InputRows],
    request: Request,
    options: RunOptions,
) -> KeyedRun | None:
    """Make the run over inputs of which some are by key, if any is."""
    rows: dict[str, SnapshotBuffer] = {}
    by_key: dict[str, tuple[Keys, Groups]] = {}
    for declared in group.query.inputs:
        read = inputs[declared.name]
        rows[declared.name] = read.buffer
        if read.keys is not None and read.groups is not None:
            by_key[declared.name] = read.keys, read.groups
    if not by_key:
        return None
    keys, groups = align(by_key)
    aligned = {name: read.buffer for name, read in groups.items()}
    coded, strings = encode(group.vocabulary, {**rows, **aligned})
    inputs_by_key = {
        name: _with_rows(groups.get(name), read) for name, read in coded.items()
    }
    return KeyedRun(
        group.query, group.compile_for, inputs_by_key, keys, strings, request, options
    )


def _run_by_key(
    query: Query, run: KeyedRun, order: Order, stamp: OutputStamp
) -> Result:
    """The outputs where some of the inputs are by key."""
    snapshots = run.run()
    tables = []
    for name in query.outputs:
        pieces = [piece for task in snapshots[name] for piece in task.pieces]
        columns = KeyColumns.of(run.keys, snapshots[name], order)
        of = query.type_of(name)
        tables.append(OutputTable(name, of, pieces, stamp, run.strings, columns))
    return Result(tables)


def _with_rows(groups: Groups | None, rows: SnapshotBuffer) -> RowsByKey:
    """The same keys over rows with other codes of strings."""
    if groups is None or groups.buffer is rows:
        return groups or rows
    return Groups(rows, groups.offsets, groups.firsts, groups.lasts)
