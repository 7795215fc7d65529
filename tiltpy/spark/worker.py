"""Functions of Spark's Python workers: partitions of a query, or all rows of keys."""

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.engines.local import run
from tiltpy.engines.partition import (
    PartitionOutput,
    PartitionRange,
    run_partition,
)
from tiltpy.errors import TiltError
from tiltpy.lean_dataclass import dataclass
from tiltpy.passes.resolve_boundaries import resolve_boundaries
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrow.timestamps import from_ticks
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.spark.oversized_keys import stream_keys
from tiltpy.spark.spill import read_shares
from tiltpy.spark.worker_memory import spare_old_objects
from tiltpy.spark.worker_task import (
    SparkTask,
    failure,
    group_of,
    ingest_inputs,
    list_key,
)

DESCRIPTION = -1
"""The number of no input: its row describes a partition."""
CLOSES, OPENS = 0, 1
"""Fragments at seams: the end of a snapshot that goes on from before, and the beginning
of one that goes on behind, in this order within a partition."""
BATCH_ROWS = 1 << 16
"""Rows that go back to Spark at once."""
Batches = Iterator[pa.RecordBatch]


def partition_worker(task: SparkTask) -> Callable[[Batches], Batches]:
    """Make a worker of the snapshots of partitions, but for those that end later."""

    def snapshots(batches: Batches) -> Batches:
        for partition, output in _run_partitions(task, batches):
            table = output.table.to_arrow()
            if output.open:
                table = table.slice(0, table.num_rows - 1)
            yield from _as_spark_batches(partition.key, table, task.schema)

    return spare_old_objects(snapshots)


def key_worker(task: SparkTask) -> Callable[[Batches], Batches]:
    """Make a worker of the snapshots of keys whose rows are all there."""

    def snapshots(batches: Batches) -> Batches:
        for share in read_shares(batches, task.slots, task.memory):
            if share.nbytes <= task.memory:
                yield from _as_spark_batches(
                    (), run_keys(task, share.table()), task.schema
                )
                continue
            for key, table in stream_keys(task, share):
                yield from _as_spark_batches(key, table, task.schema)

    return spare_old_objects(snapshots)


def group_worker(task: SparkTask) -> Callable[[Batches], Batches]:
    """Make a worker of groups of keys and what all keys see, group after group."""

    def snapshots(batches: Batches) -> Batches:
        for share in read_shares(batches, ["group"], task.memory):
            table = share.table()
            for rows in _groups(table, ["group"]):
                results = run_keys(task, table.take(pa.array(rows)))
                yield from _as_spark_batches((), results, task.schema)

    return spare_old_objects(snapshots)


def run_keys(task: SparkTask, table: pa.Table) -> pa.Table:
    """Compute the output of the keys in a table, in order of keys."""
    group = group_of(task.text, task.options, by_key=True)
    try:
        rows = ingest_inputs(task, group.query, table)
        result = run(group, rows, task.request, task.run_options, stamp=task.stamp)
        return result[task.output].to_arrow()
    except TiltError as error:
        raise failure(task, [], error) from None


def fragment_worker(task: SparkTask) -> Callable[[Batches], Batches]:
    """Make a worker of the snapshots at the seams of partitions."""
    schema = fragments_schema(task.schema)

    def fragments(batches: Batches) -> Batches:
        for partition, output in _run_partitions(task, batches):
            table = output.table.to_arrow()
            if output.carried is not None and not output.carried_on:
                end = from_ticks(np.array([output.carried]), output.table.stamp, "")
                nothing = [pa.nulls(1, field.type) for field in table.schema]
                nothing[1] = end.cast(table.schema.field(1).type)
                closing = pa.Table.from_arrays(nothing, schema=table.schema)
                yield from _as_spark_batches(
                    partition.key, closing, schema, partition.number, CLOSES
                )
            if output.open:
                last = table.slice(table.num_rows - 1)
                yield from _as_spark_batches(
                    partition.key, last, schema, partition.number, OPENS
                )

    return spare_old_objects(fragments)


def fragments_schema(schema: pa.Schema) -> pa.Schema:
    """Make the schema of fragments of an output's snapshots, under names of our own."""
    columns = [(f"c{number}", field.type) for number, field in enumerate(schema)]
    return pa.schema([*columns, ("partition", pa.int64()), ("role", pa.int32())])


@dataclass(frozen=True, slots=True)
class PartitionId:
    """A partition: of which key (columns of one row), and its number."""

    key: tuple[pa.Array, ...]
    number: int


def _run_partitions(
    task: SparkTask, batches: Batches
) -> Iterator[tuple[PartitionId, PartitionOutput]]:
    """Compute the partitions whose rows are in the batches, one after the other."""
    for share in read_shares(batches, [*task.slots, "partition"], task.memory):
        yield from _partitions_of(task, share.table())


def _partitions_of(
    task: SparkTask, table: pa.Table
) -> Iterator[tuple[PartitionId, PartitionOutput]]:
    slots = task.slots
    alone = group_of(task.text, task.options, by_key=False)
    query = alone.query
    group = OutputGroup(resolve_boundaries(query), alone.compile_for)
    for rows in _groups(table, [*slots, "partition"]):
        share = table.take(pa.array(rows))
        number = share.column("partition")[0].as_py()
        key = tuple(share.column(slot).chunk(0).slice(0, 1) for slot in slots)
        inputs = share.column("input").to_numpy()
        step, base, *times = _description(share, inputs, len(task.inputs))
        assert step is not None
        assert base is not None
        low = base + number * step
        high = low + step
        bounds = {}
        for each, first, last in zip(task.inputs, times[::2], times[1::2], strict=True):
            span = None if first is None or last is None else (first, last)
            bounds[each.name] = span
        partition_range = PartitionRange(low, high, bounds)
        try:
            outputs = run_partition(
                group,
                ingest_inputs(task, query, share),
                task.request,
                task.run_options,
                partition_range,
                task.stamp,
            )[task.output]
        except TiltError as error:
            where = list_key(task.keys, key)
            where.append(f"ticks {low} to {high}")
            raise failure(task, where, error) from None
        yield PartitionId(key, number), outputs


def description_columns(inputs: int) -> list[str]:
    """List the columns that describe a partition of a query of so many inputs."""
    return [f"d{number}" for number in range(2 + 2 * inputs)]


def _description(
    table: pa.Table, inputs: NDArray[np.int32], count: int
) -> list[int | None]:
    """Read the numbers that tell of a partition and of `count` inputs."""
    (row,) = np.flatnonzero(inputs == DESCRIPTION)
    return [table.column(name)[int(row)].as_py() for name in description_columns(count)]


def _groups(table: pa.Table, names: list[str]) -> list[I64Array]:
    """Group the numbers of the rows that have the same values in some columns."""
    codes = np.zeros(table.num_rows, np.int64)
    for name in names:
        column = table.column(name).combine_chunks()
        encoded = column.dictionary_encode(null_encoding="encode")
        size = len(encoded.dictionary)
        _, codes = np.unique(
            codes * size + encoded.indices.to_numpy(), return_inverse=True
        )
    order = np.argsort(codes, kind="stable")
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    return np.split(order, cuts)


def _as_spark_batches(
    key: tuple[pa.Array, ...],
    table: pa.Table,
    schema: pa.Schema,
    *trailing: int,
) -> Batches:
    """Convert a table to batches of Spark's types, behind its key.

    `trailing` are the values of further columns, the same in each row.
    """
    if table.num_rows == 0:
        return
    columns = [*table.columns, *(pa.array([number]) for number in trailing)]
    columns = [*(pa.repeat(column[0], table.num_rows) for column in key), *columns]
    arrays = [
        column.cast(field.type) for column, field in zip(columns, schema, strict=True)
    ]
    whole = pa.Table.from_arrays(arrays, schema=schema)
    yield from whole.to_batches(max_chunksize=BATCH_ROWS)
