"""A pipeline of PySpark from Parquet to Parquet, with a temporal query in the middle.

Spark reads and filters flights, the query finds the hours in which an airline left an
airport far later than it did the week before, and Spark names the days, counts, and
writes. It is one plan: nothing is computed before the files are written.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import tiltpy as tilt
from tiltpy.spark import tilt_transform
from tiltpy.spark.session import start_session

FLIGHTS = str(Path(__file__).parent / "data" / "flights.parquet")
QUERY = tilt.parse("""
unit m
input delay by origin, carrier : i16 time scheduled point
hour = TDom(-∞, ∞, 1h)

~worse[hour] = {
    now = mean(~delay[hour-3h : hour])
    usual = mean(~delay[hour-3h-7d : hour-3h])
    flights = count(~delay[hour-3h : hour])
    return flights > 2 && now > usual + 60 ? { now = now, usual = usual } : φ
}
""")
KEYS = ["origin", "carrier", "start"]


def main(spark: SparkSession) -> None:
    left = spark.read.parquet(FLIGHTS).where("delay is not null")
    worse = left.transform(tilt_transform(QUERY, column="delay"))
    dated = worse.withColumn("day", f.to_date("start")).orderBy(*KEYS)
    with TemporaryDirectory() as folder:
        path = f"{folder}/worse"
        dated.write.partitionBy("origin").parquet(path)
        written = spark.read.parquet(path)
        found = written.select(*worse.columns).orderBy(*KEYS).toArrow()
        airlines, hours = f.countDistinct("carrier").alias("airlines"), f.count("*")
        days = written.groupBy("day").agg(airlines, hours.alias("hours"))
        worst = days.orderBy(f.desc("airlines"), "day").take(5)

    local = QUERY.run(delay=tilt.bind(left.toArrow(), column="delay")).to_arrow()
    assert found.cast(local.schema) == local
    print(f"{len(found)} times far worse than the week before; most airlines on")
    for row in worst:
        print(f"{row.day}  {row.airlines:2} airlines, {row.hours:3} times")
    assert len(found) == 162
    assert [row.airlines for row in worst] == [7, 6, 5, 5, 5]


if __name__ == "__main__":
    with start_session("local[2]") as session:
        main(session)
