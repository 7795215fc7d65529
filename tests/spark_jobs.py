"""What tests give Spark to do: functions that its Python workers import."""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from tiltpy.api import parse

Batches = Iterator[pa.RecordBatch]


def passed_on(batches: Batches) -> Batches:
    """The same batches, from a worker that has found tiltpy."""
    assert parse("input x : i64\n~o[t] = ~x[t]\n").query.outputs == ("o",)
    yield from batches


def by_symbol(frame: DataFrame) -> DataFrame:
    sorted_rows = frame.repartition(4, "symbol").sortWithinPartitions(
        "symbol", "ts", "seq"
    )
    return sorted_rows.mapInArrow(passed_on, frame.schema)
