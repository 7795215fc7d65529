"""Tests of which queries by key can have many keys in one call."""

from dataclasses import replace

import numpy as np
import pytest

import tiltpy as tilt
from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import QueryKernels
from tiltpy.costs import KeyCosts
from tiltpy.plan.key_concatenation import (
    KeyConcatenation,
    common_precision,
    furthest_reach,
)
from tiltpy.plan.key_plan import KeyRange, LoopStarts, plan_key_ranges
from tiltpy.plan.nodes import Refusal
from tiltpy.runtime.ingest.group_by_code import offsets_of


def kernels(text: str, options: CompileOptions | None = None) -> QueryKernels:
    query = tilt.parse(text).query
    rows = Layout(TimeLayout.INTERVALS, (False,), points=True)
    layouts = {declared.name: rows for declared in query.inputs}
    return QueryKernels(query, layouts, options or CompileOptions(cache=False))


def concatenation(text: str) -> KeyConcatenation:
    plan = kernels(f"input x by k : f64\n{text}").concatenation
    assert isinstance(plan, KeyConcatenation)
    return plan


def reason(text: str) -> str:
    refusal = kernels(f"input x by k : f64\n{text}").concatenation
    assert isinstance(refusal, Refusal)
    return refusal.reason


@pytest.mark.parametrize(
    "text",
    [
        "input x by k : f64\n~o[t] = ~x[t] - mean(~x[t-20 : t+3])",
        "input x by k : f64\nw = TDom(-∞, ∞, 7)\n~o[w] = median(~x[w-20 : w])",
        "input x by k : f64\ne = Rows(~x)\n~o[e] = ~x[e] - sum(~x[e-9 : e])",
        "input x by k : f64\ninput y by k : f64\n~o[t] = ~x[t] + ~y[t-5]",
        "input x by k : f64\n~o[t] = last(~x[t-20 : t-1])",
    ],
)
def test_queries_that_mean_the_same_at_every_time(text: str) -> None:
    assert isinstance(kernels(text).concatenation, KeyConcatenation)


SESSIONS = """\
~time[t] = ~x[t] != φ ? t : φ
~first[t] = session_start(~x, 30)
~o[t] = ~x[t] != φ ? first(~time[since ~first : t]) : φ"""


@pytest.mark.parametrize(
    ("text", "moving"),
    [
        ("~o[t] = ~x[t] != φ ? t - 3 : φ", (True,)),
        ("~o[t] = t - start(~x[t])", (False,)),
        ("~o[t] = { s = start(~x[t]), x = ~x[t] }", (True, False)),
        ("~o[t] = ~x[t] > 0 ? end(~x[t]) : t", (True,)),
        ("~o[t] = ~x[t] != φ ? (t > 5 + end(~x[t-9]) ? 1 : 0) : φ", (False,)),
        ("~a[t] = start(~x[t])\n~o[t] = ~x[t] + f64(t - last(~a[t-9 : t]))", (False,)),
        ("~o[t] = ~x[t] != φ ? i32(t % 7) : φ", (False,)),
        ("~o[t] = ~x[t] - mean(~x[last 3 : t within 20])", (False,)),
        (SESSIONS, (True,)),
    ],
)
def test_times_move_with_the_rows(text: str, moving: tuple[bool, ...]) -> None:
    assert concatenation(text).moving["o"] == moving


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("~o[t] = ~x[t] > t", "~o uses times as numbers"),
        ("~o[t] = ~x[t] != φ ? t // 7 : φ", "~o uses times as numbers"),
        ("~o[t] = ~x[t] > 0 ? t : 0", "~o uses times as numbers"),
        ("~o[t] = ~x[t] != φ ? t > 100 : φ", "~o uses times as numbers"),
        ("~o[t] = ~x[t] != φ ? t + i64(~x[t]) : φ", "~o uses times as numbers"),
        (
            "~a[t] = start(~x[t])\n~o[t] = ~x[t] + f64(sum(~a[t-9 : t]))",
            "~o uses times as numbers",
        ),
        ("s = TDom(0, ∞, 1)\n~o[s] = ~x[s]", "~o has a bound in time"),
        ("~o[t] = sum(~x[-∞ : t])", "a window of ~o has no bound in time"),
        ("~o[t] = mean(~x[last 3 : t])", "a window of ~o has no bound in time"),
        (
            "~c[t] = ~x[t] > 1\n~o[t] = sum(~x[since ~c : t])",
            "a window of ~o may reach beyond the first row",
        ),
        (
            "~c[t] = session_start(~x, 5)\n~o[t] = sum(~x[since ~c : t])",
            "a window of ~o may reach beyond the first row",
        ),
    ],
)
def test_queries_that_see_when_rows_are(text: str, why: str) -> None:
    assert reason(text) == why


def test_shifts_are_multiples_of_what_times_are_divided_by() -> None:
    assert concatenation("~o[t] = ~x[t] != φ ? t % 12 + t % 18 : φ").precision == 36


@pytest.mark.parametrize(
    ("restarts", "fits"),
    [
        ("~x[t-1] == φ || ~x[t] > ~x[t-1]", True),
        ("last(~x[t-20 : t-1]) == φ", True),
        ("count(~x[t-20 : t-1]) < 1 || ~x[t] > 3", True),
        ("count(~x[t-20 : t]) <= 1", False),
        ("count(~x[t-20 : t-1]) > 1", False),
        ("~x[t] > last(~x[t-20 : t-1])", False),
    ],
)
def test_restarts_at_the_first_row(restarts: str, fits: bool) -> None:
    text = f"~c[t] = ~x[t] != φ ? {restarts} : φ\n"
    text += "~o[t] = ~x[t] != φ ? sum(~x[since ~c : t]) : φ"
    plan = kernels(f"input x by k : f64\n{text}").concatenation
    assert isinstance(plan, KeyConcatenation) == fits


FOLD = """\
reduction spent(v: f64, start, end) {{
    init = {{ since = i64(φ), most = 0 }}
    acc = {{ since = {since}, most = max(state.most, end - start) }}
    merge = {{ since = a.since == φ ? b.since : a.since, most = max(a.most, b.most) }}
    result = {result}
}}
~o[t] = ~x[t] != φ ? spent(~x[t-9 : t]) : φ"""


@pytest.mark.parametrize(
    ("since", "result", "moving"),
    [
        ("state.since == φ ? start : state.since", "state.since", True),
        ("state.since == φ ? start : state.since", "state.most", False),
        ("state.since == φ ? start : 0", "state.most", None),
    ],
)
def test_states_of_folds_keep_their_motion(
    since: str, result: str, moving: bool | None
) -> None:
    text = FOLD.format(since=since, result=result)
    plan = kernels(f"input x by k : f64\n{text}").concatenation
    if moving is None:
        assert isinstance(plan, Refusal)
    else:
        assert isinstance(plan, KeyConcatenation)
        assert plan.moving == {"o": (moving,)}


def test_cells_of_a_calendar_differ() -> None:
    months = "d = TDom(-∞, ∞, calendar(1mo))"
    text = f"unit s\ninput x by k : f64\n{months}\n~o[d] = sum(~x[d-1d : d])"
    refusal = kernels(text).concatenation
    assert refusal == Refusal("the cells of ~o are not of one length")


def test_it_can_be_left_out() -> None:
    options = CompileOptions(disabled_strategies=frozenset({"concatenation"}))
    plan = kernels("input x by k : f64\n~o[t] = ~x[t]", options).concatenation
    assert isinstance(plan, Refusal)


def test_shifts_keep_all_grids_and_gaps_all_windows() -> None:
    query = kernels(
        """\
input x by k : f64
v = TDom(-∞, ∞, 4)
w = TDom(-∞, ∞, 6)
~a[v] = sum(~x[v-20 : v])
~o[w] = ~a[w] + ~x[w+30]
"""
    ).query
    assert common_precision(query) == 60
    assert furthest_reach(query) >= 30


BATCHES = KeyCosts(batch_rows=10, many_rows=50, few_rows=0)
STARTS = LoopStarts(1, 4)


@pytest.mark.parametrize(
    ("rows", "ranges"),
    [
        ([], []),
        ([1, 2, 1], [(0, 3, False)]),
        ([1] * 20, [(0, 10, True), (10, 20, True)]),
        ([1] * 10 + [5, 5], [(0, 10, True), (10, 12, False)]),
        ([5, 5] + [1] * 10 + [60], [(0, 2, False), (2, 12, True), (12, 13, False)]),
        ([1, 1, 1, 1, 60], [(0, 5, False)]),
    ],
)
def test_keys_of_few_rows_are_concatenated(
    rows: list[int], ranges: list[tuple[int, int, bool]]
) -> None:
    offsets = offsets_of(np.array(rows, np.int64))
    found = list(plan_key_ranges(offsets, np.diff(offsets), STARTS, BATCHES))
    assert found == [KeyRange(*each) for each in ranges]


@pytest.mark.parametrize(
    ("rows", "ranges"),
    [
        ([1] * 50, [(0, 20, True), (20, 40, True), (40, 50, True)]),
        ([5, 5] + [1] * 20, [(0, 2, False), (2, 22, True)]),
        (
            [1] * 10 + [5, 5] + [1] * 10,
            [(0, 10, True), (10, 12, False), (12, 22, True)],
        ),
    ],
)
def test_batches_of_concatenated_keys_are_joined(
    rows: list[int], ranges: list[tuple[int, int, bool]]
) -> None:
    offsets = offsets_of(np.array(rows, np.int64))
    found = list(plan_key_ranges(offsets, np.diff(offsets), STARTS, BATCHES, joined=2))
    assert found == [KeyRange(*each) for each in ranges]


def test_ranges_of_few_rows_have_few_on_the_average() -> None:
    offsets = offsets_of(np.array([1] * 9 + [2] * 10 + [1] * 10, np.int64))
    costs = replace(BATCHES, few_rows=2, mean_few_rows=1)
    ranges = plan_key_ranges(offsets, np.diff(offsets), STARTS, costs, 1)
    assert [each.few for each in ranges] == [False, False, False, True]
