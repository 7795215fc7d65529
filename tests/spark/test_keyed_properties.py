"""Random queries by key, of any lifetime and types of keys: Spark as the local engine.

The rows come in any order and in any partitions, `rank` decides between those of one
time. Values agree to the bit; those of outputs that round on the way do where both
engines have the same chunks, else to rounding. Spark has neither unsigned integers nor
columns without a type: cases that need them are left out. `--deep` draws 200.
"""

from collections.abc import Iterator, Mapping
from itertools import count, islice
from random import Random
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import tiltpy as tilt
from tests.compare import is_rough, same_number
from tests.keyed import binding_of, table_of
from tests.random.key_rows import KeyedInput
from tests.random.keyed_queries import KeyedCase, random_keyed_case
from tiltpy.inputs import BoundFrame
from tiltpy.ir.keys import keys_of
from tiltpy.ir.print.query import format_query
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.spark import apply_all
from tiltpy.types import columns

QUERIES, DEEPER = 1, 200
NOT_SPARKS = (
    pa.types.is_null,
    pa.types.is_unsigned_integer,
)


def keyed_case(seed: int) -> KeyedCase:
    return random_keyed_case(seed, exact=True, specials=seed % 3 == 0)


def sparks(case: KeyedCase) -> bool:
    """Return whether Spark has all its types."""
    kinds = [kind for one in case.inputs.values() for kind in one.types]
    kinds = [k.value_type if pa.types.is_dictionary(k) else k for k in kinds]
    payload = [s for i in case.query.inputs for _, s in columns(i.type)]
    return not any(test(kind) for test in NOT_SPARKS for kind in kinds) and not any(
        scalar.name.startswith("u") for scalar in payload
    )


def cases(wanted: int) -> Iterator[tuple[int, KeyedCase]]:
    """The first so many that Spark has the types for."""
    found = ((seed, keyed_case(seed)) for seed in count())
    return islice((one for one in found if sparks(one[1])), wanted)


def test_random_queries_by_key_on_spark(spark: SparkSession, *, deep: bool) -> None:
    for seed, case in cases(DEEPER if deep else QUERIES):
        random = Random(seed)  # noqa: S311
        chunk = random.choice((None, 1, 3, 8, 80))
        wrong = difference(spark, case, chunk, random)
        text = format_query(case.query)
        assert wrong is None, f"seed {seed}, chunk {chunk}: {wrong}\n{text}"


def difference(
    spark: SparkSession, case: KeyedCase, chunk: int | None, random: Random
) -> str | None:
    """Return what Spark finds otherwise, if anything."""
    query = tilt.CompiledQuery(case.query, tilt.CompileOptions(optimize=False))
    bindings = {name: binding(one, random) for name, one in case.inputs.items()}
    tables = {name: bound(one, one.frame) for name, one in bindings.items()}
    given: dict[str, Any] = {**tables, **case.bounds}
    frames = {
        name: bound(
            one, spark.createDataFrame(one.frame).repartition(random.randint(1, 4))
        )
        for name, one in bindings.items()
    }
    domain: dict[str, Any] = {"start": case.start, "end": case.end, "chunk": chunk}
    local = query.run(**domain, **given)
    found = apply_all(query, frames, bounds=dict(case.bounds), **domain)
    for name, frame in found.items():
        keys = len(keys_of(case.query, name))
        table = frame.toArrow()
        meant = local[name].to_arrow().cast(table.schema)
        within = 1e-4 if chunk is None and is_rough(case.query, name) else 0.0
        ours, theirs = listed(table, keys), listed(meant, keys)
        if list(ours) != list(theirs):
            return f"~{name}: rows {list(ours)}, expected {list(theirs)}"
        for row, values in ours.items():
            if not all(map(same, values, theirs[row], [within] * len(values))):
                return f"~{name}: at {row} {values}, expected {theirs[row]}"
    return None


def binding(one: KeyedInput, random: Random) -> InputBinding:
    """The rows of an input in any order, in Spark's types, with what settles ties."""
    table = table_of(one, 1000)
    table = table.cast(pa.schema([(f.name, in_spark(f.type)) for f in table.schema]))
    if one.ranks is None:
        ranks = pa.array(range(table.num_rows), pa.int64())
        table = table.append_column("rank", ranks)
    given = binding_of(one, table)
    order = random.sample(range(table.num_rows), table.num_rows)
    table = table.take(pa.array(order, pa.int64()))
    return InputBinding(table, given.time, given.lifetime, given.column, ("rank",))


def bound(one: InputBinding, frame: object) -> BoundFrame:
    return tilt.bind(
        frame, time=one.time, lifetime=one.lifetime, column=one.column, order=one.order
    )


def in_spark(kind: pa.DataType) -> pa.DataType:
    """The type that Spark has for a column."""
    if pa.types.is_dictionary(kind):
        return in_spark(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_date64(kind):
        return pa.date32()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    return kind


def listed(table: pa.Table, keys: int) -> dict[str, list[object]]:
    """The values of each row, by its keys and times as text; in order of that."""
    names = table.column_names
    rows = [list(row.values()) for row in table.to_pylist()]
    found = {}
    for row in rows:
        times = row[: keys + 2]
        place = [v + 0.0 if isinstance(v, float) else v for v in times]
        found[repr(place)] = row[keys + 2 :]
    assert len(found) == len(rows), f"{names}: a row is there twice"
    return dict(sorted(found.items()))


def same(one: Any, other: Any, within: float) -> bool:
    """Equal to the bit, or near where that is wanted."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return list(one) == list(other) and all(
            same(one[name], other[name], within) for name in one
        )
    if within and isinstance(one, float) and isinstance(other, float):
        return same_number(one, other, within * max(1.0, abs(other)))
    return same_number(one, other, 0.0)
