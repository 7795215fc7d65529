"""Queries over DataFrames of Spark (PySpark 4, batch).

    from tiltpy.spark import apply, tilt_transform

    trend = quotes.transform(tilt_transform(query, time="ts"))
    joined = apply(query, {"trades": trades, "quotes": bind(quotes, time="at")})

Both are lazy. Workers are sent the query as text and compile it for themselves: they
need tiltpy, and the JVM nothing.
"""

from tiltpy.spark.apply import apply, apply_all, tilt_transform

__all__ = ["apply", "apply_all", "tilt_transform"]
