"""Queries over DataFrames of Spark (PySpark 4, batch).

    import tiltpy as tilt
    from pyspark.sql import SparkSession
    from tiltpy.spark import apply, apply_all, tilt_transform

    prices = SparkSession.builder.getOrCreate().read.parquet("prices.parquet")
    query = tilt.load("trend.tilt")
    trend = prices.transform(tilt_transform(query, time="Date", column="Close"))

`apply` takes a DataFrame for each input, by name, or `tilt.bind(frame, time="Date")`;
`apply_all` gives a DataFrame for each output. All are lazy. Python workers compile the
query from its text, so they need tiltpy; the JVM needs nothing.
"""

from tiltpy.spark.apply import apply, apply_all, tilt_transform

__all__ = ["apply", "apply_all", "tilt_transform"]
