"""Reductions of the library's own: part of the queries that come to use them.

A query's reduction of the same name is another one, whatever calls which.
"""

import pytest

from tests.run_everywhere import run_everywhere
from tiltpy.errors import QueryErrors
from tiltpy.frontend.elaboration.library import library_functions, library_reductions
from tiltpy.frontend.parse import parse
from tiltpy.frontend.text.format import format_source
from tiltpy.interpreter.evaluate import Event
from tiltpy.ir.nodes import Query
from tiltpy.ir.print.query import format_query

TOTAL = """
reduction heartbeats(v: f64) {
    init = 0.0
    acc = state + v
    result = state
}
"""
BEATS = "input x : f64\n~o[t] = pan_tompkins(~x, 40).at\noutput ~o\n"
PULSES = [Event(i, i + 1, float(i % 45 == 19) + i % 7 / 100) for i in range(120)]


def reductions(query: Query) -> list[str]:
    return [one.name for one in query.reductions]


def ticks(query: Query, name: str = "o") -> list[int]:
    found = run_everywhere(query, {"x": PULSES}, start=0, end=70)
    return [one.end for one in found[name]]


def test_a_query_has_those_that_its_calls_use() -> None:
    assert reductions(parse("input x : f64\n~o[t] = sma(~x, 5)\noutput ~o")) == []
    twice = BEATS.replace(".at", ".at + pan_tompkins(~x, 50).at")
    assert reductions(parse(twice)) == ["heartbeats"]


def test_every_engine_finds_the_pulses() -> None:
    assert ticks(parse(BEATS)) == [20, 65]


def test_printed_queries_have_them_and_parse_back() -> None:
    query = parse(BEATS)
    printed = format_query(query)
    assert printed.count("reduction heartbeats(") == 1
    assert parse(printed) == query
    assert parse(format_source(printed)) == query


def test_a_querys_reduction_of_that_name_is_another_one() -> None:
    text = BEATS.replace("output ~o", "~s[t] = heartbeats(~x[t-2 : t])\noutput ~o, ~s")
    query = parse(TOTAL + text)
    assert reductions(query) == ["heartbeats", "heartbeats_2"]
    assert parse(format_query(query)) == query
    assert ticks(query) == [20, 65]
    found = run_everywhere(query, {"x": PULSES}, start=0, end=3)["s"]
    assert [one.value for one in found] == pytest.approx([0.0, 0.01, 0.03])


def test_a_name_that_the_query_has_as_well_is_passed_over() -> None:
    second = TOTAL.replace("heartbeats", "heartbeats_2")
    query = parse(TOTAL + second + BEATS)
    assert reductions(query) == ["heartbeats", "heartbeats_2", "heartbeats_3"]
    assert parse(format_query(query)) == query


def test_what_the_library_is_given_is_the_callers() -> None:
    text = BEATS.replace("~x,", "heartbeats(~x[t-1 : t]),")
    query = parse(TOTAL + text)
    assert reductions(query) == ["heartbeats", "heartbeats_2"]
    assert ticks(query) == [20, 65]


def test_queries_do_not_see_them() -> None:
    text = "input x : f64\n~o[t] = heartbeats(~x[t-2 : t])\noutput ~o\n"
    with pytest.raises(QueryErrors, match="unknown function `heartbeats`"):
        parse(text)
    query = parse(text.replace("input", "def heartbeats(v) = v\ninput").replace(
        "heartbeats(~x[t-2 : t])", "heartbeats(~x[t]) + f64(pan_tompkins(~x, 40).at)"
    ))  # fmt: skip
    assert reductions(query) == ["heartbeats"]
    assert ticks(query) == [20, 65]


def test_names_of_the_library_are_distinct() -> None:
    functions = {function.name.text for function in library_functions()}
    assert not functions & set(library_reductions())
