"""`python -m bench spark`: queries by key on Spark, beside Spark's own functions.

A cached DataFrame goes to a `noop` sink: nothing is read from files, and nothing is
written. *Moving* sends the same rows the same way without a query: by key to a Python
process and back; *sorted*: put in order by Spark on the way. What of our time moving
takes is spent outside our kernels. The session is one as `tilt run` starts it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sql

from bench.keyed import CUSTOMERS, OFTEN, TEN_DAYS
from bench.measure import Wanted
from bench.timing import Runner, Spread, speedup, take_turns
from bench.workloads import KINDS, LARGEST, Workload
from tiltpy.spark import tilt_transform
from tiltpy.spark.session import started

MOST = 5_000_000
"""Rows, at most."""
TURNS = 5
"""Turns, at most."""
SYMBOLS = 100
PANE = 10_000
"""Events in a window of the Yahoo query."""
MASTER = "local[2]"
TILTPY, SPARK, MOVING, SORTED = "tiltpy", "Spark", "moving", "sorted"
NAME, CELL = 24, 14

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Job:
    """A query, its rows (columns `k`, `ts`, `x`), and the same by Spark.

    `theirs` gives columns `k`, `end` and `out`, as our result has them. `exact`: both
    find the same to the bit.
    """

    name: str
    query: str
    make: Callable[[int, np.random.Generator], pa.Table]
    theirs: Callable[[DataFrame], DataFrame]
    exact: bool = True


def lines(chosen: Sequence[Workload] | None, wanted: Wanted) -> Iterator[str]:
    """A line for each job: seconds of everyone, and what they say."""
    del chosen
    events, turns = min(wanted.events, MOST), min(wanted.repeat, TURNS)
    names = (TILTPY, SPARK, MOVING, SORTED)
    yield f"seconds, {events:,} rows, {MASTER}, {turns} turns"
    heads = [*names, "Spark/tiltpy", "outside"]
    yield f"{'':<{NAME}}" + "".join(f"{head:>{CELL}}" for head in heads)
    with (
        TemporaryDirectory(prefix="tiltpy-bench-") as folder,
        started(MASTER, _settings(folder)) as session,
    ):
        for job in JOBS:
            frame = _cached(session, job, events, wanted.seed, Path(folder))
            yield _line(job, frame, turns)
            frame.unpersist(blocking=True)


def _settings(folder: str) -> dict[str, str]:
    """Memory for the cache and for sorting; partitions for two cores."""
    return {
        "spark.driver.memory": "6g",
        "spark.local.dir": folder,
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
    }


def _cached(
    session: SparkSession, job: Job, events: int, seed: int, folder: Path
) -> DataFrame:
    path = folder / f"{job.name}.parquet"
    pq.write_table(job.make(events, np.random.default_rng(seed)), path)
    frame = session.read.parquet(str(path)).repartition(8).cache()
    frame.count()
    path.unlink()
    return frame


def _line(job: Job, frame: DataFrame, repeat: int) -> str:
    ours = frame.transform(tilt_transform(job.query))
    theirs = job.theirs(frame)
    if wrong := _difference(ours, theirs, exact=job.exact):
        return f"{job.name:<{NAME}} {wrong}"
    moved = frame.repartition("k")
    sorted_rows = moved.sortWithinPartitions("k", "ts")
    turns = take_turns(
        {
            TILTPY: _to_nowhere(ours),
            SPARK: _to_nowhere(theirs),
            MOVING: _to_nowhere(moved.mapInArrow(_same, frame.schema)),
            SORTED: _to_nowhere(sorted_rows.mapInArrow(_same, frame.schema)),
        },
        repeat,
    )
    seconds = [Spread(tuple(one.wall for one in each)) for each in turns.values()]
    times = speedup(turns[TILTPY], turns[SPARK], one_thread=False)
    outside = speedup(turns[TILTPY], turns[MOVING], one_thread=False)
    cells = [one.show() for one in seconds]
    cells += [times.show(), f"{100 * outside.median:.0f} %"]
    return f"{job.name:<{NAME}}" + "".join(f"{cell:>{CELL}}" for cell in cells)


def _same(batches: Batches) -> Batches:
    yield from batches


def _to_nowhere(frame: DataFrame) -> Runner:
    return lambda: frame.write.format("noop").mode("overwrite").save()


def _difference(ours: DataFrame, theirs: DataFrame, *, exact: bool) -> str | None:
    """How many results differ, if any; one in 100,000 may where sums round."""
    left, right = (
        frame.select("k", "end", sql.col("out").alias(name))
        for frame, name in ((ours, "ours"), (theirs, "theirs"))
    )
    same = sql.col("ours").eqNullSafe(sql.col("theirs"))
    counted = left.join(right, ["k", "end"], "full").agg(
        sql.count("*").alias("all"), sql.sum((~same).cast("long")).alias("other")
    )
    found = counted.collect()[0]
    if found["other"] > (0 if exact else found["all"] * 1e-5):
        return f"{found['other']:,} of {found['all']:,} results differ"
    return None


# The jobs


def _samples(events: int, random: np.random.Generator) -> pa.Table:
    """At each tick a row of every symbol."""
    ticks, index = np.divmod(np.arange(events), SYMBOLS)
    names = pa.array([f"S{number:02}" for number in range(SYMBOLS)])
    values = random.integers(-LARGEST, LARGEST + 1, events) / 8
    return pa.table({"k": names.take(pa.array(index)), "ts": ticks, "x": values})


def _payments(events: int, random: np.random.Generator) -> pa.Table:
    """Of a customer drawn for each; those of one are some hours apart."""
    customers = max(1, min(CUSTOMERS, events // 100))
    times = np.cumsum(random.integers(1, 2 * max(1, OFTEN // customers), events))
    values = random.integers(-LARGEST, LARGEST + 1, events) / 8
    keys = random.integers(0, customers, events)
    return pa.table({"k": keys, "ts": times, "x": values})


def _views(events: int, random: np.random.Generator) -> pa.Table:
    """Of a campaign and a kind drawn for each, one at each tick."""
    return pa.table(
        {
            "k": random.integers(0, SYMBOLS, events),
            "ts": np.arange(1, events + 1),
            "x": random.integers(0, KINDS, events, dtype=np.int32),
        }
    )


def _averages(short: int, long: int) -> Callable[[DataFrame], DataFrame]:
    def job(frame: DataFrame) -> DataFrame:
        order = Window.partitionBy("k").orderBy("ts")
        windows = [order.rowsBetween(1 - rows, 0) for rows in (short, long)]
        fast, slow = (sql.avg("x").over(window) for window in windows)
        out = (fast > slow).alias("out")
        return frame.select("k", sql.col("ts").alias("end"), out)

    return job


def _trading(short: int, long: int) -> str:
    return f"""\
input x by k : f64 time ts sampled 1
~out[t] = mean(~x[t-{short} : t]) > mean(~x[t-{long} : t])
output ~out
"""


def _unusual(frame: DataFrame) -> DataFrame:
    window = Window.partitionBy("k").orderBy("ts").rangeBetween(-TEN_DAYS, -1)
    usual = sql.avg("x").over(window) + 3 * sql.stddev_pop("x").over(window)
    found = frame.select(
        "k", sql.col("ts").alias("end"), (frame.x > usual).alias("out")
    )
    return found.where("out is not null")


FRAUD = f"""\
input x by k : f64 time ts point
~out[t] = {{
    usual = mean(~x[t-1-{TEN_DAYS} : t-1])
    return ~x[t] > usual + 3 * std(~x[t-1-{TEN_DAYS} : t-1])
}}
output ~out
"""


def _counted(frame: DataFrame) -> DataFrame:
    end = (sql.ceil(frame.ts / PANE) * PANE).alias("end")
    found = frame.where("x = 1").groupBy("k", end)
    return found.agg(sql.count("*").alias("out"))


YAHOO = f"""\
input x by k : i32 time ts point
w = TDom(-∞, ∞, {PANE})
~out[w] = count(v for v in ~x[w-{PANE} : w] if v == 1)
output ~out
"""

JOBS = (
    Job("trading, 20 and 50", _trading(20, 50), _samples, _averages(20, 50)),
    Job("trading, 400 and 1,000", _trading(400, 1000), _samples, _averages(400, 1000)),
    Job("fraud by customer", FRAUD, _payments, _unusual, exact=False),
    Job("Yahoo by campaign", YAHOO, _views, _counted),
)
