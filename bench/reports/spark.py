"""`python -m bench spark`: queries by key on Spark, beside Spark's own functions.

A cached DataFrame goes to a `noop` sink: nothing is read from files, and nothing is
written. *Moving* sends the same rows the same way without a query: by key to a Python
process and back; *sorted*: put in order by Spark on the way. What of our time moving
takes is spent outside our kernels. The session is one as `tilt run` starts it. Seconds
are of wall time; `by processor` is Spark/tiltpy by the processor time of the JVM and
all Python processes.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql

from bench.measure import BenchOptions
from bench.peers.spark.jobs import JOBS, Job
from bench.process_tree import processor_seconds
from bench.timing import Runner, Spread, speedup, take_turns
from bench.workloads.streams import Workload
from tiltpy.spark import tilt_transform
from tiltpy.spark.session import start_session

MOST = 5_000_000
"""Rows, at most."""
TURNS = 5
"""Turns, at most."""
MASTER = "local[2]"
TILTPY, SPARK, MOVING, SORTED = "tiltpy", "Spark", "moving", "sorted"
NAME, CELL = 24, 14

Batches = Iterator[pa.RecordBatch]


def lines(chosen: Sequence[Workload] | None, options: BenchOptions) -> Iterator[str]:
    """A line for each job: seconds of everyone, and what they say."""
    del chosen
    events, turns = min(options.events, MOST), min(options.repeat, TURNS)
    names = (TILTPY, SPARK, MOVING, SORTED)
    yield f"seconds, {events:,} rows, {MASTER}, {turns} turns"
    heads = [*names, "Spark/tiltpy", "by processor", "outside"]
    yield f"{'':<{NAME}}" + "".join(f"{head:>{CELL}}" for head in heads)
    with (
        TemporaryDirectory(prefix="tiltpy-bench-") as folder,
        start_session(MASTER, _settings(folder)) as session,
    ):
        for job in JOBS:
            frame = _cached(session, job, events, options.seed, Path(folder))
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
    runners = {
        TILTPY: _Counted(_to_nowhere(ours)),
        SPARK: _Counted(_to_nowhere(theirs)),
        MOVING: _Counted(_to_nowhere(moved.mapInArrow(_same, frame.schema))),
        SORTED: _Counted(_to_nowhere(sorted_rows.mapInArrow(_same, frame.schema))),
    }
    turns = take_turns(runners, repeat)
    seconds = [Spread(tuple(one.wall for one in each)) for each in turns.values()]
    times = speedup(turns[TILTPY], turns[SPARK], one_thread=False)
    processor = [runners[name].seconds[1:] for name in (SPARK, TILTPY)]
    by_processor = Spread(tuple(a / b for a, b in zip(*processor, strict=True)))
    outside = speedup(turns[TILTPY], turns[MOVING], one_thread=False)
    cells = [one.show() for one in seconds]
    cells += [times.show(), by_processor.show(), f"{100 * outside.median:.0f} %"]
    return f"{job.name:<{NAME}}" + "".join(f"{cell:>{CELL}}" for cell in cells)


class _Counted:
    """A runner; each of its runs adds its processor seconds to `seconds`."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.seconds: list[float] = []

    def __call__(self) -> None:
        before = processor_seconds()
        self.runner()
        self.seconds.append(max(processor_seconds() - before, 0.01))


def _same(batches: Batches) -> Batches:
    yield from batches


def _to_nowhere(frame: DataFrame) -> Runner:
    return lambda: frame.write.format("noop").mode("overwrite").save()


def _difference(ours: DataFrame, theirs: DataFrame, *, exact: bool) -> str | None:
    """Count the results that differ; one in 100,000 may where sums round."""
    left, right = (
        frame.select("k", "end", _payload(frame).alias(name))
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


def _payload(frame: DataFrame) -> Column:
    """Make one column of all but the key and the times."""
    names = [name for name in frame.columns if name not in ("k", "start", "end")]
    return sql.struct(*names)
