"""Times of rows as ticks, in SQL: Spark sends rows to partitions by them.

Expressions are texts, which Spark parses in one call: of a `Column`, each operator is
several calls of the JVM. A stamp that does not fit is reported by the worker that reads
the row.
"""

from pyspark.sql import Column
from pyspark.sql import functions as sql
from pyspark.sql import types as spark

from tiltpy.lean_dataclass import dataclass
from tiltpy.types import MAX_TIME, NANOSECONDS, Unit

MICROSECOND, DAY = NANOSECONDS["us"], NANOSECONDS["d"]
DAY_US = DAY // MICROSECOND


def ticks(column: str, kind: spark.DataType, tick: Unit | None) -> str:
    """Convert a time column to ticks, rounded down, within what any query can have."""
    count, unit = _count(column, kind)
    return _within(count, MAX_TIME) if unit == 1 else _scale(count, unit, tick)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the greatest ticks of a stamp, and what is said of any other."""

    low: int
    high: int
    error: str


def whole_ticks(
    column: str, kind: spark.DataType, tick: Unit | None, bounds: Bounds
) -> Column | None:
    """Convert a time column to ticks; None where a tick may have several stamps.

    A stamp out of bounds is an error when the row is read.
    """
    count, unit = _count(column, kind)
    length = NANOSECONDS[tick] if tick and unit > 1 else unit
    if unit < length:
        return None
    factor = unit // length
    refused = sql.raise_error(sql.lit(bounds.error)).cast("long")
    low, high = -(-bounds.low // factor), bounds.high // factor
    fits = sql.expr(f"{count} BETWEEN {low} AND {high}")
    return sql.when(fits, sql.expr(f"{count} * {factor}")).otherwise(refused)


def _count(column: str, kind: spark.DataType) -> tuple[str, int]:
    """Count the time since 1970, in nanoseconds of a unit; ticks are units of 1."""
    match kind:
        case spark.TimestampType():
            return f"unix_micros({column})", MICROSECOND
        case spark.TimestampNTZType():
            return _wall_clock(column), MICROSECOND
        case spark.DateType():
            return f"CAST(unix_date({column}) AS bigint)", DAY
        case _:
            return f"CAST({column} AS bigint)", 1


def _wall_clock(column: str) -> str:
    """Count microseconds since 1970 by a clock without a zone.

    All casts of such stamps to instants go by the session's zone, in which some of them
    do not exist.
    """
    days = f"CAST(unix_date(CAST({column} AS date)) AS bigint)"
    minutes = f"CAST(hour({column}) * 60 + minute({column}) AS bigint)"
    seconds = f"date_part('SECOND', {column})"
    rest = f"CAST(1000000 * {seconds} AS bigint)"
    return f"({days} * {DAY_US} + {minutes} * 60000000 + {rest})"


def _scale(count: str, unit: int, tick: Unit | None) -> str:
    """Scale a count of some unit (both in nanoseconds) to ticks."""
    length = unit if tick is None else NANOSECONDS[tick]
    if unit >= length:
        factor = unit // length
        return (
            count if factor == 1 else f"{_within(count, MAX_TIME // factor)} * {factor}"
        )
    # Division cuts off: what is divided is above zero, and by whole steps too much.
    factor = length // unit
    steps = (1 << 61) // factor
    return f"({count} + {steps * factor}) div {factor} - {steps}"


def _within(count: str, most: int) -> str:
    return f"greatest(least({count}, {most}), {-most})"


def divide_upward(count: str, by: str | int) -> str:
    """Divide whole numbers above zero, rounding up."""
    return f"(({count} + ({by} - 1)) div {by})"
