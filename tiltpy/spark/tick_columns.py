"""Times of rows as ticks, in SQL: Spark sends rows to partitions by them.

A stamp that does not fit is reported by the worker that reads the row.
"""

from pyspark.sql import Column
from pyspark.sql import functions as sql
from pyspark.sql import types as spark

from tiltpy.lean_dataclass import dataclass
from tiltpy.types import MAX_TIME, NANOSECONDS, Unit

MICROSECOND, DAY = NANOSECONDS["us"], NANOSECONDS["d"]
DAY_US = DAY // MICROSECOND


def ticks(column: Column, kind: spark.DataType, tick: Unit | None) -> Column:
    """Convert a time column to ticks, rounded down, within what any query can have."""
    match kind:
        case spark.TimestampType():
            return _scale(sql.unix_micros(column), MICROSECOND, tick)
        case spark.TimestampNTZType():
            return _scale(_wall_clock(column), MICROSECOND, tick)
        case spark.DateType():
            return _scale(sql.unix_date(column), DAY, tick)
        case _:
            return _within(column.cast("long"), MAX_TIME)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the greatest ticks of a stamp, and what is said of any other."""

    low: int
    high: int
    error: str


def whole_ticks(
    column: Column, kind: spark.DataType, tick: Unit | None, bounds: Bounds
) -> Column | None:
    """Convert a time column to ticks; None where a tick may have several stamps.

    A stamp out of bounds is an error when the row is read.
    """
    match kind:
        case spark.TimestampType():
            count, unit = sql.unix_micros(column), MICROSECOND
        case spark.TimestampNTZType():
            count, unit = _wall_clock(column), MICROSECOND
        case spark.DateType():
            count, unit = sql.unix_date(column).cast("long"), DAY
        case _:
            count, unit = column.cast("long"), 1
    length = NANOSECONDS[tick] if tick and unit > 1 else unit
    if unit < length:
        return None
    factor = unit // length
    refused = sql.raise_error(sql.lit(bounds.error)).cast("long")
    fits = count.between(-(-bounds.low // factor), bounds.high // factor)
    checked = sql.when(fits, count).otherwise(refused)
    return checked if factor == 1 else checked * factor


def _wall_clock(column: Column) -> Column:
    """Count microseconds since 1970 by a clock without a zone.

    All casts of such stamps to instants go by the session's zone, in which some of them
    do not exist.
    """
    second = sql.expr("1000000") * sql.date_part(sql.lit("SECOND"), column)
    return (
        sql.unix_date(column.cast("date")).cast("long") * DAY_US
        + (sql.hour(column) * 60 + sql.minute(column)).cast("long") * 60_000_000
        + second.cast("long")
    )


def _scale(count: Column, unit: int, tick: Unit | None) -> Column:
    """Scale a count of some unit (both in nanoseconds) to ticks."""
    count = count.cast("long")
    length = unit if tick is None else NANOSECONDS[tick]
    if unit >= length:
        factor = unit // length
        return count if factor == 1 else _within(count, MAX_TIME // factor) * factor
    # Division cuts off: what is divided is above zero, and by whole steps too much.
    factor = length // unit
    steps = (1 << 61) // factor
    return divide_toward_zero(count + steps * factor, sql.lit(factor)) - steps


def _within(count: Column, most: int) -> Column:
    return sql.greatest(sql.least(count, sql.lit(most)), sql.lit(-most))


def divide_toward_zero(count: Column, by: Column) -> Column:
    """Divide whole numbers, cutting off the remainder."""
    return sql.call_function("div", count, by)


def divide_upward(count: Column, by: Column) -> Column:
    """Divide whole numbers above zero, rounding up."""
    return divide_toward_zero(count + (by - 1), by)
