"""Inputs of which only the last row of those that share both times matters."""

import pytest

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import QueryKernels
from tiltpy.frontend.parse import parse

TIED = Layout(TimeLayout.OVERLAPPING, (False,), points=True)
HOLED = Layout(TimeLayout.OVERLAPPING, (True,), points=True)


def droppable(
    text: str, layout: Layout = TIED, disabled: frozenset[str] = frozenset()
) -> frozenset[str]:
    query = parse("input x : f64\ninput y : f64\n" + text)
    layouts = {declared.name: layout for declared in query.inputs}
    options = CompileOptions(disabled_strategies=disabled)
    return QueryKernels(query, layouts, options).without_hidden_rows


@pytest.mark.parametrize(
    "text",
    [
        "~o[t] = ~x[t] + ~y[t-5]",
        "~o[t] = ~x[t] - last(~x[t-100 : t-1]) + ~y[t]",
        "~o[t] = ~y[t] != φ ? session_start(~x, 15) : φ",
        "~o[t] = ~x[t] - ~y[last : t]",
        "~o[t] = ~x[t] - ~y[nearest t within 10]",
        "w = TDom(-∞, ∞, 10)\n~o[w] = last(~x[w-10 : w]) + ~y[w]",
        "distinct ~s[t] = ~x[t] > ~y[t]\n~o[t] = count(~s[t-100 : t])\noutput ~o",
    ],
)
def test_inputs_that_are_seen_from_above(text: str) -> None:
    assert droppable(text) == {"x", "y"}


@pytest.mark.parametrize(
    "seen",
    [
        "first(~x[t-100 : t])",
        "count(~x[t-100 : t])",
        "count(~x[t-100 : t]) == 2",
        "last(v for v in ~x[t-100 : t] if v > 0)",
        "sum(v - ~y[t] for v in ~x[t-100 : t])",
        "last(~x[last 2 : t])",
        "last(~x[-∞ : t])",
        "count_active(~x[t])",
        "last(~x[t-9 : t]) + count(v for v in ~x[t-9 : t] if v > last(~x[t-9 : t]))",
    ],
)
def test_inputs_whose_every_row_is_seen(seen: str) -> None:
    assert "x" not in droppable(f"~o[t] = {seen}")


def test_restarts() -> None:
    query = parse("input c : bool\ninput y : f64\n~o[t] = last(~y[since ~c : t])")
    layouts = {declared.name: TIED for declared in query.inputs}
    assert not QueryKernels(query, layouts, CompileOptions()).without_hidden_rows


def test_rows_that_are_visited_one_by_one() -> None:
    assert droppable("e = Rows(~x)\n~o[e] = ~x[e] - ~y[e]") == {"y"}


def test_a_window_over_rows_that_may_be_null() -> None:
    assert droppable("~o[t] = ~x[t] + ~y[t]", HOLED) == {"x", "y"}
    assert droppable("~o[t] = ~x[t] - last(~y[t-9 : t])", HOLED) == {"x"}


def test_it_can_be_left_out() -> None:
    disabled = frozenset({"visible_rows"})
    assert not droppable("~o[t] = ~x[t] + ~y[t]", disabled=disabled)
