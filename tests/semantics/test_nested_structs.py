"""Structs in structs: their fields, φ of the whole and of a part, columns."""

from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
from tests.plain import check_engines, listed
from tiltpy.errors import DataError, QueryError
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, Value, interpret
from tiltpy.ir.print.query import format_query
from tiltpy.passes.flatten_structs import flatten_structs
from tiltpy.types import BOOL, F64, I64, Struct, columns

QUOTES = "input q : { bid: { price: f64, size: i64 }, ask: { price: f64 }, n: i32 }\n"
ROWS: list[tuple[int, int, Value]] = [
    (0, 1, {"bid": {"price": 1.5, "size": 2}, "ask": {"price": 2.0}, "n": 1}),
    (1, 2, {"bid": None, "ask": {"price": 3.0}, "n": None}),
    (2, 3, {"bid": {"price": None, "size": 4}, "ask": None, "n": 3}),
]


def values(expression: str) -> list[object]:
    """An expression at 1, 2, 3 and 4 (where there is no row), by every engine."""
    text = f"{QUOTES}~out[t] = {expression}"
    query = parse(text)
    assert parse(format_query(query)) == query
    found = check_engines(text, {"q": ROWS}, start=0, end=4)["out"]
    by_end = {end: s.value for s in found for end in range(s.start + 1, s.end + 1)}
    return [by_end.get(time) for time in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("~q[t].bid.price", [1.5, None, None, None]),
        ("~q[t].bid.size", [2, None, 4, None]),
        (
            "~q[t].bid",
            [{"price": 1.5, "size": 2}, None, {"price": None, "size": 4}, None],
        ),
        ("~q[t].bid != φ", [True, False, True, False]),
        ("~q[t].bid.price == φ", [False, True, True, True]),
        ("exists(~q[t].ask)", [True, True, False, False]),
        ("~q[t].bid != φ ? ~q[t].bid.size : 9", [2, 9, 4, 9]),
        ("(~q[t].n > 1 ? ~q[t].bid : φ).size", [None, None, 4, None]),
        (
            "{ a = ~q[t].ask, b = 1 }",
            [
                {"a": {"price": 2.0}, "b": 1},
                {"a": {"price": 3.0}, "b": 1},
                {"a": None, "b": 1},
                {"a": None, "b": 1},
            ],
        ),
        ("{ a = { b = ~q[t].n, c = 2 }, d = 1 }.a.b", [1, None, 3, None]),
        (
            "{ a = ~q[t].n > 1 ? ~q[t].ask : { price = 0.5 } }.a.price",
            [0.5, None, None, None],
        ),
        (
            "~q[t].bid with { size = 7 }",
            [{"price": 1.5, "size": 7}, None, {"price": None, "size": 7}, None],
        ),
        ("(~q[t] with { bid = φ }).bid == φ", [True, True, True, True]),
        (
            "(~q[t] with { bid = ~q[t].bid with { price = 8 }, n = 5 }).bid.price",
            [8.0, None, 8.0, None],
        ),
        ("(~q[t] with { ask = ~q[t].bid }).ask.size", [2, None, 4, None]),
        ("count(~q[t-3 : t].bid)", [1, 1, 2, 1]),
        ("sum(~q[t-3 : t].bid.size)", [2, 2, 6, 4]),
        ("sum(b.size * n for {bid: b, n: n} in ~q[t-3 : t] if b != φ)", [2, 2, 14, 12]),
        ("count((v.bid with { size = 1 }).size for v in ~q[t-3 : t])", [1, 1, 2, 1]),
        ("last(~q[t-3 : t].ask.price)", [2.0, 3.0, 3.0, 3.0]),
    ],
)
def test_fields_of_fields(expression: str, expected: list[object]) -> None:
    assert values(expression) == expected


def test_a_local_and_an_object_of_nested_structs() -> None:
    text = f"""{QUOTES}
    ~best[t] = {{ whole = ~q[t]
                 return {{ side = whole.bid != φ ? whole.ask : φ, spread = whole.n }} }}
    ~out[t] = ~best[t-1].side.price
    ~all[t] = ~best[t-1]
    output ~out, ~best, ~all"""
    found = check_engines(text, {"q": ROWS})
    assert [tuple(row) for row in found["out"]] == [(1, 2, 2.0)]
    assert [row.value for row in found["best"]] == [
        {"side": {"price": 2.0}, "spread": 1},
        {"side": None, "spread": None},
        {"side": None, "spread": 3},
    ]


def test_flattening_keeps_the_meaning() -> None:
    inner = Struct((("x", F64), ("y", I64)))
    shape = Struct((("a", inner), ("b", I64), ("c", inner), ("a.x", F64)))
    assert columns(shape) == (
        ("a", BOOL), ("a.x'", F64), ("a.y", I64), ("b", I64),
        ("c", BOOL), ("c.x", F64), ("c.y", I64), ("a.x", F64),
    )  # fmt: skip
    query = parse(
        'input m : { a: { x: f64, y: i64 }, b: i64, "a.x": f64 }\n'
        '~o[t] = ~m[t].a.x + ~m[t]."a.x"'
    )
    row = {"a": True, "a.x'": 1.0, "a.y": 2, "b": 3, "a.x": 0.5}
    flat = interpret(flatten_structs(query), {"m": [Event(0, 1, row)]})
    nested = {"a": {"x": 1.0, "y": 2}, "b": 3, "a.x": 0.5}
    whole = check_engines(format_query(query), {"m": [(0, 1, nested)]})
    assert flat["o"][0].value == whole["o"][0].value == 1.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "input q : { a: { b: { c: f64 } } }\n~o[t] = ~q[t].a",
            "structs nest one level",
        ),
        (QUOTES + "~o[t] = { a = ~q[t] }", "structs nest one level"),
        (QUOTES + "~o[t] = { a = { b = { c = 1 } } }", "structs nest one level"),
        (QUOTES + "~o[t] = ~q[t].bid + 1", "take one of its fields, like .price"),
        (
            QUOTES + "~o[t] = ~q[t].bid.prise",
            "no field `prise` in { price: f64, size: i64 }",
        ),
        (QUOTES + "~o[t] = ~q[t].n.x", "only structs have fields"),
        (QUOTES + "~o[t] = max(~q[t-9 : t].bid)", "reduce one field, like .price"),
        (QUOTES + "~o[t] = true ? ~q[t].bid : ~q[t].ask", "the branches of `?` are"),
    ],
)
def test_wrong_queries_are_located(text: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert message in str(caught.value)
    assert "-->" in str(caught.value)


# Columns

BID = pa.struct([("size", pa.int32()), ("price", pa.float32()), ("more", pa.string())])
TABLE = pa.table(
    {
        "t": [1, 2, 3],
        "bid": pa.array(
            [{"size": 2, "price": 1.5}, None, {"size": 4, "price": None}], BID
        ),
        "ask": pa.array([{"price": 2.0}, {"price": 3.0}, None]),
        "n": pa.array([1, None, 3], pa.int32()),
    }
)
POINTS = QUOTES.replace("\n", " time t point\n")
PASSED = [tuple(row) for row in ROWS]


def passed(frame: object) -> list[tuple[object, ...]]:
    result = tilt.parse(POINTS + "~o[t] = ~q[t]").run(q=frame)
    return [
        (row["start"], row["end"], {n: row[n] for n in ("bid", "ask", "n")})
        for row in result.to_arrow().to_pylist()
    ]


def test_struct_columns_come_in_and_go_out() -> None:
    assert passed(TABLE) == PASSED
    assert passed(TABLE.slice(1)) == PASSED[1:]
    parts = pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1, 2)])
    assert passed(parts) == PASSED
    assert passed(TABLE.take([2, 0, 1])) == PASSED
    assert passed(pl.from_arrow(TABLE)) == PASSED
    assert passed(TABLE.to_pandas(types_mapper=pd_arrow)) == PASSED
    frame = TABLE
    assert passed(duckdb.sql("select * from frame")) == PASSED
    outer = pa.StructArray.from_arrays(
        [frame[name].combine_chunks() for name in ("bid", "ask", "n")],
        ["bid", "ask", "n"],
        mask=pa.array([False, True, False]),
    )
    assert passed(pa.table({"t": frame["t"], "q": outer})) == [PASSED[0], PASSED[2]]


@pytest.mark.parametrize("kind", [pa.string_view(), pa.large_string()])
def test_structs_with_strings_of_any_kind_are_sorted(kind: pa.DataType) -> None:
    text = "input q : { s: { name: string, n: i64 } } time t point\n~o[t] = ~q[t].s"
    names = pa.array(["c", "a", None], kind)
    structs = pa.StructArray.from_arrays(
        [names, pa.array([3, 1, 2])],
        ["name", "n"],
        mask=pa.array([False, False, True]),
    )
    frame = pa.table({"t": [3, 1, 2], "s": structs})
    found = listed(tilt.parse(text).run(q=frame))
    assert found == [(0, 1, "a", 1), (2, 3, "c", 3)]


def pd_arrow(kind: pa.DataType) -> object:
    import pandas as pd  # noqa: PLC0415

    return pd.ArrowDtype(kind)


def test_results_go_on_elsewhere(tmp_path: Path) -> None:
    query = tilt.parse(POINTS + "~o[t] = ~q[t]")
    whole = query.run(q=TABLE).to_arrow()
    path = tmp_path / "o.parquet"
    assert query.run_to(path, q=iter(TABLE.to_batches(1))) == {"o": 3}
    assert pq.read_table(path).equals(whole)
    assert (
        passed(pq.read_table(path).rename_columns(["s", "t", "bid", "ask", "n"]))
        == PASSED
    )
    frame = query.run(q=TABLE).to_polars()
    assert frame["bid"].struct.field("price").to_list() == [1.5, None, None]
    assert query.run(q=TABLE).to_pandas()["bid"][1] is None
    found = duckdb.sql("select bid.size from whole")
    assert found is not None
    assert found.fetchall() == [(2,), (None,), (4,)]
    samples = tilt.parse(
        QUOTES.replace("\n", " sampled 1\n") + "~o[t] = ~q[t].bid.size"
    )
    given = tilt.sampled(TABLE.drop_columns(["t"]), 0, 1)
    assert listed(samples.run(q=given)) == [(0, 1, 2), (2, 3, 4)]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([1, 2, 3]), "found int64, expected a struct column with the fields"),
        (pa.array([{"price": 1.0}] * 3), "no such column in the struct column 'bid'"),
        (
            pa.array([{"price": 1.0, "size": "a"}] * 3),
            "column 'bid.size': found string",
        ),
    ],
)
def test_other_columns_are_refused(column: pa.Array, message: str) -> None:
    with pytest.raises(DataError) as caught:
        passed(TABLE.set_column(1, "bid", column))
    assert message in str(caught.value)


def test_reductions_of_ones_own_take_times_and_nested_structs() -> None:
    text = """input q : { at: time, side: { took: duration, n: i64 } }
    reduction late(v: { at: time, side: { took: duration, n: i64 } }) {
        init   = { total = duration(0), worst = { took = duration(0), at = time(0) } }
        acc    = { total = state.total + v.side.took * v.side.n,
                   worst = v.side.took > state.worst.took
                           ? { took = v.side.took, at = v.at } : state.worst }
        result = { mean = state.total / 2, worst = state.worst }
    }
    ~o[t] = late(~q[t-9 : t])
    ~p[t] = late(~q[t-9 : t]).worst.at
    output ~o, ~p"""
    query = parse(text)
    assert parse(format_query(query)) == query
    rows: list[tuple[int, int, Value]] = [
        (0, 1, {"at": 5, "side": {"took": 3, "n": 2}}),
        (1, 2, {"at": 6, "side": {"took": 9, "n": 1}}),
        (2, 3, {"at": 7, "side": {"took": 4, "n": 3}}),
    ]
    found = check_engines(text, {"q": rows}, start=2, end=3)
    assert found["o"][0].value == {"mean": 14, "worst": {"took": 9, "at": 6}}
    assert found["p"][0].value == 6


def test_csv_has_a_column_for_each_field(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    query = tilt.parse(POINTS + "~o[t] = ~q[t]")
    assert query.run_to(path, q=TABLE) == {"o": 3}
    assert path.read_text("utf8").splitlines() == [
        '"start","end","bid.price","bid.size","ask.price","n"',
        "0,1,1.5,2,2,1",
        "1,2,,,3,",
        "2,3,,4,,3",
    ]


def test_strings_and_times_in_structs_in_structs() -> None:
    text = """unit s
    input q : { a: { s: string, t: time }, b: string } time ts point
    ~o[t] = { a = ~q[t].a.s == "x" ? ~q[t].a : φ, last = last(~q[t-5s : t].a.s) }
    ~p[t] = ~q[t].a.t - time("1970-01-01")
    output ~o, ~p"""
    at = pa.timestamp("s")
    table = pa.table(
        {
            "ts": pa.array([1, 2, 3], at),
            "a": pa.array(
                [{"s": "x", "t": 1}, None, {"s": "y", "t": 3}],
                pa.struct([("s", pa.string()), ("t", at)]),
            ),
            "b": ["b", None, "c"],
        }
    )
    found = tilt.parse(text).run(q=table, chunk=1, workers=2)
    stamp = found["o"].to_arrow()["end"][0].as_py()
    assert [row[2:] for row in listed(found["o"])] == [
        ({"s": "x", "t": stamp}, "x"),
        (None, "x"),
        (None, "y"),
    ]
    assert [row[2].total_seconds() for row in listed(found["p"])] == [1.0, 3.0]  # type: ignore[attr-defined]


def test_vector_kernels_take_times_and_nested_structs() -> None:
    text = POINTS + (
        "~o[t] = { side = last(~q[t-8 : t].n) > 50 ? ~q[t].bid : φ,"
        " best = { p = max(~q[t-8 : t].bid.price), d = duration(~q[t].n) / 3 } }"
    )
    rows = 6000
    sides = [
        None if i % 7 == 0 else {"price": float(i % 97), "size": i} for i in range(rows)
    ]
    table = pa.table(
        {
            "t": range(1, rows + 1),
            "bid": pa.array(sides),
            "ask": pa.array([{"price": 1.0}] * rows),
            "n": pa.array([i % 100 for i in range(rows)], pa.int32()),
        }
    )
    query = tilt.parse(text)
    assert "== vector kernel ==" in query.explain(inputs={"q": table})
    whole = query.run(q=table).to_arrow()
    pieces = [query.run(q=table, start=s, end=s + 1000) for s in range(0, rows, 1000)]
    parts = pa.concat_tables([piece.to_arrow() for piece in pieces])
    assert parts.combine_chunks().equals(whole.combine_chunks())
    assert whole["best"].combine_chunks().field("d")[31].as_py() == round(31 / 3)
