"""The bounds of outputs, found by Spark: one row for each key, never collected.

A frame of bounds has the keys; for input `i` of the query `low{i}` and `high{i}`, the
smallest start and the largest end of its events (null: there are none); `step`, the
length of the partitions into which the key's time is cut, the `base` where they begin,
a multiple of it, and `last`, the number of the last. Partition `n`, from 0 on, is
`(base + n*step, base + (n+1)*step]`.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from tiltpy.ir.nodes import TemporalExpr
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.spark.shuffle_rows import (
    NumberedInput,
    join_by_key,
    keys_among,
    union_rows,
)
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
ALL = "no_key"
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
    everyone = [each for each in inputs if each.keys != keys]
    bounds = _event_bounds([each for each in inputs if each.keys == keys])
    if everyone:
        bounds = bounds.crossJoin(sql.broadcast(_event_bounds(everyone)))
    return _add_partitions(bounds, inputs, grid)


def _event_bounds(inputs: Sequence[NumberedInput]) -> DataFrame:
    """Find the bounds of each key of inputs; without keys, be there events or not."""
    keys = inputs[0].keys
    frames = [frame for each in inputs for frame in _times(each)]
    if not keys:
        one = inputs[0].source.frame.sparkSession.range(1, numPartitions=1)
        frames.append(one.selectExpr(f"0 AS {ALL}"))
    bounds = [bound for each in inputs for bound in _input_bounds(each)]
    found = union_rows(frames).groupBy(*(keys or [ALL])).agg(*map(sql.expr, bounds))
    return found.drop(ALL)


def _times(source: NumberedInput) -> list[DataFrame]:
    """Select the starts and ends of events, and the stamps of nulls behind them all."""
    number, events = source.number, source.events
    keys = source.keys or [ALL]
    shown = source.keys or [f"0 AS {ALL}"]
    spans = events.where("there").selectExpr(
        *shown, f"low AS low{number}", f"high AS high{number}"
    )
    if not _holds_after_last(source):
        return [spans]
    last = spans.groupBy(*keys).agg(sql.max(f"high{number}").alias("last"))
    nulls = events.where("NOT there").selectExpr(*shown, f"high AS null{number}")
    behind = join_by_key(
        nulls, last.drop(ALL), source.keys, also=f"null{number} > last"
    )
    return [spans, behind.drop("last")]


def _input_bounds(source: NumberedInput) -> list[str]:
    """Aggregate the times of an input."""
    number, longest = source.number, source.source.lifetime.longest
    low, high = f"min(low{number})", f"max(high{number})"
    if _holds_after_last(source):
        until = f"min(null{number}) - 1"
        if longest is not None:
            until = f"nvl2({until}, least({until}, {high} + {longest - 1}), null)"
        high = f"coalesce({until}, {high})"
    return [f"{low} AS low{number}", f"{high} AS high{number}"]


def _holds_after_last(source: NumberedInput) -> bool:
    """Return whether the last event holds until the next stamp, that of a null row."""
    return source.needs_next_row and isinstance(source.source.declared.type, Scalar)


def _add_partitions(
    bounds: DataFrame, inputs: Sequence[NumberedInput], grid: PartitionGrid
) -> DataFrame:
    """Add `step`, `base` and `last` of each key whose domain is not empty."""
    lows, highs = ([f"{w}{each.number}" for each in inputs] for w in ("low", "high"))
    start, end = grid.request.limits(grid.definition.tdom)
    # The last cell is evaluated at its own grid point, which may lie behind the end.
    beyond = grid.definition.tdom.longest - 1
    bounds = bounds.selectExpr(
        "*",
        f"{_farthest('least', lows, start)} AS start",
        f"{_farthest('greatest', highs, end)} + {beyond} AS stop",
    )
    return bounds.where("start < stop").selectExpr(
        *keys_among(inputs),
        *lows,
        *highs,
        f"{_step(grid)} AS step",
        "start - pmod(start, step) AS base",
        f"{divide_upward('stop - base', 'step')} - 1 AS last",
    )


def _step(grid: PartitionGrid) -> str:
    """Choose the length of the partitions of `(start, end]`."""
    length = "(stop - start)"
    if grid.chunk is None:
        least = max(1, min(REACHES * grid.reach, LONGEST))
        step = f"greatest({divide_upward(length, grid.partitions)}, {least})"
    else:
        chunk = min(grid.chunk, LONGEST)
        several = divide_upward(divide_upward(length, chunk), MOST_PARTITIONS)
        around = f"least({length}, {min(grid.reach, LONGEST)})"
        copied = divide_upward(around, min(MOST_COPIES * chunk, LONGEST))
        # Spark folds constants of rows that are left out, too: nothing is divided by 0.
        step = f"greatest({several}, {copied}, 1) * {chunk}"
    return f"CAST({divide_upward(step, grid.interval)} * {grid.interval} AS bigint)"


def _farthest(which: str, names: list[str], fixed: int | None) -> str:
    """Choose among the bounds of inputs, unless one is fixed."""
    if fixed is not None or not names:
        return f"CAST({'null' if fixed is None else fixed} AS bigint)"
    return f"{which}({', '.join(names)})" if len(names) > 1 else names[0]
