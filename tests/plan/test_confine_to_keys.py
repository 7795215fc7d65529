"""Tests of windows of all the past that restart with each key."""

import pytest

import tiltpy as tilt
from tiltpy.ir.keys import KEY_STARTS
from tiltpy.ir.nodes import Reduce
from tiltpy.ir.print.query import format_query
from tiltpy.plan.confine_to_keys import (
    confine_to_keys,
    find_ending,
    sees_beyond_keys,
)

KEYED = "input x by k : f64\n"


@pytest.mark.parametrize(
    ("body", "restarted"),
    [
        ("sum(~x[-∞ : t-3])", "sum(~x[since ~key.starts : t-3])"),
        (
            "~x[t] - max(v for v in ~x[-∞ : t] if v > min(~x[-∞ : t]))",
            "~x[t] - max(v for v in ~x[since ~key.starts : t]"
            " if v > min(~x[since ~key.starts : t]))",
        ),
        ("mean(~x[last 2 : t])", "mean(~x[last 2 : t])"),
        ("sum(~x[t-3 : t]) + mean(~x[last 2 : t within 9])", None),
        ("~x[nearest t] - ~x[t : next]", None),
    ],
)
def test_windows_of_all_the_past_begin_with_their_key(
    body: str, restarted: str | None
) -> None:
    query = tilt.parse(f"{KEYED}~o[t] = {body}").query
    assert sees_beyond_keys(query) == (restarted is not None)
    if restarted is not None:
        made = confine_to_keys(query)
        assert f"~o[t] = {restarted}\n" in format_query(made)
        assert made.inputs[-1].name == KEY_STARTS
        assert not sees_beyond_keys(made)


def test_outputs_have_no_bounds_unless_others_read_them() -> None:
    text = (
        f"{KEYED}w = TDom(5, 90, 10)\n~a[w] = ~x[w]\n~o[w] = ~a[w] + sum(~x[w-9 : w])"
    )
    query = tilt.parse(text).query
    assert sees_beyond_keys(query)
    bounds = [(d.tdom.start, d.tdom.end) for d in confine_to_keys(query).definitions]
    assert bounds == [(5, 90), (None, None)]


def test_looks_for_the_last_row_see_none_of_another_key() -> None:
    query = tilt.parse(f"{KEYED}~o[t] = ~x[last : t]").query
    (definition,) = confine_to_keys(query).definitions
    assert isinstance(definition.body, Reduce)
    assert definition.body.window.origin == KEY_STARTS


@pytest.mark.parametrize(
    ("body", "ends"),
    [
        ("~x[t] != φ ? sum(~x[since ~c : t]) : φ", True),
        ("sum(~x[since ~c : t])", False),
        ("sum(~x[t-20 : t]) - ~x[t-5]", True),
        ("~x[t-5] - sum(~x[since ~c : t])", True),
        ("~b[t] - ~x[t-5]", True),
        ("~x[t-5] > 1 || ~b[t] > 2", False),
    ],
)
def test_objects_end_with_the_rows_of_a_key(body: str, ends: bool) -> None:
    text = f"{KEYED}~c[t] = ~x[t] > 1\n~b[t] = sum(~x[since ~c : t])\n~o[t] = {body}"
    query = tilt.parse(f"{text}\noutput ~o").query
    assert ("o" in find_ending(query)) == ends
    assert "x" in find_ending(query)
