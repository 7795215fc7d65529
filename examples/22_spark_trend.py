"""Trends of four companies over Spark: a query for `frame.transform`.

`queries/trends.tilt` is that of `19_keys.py`. Spark sends all rows of a company to one
task, and a task computes all companies that it has got. The result has what a local
run has; its rows have no order until one is asked for.
"""

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import tiltpy as tilt
from tiltpy.spark import tilt_transform
from tiltpy.spark.session import start_session

HERE = Path(__file__).parent
COMPANIES = ("AAPL", "GOOG", "IBM", "MSFT")


def main(spark: SparkSession) -> None:
    query = tilt.load(HERE / "queries" / "trends.tilt")
    files = [str(HERE / "data" / f"{company}.parquet") for company in COMPANIES]
    symbol = f.substring_index("_metadata.file_name", ".", 1)
    prices = spark.read.parquet(*files).withColumn("symbol", symbol)
    trend = prices.transform(tilt_transform(query, column="AdjClose"))
    found: pa.Table = trend.orderBy("symbol", "start").toArrow()

    local = query.run(stock=tilt.bind(prices.toArrow(), column="AdjClose")).to_arrow()
    assert found.cast(local.schema) == local

    best = found.group_by("symbol", use_threads=False).aggregate(
        [("trend", "count"), ("trend", "max")]
    )
    for row in best.to_pylist():
        days, most = row["trend_count"], row["trend_max"]
        print(f"{row['symbol']:5} {days:5} days up, most by {most:.2f}")
    assert len(found) == 9525


if __name__ == "__main__":
    with start_session("local[2]") as session:
        main(session)
