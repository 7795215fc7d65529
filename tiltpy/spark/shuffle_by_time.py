"""Rows to the partitions that need them: those in one, and those in its halo.

A frame of rows in partitions has the keys, `partition`, `input` (its number), and the
inputs' columns. A row whose input is `DESCRIPTION` describes the partition itself, in
columns of its own (`description_columns`); so there is every partition of an output's
domain, be there rows in it or not. Those are numbers, null in other rows: where arrays
are null, Spark's Arrow writer goes through the whole batch before, for each row.
"""

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sql

from tiltpy.spark.shuffle_rows import NumberedInput, join_by_key, keys_among
from tiltpy.spark.tick_columns import divide_toward_zero
from tiltpy.spark.time_bounds import PartitionGrid, find_bounds
from tiltpy.spark.worker import DESCRIPTION, description_columns

Halo = Mapping[str, tuple[int, int]]
"""The lookback and lookahead of a partition in each input, in ticks."""


def shuffle_by_time(
    session: SparkSession,
    inputs: Sequence[NumberedInput],
    halo: Halo,
    grid: PartitionGrid,
) -> DataFrame:
    """Copy every row to all partitions that need it, and group it there.

    `halo` is that of each of `inputs`, `grid` says how time is cut into partitions.
    """
    bounds = find_bounds(session, inputs, grid)
    keys = keys_among(inputs)
    frames = [_describe_partitions(bounds, inputs, keys)]
    frames += [_assign_partitions(n, bounds, keys, halo[n.name]) for n in inputs]
    joined = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)
    return joined.repartition(*keys, "partition")


def _describe_partitions(
    bounds: DataFrame, inputs: Sequence[NumberedInput], keys: list[str]
) -> DataFrame:
    """Make a row for each partition: its length, and where the inputs' events lie."""
    names = [f"{which}{n.number}" for n in inputs for which in ("low", "high")]
    facts = zip(["step", "base", *names], description_columns(len(inputs)), strict=True)
    return bounds.select(
        *keys,
        sql.explode(sql.sequence(sql.lit(0).cast("long"), "last")).alias("partition"),
        sql.lit(DESCRIPTION).alias("input"),
        *(sql.col(name).alias(slot) for name, slot in facts),
    )


def _assign_partitions(
    source: NumberedInput, bounds: DataFrame, keys: list[str], halo: tuple[int, int]
) -> DataFrame:
    """Assign an input's rows to partitions; without keys, to those of every key.

    `bounds` has a row for each key, whose columns are `keys`; `halo` is the lookback
    and lookahead of a partition.
    """
    back, ahead = halo
    cut = bounds.select(*keys, "step", "base", "last")
    rows = join_by_key(source.events(), cut, source.keys).withColumns(
        {"from": _first_partition(ahead), "to": _last_partition(back)}
    )
    if source.needs_next_row:
        rows = _add_neighbours(rows, keys)
    partitions = sql.sequence(
        sql.greatest(sql.col("from"), sql.lit(0)), sql.least("to", "last")
    )
    return (
        rows.where("from <= last and to >= 0 and from <= to")
        .withColumn("partition", sql.explode(partitions))
        .select(
            *keys, "partition", sql.lit(source.number).alias("input"), *source.slots
        )
    )


def _first_partition(ahead: int) -> Column:
    """Find the first partition with an event in its range or up to `ahead` behind it.

    It may be less than 0, but then it may be too great.
    """
    return divide_toward_zero(sql.col("low") - ahead - sql.col("base"), sql.col("step"))


def _last_partition(back: int) -> Column:
    """Find the last partition with an event in its range or from `back` before it.

    It is less than 0 where there is none, but then it may be too great.
    """
    step = sql.col("step")
    return (
        divide_toward_zero(sql.col("high") + back - sql.col("base") + (step - 1), step)
        - 1
    )


def _add_neighbours(rows: DataFrame, keys: list[str]) -> DataFrame:
    """Copy rows that hold until the next stamp to all partitions that they hold in.

    A partition needs, beside the rows of its range, those of the last stamp before it,
    which hold into it, and those of the first stamp behind, which say how long the last
    ones hold. Only stamps that are the last, or the first, beside some partition can be
    such neighbours: there are two for each partition at most.
    """
    stamps = rows.groupBy(*keys, "to").agg(sql.max("high").alias("stamp"))
    order = Window.partitionBy(*keys).orderBy("to")
    before = stamps.select(
        *keys,
        "stamp",
        sql.lit(None).cast("long").alias("sooner"),
        sql.coalesce(sql.lead("to").over(order), sql.lit(1 << 62)).alias("later"),
    )
    stamps = rows.groupBy(*keys, "from").agg(sql.min("high").alias("stamp"))
    order = Window.partitionBy(*keys).orderBy("from")
    behind = stamps.select(
        *keys,
        "stamp",
        sql.coalesce(sql.lag("from").over(order), sql.lit(-(1 << 62))).alias("sooner"),
        sql.lit(None).cast("long").alias("later"),
    )
    moved = (
        before.union(behind)
        .groupBy(*keys, "stamp")
        .agg(sql.min("sooner").alias("sooner"), sql.max("later").alias("later"))
    )
    here = sql.col("high") == sql.col("stamp")
    return join_by_key(rows, moved, keys, "left", also=here).withColumns(
        {"from": sql.least("from", "sooner"), "to": sql.greatest("to", "later")}
    )
