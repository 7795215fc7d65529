"""Stitching of snapshots that continue over seams: a few rows for each."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from tiltpy.ir.nodes import Query
from tiltpy.lifetimes import Lifetime
from tiltpy.passes.analyses.strictness import strict_in
from tiltpy.spark.worker import OPENS


def can_cross_seams(
    query: Query, output: str, lifetimes: Mapping[str, Lifetime]
) -> bool:
    """Tell whether a snapshot of an output may outlast a cell, and so go over seams.

    It cannot where it is φ whenever some object is whose snapshots have one grid point
    at most: two cells then see different ones. So it is with all that is computed at
    the rows of a stream of points. Snapshots of distinct objects may be joined.
    """
    longest: dict[str, int] = {}
    """The length in ticks of an object's snapshots, where there is a limit."""
    for name, lifetime in lifetimes.items():
        if lifetime.longest is not None:
            longest[name] = lifetime.longest
    for definition in query.definitions:
        if definition.tdom.calendar is not None or definition.tdom.cells is not None:
            continue  # seams are anywhere in its cells
        step = definition.tdom.precision
        seen = (longest.get(point.object) for point in strict_in(definition.body))
        if definition.distinct:
            continue
        if any(length is not None and length <= step for length in seen):
            longest[definition.name] = step
    return output not in longest


def stitch_fragments(fragments: DataFrame, keys: int) -> DataFrame:
    """Stitch the snapshots that are open at the end of a partition to where they end.

    The first `keys` columns are keys, the next two `start` and `end`. In order of time
    the next fragment of the key is where the snapshot closes: the partitions between,
    in which it neither begins nor ends, have nothing to say.
    """
    *columns, partition, role = fragments.columns
    end = columns[keys + 1]
    order = Window.partitionBy(*columns[:keys]).orderBy(partition, role)
    closed = fragments.withColumn(end, sql.lead(end).over(order))
    return closed.where(sql.col(role) == OPENS).select(*columns)
