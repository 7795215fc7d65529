"""Reductions of one's own in Python: as in texts, errors at the caller's line."""

from typing import Any

import pytest

import tiltpy as tilt
from tests.semantics.test_user_defined_reductions import ALL
from tiltpy.errors import QueryError, QueryErrors
from tiltpy.frontend.parse import parse
from tiltpy.frontend.python.builder import TDom, build_query, define, source
from tiltpy.frontend.python.expressions import Expression
from tiltpy.frontend.python.user_reductions import Reduction, reduction
from tiltpy.frontend.python.values import cast, phi, when
from tiltpy.ir.nodes import Query
from tiltpy.ir.print.query import format_query
from tiltpy.types import F64, I64

m = source("m", I64)
x = source("x", F64)
t = TDom()

my_rms = reduction(
    "my_rms",
    F64,
    init={"s": 0.0, "n": 0},
    acc=lambda state, v: {"s": state.s + v * v, "n": state.n + 1},
    deacc=lambda state, v: {"s": state.s - v * v, "n": state.n - 1},
    merge=lambda a, b: {"s": a.s + b.s, "n": a.n + b.n},
    result=lambda state: tilt.sqrt(state.s / state.n),
)
twap = reduction(
    "twap",
    F64,
    bounds=True,
    init={"area": 0.0, "ticks": 0},
    acc=lambda state, v, start, end: {
        "area": state.area + v * (end - start),
        "ticks": state.ticks + (end - start),
    },
    result=lambda state: state.area / state.ticks,
)
total = reduction(
    "total",
    "i64",
    init=0,
    acc=lambda state, v: state + v,
    deacc=lambda state, v: state - v,
    result=lambda state: state,
)


def built(value: Expression) -> Query:
    """The query of a definition, which reads back as it is."""
    query = build_query(define("o", t, value))
    assert parse(format_query(query)) == query
    return query


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (my_rms(x[t - 10 : t]), "my_rms(~x[t-10:t])"),
        (twap(x[t - 10 : t]), "twap(~x[t-10:t])"),
        (
            total(m[t - 5 : t], where=m[t - 5 : t] > 2),
            "total(v for v in ~m[t-5:t] if v > 2)",
        ),
        (my_rms(m[t - 5 : t] * 2) + 1, "my_rms(v * 2 for v in ~m[t-5:t]) + 1"),
    ],
)
def test_the_same_as_in_a_text(value: Expression, text: str) -> None:
    found = built(value)
    (own,) = found.reductions
    (one,) = found.inputs
    whole = parse(f"input {one.name} : {one.type} {ALL} ~o[t] = {text}")
    assert own.name in {each.name for each in whole.reductions}
    assert found.definitions == whole.definitions
    if own.name != "twap":  # which has a local name there
        assert own == next(r for r in whole.reductions if r.name == own.name)


def test_what_is_used_twice_gets_a_name() -> None:
    def acc(state: Expression, v: Expression) -> dict[str, Expression]:
        run = when(state.last != phi, when(v > state.last, state.run + 1, 1), 1)
        return {"best": tilt.max(state.best, run), "run": run, "last": v}

    longest = reduction(
        "longest",
        I64,
        init={"best": 0, "run": 0, "last": cast(phi, I64)},
        acc=acc,
        result=lambda state: state.best,
    )
    query = built(longest(m[t - 9 : t]))
    assert "v1 = state.last != φ ? (v > state.last ?" in format_query(query)


def test_two_of_one_name_are_an_error() -> None:
    other = reduction("total", I64, init=1, acc=lambda s, v: s * v, result=lambda s: s)
    with pytest.raises(QueryErrors, match="a second `total\\(\\)`"):
        build_query(define("o", t, total(m[t - 5 : t]) + other(m[t - 5 : t])))


def test_errors_point_at_the_line_of_the_part() -> None:
    wrong = reduction(
        "wrong",
        F64,
        init={"s": 0},
        acc=lambda state, v: {"s": state.s + v},
        result=lambda state: state.s,
    )
    with pytest.raises(QueryErrors) as caught:
        build_query(define("o", t, wrong(x[t - 5 : t])))
    (error,) = caught.value.errors
    assert error.message == "the field `s` is f64 in `acc`, but i64 in `init`"
    assert error.span.source.name == __file__
    line, _ = error.span.source.position(error.span.start)
    assert 'acc=lambda state, v: {"s": state.s + v}' in error.span.source.line(line)


def test_an_object_inside_is_an_error() -> None:
    outside = reduction(
        "outside", F64, init=0.0, acc=lambda s, v: s + v * x[t], result=lambda s: s
    )
    with pytest.raises(QueryErrors, match="~x cannot appear inside a user-defined"):
        build_query(define("o", t, outside(x[t - 5 : t])))


def test_a_part_is_a_function_of_what_it_sees() -> None:
    untyped: Any = reduction
    with pytest.raises(QueryError, match="`acc` of a reduction is a function of state"):
        untyped("r", F64, init=0.0, acc=lambda state: state, result=lambda s: s)
    with pytest.raises(QueryError, match="write merge=lambda a, b"):
        untyped("r", F64, init=0.0, acc=lambda s, v: s + v, merge=1, result=abs)


def test_it_says_what_it_is() -> None:
    assert isinstance(total, Reduction)
    assert repr(total) == "<reduction total>"
