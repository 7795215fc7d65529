"""Windows that are folded into panes before rows move: bits as locally, on any rows.

Spark folds them by aggregates of its own where every reduction has a condition.

Rows come in 1 to 16 partitions, some of them empty, in any order, with ties, nulls,
NaNs and both zeros; keys are numbers or texts, a null among them.
"""

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

import tiltpy as tilt
from tests.compare import same_number
from tiltpy.passes.resolve_boundaries import resolve_boundaries
from tiltpy.plan.nodes import Refusal
from tiltpy.plan.partial_panes import split_into_panes
from tiltpy.spark import apply, tilt_transform
from tiltpy.spark.apply import SparkPlan

CASES, DEEPER = 2, 300
ELEMENTS = (
    "count({})",
    "count(v for v in {} if v.i > 2)",
    "count({}.f)",
    "sum({}.i)",
    "sum({}.b)",
    "sum(v.i for v in {} if v.f > 0.0)",
    "min({}.f)",
    "max({}.f)",
    "max({}.g)",
    "min(v.f * 2.0 for v in {} if v.b)",
    "sum(v.i != φ ? v.i : 9007199254740993 for v in {})",
    "max({}.i)",
    "any({}.b)",
    "all({}.b)",
)
OF_ROWS = (
    "first({}.f)",
    "last({}.i)",
    "first({}.g)",
    "last({}.b)",
    "first(v.i for v in {} if v.f > 0.0)",
    "last(v.f != φ ? v.i : -1 for v in {})",
    "first(7 for v in {} if v.f == φ)",
    "count({})",
    "sum({}.i)",
    "max({}.f)",
)
"""Values of rows, among others."""
SELECTIVE = (
    "count(v for v in {} if v.i > 2)",
    "count(v for v in {} if !(v.f <= 0.25) || v.b)",
    "sum(v.b for v in {} if v.i != φ)",
    "sum(v.i for v in {} if v.i in (1, 3, 8))",
    "max(v.b ? v.g : φ for v in {})",
    "min(v.f for v in {} if v.i == φ || v.b)",
    "any(v.b for v in {} if v.f > -0.5)",
    "all(v.b for v in {} if v.f != 0.25)",
)
SCALAR = (
    "count({})",
    "min({})",
    "max({})",
    "count(v for v in {} if v > 0.0)",
    "first({})",
    "last(v for v in {} if v < 0.5)",
)


def draw_query(random: Random, *, ordered: bool) -> tuple[str, bool]:
    """A query of tumbling and hopping windows; whether its payload is a scalar.

    `ordered`: a column decides between the rows of one time.
    """
    pane = random.choice((1, 3, 10))
    hop = pane * random.randint(1, 3)
    offset = random.randrange(hop)
    scalar = random.random() < 0.3
    elements = SCALAR if scalar else random.choice((ELEMENTS, OF_ROWS, SELECTIVE))
    fields = []
    for number in range(random.randint(1, 5)):
        high = -pane * random.choice((0, 0, 1))
        low = high - pane * random.randint(1, 4)
        bounds = f"w{low:+} : w{high:+}"
        element = random.choice(elements)
        fields.append(f"o{number} = {element.format(f'~x[{bounds}]')}")
    kind = "f64" if scalar else "{f: f64, g: f32, i: i64, b: bool}"
    return (
        f"input x by k : {kind} time ts {'order seq ' if ordered else ''}point\n"
        f"w = TDom(-∞, ∞, {hop}, offset={offset})\n"
        f"~out[w] = {{ {', '.join(fields)} }}\noutput ~out\n"
    ), scalar


def draw_rows(random: Random, *, scalar: bool, ordered: bool) -> pa.Table:
    """Rows in no order; zeros of both signs where `seq` tells rows of them apart."""
    generator = np.random.default_rng(random.randrange(1 << 30))
    count = random.choice((1, 7, 60, 400))
    floats = [None, float("nan"), *([0.0, -0.0] * ordered), *np.arange(-8, 9) / 8]

    def drawn(values: list[Any]) -> list[Any]:
        return [random.choice(values) for _ in range(count)]

    kinds: list[list[Any]] = [[1, 2, None], ["a", "bc", None, ""], [7]]
    keys = drawn(random.choice(kinds))
    columns = {
        "k": pa.array(keys),
        "ts": pa.array(generator.integers(-50, random.choice((0, 300)), count)),
        "seq": pa.array(generator.permutation(count)),
    }
    if scalar:
        return pa.table({**columns, "x": pa.array(drawn(floats), pa.float64())})
    columns["f"] = pa.array(drawn(floats), pa.float64())
    columns["g"] = pa.array(drawn(floats), pa.float32())
    columns["i"] = pa.array(drawn([None, *range(-5, 9)]), pa.int64())
    columns["b"] = pa.array(drawn([None, True, False]), pa.bool_())
    return pa.table(columns)


def listed(table: pa.Table) -> list[tuple[str, list[Any]]]:
    rows = [list(row.values()) for row in table.to_pylist()]
    return sorted(((repr(row[:3]), row[3:]) for row in rows), key=lambda row: row[0])


def test_random_windows_have_the_bits_of_a_local_run(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, *, deep: bool
) -> None:
    folded = 0
    for seed in range(DEEPER if deep else CASES):
        random = Random(seed)  # noqa: S311
        ordered = random.random() < 0.5
        text, scalar = draw_query(random, ordered=ordered)
        query, rows = (
            tilt.parse(text),
            draw_rows(random, scalar=scalar, ordered=ordered),
        )
        split = split_into_panes(resolve_boundaries(query.query), "out")
        folded += not isinstance(split, Refusal)
        start, end = random.choice(((None, None), (5, None), (-20, 111)))
        payload = [name for name in rows.column_names if name not in ("k", "ts", "seq")]
        bound = rows if ordered else tilt.bind(rows, order=payload)
        meant = query.run(start=start, end=end, x=bound).to_arrow()
        frame = spark.createDataFrame(rows).repartition(random.randint(1, 16))
        with monkeypatch.context() as patched:
            if random.random() < 0.7:  # or else there are as many tasks as cores
                patched.setattr(SparkPlan, "_on_cores", lambda _, used: used)
            ours = frame.transform(tilt_transform(query, start=start, end=end))
        table = ours.toArrow()
        left, right = listed(table), listed(meant.cast(table.schema))
        assert [row for row, _ in left] == [row for row, _ in right], (seed, text)
        for (row, one), (_, other) in zip(left, right, strict=True):
            alike = (same_number(a, b, 0.0) for a, b in zip(one, other, strict=True))
            assert all(alike), (seed, text, row, one, other)
    assert folded == (DEEPER if deep else CASES)


def by_spark(frame: DataFrame) -> bool:
    """Return whether Spark's own aggregates fold the rows."""
    plan = frame._jdf.queryExecution().toString()
    assert "MapInArrow" in plan
    return "Aggregate" in plan


def check(
    spark: SparkSession, text: str, rows: pa.Table, *, folded_by_spark: bool = True
) -> None:
    """Compare with a local run, and see who folds."""
    frame = spark.createDataFrame(rows).repartition(3)
    ours = frame.transform(tilt_transform(text))
    assert by_spark(ours) == folded_by_spark
    left = ours.toArrow()
    meant = tilt.parse(text).run(x=rows).to_arrow().cast(left.schema)
    assert sorted(map(repr, left.to_pylist())) == sorted(map(repr, meant.to_pylist()))


def test_sums_of_64_bits_wrap(spark: SparkSession) -> None:
    values = [2**63 - 1, 2**63 - 1, 5, -(2**63), -(2**63), -1, 2**62, 2**62, 0, 7, None]
    rows = pa.table({"k": [1] * 11, "ts": range(11), "x": pa.array(values)})
    query = "input x by k : i64 time ts point\nw = TDom(-∞, ∞, 3)\n"
    check(
        spark,
        query + "~out[w] = sum(v for v in ~x[w-3 : w] if v != 5)\noutput ~out\n",
        rows,
    )


def test_times_are_exact_before_and_after_1970(spark: SparkSession) -> None:
    stamps = [-(10**15) - 1, -1, 0, 1, 999_999, 10**6, 10**15 + 1]
    x = pa.array([1.0, -0.0, 0.0, float("nan"), 5.0, -7.0, 2.5], pa.float32())
    k = pa.array([0.0, -0.0, float("nan"), float("nan"), 0.0, None, None])
    for kind in (pa.timestamp("us", "UTC"), pa.timestamp("us")):
        rows = pa.table({"k": k, "ts": pa.array(stamps).cast(kind), "x": x})
        query = "unit us\ninput x by k : f32 time ts point\nw = TDom(-∞, ∞, 1s)\n"
        window = "v for v in ~x[w-1s : w] if !(v > 2.0)"
        body = f"{{ n = count({window}), a = min({window}), b = max({window}) }}"
        body = f"count({window}) > 0 ? {body} : φ"
        check(spark, query + f"~out[w] = {body}\noutput ~out\n", rows)


def test_tasks_fold_what_spark_would_compute_otherwise(spark: SparkSession) -> None:
    rows = pa.table({"k": [1, 1, 2], "ts": [1, 2, 9], "x": [2**62, 3, None]})
    query = "input x by k : i64 time ts point\nw = TDom(-∞, ∞, 5)\n~out[w] = "
    for body in ("max(v * 4 for v in {} if v > 1)", "min({})"):
        text = f"{query}{body.format('~x[w-5 : w]')}\noutput ~out\n"
        check(spark, text, rows, folded_by_spark=False)


def test_first_and_last_are_those_of_all_tasks(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows on the bounds of panes, many of one time, names, and columns of a struct.

    Of the rows of one time `rank` decides, then the smallest in all columns.
    """
    rows = pa.table(
        {
            "k": ["a"] * 12,
            "ts": [0, 5, 5, 5, 5, 6, 10, 10, 11, 15, -4, -5],
            "q": [
                {"p": p, "rank": rank, "at": {"name": name}}
                for p, rank, name in zip(
                    [1.0, None, 2.5, -0.0, 3.0, 4.0, 5.0, None, 6.0, 7.0, 8.0, 9.0],
                    [0, 1, 3, 3, 2, 0, 2, 1, 0, 0, None, 4],
                    ["a", "b", "c", None, "e", "f", "g", "h", "", "j", "k", "l"],
                    strict=True,
                )
            ],
        }
    )
    kind = "{p: f64, rank: i64, at: {name: string}}"
    query = f"""input x by k : {kind} time ts point
w = TDom(-∞, ∞, 5)
~out[w] = {{
    open = first(~x[w-10 : w].p), close = last(~x[w-5 : w].p),
    place = first(~x[w-5 : w].at.name), last = last(~x[w-5 : w].rank),
    least = min(~x[w-5 : w].p)
}}
output ~out
"""
    leaves = rows.flatten().flatten().drop_columns("k")
    order = pc.sort_indices(
        leaves, [(name, "ascending", "at_start") for name in leaves.column_names]
    )
    meant = tilt.parse(query).run(x=tilt.bind(rows.take(order), column="q"))
    bound = tilt.bind(spark.createDataFrame(rows).repartition(12), column="q")
    monkeypatch.setattr(SparkPlan, "_on_cores", lambda _, used: used)
    for memory in ("256MB", "1kB"):  # the states of the key fit, or do not
        ours = apply(query, {"x": bound}, memory=memory)
        assert not by_spark(ours)
        left = ours.toArrow()
        right = meant.to_arrow().cast(left.schema)
        assert sorted(map(repr, left.to_pylist())) == sorted(
            map(repr, right.to_pylist())
        )


COUNT = """input x by k : i32 time ts point
w = TDom(-∞, ∞, 5)
~out[w] = count(v for v in ~x[w-5 : w] if v > 1)
output ~out
"""
FIRST = COUNT.replace("count(v for v in ~x[w-5 : w] if v > 1)", "first(~x[w-5 : w])")


@pytest.mark.parametrize("query", [COUNT, FIRST])
def test_a_row_without_a_value_may_not_lack_a_time(
    spark: SparkSession, query: str
) -> None:
    frame = spark.createDataFrame([(1, None, None), (1, 2, 3)], "k int, ts long, x int")
    with pytest.raises(PySparkException, match="input 'x', column 'ts': the time is"):
        frame.transform(tilt_transform(query)).collect()
    if query == FIRST:
        return
    far = frame.where("x = 3").withColumn("ts", sql.lit(-(2**62)))
    with pytest.raises(PySparkException, match="a time is too far from 0"):
        far.transform(tilt_transform(query)).collect()


@pytest.mark.parametrize("query", [COUNT, FIRST])
def test_rows_without_a_value_bound_no_key(spark: SparkSession, query: str) -> None:
    x = pa.array([None, 1, 7, 1, None, None], pa.int32())
    rows = pa.table({"k": [1, 1, 1, 1, 1, 2], "ts": [-40, 3, 11, 33, 99, 5], "x": x})
    check(spark, query, rows, folded_by_spark=query == COUNT)


@pytest.mark.parametrize("query", [COUNT, FIRST])
@pytest.mark.parametrize("names", [("from", "b", "c"), ("a.b", "c`d", "e f")])
def test_columns_may_have_any_names(
    spark: SparkSession, query: str, names: tuple[str, str, str]
) -> None:
    rows = pa.table({"k": [1, 1, 2], "ts": [2, 9, 4], "x": pa.array([7, 0, 3], "i4")})
    key, time, value = names
    renamed = spark.createDataFrame(rows.rename_columns(names).select([2, 0, 1]))
    bound = tilt.bind(renamed, by=key, time=time, column=value)
    query = query.replace(" time ts", "")
    left = apply(query, {"x": bound}).toArrow()
    local = tilt.bind(rows.rename_columns(names), by=key, time=time, column=value)
    meant = tilt.parse(query).run(x=local).to_arrow().cast(left.schema)
    assert sorted(map(repr, left.to_pylist())) == sorted(map(repr, meant.to_pylist()))


def test_a_key_may_be_a_value_as_well(spark: SparkSession) -> None:
    query = FIRST.replace(": i32 time", ": {k: i32} time")
    query = query.replace("~x[w-5 : w]", "~x[w-5 : w].k")
    rows = pa.table({"k": pa.array([1, 1, 2], pa.int32()), "ts": [2, 9, 4]})
    check(spark, query, rows, folded_by_spark=False)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("sum(~x[w-10 : w].f)", "sum of f64 has no exact merge in any order"),
        ("mean(~x[w-10 : w].f)", "mean has no exact merge in any order"),
        ("count(~x[w-90 : w+1])", "windows of ~x have more than 8 panes"),
        ("product(~x[w-10 : w].f)", "product has no exact merge in any order"),
        ("median(~x[w-10 : w].f)", "median of ~x looks at a window as a whole"),
        ("~x[w].f", "~out refers to more than windows"),
    ],
)
def test_a_refusal_says_why(body: str, reason: str) -> None:
    query = tilt.parse(
        "input x by k : {f: f64} point\nw = TDom(-∞, ∞, 10)\n"
        f"~out[w] = {body}\noutput ~out\n"
    )
    split = split_into_panes(resolve_boundaries(query.query), "out")
    assert isinstance(split, Refusal)
    assert split.reason == reason
