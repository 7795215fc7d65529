"""Stitching the fragments of snapshots that go on over seams: a few rows for each."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from tiltpy.spark.worker import OPENS


def stitched(fragments: DataFrame, keys: int) -> DataFrame:
    """The snapshots that are open at the end of a piece, with the ends they come to.

    The first `keys` columns are keys, the next two `start` and `end`. In order of time
    the next fragment of the key is where the snapshot closes: the pieces between, in
    which it neither begins nor ends, have nothing to say.
    """
    *columns, piece, role = fragments.columns
    end = columns[keys + 1]
    order = Window.partitionBy(*columns[:keys]).orderBy(piece, role)
    closed = fragments.withColumn(end, sql.lead(end).over(order))
    return closed.where(sql.col(role) == OPENS).select(*columns)
