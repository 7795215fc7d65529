"""Inputs by key: columns, joins, lifetimes in each key, empty frames, errors, files."""

import datetime as dt
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import tiltpy as tilt
from tiltpy.cli.main import main
from tiltpy.errors import DataError

Rows = list[tuple[Any, ...]]
Typed = tuple[str, list[Any]]
DAY, LATER = dt.date(2024, 1, 1), dt.date(2024, 2, 1)


def run(text: str, **given: object) -> dict[str, Rows]:
    """The rows of each output, without their names."""
    result = tilt.parse(f"unit s\n{text}").run(**given)  # type: ignore[arg-type]
    return {
        name: [tuple(row.values()) for row in one.to_arrow().to_pylist()]
        for name, one in result.items()
    }


def frame(**columns: object) -> pa.Table:
    return pa.table(columns)


# Columns


def test_several_key_columns_in_the_order_of_the_query() -> None:
    table = frame(
        ts=[1, 1, 2, 2, 3, 4],
        venue=["x", "y", "x", None, "y", "x"],
        symbol=["b", "b", "a", "a", "b", "b"],
        x=[1, 2, 3, 4, 5, 6],
    )
    found = run(
        "input x by symbol, venue : i64 time ts point\n~o[t] = sum(~x[t-9 : t])",
        x=table,
        start=3,
        end=4,
    )
    assert found["o"] == [
        ("a", None, 3, 4, 4),
        ("a", "x", 3, 4, 3),
        ("b", "x", 3, 4, 7),
        ("b", "y", 3, 4, 7),
    ]
    result = tilt.parse(
        "unit s\ninput x by venue, symbol : i64 time ts point\n~o[t] = ~x[t]"
    ).run(x=table)
    assert result.schema.names == ["venue", "symbol", "start", "end", "o"]


def test_a_frame_may_call_its_keys_otherwise() -> None:
    table = frame(start=["b", "a"], ts=[1, 1], x=[1, 2])
    found = run(
        "input x by symbol : i64 time ts point\n~o[t] = ~x[t]",
        x=tilt.bind(table, by="start"),
    )
    assert found["o"] == [("a", 0, 1, 2), ("b", 0, 1, 1)]


def test_a_key_may_be_a_field_that_is_read() -> None:
    table = frame(k=[2, 1, 2], ts=[1, 2, 3])
    found = run(
        "input x by k : { k: i64 } time ts point\n"
        "~o[t] = sum(k * 10 for {k: k} in ~x[t-9 : t])",
        x=table,
    )
    assert found["o"] == [(1, 1, 2, 10), (2, 0, 2, 20), (2, 2, 3, 40)]


# Joins

BOTH = """
input a by k : i64 time ts point
input b by k : i64 time ts until_next
~sum[t] = ~a[t] + ~b[t]
~either[t] = ~a[t] != φ ? ~a[t] : ~b[t]
~count[t] = count(~b[t-1 : t])
output ~sum, ~either, ~count
"""


def test_keys_on_one_side_only() -> None:
    a = frame(k=["x", "y", "y"], ts=[1, 1, 3], a=[10, 20, 30])
    b = frame(k=["y", "z", "y"], ts=[1, 2, 4], b=[1, 2, 3])
    assert run(BOTH, a=a, b=b) == {
        "sum": [("y", 0, 1, 21), ("y", 2, 3, 31)],
        "either": [
            *[("x", 0, 1, 10)],
            *[("y", 0, 1, 20), ("y", 1, 2, 1), ("y", 2, 3, 30), ("y", 3, 4, 3)],
            *[("z", 1, 2, 2)],
        ],
        "count": [("y", 0, 3, 1), ("y", 3, 4, 1), ("z", 1, 2, 1)],
    }


NAN = math.nan


@pytest.mark.parametrize(
    ("of_a", "of_b", "union", "both"),
    [
        (("int8", [1, None]), ("int64", [None, 300]), ("int64", [None, 1, 300]), None),
        (("uint8", [1, 2]), ("int16", [-1, 1]), ("int16", [-1, 1, 2]), 1),
        (("uint32", [1, 2]), ("int8", [-1, 1]), ("int64", [-1, 1, 2]), 1),
        (("string", ["p"]), ("large_string", ["q", "p"]), ("string", ["p", "q"]), "p"),
        (("float", [5, NAN]), ("double", [NAN, 0.1]), ("double", [0.1, 5.0, NAN]), NAN),
        (("null", [None]), ("string", ["q", None]), ("string", [None, "q"]), None),
        (("date32", [DAY]), ("date64", [DAY, LATER]), ("date64", [DAY, LATER]), DAY),
    ],
    ids=["null", "sign", "wide", "text", "float", "nothing", "date"],
)  # fmt: skip
def test_types_of_keys_that_are_joined(
    of_a: Typed, of_b: Typed, union: Typed, both: object
) -> None:
    """One key of each is the other's; the union is of the type that holds both."""
    a, b = keyed("a", of_a), keyed("b", of_b)
    for frames in ({"a": a, "b": b}, {"a": coded(a), "b": coded(b)}):
        result = tilt.parse(f"unit s\n{BOTH}").run(**frames)
        for output, keys in (("sum", [both]), ("either", union[1])):
            table = result[output].to_arrow()
            assert str(table.schema.field("k").type).split("[")[0] == union[0]
            assert repr(table["k"].to_pylist()) == repr(keys)


def test_times_of_any_unit_are_keys_that_meet() -> None:
    a = keyed("a", ("timestamp[s]", [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)]))
    b = keyed("b", ("timestamp[ms]", [dt.datetime(2024, 1, 2)]))
    table = tilt.parse(f"unit s\n{BOTH}").run(a=a, b=b)["sum"].to_arrow()
    assert table.schema.field("k").type == pa.timestamp("ms")
    assert table["k"].to_pylist() == [dt.datetime(2024, 1, 2)]


def keyed(name: str, keys: Typed) -> pa.Table:
    """A row at 1 for each key."""
    kind, values = keys
    count = len(values)
    column = pa.array(values, pa.type_for_alias(kind))
    return frame(k=column, ts=[1] * count, **{name: [1] * count})


def coded(table: pa.Table) -> pa.Table:
    """Make the same with a dictionary of keys, if there are such."""
    if pa.types.is_null(table["k"].type):
        return table
    return table.set_column(0, "k", table["k"].dictionary_encode())


def test_an_input_without_a_key_is_seen_by_every_key() -> None:
    text = """
    input a by k : i64 time ts point
    input rate : i64 time ts until_next
    ~cost[t] = ~a[t] * ~rate[t]
    ~held[t] = ~a[t] == φ ? ~rate[t] : φ
    ~twice[t] = 2 * ~rate[t]
    output ~cost, ~held, ~twice
    """
    a = frame(k=["x", "y", "x"], ts=[2, 3, 9], a=[10, 20, 30])
    rate = frame(ts=[1, 3, 5], rate=[1, 2, 3])
    assert run(text, a=a, rate=rate) == {
        "cost": [("x", 1, 2, 10), ("x", 8, 9, 90), ("y", 2, 3, 40)],
        "held": [
            *[("x", 0, 1, 1), ("x", 2, 4, 2), ("x", 4, 8, 3)],
            *[("y", 0, 2, 1), ("y", 3, 4, 2), ("y", 4, 5, 3)],
        ],
        "twice": [(0, 2, 2), (2, 4, 4), (4, 5, 6)],
    }


def test_outputs_of_different_keys() -> None:
    text = """
    input a by k : i64 time ts point
    input b by k, l : i64 time ts point
    ~a_count[t] = count(~a[t-9 : t])
    ~b_count[t] = count(~b[t-9 : t])
    output ~b_count, ~a_count
    """
    a = frame(k=[2, 1, 2], ts=[1, 1, 1], a=[1, 1, 1])
    b = frame(k=[1, 1], l=["q", "p"], ts=[1, 1], b=[1, 1])
    assert run(text, a=a, b=b) == {
        "b_count": [(1, "p", 0, 1, 1), (1, "q", 0, 1, 1)],
        "a_count": [(1, 0, 1, 1), (2, 0, 1, 2)],
    }


# Lifetimes and order, in each key


def test_a_row_holds_until_the_next_of_its_key() -> None:
    table = frame(
        k=["a", "b", "a", "b", "b"], ts=[1, 2, 4, 6, 9], x=pa.array([1, 2, 3, None, 4])
    )
    text = "input x by k : i64 time ts until_next\n~o[t] = ~x[t]"
    rows = [("a", 0, 3, 1), ("a", 3, 4, 3), ("b", 1, 5, 2), ("b", 8, 9, 4)]
    assert run(text, x=table)["o"] == rows
    rows[1], rows[3] = ("a", 3, 12, 3), ("b", 8, 12, 4)
    assert run(text, x=table, end=12)["o"] == rows


def test_ties_are_those_of_a_key() -> None:
    table = frame(
        k=["a", "b", "a", "b"], ts=[1, 1, 1, 1], seq=[2, 1, 1, 2], x=[1, 2, 3, 4]
    )
    text = "input x by k : i64 time ts {} point\n~o[t] = last(~x[t-1 : t])"
    assert run(text.format(""), x=table.drop_columns("seq"))["o"] == [
        ("a", 0, 1, 3),
        ("b", 0, 1, 4),
    ]
    assert run(text.format("order seq"), x=table)["o"] == [
        ("a", 0, 1, 1),
        ("b", 0, 1, 4),
    ]


def test_samples_and_intervals_of_each_key() -> None:
    text = "input x by k : i64 {}\n~o[t] = sum(~x[t-2s : t])"
    table = frame(k=["a", "b", "a", "b"], ts=[2, 12, 4, 14], x=[1, 2, 3, 4])
    expected = [
        ("a", 0, 2, 1),
        ("a", 2, 3, 4),
        ("a", 3, 4, 3),
        ("b", 10, 12, 2),
        ("b", 12, 13, 6),
        ("b", 13, 14, 4),
    ]
    assert run(text.format("time ts sampled 2s"), x=table)["o"] == expected
    spans = frame(k=table["k"], start=[0, 10, 2, 12], end=table["ts"], x=table["x"])
    assert run(text.format("interval (start, end)"), x=spans)["o"] == expected


# What is no event, and no rows


def test_a_key_of_nulls_alone_is_none() -> None:
    text = "input x by k : i64 time ts point\n~o[t] = count(~x[t-9 : t])"
    table = frame(k=["a", "b"], ts=[1, 1], x=pa.array([None, 1]))
    assert run(text, x=table, start=0, end=2)["o"] == [("b", 0, 2, 1)]
    fields = "input x by k : {{ v: i64 }} time ts point\n~o[t] = {}"
    table = frame(k=["a", "b"], ts=[1, 1], v=pa.array([None, 1]))
    found = run(fields.format("~x[t] != φ ? { v = ~x[t].v } : φ"), x=table)
    assert found["o"] == [("a", 0, 1, None), ("b", 0, 1, 1)]


def test_empty_frames() -> None:
    a = frame(
        k=pa.array([], pa.string()),
        ts=pa.array([], pa.int64()),
        a=pa.array([], pa.int64()),
    )
    b = frame(k=["y"], ts=[1], b=[1])
    found = tilt.parse(f"unit s\n{BOTH}").run(a=a, b=b)
    assert len(found["sum"]) == 0
    assert found["sum"].schema.names == ["k", "start", "end", "sum"]
    assert found["either"].to_arrow().to_pylist() == [
        {"k": "y", "start": 0, "end": 1, "either": 1}
    ]
    none = b.slice(1)
    found = tilt.parse(f"unit s\n{BOTH}").run(a=a, b=none, start=0, end=9, order="time")
    for one in found.values():
        table = one.to_arrow()
        assert (len(table), table.schema.field("k").type) == (0, pa.string())


def test_a_span_without_length() -> None:
    table = frame(k=["a", "b"], ts=[1, 5], x=[1, 2])
    text = "input x by k : i64 time ts point\n~o[t] = ~x[t]"
    assert run(text, x=table, start=3, end=3)["o"] == []
    assert run(text, x=table, start=4)["o"] == [("b", 4, 5, 2)]
    assert run(text, x=table, end=4)["o"] == [("a", 0, 1, 1)]


# Errors


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": frame(ts=[1], a=[1])}, "input 'a', column 'k': there is no such column"),
        (
            {"a": frame(k=[1], ts=[1], a=[1])},
            "input 'b', column 'k': found string, but int64 in input 'a': keys that "
            "are joined have one type; cast one of the two columns",
        ),
        (
            {"a": frame(k=[dt.timedelta(1)], ts=[1], a=[1])},
            "rows cannot be split by duration[us]",
        ),
        (
            {"a": tilt.bind(frame(k=[1], ts=[1], a=[1]), by=["k", "ts"])},
            "the query declares the keys 'k', but 'k', 'ts' are bound",
        ),
        (
            {"a": tilt.bind(frame(k=[1], ts=[1], a=[1]), by="ts")},
            "the column 'ts' is a key and holds times",
        ),
        ({"a": frame(k=["x"], ts=[None], a=[1])}, "input 'a', column 'ts'"),
        (
            {"a": frame(k=["x", "y", "x"], ts=[2, 1, 1], a=[1] * 3)},
            "input 'a', column 'ts', row 2: the row belongs before the one above it "
            "that has its key",
        ),
    ],
    ids=range(7),
)  # fmt: skip
def test_what_is_wrong_is_said(given: dict[str, Any], message: str) -> None:
    b = frame(k=["y"], ts=[1], b=[1])
    with pytest.raises(DataError) as caught:
        tilt.parse(f"unit s\n{BOTH}").run(**{"b": b, **given}, allow_sort=False)
    assert message in str(caught.value)


# Files


@pytest.fixture
def files(tmp_path: Path) -> Path:
    table = frame(
        ticker=["b", "a", None, "b"],
        ts=pa.array([0, 1, 1, 2], pa.timestamp("s")),
        price=[1.5, 2.5, 9.0, 3.5],
    )
    pq.write_table(table, tmp_path / "x.parquet")
    text = "input x by symbol : f64 time ts point\n~o[t] = sum(~x[t-5s : t])"
    (tmp_path / "q.tilt").write_text(text)
    return tmp_path


def test_the_command_line(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query, rows = str(files / "q.tilt"), str(files / "x.parquet")
    command = ["run", query, "--input", f"x={rows}", "--column", "price", "--by"]
    assert main([*command, "ticker"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[1].split() == ["symbol", "start", "end", "o"]
    assert [line.split()[0] for line in printed[3:6]] == ["a", "b", "b"]
    assert main([*command, "ticker", "--sort", "time"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in printed[2:6]] == ["1.5", "9", "2.5", "5"]
    for name in ("o.parquet", "o.csv"):
        assert main([*command, "x=ticker", "--output", f"o={files / name}"]) == 0
    written = pq.read_table(files / "o.parquet")
    assert written["symbol"].to_pylist() == [None, "a", "b", "b"]
    assert written["o"].to_pylist() == [9.0, 2.5, 1.5, 5.0]
    assert csv.read_csv(files / "o.csv")["o"].to_pylist() == written["o"].to_pylist()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "column 'symbol': there is no such column among"),
        (("--by", "ticker,price"), "the query declares the keys 'symbol', but"),
        (
            ("--by", "ticker", "--memory", "1GB", "--sort", "time"),
            "--sort orders all rows at once",
        ),
        (("--by", "ticker", "--sort", "size"), "invalid choice: 'size'"),
    ],
    ids=["no column", "two", "streamed", "order"],
)
def test_mistakes_on_the_command_line(
    files: Path,
    words: tuple[str, ...],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    query, rows = str(files / "q.tilt"), str(files / "x.parquet")
    assert main(["run", query, "--input", rows, "--column", "price", *words]) != 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert message in said.err
