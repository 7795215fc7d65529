"""Rows of the inputs as Spark moves them: under names of our own, times as ticks.

A frame of events has the keys (`k0`, ...), `low` and `high` (the event is valid over
`(low, high]`, as far as its row alone can tell), `there` (whether the row is an event)
and the columns that workers need, which no two inputs have in common.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql import types as spark

from tiltpy.forks import cached_property
from tiltpy.spark.sources import SparkSource
from tiltpy.spark.tick_columns import ticks
from tiltpy.types import Unit


@dataclass(frozen=True)
class NumberedInput:
    """An input as the `number`-th of a query; it has no slots, but keeps `events`."""

    number: int
    source: SparkSource
    unit: Unit | None

    @property
    def name(self) -> str:
        return self.source.declared.name

    @property
    def keys(self) -> list[str]:
        """The key columns under our names."""
        return key_names(len(self.source.declared.keys))

    @property
    def needs_next_row(self) -> bool:
        """Return whether other rows say how long a row is valid."""
        return self.source.lifetime.needs_next_row

    @property
    def slots(self) -> dict[str, str]:
        """The columns that workers need, by our names for them."""
        return {self.slot(name): name for name in self.source.columns}

    def slot(self, name: str) -> str:
        """Find our name for a column that workers need."""
        return f"c{self.number}_{self.source.columns.index(name)}"

    @property
    def columns(self) -> dict[str, str]:
        """The frame's columns by our names: the keys' and the slots."""
        keys = zip(self.keys, self.source.declared.keys, strict=True)
        return {**dict(keys), **self.slots}

    @property
    def is_event(self) -> str:
        """The condition of rows that are events: their value or struct is not null."""
        name = self.source.payload_name
        return "true" if name is None else f"{self.slot(name)} IS NOT NULL"

    def rows(self) -> DataFrame:
        """Select the rows with their keys and columns, none of them without a time."""
        columns = [
            self.source.column_of(name).alias(slot) for slot, name in self.slots.items()
        ]
        return self.source.frame.select(*self._key_columns(), *columns)

    @cached_property
    def events(self) -> DataFrame:
        """Select the rows and their times."""
        source = self.source
        stamps = [
            ticks(self.slot(name), source.kind(name), self.unit)
            for name in source.choice.times
        ]
        return self.rows().selectExpr(
            "*",
            f"{stamps[0]} - {source.lifetime.before} AS low",
            f"{stamps[-1]} + {source.lifetime.after} AS high",
            f"{self.is_event} AS there",
        )

    def rows_as_named(self) -> tuple[DataFrame, dict[str, str]]:
        """Select the rows, and find their columns by our names for them.

        They have the frame's names where these need no quotes and no key is a float:
        to rename columns Spark copies each row once more. Times may be null then.
        """
        columns, frame = self.columns, self.source.frame
        kinds = map(self.source.kind, self.source.declared.keys)
        named = all(name.isascii() and name.isidentifier() for name in columns.values())
        if not named or any(map(_is_float, kinds)):
            return self.rows(), {slot: slot for slot in columns}
        used = set(columns.values())
        return frame.select(*(n for n in frame.columns if n in used)), columns

    def _key_columns(self) -> list[Column]:
        columns = []
        for slot, name in zip(self.keys, self.source.declared.keys, strict=True):
            column = self.source.column_of(name)
            if _is_float(self.source.kind(name)):
                column = canonicalize_floats(column)
            columns.append(column.alias(slot))
        return columns


def _is_float(kind: spark.DataType) -> bool:
    return isinstance(kind, spark.FloatType | spark.DoubleType)


def key_names(count: int) -> list[str]:
    """Name key columns our way."""
    return [f"k{number}" for number in range(count)]


def keys_among(inputs: Sequence[NumberedInput]) -> list[str]:
    """Name the key columns of a query's inputs, some of which may have none."""
    return next((each.keys for each in inputs if each.keys), [])


def canonicalize_floats(column: Column) -> Column:
    """Make both zeros one key, and all NaNs."""
    return sql.when(sql.isnan(column), sql.lit(float("nan"))).otherwise(column + 0.0)


def join_by_key(
    left: DataFrame,
    right: DataFrame,
    keys: list[str],
    how: str = "inner",
    *,
    also: str = "true",
) -> DataFrame:
    """Join rows of one key, nulls being a key too; `also` must hold of them.

    `left` and `right` have the columns `keys`, and no others in common; without keys
    `right` goes to every row. `how` is as Spark has it.
    """
    if not keys:
        return left.join(sql.broadcast(right), sql.expr(also), how)
    names = {key: f"right_{key}" for key in keys}
    same = " AND ".join([also, *(f"{key} <=> {names[key]}" for key in keys)])
    right = right.withColumnsRenamed(names)
    return left.join(right, sql.expr(same), how).drop(*names.values())


def union_rows(frames: Sequence[DataFrame]) -> DataFrame:
    """Put the rows of frames together; what a frame has not, is null in its rows."""
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)
