"""Parameters in Python, and their values at a run."""

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.plain import listed
from tests.test_pickling import COPIES
from tiltpy.frontend import parse as frontend

TEXT = """unit s
param width : duration = 3s
param least : f64 = 0.0
param name : string = "a"
param since : time = time("1970-01-01")
input x : f64 time ts point
input s : string time ts until_next
t = TDom(-∞, ∞, 1s)
~o[t] = ~x[t] != φ && ~s[t] == name && time(t) > since && ~x[t] > least
    ? sum(~x[t - width : t]) : φ
output ~o
"""
STAMPS = pa.array(range(1, 6), pa.timestamp("s"))
X = pa.table({"ts": STAMPS, "x": [1.0, 2.0, 4.0, 8.0, 16.0]})
S = pa.table({"ts": STAMPS, "s": ["a", "a", "a", "b", "b"]})


def python_query() -> tilt.CompiledQuery:
    width = tilt.param("width", tilt.duration, "3s")
    least = tilt.param("least", tilt.f64, 0.0)
    name = tilt.param("name", tilt.string, "a")
    since = tilt.param("since", tilt.time, "1970-01-01")
    x = tilt.source("x", tilt.f64, tilt.point(), time="ts")
    s = tilt.source("s", tilt.string, tilt.until_next(), time="ts")
    t = tilt.TDom(precision="1s")
    there = (x[t] != tilt.phi) & (s[t] == name) & (tilt.cast(t, tilt.time) > since)
    total = tilt.sum(x[t - width : t])
    return tilt.compile(tilt.define("o", t, tilt.when(there & (x[t] > least), total)))


QUERIES = {"text": lambda: tilt.parse(TEXT), "Python": python_query}


@pytest.fixture(params=QUERIES)
def query(request: pytest.FixtureRequest) -> tilt.CompiledQuery:
    return QUERIES[request.param]()


def values(query: tilt.CompiledQuery, params: Any = None) -> list[object]:
    return [row[-1] for row in listed(query.run(x=X, s=S, params=params))]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (None, [1, 3, 7]),
        ({}, [1, 3, 7]),
        ({"width": "1s"}, [1, 2, 4]),
        ({"width": 1}, [1, 2, 4]),
        ({"width": timedelta(seconds=1)}, [1, 2, 4]),
        ({"width": np.timedelta64(1000, "ms")}, [1, 2, 4]),
        ({"width": np.int64(2)}, [1, 3, 6]),
        ({"least": 1}, [3, 7]),
        ({"least": np.float32(1.5), "width": 2}, [3, 6]),
        ({"least": "1 + 0.5"}, [3, 7]),
        ({"name": "b"}, [14, 28]),
        ({"since": 2}, [7]),
        ({"since": "1970-01-01T00:00:02"}, [7]),
        ({"since": np.datetime64("1970-01-01T00:00:02")}, [7]),
        ({"since": datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)}, [7]),
        ({"since": date(1970, 1, 2)}, []),
    ],
)
def test_a_run_sets_them(
    query: tilt.CompiledQuery, params: Any, expected: list[float]
) -> None:
    if params == {"since": 2}:
        params = {"since": "time(2)"}
    assert values(query, params) == expected
    assert values(query) == [1, 3, 7]
    streamed = query.stream(x=X, s=S, params=params)
    assert [row[-1] for part in streamed for row in listed(part)] == expected


def test_nothing_is_parsed_or_compiled_again(
    query: tilt.CompiledQuery, monkeypatch: pytest.MonkeyPatch
) -> None:
    values(query, {"width": 2})
    variant = query.with_params({"width": 2})
    assert query.with_params({"width": 2}) is variant
    assert variant.kernels()
    monkeypatch.setattr(frontend, "read", None)
    assert values(query, {"width": 1}) == [1, 2, 4]
    assert values(variant) == [1, 3, 6]


def test_values_add_up(query: tilt.CompiledQuery) -> None:
    narrow = query.with_params({"width": "1s"})
    assert values(narrow, {"least": 1.0}) == [2, 4]
    assert values(narrow, {"width": "3s"}) == [1, 3, 7]
    given = tilt.parse(TEXT, params={"width": "1s"})
    assert values(given, {"least": 1.0}) == [2, 4]


def test_queries_keep_few_variants(query: tilt.CompiledQuery) -> None:
    kept = [query.with_params({"least": number}) for number in range(40)]
    assert query.with_params({"least": 39}) is kept[39]
    assert query.with_params({"least": 0}) is not kept[0]


def test_declarations_are_listed(query: tilt.CompiledQuery) -> None:
    assert [repr(each) for each in query.params.values()] == [
        "param width : duration = 3s",
        "param least : f64 = 0.0",
        'param name : string = "a"',
        'param since : time = time("1970-01-01")',
    ]
    changed = query.with_params({"width": timedelta(minutes=90)})
    assert changed.params["width"].value == "1h30m"
    assert query.params["width"].type == "duration"
    assert tilt.parse("input x : i64 point\n~o[t] = ~x[t]").params == {}


@pytest.mark.parametrize("copied", COPIES)
def test_copies_can_be_set(query: tilt.CompiledQuery, copied: Any) -> None:
    other = copied(query.with_params({"width": "1s"}))
    assert values(other) == [1, 2, 4]
    assert values(other, {"least": 1}) == [2, 4]
    assert other.params["width"].value == "1s"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"with": 1}, "no parameter 'with' in this query; its parameters: width, le"),
        ({"widht": 1}, "did you mean 'width'?"),
        ({"width": None}, "parameter 'width': a NoneType is no number"),
        ({"width": [1]}, "parameter 'width': a list is no number"),
        ({"width": "soon"}, "soon"),
        ({"width": np.timedelta64("NaT")}, "parameter 'width': is not a time"),
        ({"least": "a"}, "a"),
        ({"name": 5}, "the parameter `name` is of type string"),
        ({"width": timedelta(microseconds=1)}, "not a whole number of ticks"),
        (5, "params: expected a dict, like {'width': '30s'}, found an int"),
    ],
)
def test_wrong_values(query: tilt.CompiledQuery, params: Any, message: str) -> None:
    with pytest.raises(tilt.TiltError) as caught:
        values(query, params)
    assert message in str(caught.value)
    assert isinstance(caught.value, TypeError) == (
        "NoneType" in message or "a list" in message or params == 5
    )


def test_they_stand_in_declarations() -> None:
    step = tilt.param("step", tilt.duration, 2)
    hold = tilt.param("hold", tilt.duration, step * 2)
    zone = tilt.param("zone", tilt.string, "UTC")
    x = tilt.source("x", tilt.f64, tilt.duration(hold), time="ts")
    t = tilt.TDom(0, None, step, left=True)
    day = tilt.TDom(precision=tilt.calendar("1d", zone))
    count = tilt.define("n", t, tilt.count(x[t - step : t]))
    days = tilt.define("d", day, tilt.sum(x[day - tilt.cells(1) : day]))
    query = tilt.compile(count, days, unit="s")
    assert list(query.params) == ["step", "hold", "zone"]
    text = str(query.with_params({"step": 5, "zone": "Asia/Tokyo"}))
    assert "TDom(0, ∞, 5s, left)" in text
    assert "duration 10s" in text
    assert 'calendar(1d, "Asia/Tokyo")' in text


def test_they_stand_in_reductions() -> None:
    weight = tilt.param("weight", tilt.f64, 0.5)
    average = tilt.reduction(
        "average",
        tilt.f64,
        init=0.0,
        acc=lambda state, v: state + weight * (v - state),
        result=lambda state: state,
    )
    x = tilt.source("x", tilt.f64, tilt.point(), time="ts")
    e = tilt.Rows(x)
    query = tilt.compile(tilt.define("o", e, average(x[:e])), unit="s")
    assert [row[-1] for row in listed(query.run(x=X))][:2] == [0.5, 1.25]
    assert [row[-1] for row in listed(query.run(x=X, params={"weight": 1}))][:2] == [
        1.0,
        2.0,
    ]
    state = tilt.param("state", tilt.f64, 0.5)
    with pytest.raises(tilt.QueryError, match="`state` is what `acc` of a reduction"):
        tilt.reduction(
            "bad", tilt.f64, init=0.0, acc=lambda s, v: s + v * state, result=abs
        )


def test_no_name_of_a_part_hides_one() -> None:
    v1 = tilt.param("v1", tilt.f64, 100.0)
    x = tilt.source("x", tilt.f64, tilt.point(), time="ts")
    t = tilt.TDom(precision="1s")
    double = x[t] + 1.0
    query = tilt.compile(tilt.define("o", t, double * double + v1))
    assert [row[-1] for row in listed(query.run(x=X))][:2] == [104.0, 109.0]
    with pytest.raises(tilt.QueryError, match="is the time variable"):
        tilt.param("t", tilt.f64, 1.0)
    struct: Any = {"a": tilt.f64}
    with pytest.raises(tilt.QueryError, match="a parameter is a scalar, no struct"):
        tilt.param("p", struct, 1.0)


@pytest.mark.parametrize(
    ("declared", "value", "message"),
    [
        ("time", "2026-02-30", "expected a time, like .*, found '2026-02-30'"),
        ("time", "2026-01-01T25:00", "expected a time, like .*T25:00'"),
        ("time", "", "expected a time, like '2026-03-01 08:00', found ''"),
        ("time", 'time("2026-02-30")', '"2026-02-30" is not a time'),
        ("duration", "1e99s", "expected a duration, like '30s', found '1e99s'"),
        ("f64", Fraction(10**400), "parameter 'p': 10+ is beyond the range of f64"),
    ],
)
def test_values_that_are_no_literals(
    declared: str, value: object, message: str
) -> None:
    zero = {"time": 'time("2026-01-01")', "duration": "1s", "f64": "1.0"}[declared]
    text = f"param p : {declared} = {zero}\ninput x : f64 point\n~o[t] = ~x[t]"
    with pytest.raises(tilt.TiltError, match=message):
        tilt.parse(text, params={"p": value})
