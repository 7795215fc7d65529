"""Rows to the tasks that compute their keys, all rows of a key in one task.

A frame of rows by key has the keys and the inputs' columns, and where there are several
inputs, the `input`'s number. Rows of inputs without keys are seen by every key: then
there are groups of keys, whose numbers are in `group`, and such rows go to all of them.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from tiltpy.spark.shuffle_rows import NumberedInput, keys_among, union_rows


def shuffle_by_key(inputs: Sequence[NumberedInput]) -> DataFrame:
    """Share all rows of keyed inputs out among as many tasks as Spark finds right."""
    (first, *others) = inputs
    if not others:  # rows move one by one, and a column more is dear
        return first.rows().repartition(*first.keys)
    return union_rows([_tag_rows(n) for n in inputs]).repartition(*first.keys)


def shuffle_by_group(inputs: Sequence[NumberedInput], groups: int) -> DataFrame:
    """Copy the rows of inputs without keys to every group of the others."""
    keys = keys_among(inputs)
    numbers = sql.explode(sql.sequence(sql.lit(0), sql.lit(groups - 1)))
    # Of the keys as they are in all inputs: integers of other widths have other hashes.
    group = sql.pmod(sql.hash(*keys), sql.lit(groups))
    rows = union_rows(
        [
            _tag_rows(n) if n.keys else _tag_rows(n).withColumn("group", numbers)
            for n in inputs
        ]
    )
    number = sql.coalesce("group", group)
    return rows.withColumn("group", number).repartition("group")


def _tag_rows(source: NumberedInput) -> DataFrame:
    return source.rows().withColumn("input", sql.lit(source.number))
