"""Rows to the tasks that compute their keys, all rows of a key in one task.

A frame of rows by key has the keys and the inputs' columns, and where there are several
inputs, the `input`'s number. Rows of inputs without keys are seen by every key: then
there are groups of keys, whose numbers are in `group`, and such rows go to all of them.
"""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from tiltpy.spark.shuffle_rows import NumberedInput, keys_among


def shuffle_by_key(inputs: Sequence[NumberedInput]) -> DataFrame:
    """Share all rows of keyed inputs out among as many tasks as they are worth."""
    (first, *others) = inputs
    if not others:  # rows move one by one, and a column more is dear
        return first.rows().repartition(*first.keys)
    return _union_by_group([_tag_rows(one) for one in inputs]).repartition(*first.keys)


def shuffle_by_group(inputs: Sequence[NumberedInput], groups: int) -> DataFrame:
    """Copy the rows of inputs without keys to every group of the others."""
    keys = keys_among(inputs)
    numbers = sql.explode(sql.sequence(sql.lit(0), sql.lit(groups - 1)))
    # Of the keys as they are in all inputs: integers of other widths have other hashes.
    own = sql.pmod(sql.hash(*keys), sql.lit(groups))
    rows = _union_by_group(
        [
            _tag_rows(one) if one.keys else _tag_rows(one).withColumn("group", numbers)
            for one in inputs
        ]
    )
    number = sql.coalesce("group", own)
    return rows.withColumn("group", number).repartition("group")


def _tag_rows(source: NumberedInput) -> DataFrame:
    return source.rows().withColumn("input", sql.lit(source.number))


def _union_by_group(parts: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)
