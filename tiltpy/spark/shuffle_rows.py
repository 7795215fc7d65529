"""Rows of the inputs as Spark moves them: under names of our own, times as ticks.

A frame of events has the keys (`k0`, ...), `low` and `high` (the event is valid over
`(low, high]`, as far as its row alone can tell), `there` (whether the row is an event)
and the columns that workers need, which no two inputs have in common.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql import types as spark

from tiltpy.lean_dataclass import dataclass
from tiltpy.spark.sources import SparkSource
from tiltpy.spark.tick_columns import ticks
from tiltpy.types import Unit


@dataclass(frozen=True, slots=True)
class NumberedInput:
    """An input as the `number`-th of a query."""

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
        columns = enumerate(self.source.columns)
        return {f"c{self.number}_{i}": name for i, name in columns}

    def rows(self) -> DataFrame:
        """Select the rows with their keys and columns, none of them without a time."""
        source, times = self.source, self.source.choice.times
        columns = [
            (source.time(name) if name in times else source.column_of(name)).alias(slot)
            for slot, name in self.slots.items()
        ]
        return source.frame.select(*self._key_columns(), *columns)

    def events(self) -> DataFrame:
        """Select the rows and their times."""
        source = self.source
        stamps = [
            ticks(source.time(name), source.kind(name), self.unit)
            for name in source.choice.times
        ]
        low = stamps[0] - source.lifetime.before
        high = stamps[-1] + source.lifetime.after
        columns = [
            source.column_of(name).alias(slot) for slot, name in self.slots.items()
        ]
        return source.frame.select(
            *self._key_columns(),
            low.alias("low"),
            high.alias("high"),
            self._is_event().alias("there"),
            *columns,
        )

    def select_events(self, stamp: Column, columns: Sequence[Column]) -> DataFrame:
        """Select the rows that are events, with their keys.

        The stamps of the others are looked at as well: they may have an error.
        """
        frame = self.source.frame
        if self.source.payload_name is not None:
            frame = frame.where(self._is_event() | stamp.isNull())
        return frame.select(*self._key_columns(), stamp, *columns)

    def _key_columns(self) -> list[Column]:
        columns = []
        for slot, name in zip(self.keys, self.source.declared.keys, strict=True):
            column = self.source.column_of(name)
            if isinstance(self.source.kind(name), spark.FloatType | spark.DoubleType):
                column = canonicalize_floats(column)
            columns.append(column.alias(slot))
        return columns

    def _is_event(self) -> Column:
        """Tell whether a row is an event: its value or struct column is not null."""
        name = self.source.payload_name
        if name is None:
            return sql.lit(True)
        return self.source.column_of(name).isNotNull()


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
    also: Column | None = None,
) -> DataFrame:
    """Join rows of one key, nulls being a key too; `also` must hold of them.

    `left` and `right` have the columns `keys`, and no others in common; without keys
    `right` goes to every row. `how` is as Spark has it.
    """
    names = {key: f"right_{key}" for key in keys}
    right = right.withColumnsRenamed(names) if keys else sql.broadcast(right)
    same = sql.lit(True) if also is None else also
    for key, other in names.items():
        same = same & sql.col(key).eqNullSafe(sql.col(other))
    return left.join(right, same, how).drop(*names.values())
