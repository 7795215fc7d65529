"""The `repr` of expressions, types and lifetimes reads like the language."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

import tiltpy as tilt
from tiltpy.frontend.python.expressions import Expression

INPUTS = """unit s
input x : f64 time ts point
input k by sym : { price: f64, "n o": i64 } time ts until_next max 1d
"""
x = tilt.source("x", tilt.f64, tilt.point(), time="ts")
k = tilt.source(
    "k",
    {"price": tilt.f64, "n o": tilt.i64},
    tilt.until_next("1d"),
    time="ts",
    by="sym",
)
t = tilt.TDom(precision="1s")
w = x[t - "10s" : t]
m = tilt.mean(w)

EXPRESSIONS: dict[str, Expression] = {
    "~x[t]": x[t],
    "mean(~x[t - 10s : t])": m,
    "~x[t + 1h30m]": x[t + "90m"],
    "mean(~x[t - 10s : t]) > 3 && ~x[t] != φ": (m > 3) & (x[t] != tilt.phi),
    "mean(~x[t - 10s : t]) > 3 ? ~x[t] : φ": tilt.when(m > 3, x[t]),
    "~x[t] - (~x[t] - 3)": x[t] - (x[t] - 3),
    "-(~x[t] + 1) * 2.5": -(x[t] + 1) * 2.5,
    "!(~x[t] > 3)": ~(x[t] > 3),
    "(~x[t] > 3) == (~x[t] > 4)": (x[t] > 3) == (x[t] > 4),
    "~k[t].price": k[t].price,
    '~k[t]."n o"': k[t].field("n o"),
    "(~k[t] with { price = 3.0 }).price": k[t].replace(price=3.0).price,
    "{ a = ~x[t], b = ~x[t - 1s] }": tilt.struct(a=x[t], b=x[t - "1s"]),
    "~x[t] in (1, 2)": x[t].is_in([1, 2]),
    "f32(~x[t])": tilt.cast(x[t], tilt.f32),
    "quantile(~x[t - 10s : t], 0.9)": tilt.quantile(w, 0.9),
    "std(~x[t - 10s : t], ddof = 1)": tilt.std(w, ddof=1),
    "sum(~x[t - 10s : t] > 0 ? ~x[t - 10s : t] : φ)": tilt.sum(w, where=w > 0),
    "~x[last : <t within 5m]": x["last" : tilt.strict(t) : "5m"],
    "~x[nearest t]": x["nearest":t],
    "~x[t : next]": x[t:"next"],
    "count(~x[last 3 : t])": tilt.count(x[tilt.last_rows(3) : t]),
    "~k[t].price == -∞ ? φ : 1": tilt.when(k[t].price == float("-inf"), tilt.phi, 1),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_reads_like_the_language(text: str) -> None:
    assert repr(EXPRESSIONS[text]) == text


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_what_is_shown_means_the_same(text: str) -> None:
    built = tilt.compile(tilt.define("o", t, EXPRESSIONS[text]))
    used = {declared.name for declared in built.query.inputs}
    inputs = [
        line for line in INPUTS.splitlines() if line[:5] != "input" or line[6] in used
    ]
    written = "\n".join([*inputs, f"t = {t!r}", f"~o[t] = {text}"])
    assert tilt.parse(written).query == built.query


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: x, "input x : f64 time ts point"),
        (lambda: k, INPUTS.splitlines()[2]),
        (lambda: t, "TDom(-∞, ∞, 1s)"),
        (
            lambda: tilt.TDom(dt.datetime(2020, 1, 1, 3), None, "1h", "5m", left=True),
            'TDom(time("2020-01-01T03:00:00"), ∞, 1h, 5m, left)',
        ),
        (
            lambda: tilt.TDom(0, "stop", tilt.calendar("1mo", "Asia/Tokyo")),
            'TDom(0, stop, calendar(1mo, "Asia/Tokyo"))',
        ),
        (lambda: tilt.TDom(precision=tilt.cells_of(x)), "TDom(-∞, ∞, cells of ~x)"),
        (lambda: tilt.Rows(k, null=True), "Rows(~k, null)"),
        (tilt.point, "point"),
        (lambda: tilt.duration("90m"), "duration 1h30m"),
        (tilt.until_next, "until_next"),
        (lambda: tilt.until_next("1d"), "until_next max 1d"),
        (lambda: tilt.sampled(5), "sampled 5"),
        (lambda: tilt.interval("a", "b c"), 'interval (a, "b c")'),
        (lambda: tilt.calendar("1d"), "calendar(1d)"),
        (lambda: tilt.f64, "f64"),
        (lambda: tilt.time, "time"),
        (
            lambda: tilt.Struct((("a", tilt.f64), ("b c", tilt.i64))),
            '{ a: f64, "b c": i64 }',
        ),
        (lambda: tilt.phi, "φ"),
        (
            lambda: tilt.define("o", t, m + m),
            "~o[t] = { v1 = mean(~x[t - 10s : t])  return v1 + v1 }",
        ),
        (
            lambda: tilt.define("o", t, m > 3, distinct=True),
            "distinct ~o[t] = mean(~x[t - 10s : t]) > 3",
        ),
    ],
)
def test_declarations_and_types_read_like_the_language(
    made: Callable[[], object], text: str
) -> None:
    assert repr(made()) == text


def test_what_is_used_over_and_over_is_cut() -> None:
    sums = x[t]
    for _ in range(150):
        sums = sums + sums
    assert repr(sums) == "..."
    chain = x[t]
    for number in range(90):
        chain = chain * number + 1
    assert len(repr(chain)) < 2_000
    assert "..." in repr(chain)


def test_types_of_equal_looks_are_told_apart() -> None:
    one = tilt.Struct((("a: f64, b", tilt.f64),))
    two = tilt.Struct((("a", tilt.f64), ("b", tilt.f64)))
    assert str(one) == str(two)
    assert repr(one) != repr(two)


def test_fields_of_a_struct_are_a_dict_or_pairs() -> None:
    written: Any
    for written in (
        {"ab": tilt.f64, "cd": {"x": tilt.i64}},
        [("ab", tilt.f64), ("cd", {"x": tilt.i64})],
    ):
        payload = tilt.Struct(written)
        assert repr(payload) == "{ ab: f64, cd: { x: i64 } }"
        assert len({payload, tilt.Struct(payload.fields)}) == 1
        assert (
            repr(tilt.source("q", payload)) == "input q : { ab: f64, cd: { x: i64 } }"
        )
    for written in ("ab", None, 3):
        with pytest.raises(tilt.TiltError, match="Struct: expected a type for each f"):
            tilt.Struct(written)


def test_numbers_of_many_digits() -> None:
    assert repr(tilt.second(10**400)).startswith("second(1000")
