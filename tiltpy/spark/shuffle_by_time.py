"""Rows to the partitions that need them: those in one, and those in its halo.

A frame of rows in partitions has the keys, `partition`, `input` (its number), and the
inputs' columns. A row whose input is `DESCRIPTION` describes the partition itself, in
columns of its own (`description_columns`); so there is every partition of an output's
domain, be there rows in it or not. Those are numbers, null in other rows: where arrays
are null, Spark's Arrow writer goes through the whole batch before, for each row.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sql

from tiltpy.spark.shuffle_rows import (
    NumberedInput,
    join_by_key,
    keys_among,
    union_rows,
)
from tiltpy.spark.tick_columns import divide_upward
from tiltpy.spark.time_bounds import PartitionGrid, find_bounds
from tiltpy.spark.worker import DESCRIPTION, description_columns

FARTHEST = 1 << 62
"""A partition before or behind all others."""
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
    return union_rows(frames).repartition(*keys, "partition")


def _describe_partitions(
    bounds: DataFrame, inputs: Sequence[NumberedInput], keys: list[str]
) -> DataFrame:
    """Make a row for each partition: its length, and where the inputs' events lie."""
    names = [f"{which}{n.number}" for n in inputs for which in ("low", "high")]
    facts = zip(["step", "base", *names], description_columns(len(inputs)), strict=True)
    return bounds.selectExpr(
        *keys,
        "explode(sequence(0L, last)) AS partition",
        f"{DESCRIPTION} AS input",
        *(f"{name} AS {slot}" for name, slot in facts),
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
    # Division cuts off, also below zero: partitions outside of 0 to `last` are inexact.
    rows = join_by_key(source.events, cut, source.keys).selectExpr(
        "*",
        f"(low - {ahead} - base) div step AS lowest",
        f"{divide_upward(f'high + {back} - base', 'step')} - 1 AS highest",
    )
    if source.needs_next_row:
        rows = _add_neighbours(rows, keys)
    return rows.where(
        "lowest <= last AND highest >= 0 AND lowest <= highest"
    ).selectExpr(
        *keys,
        "explode(sequence(greatest(lowest, 0), least(highest, last))) AS partition",
        f"{source.number} AS input",
        *source.slots,
    )


def _add_neighbours(rows: DataFrame, keys: list[str]) -> DataFrame:
    """Copy rows that hold until the next stamp to all partitions that they hold in.

    A partition needs, beside the rows of its range, those of the last stamp before it,
    which hold into it, and those of the first stamp behind, which say how long the last
    ones hold. Only stamps that are the last, or the first, beside some partition can be
    such neighbours: there are two for each partition at most.

    Neither `lowest` nor `highest` falls from one stamp to the next: rows that have both
    in common are a run of stamps.
    """
    order = Window.partitionBy(*keys).orderBy("first")
    runs = rows.groupBy(*keys, "lowest", "highest").agg(
        sql.min("high").alias("first"), sql.max("high").alias("final")
    )
    beside = runs.select(
        "*",
        sql.lag("lowest").over(order).alias("previous"),
        sql.lead("highest").over(order).alias("following"),
    )
    before = f"coalesce(previous, {-FARTHEST})"
    behind = f"coalesce(following, {FARTHEST})"
    sooner = f"if(previous <=> lowest, null, {before}) AS sooner"
    later = f"if(following <=> highest, null, {behind}) AS later"
    ends = "array_distinct(array({}, {}))".format(
        "struct(first AS stamp, sooner, if(first = final, later, null) AS later)",
        "struct(final AS stamp, if(first = final, sooner, null) AS sooner, later)",
    )
    moved = beside.selectExpr(*keys, "first", "final", sooner, later)
    moved = moved.selectExpr(*keys, f"inline({ends})")
    return join_by_key(rows, moved, keys, "left", also="high = stamp").withColumns(
        {
            "lowest": sql.least("lowest", "sooner"),
            "highest": sql.greatest("highest", "later"),
        }
    )
