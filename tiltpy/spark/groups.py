"""Rows to the tasks that compute their keys, all rows of a key in one task.

A frame of rows by key has the keys, `group` (a number that all keys of it share),
`input` (its number) and the inputs' columns. Rows of inputs without keys go to every
group: every key sees them.
"""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from tiltpy.spark.events import Events


def rows_by_key(inputs: Sequence[Events], groups: int) -> DataFrame:
    """All rows, those of a key together.

    Where only keyed inputs meet, Spark shares keys out among as many tasks as their
    rows are worth; otherwise it does so with groups.
    """
    keys = next(one.keys for one in inputs if one.keys)
    everyone = any(not one.keys for one in inputs)
    numbers = sql.explode(sql.sequence(sql.lit(0), sql.lit(groups - 1)))
    parts = [
        one.rows() if one.keys else one.rows().withColumn("group", numbers)
        for one in inputs
    ]
    joined = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)
    # Of the keys as they are in all inputs: integers of other widths have other hashes.
    number = sql.pmod(sql.hash(*keys), sql.lit(groups))
    if not everyone:
        return joined.withColumn("group", number).repartition(*keys)
    number = sql.coalesce("group", number)
    return joined.withColumn("group", number).repartition("group")
