"""Rows that are folded into states by key and pane, before any of them is moved.

Spark's own aggregates fold where they find our bits: then no row comes to Python. Else
tasks of ours do. A frame of states has the keys and the columns of the states (`c0_0`,
...).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as spark

from tiltpy.ir.nodes import Query
from tiltpy.ir.print.query import format_query
from tiltpy.lifetimes import Interval
from tiltpy.plan.nodes import Misfit, Refusal
from tiltpy.plan.partial_panes import PartialPanes, split_into_panes
from tiltpy.runtime.arrow.timestamps import OutputStamp
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.results.table import format_of
from tiltpy.spark.fold_in_sql import fold_in_sql
from tiltpy.spark.row_states import RowStates
from tiltpy.spark.shuffle_rows import NumberedInput
from tiltpy.spark.sources import null_time
from tiltpy.spark.spill import collect_tables
from tiltpy.spark.types import spark_schema
from tiltpy.spark.worker import run_keys
from tiltpy.spark.worker_memory import spare_old_objects
from tiltpy.spark.worker_task import InputColumns, SparkTask
from tiltpy.types import Struct

Batches = Iterator[pa.RecordBatch]


def plan_partial_panes(
    query: Query, output: str, source: NumberedInput
) -> PartialPanes | Refusal:
    """Split a query of one output and one input by key, or refuse it."""
    (declared,) = query.inputs
    bound = replace(declared, lifetime=source.source.lifetime)
    return split_into_panes(replace(query, inputs=(bound,)), output)


def fold_panes(
    split: PartialPanes, source: NumberedInput, task: SparkTask
) -> tuple[DataFrame, SparkTask]:
    """Fold rows where they are; returns a frame of states and the task of their merge.

    `task` is that of all rows.
    """
    (columns,) = task.inputs
    stamp = OutputStamp(pa.int64(), 1, split.partials.unit)
    (merged,) = split.merge.inputs
    schema = format_of(split.states, merged.type, stamp).schema()
    row_states = _row_states(split, source, columns) if split.of_rows else None
    if row_states is not None:
        schema = _add_rows(schema, row_states, source)
    slots = tuple(f"c0_{number}" for number in range(len(schema)))
    types = zip(slots, spark_schema(schema), strict=True)
    fields = [spark.StructField(slot, field.dataType) for slot, field in types]
    states = InputColumns(
        split.states,
        slots,
        schema,
        columns.keys,
        None,
        Interval(),
        None,
        () if row_states is None else row_states.order,
        columns.declared_at,
        row_states,
    )
    merging = replace(task, text=format_query(split.merge), inputs=(states,))
    try:
        return fold_in_sql(split, source, spark.StructType(fields)), merging
    except Misfit:
        folding = replace(
            task,
            text=format_query(split.partials),
            inputs=(_add_row_columns(columns, row_states),),
            output=split.states,
            stamp=stamp,
            request=Request(),
        )
        rows, names = source.rows_as_named()
        kinds = map(source.source.kind, source.source.declared.keys)
        keys = map(spark.StructField, source.keys, kinds)
        folded = rows.mapInArrow(
            fold_worker(folding, names, row_states), spark.StructType([*keys, *fields])
        )
        return folded, merging


def _row_states(
    split: PartialPanes, source: NumberedInput, columns: InputColumns
) -> RowStates:
    choice, event = source.source.choice, source.source.payload_name
    (merged,) = split.merge.inputs
    assert isinstance(merged.type, Struct)
    assert columns.time is not None, "an input of points"
    return RowStates(
        source.name,
        source.unit,
        columns.lifetime,
        tuple(name for name, _ in merged.type.fields),
        split.of_rows,
        source.slot(columns.time),
        tuple(map(source.slot, columns.order)),
        tuple((source.slot(first), *inside) for first, *inside in choice.payload),
        None if event is None else source.slot(event),
    )


def _add_rows(
    schema: pa.Schema, row_states: RowStates, source: NumberedInput
) -> pa.Schema:
    """Add the columns of the rows whose values states are."""
    ties = [source.source.schema.field(source.slots[slot]) for slot in row_states.ties]
    fields = list(schema)
    fields += (pa.field("", tie.type) for tie in ties)
    for _ in row_states.of_rows:
        fields += (pa.field("", pa.int64()), *(pa.field("", t.type) for t in ties))
    names = zip(row_states.columns, fields, strict=True)
    return pa.schema([field.with_name(name) for name, field in names])


def _add_row_columns(
    columns: InputColumns, row_states: RowStates | None
) -> InputColumns:
    """Add the columns of rows with numbers."""
    if row_states is None:
        return columns
    schema = columns.schema
    for name in row_states.row_columns:  # only the names are read
        schema = schema.append(pa.field(name, pa.null()))
    slots = (*columns.slots, *row_states.row_columns)
    return replace(columns, slots=slots, schema=schema, column=None)


def fold_worker(
    task: SparkTask, columns: Mapping[str, str], row_states: RowStates | None
) -> Callable[[Batches], Batches]:
    """Make a worker that folds as many rows at a time as a task holds.

    `columns` are those of the batches, by our names for them.
    """

    def states(batches: Batches) -> Batches:
        for table in collect_tables(batches, task.memory):
            rows = table.select(list(columns.values())).rename_columns(list(columns))
            _refuse_null_times(task, rows)
            if row_states is not None:
                rows = row_states.number_rows(rows)
            if rows.num_rows:
                yield from _fold(task, rows, row_states)

    return spare_old_objects(states)


def _refuse_null_times(task: SparkTask, rows: pa.Table) -> None:
    """Refuse rows without a time, be they events or not."""
    (columns,) = task.inputs
    assert columns.time is not None, "an input of points"
    slot = columns.slots[columns.schema.names.index(columns.time)]
    if rows.column(slot).null_count:
        raise null_time(columns.name, columns.time)


def _fold(task: SparkTask, table: pa.Table, row_states: RowStates | None) -> Batches:
    """Fold the rows of a table; the states have the keys' types."""
    folded = run_keys(task, table)
    keys = [
        folded.column(number).cast(table.schema.field(slot).type)
        for number, slot in enumerate(task.slots)
    ]
    if row_states is None:
        columns = folded.columns[len(keys) :]
    else:
        columns = row_states.columns_of(folded, table)
    columns = [*keys, *columns]
    names = [str(number) for number in range(len(columns))]
    yield from pa.table(columns, names=names).combine_chunks().to_batches()
