"""Spark's types and Arrow's, of inputs and of results."""

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type

from tiltpy.errors import DataError

ZONE = "UTC"
"""Of stamps with a zone, while they are Arrow's: a zone never changes an instant."""

NO_ARROW = pa.month_day_nano_interval()
"""Stands for a type that Spark does not give to Python: no input can have it either."""

WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}
"""Types that hold the unsigned integers, which Spark has not."""


def arrow_schema(schema: spark.StructType) -> pa.Schema:
    """Make the schema of a DataFrame as workers get it."""
    return pa.schema([(field.name, _to_arrow(field.dataType)) for field in schema])


def _to_arrow(kind: spark.DataType) -> pa.DataType:
    try:
        return to_arrow_type(kind, timezone=ZONE)
    except PySparkTypeError:
        return NO_ARROW


def result_schema(schema: pa.Schema, output: str) -> pa.Schema:
    """Choose the Arrow columns of an output in types that Spark has, too."""
    return pa.schema([(f.name, _storable_type(f.type, output)) for f in schema])


def _storable_type(kind: pa.DataType, output: str) -> pa.DataType:
    if kind in WIDER:
        return WIDER[kind]
    if pa.types.is_struct(kind):
        return pa.struct([(f.name, _storable_type(f.type, output)) for f in kind])
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        if kind.unit == "ns":
            raise DataError(
                f"output '{output}' has times of nanoseconds, and Spark's count "
                "microseconds; write `unit us` in the query, or a coarser one"
            )
        if pa.types.is_duration(kind):
            return pa.duration("us")
        return pa.timestamp("us", None if kind.tz is None else ZONE)
    return kind


def spark_schema(schema: pa.Schema) -> spark.StructType:
    """Make the schema of the same columns in a DataFrame of Spark."""
    fields = [spark.StructField(f.name, from_arrow_type(f.type)) for f in schema]
    return spark.StructType(fields)
