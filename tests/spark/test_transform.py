"""Queries over DataFrames of Spark give what local runs give."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import tiltpy as tilt
from tiltpy.api import CompiledQuery
from tiltpy.inputs import BoundFrame
from tiltpy.spark import apply, apply_all, tilt_transform
from tiltpy.spark import shuffle_by_time as pieces
from tiltpy.spark.stitch import can_cross_seams
from tiltpy.spark.time_bounds import find_bounds

Row = tuple[Any, ...]
FAILURES = (PySparkException, Py4JError)


def listed(frame: DataFrame) -> list[Row]:
    """The rows of a DataFrame in an order of their own."""
    return ordered(frame.toArrow())


def ordered(table: pa.Table) -> list[Row]:
    rows = zip(*table.to_pydict().values(), strict=True)
    return sorted(rows, key=lambda row: [(v is not None, str(type(v)), v) for v in row])


def same(
    query: CompiledQuery,
    frames: Mapping[str, BoundFrame],
    tables: Mapping[str, BoundFrame],
    **arguments: Any,
) -> None:
    """Tell whether all outputs over frames of Spark are those over tables of Arrow."""
    chunk = arguments.pop("chunk", None)
    given: dict[str, Any] = {**arguments, **tables}
    expected = query.run(**given)
    for name, frame in apply_all(query, frames, chunk=chunk, **arguments).items():
        assert listed(frame) == ordered(expected[name].to_arrow()), name


def random_rows(seed: int, count: int, span: int, keys: Sequence[Any]) -> list[Row]:
    """Rows of a key, a time and a multiple of 1/8 or nothing; some share times."""
    random = Random(seed)  # noqa: S311
    return [
        (
            random.choice(keys),
            random.randrange(span),
            random.randrange(64) / 8 if random.random() < 0.9 else None,
        )
        for _ in range(count)
    ]


def both(
    spark: SparkSession, rows: list[Row], partitions: int = 3
) -> tuple[DataFrame, pa.Table]:
    """Make the same rows for Spark and for local runs."""
    frame = spark.createDataFrame(rows, "symbol string, ts long, price double")
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    names = ("symbol", "ts", "price")
    kinds = (pa.string(), pa.int64(), pa.float64())
    arrays = [pa.array(c, k) for c, k in zip(columns, kinds, strict=True)]
    return frame.repartition(partitions), pa.table(
        dict(zip(names, arrays, strict=True))
    )


KINDS = {
    "point": "{ v = ~price[t], sum = sum(~price[t-9s : t]) }",
    "until_next": "~price[t] > 2 ? ~price[t+5s] : φ",
    "until_next max 3s": "count(~price[t-3s : t]) + 1",
    "duration 7s": "~price[t] != φ ? mean(~price[t-9s : t]) : φ",
}
"""An expression for rows of each lifetime."""


@pytest.mark.few(2)
@pytest.mark.parametrize("lifetime", KINDS)
def test_one_series_is_cut_by_time(spark: SparkSession, lifetime: str) -> None:
    query = tilt.parse(f"""
        unit s
        input price : f64 time ts order price {lifetime}
        ~out[t] = {KINDS[lifetime]}
    """)
    frame, table = both(spark, random_rows(1, 300, 700, "ab"))
    same(query, {"price": tilt.bind(frame)}, {"price": tilt.bind(table)}, chunk=64)


def test_rows_go_to_few_of_the_short_pieces_that_look_far(spark: SparkSession) -> None:
    query = tilt.parse("""
        input price : f64 time ts order price point
        ~out[t] = ~price[t] != φ ? sum(~price[t-1099511627776 : t]) : φ
    """)
    frame, table = both(spark, random_rows(1, 300, 3000, "ab"))
    cut: list[DataFrame] = []

    def bounds(*given: Any) -> DataFrame:
        cut.append(find_bounds(*given))
        return cut[-1]

    with patch.object(pieces, "find_bounds", bounds):
        same(query, {"price": tilt.bind(frame)}, {"price": tilt.bind(table)}, chunk=7)
    assert 10 < cut[0].collect()[0]["last"] < 20


def test_what_lasts_for_a_cell_has_no_seams(spark: SparkSession) -> None:
    assert not goes_on("~x[t] - mean(~x[t-9s : t])", "point")
    assert not goes_on("~x[t] > 0 ? ~x[t-3s] : φ", "sampled 1s")
    assert goes_on("~x[t] - mean(~x[t-9s : t])", "duration 2s")
    assert goes_on("~x[t] - mean(~x[t-9s : t])", "until_next")
    assert goes_on("mean(~x[t-9s : t])", "point")
    assert goes_on("~x[t] != φ ? 1 : 0", "point")
    frame, _ = both(spark, [])
    plain = tilt.parse("unit s\ninput x : f64 time ts point\n~o[t] = ~x[t] + 1\n")
    found = plain_plan(apply(plain, {"x": tilt.bind(frame, column="price")}))
    assert "snapshots" in found
    assert "fragments" not in found


def goes_on(expression: str, lifetime: str) -> bool:
    query = tilt.parse(
        f"unit s\ninput x : f64 {lifetime}\n~o[t] = {expression}\n"
    ).query
    kind = query.inputs[0].lifetime
    assert kind is not None
    return can_cross_seams(query, "o", {"x": kind})


def plain_plan(frame: DataFrame) -> str:
    plan: str = frame._jdf.queryExecution().logical().toString()
    return plan


NEAR = """
    unit s
    input trades by symbol : { price: f64 } time ts order price point
    ~near[t] = ~trades[t].price > 2 ? mean(v.price for v in ~trades[t-50s : t]) : φ
"""


@pytest.mark.parametrize("chunk", [None, 200])
def test_each_key_is_by_itself(spark: SparkSession, chunk: int | None) -> None:
    frame, table = both(spark, random_rows(2, 400, 600, ["a", "b", "é", None]))
    trades, same_trades = tilt.bind(frame), tilt.bind(table)
    query = tilt.parse(NEAR)
    same(query, {"trades": trades}, {"trades": same_trades}, chunk=chunk)


def test_a_thousand_keys_one_of_them_with_half_of_all_rows(spark: SparkSession) -> None:
    rows = random_rows(3, 2500, 4000, [f"S{n}" for n in range(1000)])
    rows += random_rows(4, 2500, 4000, ["S1"])
    frame, table = both(spark, rows, partitions=5)
    query = tilt.parse(NEAR)
    trades, same_trades = tilt.bind(frame), tilt.bind(table)
    for chunk, memory in ((None, "256MB"), (None, "60kB"), (1500, "256MB")):
        found = apply(query, {"trades": trades}, chunk=chunk, memory=memory)
        expected = query.run(trades=same_trades).to_arrow()
        assert listed(found) == ordered(expected)


@pytest.mark.few(1)
@pytest.mark.parametrize("lifetime", ["point", "duration 7s", "until_next"])
def test_keys_that_do_not_fit_are_read_as_time_goes_on(
    spark: SparkSession, lifetime: str
) -> None:
    """Of several inputs, with keys that are nulls, NaNs, and small ones beside."""
    query = tilt.parse(f"""
        unit s
        input trades by symbol, lot : f64 {lifetime}
        input quotes by symbol, lot : f64 until_next
        ~gap[t] = sum(~trades[t-40s : t]) - ~quotes[t-3s]
        output ~gap
    """)
    lots = pa.array([float("nan"), None, 0.5, -0.0])
    inputs: dict[str, Any] = {}
    same_inputs: dict[str, Any] = {}
    for name, seed in (("trades", 11), ("quotes", 12)):
        rows = random_rows(seed, 4000, 9000, ["a", None])
        rows += random_rows(seed + 2, 40, 9000, ["b", "c"])
        _, table = both(spark, rows)
        parts = pa.array([row % 4 for row in range(len(rows))])
        table = table.append_column("lot", lots.take(parts))
        how: dict[str, Any] = {"column": "price", "order": "price"}
        inputs[name] = tilt.bind(spark.createDataFrame(table), **how)
        same_inputs[name] = tilt.bind(table, **how)
    found = apply(query, inputs, memory="30kB").toArrow()
    expected = query.run(**same_inputs).to_arrow()
    texts = [  # in which NaN is NaN
        one.set_column(1, "lot", one.column("lot").cast(pa.string()))
        for one in (found, expected)
    ]
    assert ordered(texts[0]) == ordered(texts[1])


def test_a_key_that_does_not_fit_must_as_far_as_a_query_looks_back(
    spark: SparkSession,
) -> None:
    query = tilt.parse("""
        unit s
        input trades by symbol : f64 point
        ~all[t] = sum(~trades[t-9000s : t])
        output ~all
    """)
    frame, _ = both(spark, random_rows(8, 4000, 9000, ["a"]))
    trades = tilt.bind(frame, column="price", time="ts")
    with pytest.raises(FAILURES) as raised:
        apply(query, {"trades": trades}, memory="30kB").toArrow()
    (line,) = {one for one in str(raised.value).splitlines() if "symbol = 'a'" in one}
    assert "give a larger memory=" in line


def test_keyed_inputs_meet_and_see_those_without_keys(spark: SparkSession) -> None:
    query = tilt.parse("""
        unit s
        input trades by symbol : f64 point
        input quotes by symbol : f64 until_next
        input index : f64 until_next
        ~gap[t] = { gap = ~trades[t] - ~quotes[t], index = ~index[t] }
        ~busy[t] = ~trades[t] != φ && ~quotes[t] != φ ? ~gap[t] : φ
        output ~busy
    """)
    trades, same_trades = both(spark, random_rows(5, 300, 500, ["a", "b", "c"]))
    quotes, same_quotes = both(spark, random_rows(6, 300, 500, ["b", "c", "d"]))
    index, same_index = both(spark, random_rows(7, 50, 500, "x"))
    quotes = quotes.withColumnsRenamed({"symbol": "ticker", "ts": "at"})
    same_quotes = same_quotes.rename_columns(["ticker", "at", "price"])
    how: dict[str, Any] = {"time": "at", "by": "ticker", "order": "price"}
    same(
        query,
        {
            "trades": tilt.bind(trades, column="price", order="price"),
            "quotes": tilt.bind(quotes, column="price", **how),
            "index": tilt.bind(index.drop("symbol"), column="price", time="ts"),
        },
        {
            "trades": tilt.bind(same_trades, column="price", order="price"),
            "quotes": tilt.bind(same_quotes, column="price", **how),
            "index": tilt.bind(
                same_index.drop_columns("symbol"),
                column="price",
                time="ts",
                order="price",
            ),
        },
        chunk=100,
    )


@pytest.mark.covering(1)
@pytest.mark.parametrize("by", ["", "by symbol "])
@pytest.mark.parametrize("most", ["", " max 90s"])
def test_an_as_of_join_keeps_what_comes_after_the_last_row(
    spark: SparkSession, by: str, most: str
) -> None:
    query = tilt.parse(f"""
        unit s
        input trade {by}: f64 time ts order price point
        input quote {by}: f64 time ts order price until_next{most}
        ~paid[t] = {{ v = ~trade[t] - ~quote[t-7s], until = end(~quote[t]) }}
        ~o[t] = ~trade[t] != φ && ~quote[t] != φ ? ~paid[t] : φ
        output ~o
    """)
    trades, same_trades = both(spark, random_rows(8, 200, 500, ["a", "b", "c"]))
    quotes, same_quotes = both(spark, random_rows(9, 20, 150, ["a", "b"]))
    same(
        query,
        {
            "trade": tilt.bind(trades, column="price"),
            "quote": tilt.bind(quotes, column="price"),
        },
        {
            "trade": tilt.bind(same_trades, column="price"),
            "quote": tilt.bind(same_quotes, column="price"),
        },
        chunk=60,
    )
    found = query.run(
        trade=tilt.bind(same_trades, column="price"),
        quote=tilt.bind(same_quotes, column="price"),
    )
    last = max(found.to_arrow()["end"].to_pylist())
    assert last > (300 if not most else 150)


def test_keys_of_two_widths_are_the_same_keys(spark: SparkSession) -> None:
    query = tilt.parse("""
        unit s
        input a by k : f64 time ts until_next
        input b by k : f64 time ts until_next
        input all : f64 time ts until_next
        ~o[t] = ~a[t] + ~b[t] + ~all[t]
    """)
    table = pa.table({"k": [1, 2, 3, 3], "ts": [1, 2, 3, 9], "v": [1.0, 2.0, 3.0, 4.0]})
    frame = spark.createDataFrame(table)
    narrow = frame.withColumn("k", frame["k"].cast("smallint"))
    bound = {
        "a": tilt.bind(narrow, column="v"),
        "b": tilt.bind(frame, column="v"),
        "all": tilt.bind(frame, column="v"),
    }
    local = tilt.bind(table, column="v")
    given: dict[str, Any] = {"a": local, "b": local, "all": local}
    found = apply(query, bound)
    assert found.schema["k"].dataType.simpleString() == "bigint"
    assert listed(found) == ordered(query.run(**given).to_arrow())


STAMPS = {
    "timestamp": (pa.timestamp("us", "UTC"), "ms"),
    "timestamp_ntz": (pa.timestamp("us"), "ms"),
    "date": (pa.date32(), "d"),
    "int": (pa.int32(), "s"),
}


@pytest.mark.parametrize("kind", STAMPS)
def test_times_of_every_kind(spark: SparkSession, kind: str) -> None:
    arrow, unit = STAMPS[kind]
    day = 1 if kind in ("date", "int") else 86_400_000_000
    # Across the night in which the clocks of New York are put forward.
    ticks = [(19790 + n // 3) * day + n * (day // 8) for n in range(0, 30, 2)]
    stamps = pa.array(ticks, arrow if kind == "int" else pa.int64()).cast(
        pa.int32() if kind == "date" else arrow
    )
    table = pa.table({"ts": stamps.cast(arrow), "x": pa.array(range(len(ticks)))})
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frame = spark.createDataFrame(table)
        frame = frame.withColumn("ts", frame["ts"].cast(kind))
        assert frame.schema["ts"].dataType.simpleString() == kind
        query = tilt.parse(f"""
            unit {unit}
            input x : i64 time ts point
            ~o[t] = sum(~x[t-2 : t])
        """)
        found = frame.transform(tilt_transform(query))
        expected = query.run(x=table).to_arrow()
        got = found.toArrow()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert expected.num_rows == got.num_rows > 5
    same_kind = got.cast(pa.schema(list(expected.schema)))
    assert ordered(same_kind) == ordered(expected)


def test_plans_of_several_inputs_are_short(spark: SparkSession) -> None:
    """Spark makes no subquery of each use of a bound: there were 9,003 lines."""
    query = tilt.parse("""
        unit s
        input trades : f64 point
        input quotes : f64 until_next
        ~gap[t] = ~trades[t] - ~quotes[t]
        output ~gap
    """)
    frame, _ = both(spark, random_rows(8, 50, 60, "a"))
    bound = tilt.bind(frame, column="price", time="ts", order="price")
    joined = apply(query, {"trades": bound, "quotes": bound}, chunk=100)
    plan = joined._jdf.queryExecution().optimizedPlan().toString()
    assert "scalar-subquery" not in plan
    assert len(plan.splitlines()) < 200


def test_nothing_runs_before_an_action(spark: SparkSession) -> None:
    frame, _ = both(spark, random_rows(8, 50, 60, "ab"))
    context = spark.sparkContext
    context.setJobGroup("lazy", "building")
    try:
        built = apply(tilt.parse(NEAR), {"trades": frame}, chunk=10)
        assert [field.simpleString() for field in built.schema] == [
            "symbol:string",
            "start:bigint",
            "end:bigint",
            "near:double",
        ]
        assert list(context.statusTracker().getJobIdsForGroup("lazy")) == []
    finally:
        context.setJobGroup("", "")


def test_no_rows(spark: SparkSession) -> None:
    frame, table = both(spark, [])
    query = tilt.parse(NEAR)
    for chunk in (None, 10):
        found = apply(query, {"trades": frame}, chunk=chunk).toArrow()
        assert found.num_rows == 0
        assert found.column_names == query.run(trades=table).schema.names
    every = tilt.parse(
        "unit s\ninput price : f64 time ts point\n~o[t] = count(~price[t-5s : t])\n"
    )
    same(
        every, {"price": tilt.bind(frame)}, {"price": tilt.bind(table)}, start=0, end=9
    )


def test_what_travels_is_text(spark: SparkSession) -> None:
    frame, _ = both(spark, [])
    long = "\n".join(f"~a{n}[t] = mean(~trades[t-{n + 2}s : t])" for n in range(100))
    total = " + ".join(f"~a{n}[t]" for n in range(100))
    query = tilt.parse(
        f"unit s\ninput trades : f64 time ts point\n{long}\n~o[t] = {total}\n"
        "output ~o\n"
    )
    sent: list[Any] = []
    passed_on = type(frame).mapInArrow

    def recorded(self: DataFrame, function: Any, schema: Any) -> DataFrame:
        sent.append(function)
        return passed_on(self, function, schema)

    with patch.object(type(frame), "mapInArrow", recorded):
        apply(query, {"trades": tilt.bind(frame, column="price")})
    dumped: Any = cloudpickle.dumps
    sizes = [len(dumped(function)) for function in sent]
    assert len(sizes) == 2
    assert max(sizes) < 100_000


def test_functions_of_users_take_queries_with_them(spark: SparkSession) -> None:
    query = tilt.parse("input x : i64 time time until_next\n~o[t] = sum(~x[t-2 : t])\n")
    bound = {n: tilt.bind(pa.table({"time": [1, 2], "x": [n, 1]})) for n in (5, 7)}
    numbers = spark.sparkContext.parallelize(list(bound), 1)
    found = numbers.map(lambda n: query.run(x=bound[n]).to_arrow()["o"].to_pylist())
    assert found.collect() == [[5, 6], [7, 8]]


def test_what_does_not_fit_is_named_before_anything_runs(spark: SparkSession) -> None:
    frame, table = both(spark, [])
    query = tilt.parse(NEAR)
    wrong = frame.withColumn("price", frame["price"].cast("string"))
    cases: list[tuple[Any, str]] = [
        (
            frame.drop("ts"),
            "input 'trades', column 'ts': there is no such column among",
        ),
        (
            frame.drop("symbol"),
            "input 'trades', column 'symbol': there is no such column",
        ),
        (wrong, "input 'trades', column 'price': found string, expected f64"),
        (
            frame.withColumn("ts", frame["ts"].cast("double")),
            "input 'trades', column 'ts': found double, expected",
        ),
        (
            table,
            "input 'trades': expected a DataFrame of Spark, found pyarrow.lib.Table",
        ),
        (
            frame.groupBy("symbol"),
            "input 'trades': expected a DataFrame of Spark, found pyspark.sql.",
        ),
    ]
    for given, message in cases:
        with pytest.raises(tilt.DataError) as caught:
            apply(query, {"trades": given})
        assert str(caught.value).startswith(message)
    with pytest.raises(tilt.DataError, match=r"tiltpy\.spark\.apply"):
        query.run(trades=frame)
    stamped = frame.withColumn("ts", frame["ts"].cast("timestamp"))
    with pytest.raises(tilt.DataError, match="nanoseconds, and Spark's count micro"):
        apply(tilt.parse(NEAR.replace("unit s", "unit ns")), {"trades": stamped})
    two = tilt.parse("input a : i64\ninput b : i64\n~o[t] = ~a[t] + ~b[t]\n")
    with pytest.raises(tilt.TiltError, match="the query has the inputs a, b; give a"):
        tilt_transform(two)
    with pytest.raises(tilt.TiltError, match="inputs: expected a dict of DataFrames"):
        apply(query, frame)  # type: ignore[arg-type]
    with pytest.raises(tilt.DataError, match="input 'b': no DataFrame is given for it"):
        apply(two, {"a": frame})
    arriving = spark.readStream.format("rate").load()
    with pytest.raises(tilt.DataError, match="input 'trades': a streaming DataFrame"):
        apply(query, {"trades": arriving})


def test_arguments_of_another_kind_are_refused(spark: SparkSession) -> None:
    frame, _ = both(spark, [])
    until = tilt.parse(
        "input a : i64 time ts point\nd = TDom(0, stop, 1)\n~o[d] = ~a[d]\n"
    )
    inputs = {"a": tilt.bind(frame, column="ts")}
    no_query: Any
    for no_query in (None, Path("query.tilt"), frame):
        for function in (apply, apply_all):
            with pytest.raises(tilt.TiltError, match="query: expected a query: its te"):
                function(no_query, inputs)
        with pytest.raises(tilt.TiltError, match="query: expected a query: its text"):
            tilt_transform(no_query)
    bounds: Any
    for bounds, message in (
        (["stop"], "bounds: expected a dict of times by bound, found a list"),
        ({"stop": 1, "end": 2}, "no bound 'end' of a time domain; it has 'stop'"),
        ({}, r"'stop' is not given; give it as apply\(bounds=\{'stop': \.\.\.\}\), or"),
    ):
        with pytest.raises(tilt.TiltError, match=message):
            apply(until, inputs, bounds=bounds)


@pytest.mark.parametrize("chunk", [None, 10])
def test_a_row_without_a_time_is_refused_by_name(
    spark: SparkSession, chunk: int | None
) -> None:
    frame, _ = both(spark, [("a", 1, 1.0), ("a", None, 2.0)])
    built = apply(tilt.parse(NEAR), {"trades": frame}, chunk=chunk)
    with pytest.raises(FAILURES) as caught:
        built.collect()
    message = (
        "input 'trades', column 'ts': the time is null; fill it in, or drop the row"
    )
    assert message in str(caught.value)


@pytest.mark.parametrize("chunk", [None, 1])
def test_a_failure_says_in_a_line_where_and_why(
    spark: SparkSession, chunk: int | None
) -> None:
    rows = [("a", 1, 1.0), ("b", 2**62 + 1, 2.0)]
    frame, _ = both(spark, rows)
    built = apply(tilt.parse(NEAR, name="near.tilt"), {"trades": frame}, chunk=chunk)
    with pytest.raises(FAILURES) as caught:
        built.collect()
    lines = [line for line in str(caught.value).splitlines() if "DataError" in line]
    (line,) = lines
    assert "near.tilt:3" in line
    assert "input 'trades', column 'ts'" in line
    assert ("symbol = 'b'" in line) == (chunk is not None)


@pytest.mark.parametrize("lifetime", ["point", "until_next max 3s"])
def test_every_piece_of_every_key_sees_rows_without_keys(
    spark: SparkSession, lifetime: str
) -> None:
    """The input without keys is the first that the output refers to."""
    query = tilt.parse(f"""
        unit s
        input price : f64 time ts order price {lifetime}
        input trades by symbol : {{ price: f64 }} time ts order price point
        ~both[t] = sum(~price[t-9s : t]) + ~trades[t].price
        output ~both
    """)
    frame, table = both(spark, random_rows(3, 300, 600, ["a", "b", None]))
    other, same_other = both(spark, random_rows(4, 90, 700, ["-"]))
    frames = {"price": tilt.bind(other), "trades": tilt.bind(frame)}
    tables = {"price": tilt.bind(same_other), "trades": tilt.bind(table)}
    same(query, frames, tables, chunk=50)
