"""Rows that are folded into states by key and pane, before any of them is moved.

Spark's own aggregates fold where they find our bits: then no row comes to Python. Else
tasks of ours do. A frame of states has the keys and the columns of the states (`c0_0`,
...).
"""

from collections.abc import Callable, Iterator
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
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.spark.fold_in_sql import fold_in_sql
from tiltpy.spark.shuffle_rows import NumberedInput
from tiltpy.spark.spill import collect_tables
from tiltpy.spark.types import spark_schema
from tiltpy.spark.worker import run_keys
from tiltpy.spark.worker_memory import spare_old_objects
from tiltpy.spark.worker_task import InputColumns, SparkTask

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
    kind = split.partials.type_of(split.states)
    schema = OutputTable(split.states, kind, [], stamp).schema
    slots = tuple(f"c0_{number}" for number in range(len(schema)))
    types = zip(slots, spark_schema(schema), strict=True)
    fields = [spark.StructField(slot, field.dataType) for slot, field in types]
    folding = replace(
        task,
        text=format_query(split.partials),
        output=split.states,
        stamp=stamp,
        request=Request(),
    )
    states = InputColumns(
        split.states,
        slots,
        schema,
        columns.keys,
        None,
        Interval(),
        None,
        (),
        columns.declared_at,
    )
    merging = replace(task, text=format_query(split.merge), inputs=(states,))
    try:
        return fold_in_sql(split, source, spark.StructType(fields)), merging
    except Misfit:
        rows = source.rows()
        keys = [rows.schema[key] for key in source.keys]
        folded = rows.mapInArrow(
            fold_worker(folding), spark.StructType([*keys, *fields])
        )
        return folded, merging


def fold_worker(task: SparkTask) -> Callable[[Batches], Batches]:
    """Make a worker that folds as many rows at a time as a task holds."""

    def states(batches: Batches) -> Batches:
        for table in collect_tables(batches, task.memory):
            if table.num_rows:
                yield from _fold(task, table)

    return spare_old_objects(states)


def _fold(task: SparkTask, table: pa.Table) -> Batches:
    """Fold the rows of a table; the states have the keys' types."""
    folded = run_keys(task, table)
    columns = list(folded.columns)
    for number, slot in enumerate(task.slots):
        columns[number] = columns[number].cast(table.schema.field(slot).type)
    names = [str(number) for number in range(len(columns))]
    yield from pa.table(columns, names=names).combine_chunks().to_batches()
