"""Times and durations as values: what operators make of them, columns in and out."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
from tests.plain import check_engines, listed
from tiltpy.errors import DataError, QueryError
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Value
from tiltpy.ir.print.query import format_query

LEAST, MOST = -(2**63), 2**63 - 1
ORDERS = "input o : { at: time, took: duration, n: i64, f: f64 } time ts point\n"
ROW: Value = {"at": 100, "took": 7, "n": 3, "f": 0.5}


def value(expression: str, row: Value = ROW) -> object:
    """An expression over one row that holds over (9, 10], by every engine."""
    text = f"{ORDERS}~out[t] = {expression}"
    assert parse(format_query(parse(text))) == parse(text)
    found = check_engines(text, {"o": [(9, 10, row)]}, start=9, end=10)["out"]
    return found[0].value if found else None


@pytest.mark.few(24)
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("~o[t].at - ~o[t].at", 0),
        ("~o[t].at - time(40)", 60),
        ("~o[t].at + ~o[t].took", 107),
        ("~o[t].took + ~o[t].at", 107),
        ("~o[t].at - ~o[t].took", 93),
        ("~o[t].took - duration(10)", -3),
        ("-~o[t].took", -7),
        ("~o[t].took * 3", 21),
        ("3 * ~o[t].took", 21),
        ("~o[t].took * i8(-2)", -14),
        ("~o[t].took * ~o[t].f", 4),  # 3.5, halves to even
        ("~o[t].took * 0.36", 3),
        ("~o[t].took / 2", 4),
        ("duration(5) / 2", 2),
        ("-duration(5) / 2", -2),
        ("~o[t].took / 0", None),
        ("~o[t].took / nan", None),
        ("~o[t].took * inf", None),
        ("~o[t].took / 1e-300", MOST),
        ("~o[t].took * -1e300", LEAST),
        ("~o[t].took / duration(2)", 3.5),
        ("~o[t].took / duration(0)", float("inf")),
        ("~o[t].took // duration(2)", 3),
        ("-~o[t].took // duration(2)", -4),
        ("~o[t].took // duration(0)", None),
        ("~o[t].took // ~o[t].n", 2),
        ("~o[t].took // 0", None),
        ("~o[t].took % duration(4)", 3),
        ("-~o[t].took % duration(4)", 1),
        ("~o[t].took % duration(0)", None),
        ("abs(-~o[t].took)", 7),
        ("min(~o[t].took, duration(3))", 3),
        ("max(~o[t].at, t)", 100),
        ("~o[t].at > t", True),
        ("t - ~o[t].at", -90),
        ("time(t) + ~o[t].took", 17),
        ("t + ~o[t].took", 17),
        ("~o[t].took + t", 17),
        ("end(~o[t]) - ~o[t].at < duration(0)", True),
        ("start(~o[t]) == ~o[t].at - duration(91)", True),
        ("~o[t].took >= duration(7)", True),
        ("~o[t].at != φ", True),
        ("~o[t].n > 9 ? ~o[t].at : t", 10),
        ("i64(~o[t].at) + i64(~o[t].took)", 107),
        ("i8(~o[t].took * 100)", 127),
        ("f32(~o[t].took)", 7.0),
        ("duration(~o[t].n)", 3),
        ("duration(~o[t].f)", 0),
        ("duration(2.5)", 2),
        ("time(3.5)", 4),
        ("time(u64(18446744073709551615))", MOST),
        ("duration(nan)", None),
        ("time(~o[t].f / 0)", None),
        ("duration(φ)", None),
        ("~o[t].took * φ", None),
        ("~o[t].at - φ", None),
    ],
)
def test_operators(expression: str, expected: object) -> None:
    found = value(expression)
    assert (found, type(found)) == (expected, type(expected))


def test_ticks_wrap_like_integers() -> None:
    far: Value = {"at": MOST, "took": LEAST, "n": 2, "f": 1.0}
    assert value("~o[t].at + duration(1)", far) == LEAST
    assert value("-~o[t].took", far) == LEAST
    assert value("abs(~o[t].took)", far) == LEAST
    assert value("~o[t].took * ~o[t].n", far) == 0
    assert value("~o[t].took // -1", far) == LEAST
    assert value("~o[t].at - ~o[t].took", far) == -1
    assert value("~o[t].took * ~o[t].f", far) == LEAST


def test_a_field_may_be_phi() -> None:
    row: Value = {"at": None, "took": 5, "n": 1, "f": 1.0}
    assert value("~o[t].at + ~o[t].took", row) is None
    assert value("~o[t].at == φ", row) is True
    assert value("{ a = ~o[t].at, b = ~o[t].took / 2 }", row) == {"a": None, "b": 2}


def test_reductions_round_to_the_nearest_tick() -> None:
    text = """input x : duration
    t = TDom(-∞, ∞, 4)
    ~o[t] = { sum = sum(~x[t-4 : t]), mean = mean(~x[t-4 : t]), std = std(~x[t-4 : t]),
              rms = rms(~x[t-4 : t]), min = min(~x[t-4 : t]), max = max(~x[t-4 : t]),
              first = first(~x[t-4 : t]), last = last(~x[t-4 : t]),
              count = count(~x[t-4 : t]), spread = std(~x[t-4 : t], ddof=1),
              skew = skew(~x[t-4 : t]), half = sum(v / 2 for v in ~x[t-4 : t]),
              median = median(~x[t-4 : t]), high = quantile(~x[t-4 : t], 0.9),
              mode = mode(~x[t-4 : t]), kinds = nunique(~x[t-4 : t]),
              top = topk(~x[t-4 : t], 2).top2, often = modes(~x[t-4 : t], 1).mode1,
              long = count(v for v in ~x[t-4 : t] if v > duration(2)) }"""
    rows = [(0, 1, 1), (1, 2, 2), (2, 3, 2), (3, 4, 6), (4, 5, 3), (5, 6, 2)]
    first, second = check_engines(text, {"x": rows})["o"]
    assert first[:2] == (0, 4)
    assert isinstance(first.value, dict)
    assert {**first.value, "skew": None} == {
        "sum": 11, "mean": 3, "std": 2, "rms": 3, "min": 1, "max": 6, "first": 1,
        "last": 6, "count": 4, "spread": 2, "skew": None, "half": 5, "long": 1,
        "median": 2, "high": 5, "mode": 2, "kinds": 3, "top": 2, "often": 2,
    }  # fmt: skip
    assert isinstance(first.value["skew"], float)
    assert isinstance(second.value, dict)
    assert second.value["mean"] == 2  # 2.5
    assert check_engines(text, {"x": [(0, 4, 1)]})["o"][0].value["spread"] is None  # type: ignore[index]


def test_times_have_an_order() -> None:
    text = """input x : time
    ~o[t] = { min = min(~x[t-9 : t]), max = max(~x[t-9 : t]), n = count(~x[t-9 : t]),
              first = first(~x[t-9 : t]), last = last(~x[t-9 : t]) }"""
    rows = [(0, 1, 7), (1, 2, MOST), (2, 3, -4)]
    found = check_engines(text, {"x": rows}, start=2, end=3)["o"][0].value
    assert found == {"min": -4, "max": MOST, "n": 3, "first": 7, "last": -4}


@pytest.mark.parametrize(
    ("expression", "message", "hint"),
    [
        (
            "~o[t].at + 5",
            "time and i64 cannot be combined",
            "duration(5) for that many ticks, or a unit, like 5s",
        ),
        (
            "~o[t].took + 5",
            "duration and i64 cannot be combined",
            "duration(5) for that many ticks, or a unit, like 5s",
        ),
        (
            "~o[t].took > 5",
            "duration and a number cannot be combined",
            "duration(5) for that many ticks, or a unit, like 5s",
        ),
        (
            "~o[t].took > t",
            "duration and i64 cannot be combined",
            "duration(t) for that many ticks",
        ),
        (
            "~o[t].n + 5s",
            "duration and i64 cannot be combined",
            "duration(~o[t].n) for that many ticks",
        ),
        (
            "~o[t].at > 5s",
            "time and duration cannot be combined",
            "a time minus a time",
        ),
        ("~o[t].at + ~o[t].at", "`+` does not take time and time", "time - time"),
        ("5s - ~o[t].at", "`-` does not take duration and time", "time - time"),
        (
            "5s - t",
            "duration and i64 cannot be combined",
            "duration(t) for that many ticks",
        ),
        ("-~o[t].at", "`-` takes numbers, not time", "i64(...)"),
        ("~o[t].at * 2", "`*` does not take time and i64", "durations: + -"),
        ("2 / ~o[t].took", "`/` does not take f64 and duration", "durations: + -"),
        ("~o[t].took // 2.5", "`//` does not take duration and f64", "durations"),
        ("~o[t].took * true", "`*` does not take duration and bool", "durations"),
        ("~o[t].took * u64(2)", "`*` does not take duration and u64", "durations"),
        ("sqrt(~o[t].took)", "sqrt() takes numbers, not duration", "f64(...)"),
        ("abs(~o[t].at)", "abs() takes numbers, not time", "i64(...)"),
        ("bool(~o[t].took)", "no cast from duration to bool", "i64(...)"),
        ("time(~o[t].took)", "no cast from duration to time", "a time plus a dur"),
        ("duration(~o[t].at)", "no cast from time to duration", "a time minus a"),
        ("~o[t] + 5s", "a struct", "take one of its fields"),
        ("sum(~o[t-9s : t].at)", "sum does not take time", "durations, like"),
        ("var(~o[t-9s : t].took)", "var does not take duration", "f64(...)"),
        (
            "~o[t].n > 0 ? ~o[t].took : 0",
            "duration and a number cannot",
            "duration(0) for that many ticks, or a unit, like 0s",
        ),
        ("~o[t].at < true", "time and bool cannot be combined", "time(true)"),
        ('~o[t].at < "2013-03-01"', "string and time cannot", 'write time("2'),
        ('~o[t].took < "5s"', "string and duration cannot", "without quotes"),
        ("~o[t].took ? 1 : 2", "takes a bool, not a duration", "... > 0s"),
        (
            "~o[t].took in (5, 6)",
            "duration and a number cannot",
            "duration(5) for that many ticks, or a unit, like 5s",
        ),
        ("99999999999999999999s - 1s", "beyond 64 bits of ticks", ""),
        ("~o[t].took > 1500ms", "not a whole number of ticks", "`unit ms`"),
    ],
)
def test_what_does_not_go_together(expression: str, message: str, hint: str) -> None:
    with pytest.raises(QueryError) as caught:
        tilt.parse(f"unit s\n{ORDERS}~out[t] = {expression}")
    assert message in str(caught.value)
    assert hint in str(caught.value)


def test_what_rounds_counts_as_depth() -> None:
    chain = "~o[t].took" + " / 3" * 150
    with pytest.raises(QueryError, match="E0301"):
        tilt.parse(ORDERS + f"~out[t] = {chain}").explain()


STAMPS = [datetime(2024, 1, 1, 0, 0, second, tzinfo=UTC) for second in (1, 2, 3)]
COLUMNS = {
    "ts": pa.array(STAMPS, pa.timestamp("ms", "Europe/Berlin")),
    "at": pa.array([STAMPS[0], None, STAMPS[2]], pa.timestamp("us", "UTC")),
    "took": pa.array([timedelta(seconds=90), timedelta(0), None], pa.duration("ns")),
    "n": pa.array([1, 2, 3]),
    "f": pa.array([1.0, 2.0, 3.0]),
}
PASSING = f"unit s\n{ORDERS}~out[t] = {{ at = ~o[t].at, took = ~o[t].took }}"


@pytest.mark.parametrize("kind", ["arrow", "chunks", "polars", "pandas"])
def test_columns_in_and_out(kind: str) -> None:
    table = pa.table(COLUMNS)
    frame = {
        "arrow": lambda: table,
        "chunks": lambda: pa.concat_tables([table.slice(0, 1), table.slice(1)]),
        "polars": lambda: pl.from_arrow(table),
        "pandas": table.to_pandas,
    }[kind]()
    found = tilt.parse(PASSING).run(o=frame)
    rows = [
        (STAMPS[0] - timedelta(seconds=1), STAMPS[0], STAMPS[0], timedelta(seconds=90)),
        (STAMPS[0], STAMPS[1], None, timedelta(0)),
        (STAMPS[1], STAMPS[2], STAMPS[2], None),
    ]
    assert listed(found) == rows
    times = found.schema.field("start").type
    assert found.schema.field("at").type == times
    assert found.schema.field("took").type == pa.duration(times.unit)


@pytest.mark.parametrize(
    ("unit", "column", "expected"),
    [
        ("d", pa.array([date(2024, 1, 1)]), 19723),
        ("d", pa.array([date(2024, 1, 1)], pa.date64()), 19723),
        ("h", pa.array([datetime(1970, 1, 1, 5)], pa.timestamp("ns")), 5),
        ("ns", pa.array([datetime(1970, 1, 1, 5)], pa.timestamp("s")), 18 * 10**12),
        ("s", pa.array([5], pa.uint8()), 5),
        ("s", pa.array([None], pa.null()), None),
    ],
)
def test_times_come_in_units(unit: str, column: pa.Array, expected: int | None) -> None:
    text = f"unit {unit}; input x : time time ts point\n~o[t] = {{ v = i64(~x[t]) }}"
    text += "\n~p[t] = ~x[t] != φ ? ~o[t] : φ\noutput ~p"
    table = pa.table({"ts": pa.array([1]), "x": column})
    found = [row[2] for row in listed(tilt.parse(text).run(x=table))]
    assert found == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("declared", "column", "message"),
    [
        ("time", pa.array([1500], pa.timestamp("ms")), "1970-01-01 00:00:01.500"),
        ("duration", pa.array([1500], pa.duration("ms")), "1500ms is not a whole"),
        ("duration", pa.array([1], pa.timestamp("ms")), "declare it as time"),
        ("time", pa.array([1], pa.duration("ms")), "declare it as duration"),
        ("time", pa.array([1.5]), "found double, expected timestamps, dates or"),
        ("duration", pa.array([1], pa.time64("us")), "a time of day is no payload"),
        ("duration", pa.array(["5s"]), "found string, expected durations"),
        ("time", pa.array([2**63], pa.uint64()), "beyond 64 bits of ticks"),
        ("i64", pa.array([1], pa.duration("s")), "declare it as duration"),
        ("i64", pa.array([1], pa.timestamp("s")), "declare it as time"),
    ],
)
def test_columns_that_do_not_fit(declared: str, column: pa.Array, message: str) -> None:
    query = tilt.parse(f"unit s; input x : {declared} time ts point\n~o[t] = ~x[t]")
    # the third row in the frame, though the rows are out of order
    cells = pa.concat_arrays([pa.nulls(2, column.type), column])
    table = pa.table({"ts": [3, 1, 2], "x": cells})
    with pytest.raises(DataError) as caught:
        query.run(x=table)
    assert message in str(caught.value)
    assert "column 'x'" in str(caught.value)
    if "found" not in str(caught.value):
        assert "row 2" in str(caught.value)


def test_plain_ticks_take_integers_alone() -> None:
    query = tilt.parse("input x : time time ts point\n~o[t] = ~x[t] + duration(1)")
    found = query.run(x=pa.table({"ts": [1], "x": [5]}))
    assert listed(found) == [(0, 1, 6)]
    assert found.schema.types == [pa.int64()] * 3
    stamps = pa.table({"ts": [1], "x": pa.array([5], pa.timestamp("s"))})
    with pytest.raises(DataError, match="counts plain ticks; write `unit s`"):
        query.run(x=stamps)


def test_integers_of_a_unit_go_out_as_times() -> None:
    query = tilt.parse("unit m; input x : time time ts point\n~o[t] = ~x[t] + 1h")
    found = query.run(x=pa.table({"ts": [1], "x": [5]}))
    assert listed(found) == [(0, 1, datetime(1970, 1, 1, 1, 5))]
    query = tilt.parse("unit d; input x : time time ts point\n~o[t] = ~x[t] + 1d")
    days = pa.array([date(1970, 1, 2)])
    found = query.run(x=pa.table({"ts": days, "x": days}))
    assert listed(found) == [(date(1970, 1, 1), date(1970, 1, 2), date(1970, 1, 3))]


def test_what_does_not_fit_on_the_way_out_is_an_error() -> None:
    text = "unit d; input x : f64 time ts point\n~o[t] = duration(~x[t])"
    query = tilt.parse(text)
    table = pa.table({"ts": pa.array([1], pa.timestamp("ns")), "x": [1e6]})
    table = table.set_column(0, "ts", pa.array([0], pa.timestamp("ns")))
    with pytest.raises(DataError, match=r"the duration 1000000 \(ticks of 1 d\)"):
        query.run(x=table).to_arrow()


def test_parquet_and_streams(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    query = tilt.parse(PASSING)
    whole = query.run(o=pa.table(COLUMNS)).to_arrow()
    query.run_to(path, o=iter(pa.table(COLUMNS).to_batches(1)))
    assert pq.read_table(path).cast(whole.schema).equals(whole)
    again = query.run(o=tilt.bind(path_rows(path), time="ts"))
    assert again["out"].to_arrow()["took"].equals(whole["took"])


def path_rows(path: Path) -> pa.Table:
    table = pq.read_table(path).rename_columns(["start", "ts", "at", "took"])
    extra = {"n": pa.array([1, 2, 3]), "f": pa.array([1.0, 2.0, 3.0])}
    for name, column in extra.items():
        table = table.append_column(name, column)
    return table


def test_samples_of_numpy() -> None:
    query = tilt.parse("unit s; input x : duration sampled 1s\n~o[t] = ~x[t] * 2")
    values = pd.to_timedelta([1, 2], unit="s").to_numpy()
    found = query.run(x=tilt.sampled(values, 0, 1))
    assert [row[2] for row in listed(found)] == [timedelta(seconds=n) for n in (2, 4)]


def test_local_names_of_durations_and_times() -> None:
    text = """unit s; input o : { at: time, took: duration } time ts point
    ~out[t] = {
        short = 2s * 2
        half = 5s * 0.5
        late = ~o[t].took - short
        now = time(t)
        return late > half ? now - ~o[t].at : sum(v.took + short for v in ~o[t-1s : t])
    }"""
    query = parse(text)
    assert parse(format_query(query)) == query
    rows = [(0, 1, {"at": 0, "took": 9}), (1, 2, {"at": 0, "took": 5})]
    found = check_engines(text, {"o": rows})["out"]
    assert [row[2] for row in found] == [1, 9]


def test_times_are_written_as_stamps() -> None:
    for written, ticks in [
        ("1970-01-02", 86400),
        ("1970-01-01T00:01", 60),
        ("1970-01-01 01:00:05+01:00", 5),
    ]:
        text = f'unit s\n{ORDERS}~o1[t] = ~o[t].at > time("{written}")'
        assert f"time({ticks})" in format_query(parse(text))
    for text, code in [
        (f'unit d\n{ORDERS}~p[t] = ~o[t].at > time("1970-01-01T05:00")', "E0110"),
        (f'{ORDERS}~p[t] = ~o[t].at > time("1970-01-01")', "E0110"),
        (f'unit s\n{ORDERS}~p[t] = ~o[t].at > time("yesterday")', "E0004"),
        (f'unit s\n{ORDERS}~p[t] = ~o[t].at > time("1970-02-30")', "E0004"),
    ]:
        with pytest.raises(QueryError, match=code):
            parse(text)


def test_times_as_parameters_and_bounds() -> None:
    text = f"""unit s
    param since : time = time("1970-01-01T00:01")
    param most : duration = 2 * 30s
    t = TDom(since, time("1970-01-01T00:03"), 1s)
    {ORDERS}~p[t] = ~o[t].at > since && ~o[t].took < most"""
    query = parse(text)
    assert (query.definitions[0].tdom.start, query.definitions[0].tdom.end) == (60, 180)
    assert "~o[t].at > time(60) && ~o[t].took < 1m" in format_query(query)
    for given in ("1970-01-01T00:01:30", datetime(1970, 1, 1, 0, 1, 30), "time(90)"):
        changed = parse(text, params={"since": given, "most": timedelta(seconds=5)})
        assert changed.definitions[0].tdom.start == 90
        assert "time(90) && ~o[t].took < 5s" in format_query(changed)
    for wrong in (5, "5s", "1970-01-01T00:01:30.5", True):
        with pytest.raises(QueryError):
            parse(text, params={"since": wrong})


def test_times_in_python() -> None:
    orders = tilt.source(
        "orders",
        {"at": tilt.time, "took": tilt.duration, "in": {"x": tilt.f64}},
        tilt.point(),
        time="ts",
    )
    t = tilt.TDom(datetime(1970, 1, 1), None, "1s")
    late = (orders[t].took > timedelta(seconds=5)) & (
        orders[t].took < timedelta(hours=1)
    )
    new = orders[t].at >= datetime(1970, 1, 1, 0, 1, tzinfo=UTC)
    found = tilt.struct(
        late=late & new,
        age=tilt.cast(t, tilt.time) - orders[t].at,
        back=date(1970, 1, 2) - orders[t].at,
        left=tilt.cast(orders[t].field("in").x, tilt.duration),
    )
    query = tilt.compile(tilt.define("o", t, found))
    text = """unit s
    input orders : { at: time, took: duration, in: { x: f64 } } time ts point
    t = TDom(0, ∞, 1s)
    ~o[t] = { late = ~orders[t].took > 5s && ~orders[t].took < 1h
                     && ~orders[t].at >= time(60),
              age = time(t) - ~orders[t].at, back = time(86400) - ~orders[t].at,
              left = duration(~orders[t].in.x) }"""
    assert query.query == parse(text)
    assert parse(str(query)) == query.query


def test_tables_without_types(tmp_path: Path) -> None:
    query = tilt.parse(PASSING)
    path = tmp_path / "out.csv"
    assert query.run_to(path, o=pa.table(COLUMNS)) == {"out": 3}
    assert path.read_text("utf8").splitlines()[1].split(",")[3] == '"1m30s"'
