"""Rows to the tasks that compute their keys, all rows of a key in one task.

A frame of rows by key has the keys, `group` (a number that all keys of it share),
`input` (its number) and the inputs' columns. Rows of inputs without keys go to every
group: every key sees them.
"""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from tiltpy.spark.events import Events


def rows_by_key(inputs: Sequence[Events], groups: int) -> DataFrame:
    """All rows, those of a key together.

    Where only keyed inputs meet, Spark shares keys out among as many tasks as their
    rows are worth, and all that one gets is a group. Otherwise there are `groups`.
    """
    keys = next(one.keys for one in inputs if one.keys)
    everyone = [one.rows() for one in inputs if not one.keys]
    keyed = [one.rows() for one in inputs if one.keys]
    if not everyone:
        group: Column = sql.lit(0)
        by = keys
    else:
        group = sql.pmod(sql.hash(*keys), sql.lit(groups))
        by = ["group"]
    parts = [one.withColumn("group", group) for one in keyed]
    numbers = sql.explode(sql.sequence(sql.lit(0), sql.lit(groups - 1)))
    parts += [one.withColumn("group", numbers) for one in everyone]
    joined = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)
    return joined.repartition(*by)
