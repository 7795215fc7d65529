"""The driver's inputs: a checked DataFrame each, and the columns chosen of it.

All that local runs find out about a frame's columns comes from their code, over a frame
of one row: nothing has to run on the cluster for it.
"""

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql import types as spark

from tiltpy.errors import DataError
from tiltpy.inputs import BoundFrame
from tiltpy.ir.nodes import Input, Query
from tiltpy.lean_dataclass import dataclass
from tiltpy.lifetimes import Lifetime
from tiltpy.runtime.arrow.select_columns import Choice, choose_columns
from tiltpy.runtime.arrow.timestamps import StampType
from tiltpy.runtime.ingest.binding import InputBinding, check_bound, complete_input
from tiltpy.runtime.ingest.read_input import ingest
from tiltpy.spark.types import NO_ARROW, arrow_schema
from tiltpy.types import Scalar

DAY_US = 86_400_000_000


@dataclass(frozen=True, slots=True)
class SparkSource:
    """An input as its rows come from a DataFrame.

    `declared` has what was bound, too; its keys are the frame's columns. `order` are
    the columns that decide between rows of one time: those that are named, or all.
    """

    declared: Input
    frame: DataFrame
    choice: Choice
    order: tuple[str, ...]
    schema: pa.Schema
    stamps: StampType

    @property
    def lifetime(self) -> Lifetime:
        """The lifetime of its rows."""
        assert self.declared.lifetime is not None
        return self.declared.lifetime

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that workers need beside the keys."""
        return tuple(replace(self.choice, keys=()).columns)

    @property
    def time_name(self) -> str | None:
        """The column of timestamps; None where there are two."""
        times = self.choice.times
        return times[0] if len(times) == 1 else None

    @property
    def payload_name(self) -> str | None:
        """The column of the payload; None where each field has one."""
        first, *inside = self.choice.payload[0]
        return first if inside or isinstance(self.declared.type, Scalar) else None

    def kind(self, name: str) -> spark.DataType:
        """Find the Spark type of a column."""
        return self.frame.schema[name].dataType

    def column_of(self, name: str) -> Column:
        """Select a column; of times, a row without one is refused by name."""
        column = sql.col(quote_name(name))
        if name not in self.choice.times:
            return column
        refused = sql.raise_error(sql.lit(str(null_time(self.declared.name, name))))
        return sql.coalesce(column, refused.cast(self.kind(name).simpleString()))


def null_time(name: str, column: str) -> DataError:
    """Make the error of a row of an input that has no time."""
    message = "the time is null; fill it in, or drop the row"
    return DataError(message, input=name, column=column)


def quote_name(name: str) -> str:
    """Write the name of a column in SQL, whatever it is."""
    return "`" + name.replace("`", "``") + "`"


def read_sources(
    query: Query, bindings: Mapping[str, InputBinding]
) -> dict[str, SparkSource]:
    """Check the inputs of a query; a `DataError` names what does not fit."""
    for declared in query.inputs:
        if declared.name not in bindings:
            raise DataError(
                "no DataFrame is given for it; give one in "
                f"apply(query, {{'{declared.name}': frame}})",
                input=declared.name,
            )
    check_bound(query, bindings)
    return {
        declared.name: _source(query, declared, bindings[declared.name])
        for declared in query.inputs
    }


def binding_of(query: Query, name: str, frame: object) -> InputBinding:
    """Check what is bound to an input, which must be a DataFrame of Spark."""
    if isinstance(frame, BoundFrame):
        bound = frame.binding(query.unit)
    else:
        bound = InputBinding(frame)
    frame = bound.frame
    if not isinstance(frame, DataFrame):
        kind = type(frame)
        raise DataError(
            f"expected a DataFrame of Spark, found {kind.__module__}."
            f"{kind.__qualname__}; for any other frame there is query.run()",
            input=name,
        )
    if frame.isStreaming:
        raise DataError(
            "a streaming DataFrame has its rows batch by batch, and windows would end "
            "with each of them; read it with spark.read, or run the query live: "
            "tilt.run_live(query, ...)",
            input=name,
        )
    return bound


def _source(query: Query, declared: Input, binding: InputBinding) -> SparkSource:
    frame = binding.frame
    assert isinstance(frame, DataFrame)
    settled = complete_input(declared, binding)
    schema = arrow_schema(frame.schema)
    choice = choose_columns(settled, binding.column, schema)
    used = pa.schema([schema.field(name) for name in choice.columns])
    example = _example_row(used, settled.lifetime)
    stamps = ingest(declared, replace(binding, frame=example), unit=query.unit).stamps
    order = settled.order or _all_columns(settled, choice, frame)
    return SparkSource(settled, frame, choice, order, used, stamps)


def _all_columns(settled: Input, choice: Choice, frame: DataFrame) -> tuple[str, ...]:
    """Order rows that Spark has in no order: by end, then as the columns stand."""
    first = choice.times[0]
    ends = choice.times[1:]
    others = (
        name
        for name in frame.columns
        if name in choice.columns and name not in (first, *ends, *settled.keys)
    )
    return (*ends, *others)


def _example_row(schema: pa.Schema, lifetime: Lifetime | None) -> pa.Table:
    """Make one row of these columns that any query takes whose types fit."""
    both = None if lifetime is None else lifetime.columns
    end = both[1] if both else None
    columns = [_example_value(field.type, later=field.name == end) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _example_value(kind: pa.DataType, *, later: bool = False) -> pa.Array:
    """Make one value of a type; `later` than the others by a day."""
    if kind == NO_ARROW or (pa.types.is_nested(kind) and not pa.types.is_struct(kind)):
        return pa.nulls(1, kind)
    if pa.types.is_struct(kind):
        inner = [_example_value(field.type) for field in kind]
        return pa.StructArray.from_arrays(inner, fields=list(kind))
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return pa.array([DAY_US if later else 0], pa.int64()).cast(kind)
    if pa.types.is_date32(kind):
        return pa.array([int(later)], pa.int32()).cast(kind)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return pa.array([int(later)], kind)
    if pa.types.is_boolean(kind):
        return pa.array([False])
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.array([""], kind)
    return pa.nulls(1, kind)
