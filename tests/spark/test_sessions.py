"""Spark works in the tests: a job in this process, and one over a cluster."""

import pyarrow as pa
from pyspark.sql import SparkSession

from tests.spark.jobs import passed_on


def test_rows_pass_through_workers_that_have_tiltpy(spark: SparkSession) -> None:
    frame = spark.range(1000).repartition(3)
    found = frame.mapInArrow(passed_on, frame.schema).toArrow()
    assert sorted(found["id"].to_pylist()) == list(range(1000))
    assert found.schema.field("id").type == pa.int64()
