"""The bounds of outputs, found by Spark: one row for each key, never collected.

A frame of bounds has the keys; for input `i` of the query `low{i}` and `high{i}`, the
smallest start and the largest end of its events (null: there are none); `step`, the
length of the partitions into which the key's time is cut, the `base` where they begin,
a multiple of it, and `last`, the number of the last. Partition `n`, from 0 on, is
`(base + n*step, base + (n+1)*step]`.
"""

from collections.abc import Callable, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql

from tiltpy.ir.nodes import TemporalExpr
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.spark.shuffle_rows import NumberedInput, join_by_key, keys_among
from tiltpy.spark.tick_columns import divide_upward
from tiltpy.types import Scalar

MOST_PARTITIONS = 1 << 10
"""Of one key."""
LONGEST = 1 << 60
"""Ticks of a partition, at most."""
MOST_COPIES = 16
"""Partitions in whose halo a row may be."""
REACHES = 4
"""The least length of a partition, in reaches, unless `chunk` is given."""
ALL = "all"
"""The key of rows that have none, while they are aggregated.

Spark turns an aggregate without a key that is used several times into subqueries, one
for each use of each column. As bounds are made of bounds, a query over two inputs had
a thousand operators, and was planned for seconds.
"""


@dataclass(frozen=True, slots=True)
class PartitionGrid:
    """The partitions into which an output's time is cut.

    `chunk` (ticks), where it is given, divides them; otherwise there are `partitions`
    of them, or fewer. `reach` is lookback and lookahead together, in ticks. Lengths are
    multiples of `interval`.
    """

    definition: TemporalExpr
    request: Request
    chunk: int | None
    partitions: int
    reach: int
    interval: int = 1


def find_bounds(
    session: SparkSession, inputs: Sequence[NumberedInput], grid: PartitionGrid
) -> DataFrame:
    """Find the bounds of each key that has an event; without inputs, of no rows."""
    if not inputs:
        return _add_partitions(session.range(1, numPartitions=1).select(), [], grid)
    keys = keys_among(inputs)
    # With keys among them, inputs without are seen by every key.
    seen = [each for each in inputs if each.keys == keys]
    frames = [_input_bounds(each) for each in seen]
    joined = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)
    names = [f"{which}{each.number}" for each in seen for which in ("low", "high")]
    grouped = joined.groupBy(*(keys or [ALL]))
    bounds = grouped.agg(*(sql.max(n).alias(n) for n in names)).drop(ALL)
    for each in inputs:
        if each.keys != keys:
            others = _input_bounds(each).drop(ALL)
            bounds = bounds.crossJoin(sql.broadcast(others))
    return _add_partitions(bounds, inputs, grid)


def _input_bounds(source: NumberedInput) -> DataFrame:
    """Find the bounds of each key; without keys, of `ALL`, be there events or not."""
    low, high = f"low{source.number}", f"high{source.number}"
    events = source.events()
    keys = source.keys or [ALL]
    there = events.where("there").select(*source.keys, "low", "high")
    if not source.keys:
        nothing = there.sparkSession.range(1, numPartitions=1).select(
            *(sql.lit(None).cast("long").alias(name) for name in ("low", "high"))
        )
        zero = sql.lit(0).alias(ALL)
        there = there.select("*", zero).union(nothing.select("*", zero))
    bounds = there.groupBy(*keys).agg(
        sql.min("low").alias(low), sql.max("high").alias(high)
    )
    if not (source.needs_next_row and isinstance(source.source.declared.type, Scalar)):
        return bounds
    # The last event holds until the next stamp, if that is of a null row.
    nulls = events.where("not there").select(
        *source.keys, sql.col("high").alias("null")
    )
    later = join_by_key(nulls, bounds, source.keys).where(
        sql.col("null") > sql.col(high)
    )
    until = later.groupBy(*keys).agg((sql.min("null") - 1).alias("until"))
    longest = sql.col("until")
    most = source.source.lifetime.longest
    if most is not None:
        limit = sql.col(high) + (most - 1)
        longest = sql.when(longest.isNotNull(), sql.least(longest, limit))
    held = sql.coalesce(longest, sql.col(high))
    bounds = join_by_key(bounds, until, keys, "left").withColumn(high, held)
    return bounds.drop("until")


def _add_partitions(
    bounds: DataFrame, inputs: Sequence[NumberedInput], grid: PartitionGrid
) -> DataFrame:
    names, keys = bounds.columns, keys_among(inputs)
    names = [name for name in names if name not in keys]
    tdom, request = grid.definition.tdom, grid.request
    fixed_start, fixed_end = request.limits(tdom)
    start = _farthest(sql.least, [f"low{each.number}" for each in inputs])
    end = _farthest(sql.greatest, [f"high{each.number}" for each in inputs])
    if fixed_start is not None:
        start = sql.lit(fixed_start).cast("long")
    if fixed_end is not None:
        end = sql.lit(fixed_end).cast("long")
    # The last cell is evaluated at its own grid point, which may lie behind the end.
    bounds = bounds.withColumns({"start": start, "end": end + (tdom.longest - 1)})
    bounds = bounds.where(sql.col("start") < sql.col("end"))
    length = sql.col("end") - sql.col("start")
    if grid.chunk is None:
        least = max(1, min(REACHES * grid.reach, LONGEST))
        step = sql.greatest(
            divide_upward(length, sql.lit(grid.partitions)), sql.lit(least)
        )
    else:
        chunk = min(grid.chunk, LONGEST)
        several = divide_upward(
            divide_upward(length, sql.lit(chunk)), sql.lit(MOST_PARTITIONS)
        )
        around = sql.least(length, sql.lit(min(grid.reach, LONGEST)))
        copied = divide_upward(around, sql.lit(min(MOST_COPIES * chunk, LONGEST)))
        # Spark folds constants of rows that are left out, too: nothing is divided by 0.
        step = sql.greatest(several, copied, sql.lit(1)) * chunk
    interval = sql.lit(grid.interval)
    step = divide_upward(step, interval) * interval
    bounds = bounds.withColumn("step", step.cast("long"))
    start, step = sql.col("start"), sql.col("step")
    bounds = bounds.withColumn("base", start - sql.pmod(start, step))
    last = divide_upward(sql.col("end") - sql.col("base"), step) - 1
    return bounds.select(*keys, *names, "step", "base", last.alias("last"))


def _farthest(which: Callable[..., Column], names: list[str]) -> Column:
    columns = [sql.col(name) for name in names]
    if not columns:
        return sql.lit(None).cast("long")
    return which(*columns) if len(columns) > 1 else columns[0]
