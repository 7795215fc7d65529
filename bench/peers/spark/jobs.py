"""Queries by key, their rows, and what Spark's own functions make of the same."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from bench.workloads.keyed import CUSTOMERS, OFTEN, TEN_DAYS
from bench.workloads.layouts import KINDS, LARGEST

SYMBOLS = 100
PANE = 10_000
"""Events in a window of the Yahoo query."""
INSTRUMENTS = 1_000
"""Symbols of the bars."""
BAR = 300_000_000
"""Microseconds of a bar: five minutes."""
DAY = 23_400_000_000
"""Microseconds in which an exchange is open."""


@dataclass(frozen=True, slots=True)
class Job:
    """A query, its rows (columns `k`, `ts` and a payload), and the same by Spark.

    `theirs` gives columns `k`, `end` and those of the payload, as our result has them.
    `exact`: both find the same to the bit.
    """

    name: str
    query: str
    make: Callable[[int, np.random.Generator], pa.Table]
    theirs: Callable[[DataFrame], DataFrame]
    exact: bool = True


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


def _trades(events: int, random: np.random.Generator) -> pa.Table:
    """Of a symbol drawn for each, over a day; no two of them at one time."""
    times = np.cumsum(random.integers(1, max(2, 2 * DAY // events), events))
    names = pa.array([f"S{number:04}" for number in range(INSTRUMENTS)])
    symbols = names.take(pa.array(random.integers(0, INSTRUMENTS, events)))
    return pa.table(
        {
            "k": symbols,
            "ts": times,
            "price": random.integers(1, LARGEST + 1, events) / 8,
            "size": random.integers(1, 1000, events),
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


def _bars(frame: DataFrame) -> DataFrame:
    end = (sql.ceil(frame.ts / BAR) * BAR).alias("end")
    return frame.groupBy("k", end).agg(
        sql.min_by("price", "ts").alias("open"),
        sql.max("price").alias("high"),
        sql.min("price").alias("low"),
        sql.max_by("price", "ts").alias("close"),
        sql.sum("size").alias("volume"),
    )


BARS = f"""\
input x by k : {{ price: f64, size: i64 }} time ts point
w = TDom(-∞, ∞, {BAR})
~out[w] = count(~x[w-{BAR} : w]) == 0 ? φ : {{
    open = first(~x[w-{BAR} : w].price),
    high = max(~x[w-{BAR} : w].price),
    low = min(~x[w-{BAR} : w].price),
    close = last(~x[w-{BAR} : w].price),
    volume = sum(~x[w-{BAR} : w].size)
}}
output ~out
"""

JOBS = (
    Job("trading, 20 and 50", _trading(20, 50), _samples, _averages(20, 50)),
    Job("trading, 400 and 1,000", _trading(400, 1000), _samples, _averages(400, 1000)),
    Job("fraud by customer", FRAUD, _payments, _unusual, exact=False),
    Job("Yahoo by campaign", YAHOO, _views, _counted),
    Job("bars by symbol", BARS, _trades, _bars),
)
