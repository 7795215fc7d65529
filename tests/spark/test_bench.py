"""`bench spark`: a line for a job, and what it says where results differ."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from bench.peers.spark.jobs import JOBS, SYMBOLS
from bench.reports import spark as bench
from tiltpy.spark import tilt_transform

ROWS = 2_500
TRADING = JOBS[0]


@pytest.fixture(scope="module")
def frame(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DataFrame]:
    cached = bench._cached(spark, TRADING, ROWS, 1, tmp_path_factory.mktemp("bench"))
    yield cached
    cached.unpersist(blocking=True)


def test_a_line_says_what_everyone_takes(frame: DataFrame) -> None:
    line = bench._line(TRADING, frame, 1)
    assert line.startswith(TRADING.name)
    *cells, outside, percent = line.removeprefix(TRADING.name).split()
    seconds_and_ratio, spreads = cells[::2], cells[1::2]
    assert [float(one) > 0 for one in seconds_and_ratio] == [True] * 6
    assert spreads == ["±0%"] * 6
    assert float(outside) > 0
    assert percent == "%"


def test_results_that_differ_are_counted(frame: DataFrame) -> None:
    def wrong(rows: DataFrame) -> DataFrame:
        other = sql.col("out") != (sql.col("k") == "S07")
        return TRADING.theirs(rows).withColumn("out", other)

    line = bench._line(replace(TRADING, theirs=wrong), frame, 1)
    said = f"{ROWS // SYMBOLS} of {ROWS:,} results differ"
    assert line.split() == [*TRADING.name.split(), *said.split()]


def test_bars_are_those_of_spark(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bars = JOBS[-1]
    rows = bench._cached(spark, bars, ROWS, 1, tmp_path_factory.mktemp("bars"))
    ours = rows.transform(tilt_transform(bars.query))
    assert bench._difference(ours, bars.theirs(rows), exact=True) is None
    rows.unpersist(blocking=True)
