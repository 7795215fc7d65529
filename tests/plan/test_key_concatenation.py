"""Which queries by key can have many keys in one call."""

import numpy as np
import pytest

import tiltpy as tilt
from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import QueryKernels
from tiltpy.costs import KeyCosts
from tiltpy.plan.key_concatenation import common_precision, furthest_reach
from tiltpy.plan.key_plan import KeyRange, plan_key_ranges
from tiltpy.runtime.ingest.group_by_code import offsets_of


def kernels(text: str, options: CompileOptions | None = None) -> QueryKernels:
    query = tilt.parse(text).query
    rows = Layout(TimeLayout.INTERVALS, (False,))
    layouts = {declared.name: rows for declared in query.inputs}
    return QueryKernels(query, layouts, options or CompileOptions(cache=False))


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
    assert kernels(text).concatenation is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("~o[t] = ~x[t] > t", "~o uses times as numbers"),
        ("~o[t] = t - start(~x[t])", "~o uses times as numbers"),
        ("s = TDom(0, ∞, 1)\n~o[s] = ~x[s]", "~o has a bound in time"),
        ("~o[t] = sum(~x[-∞ : t])", "a window of ~o is not of one length"),
        ("~o[t] = mean(~x[last 3 : t])", "a window of ~o is not of one length"),
        (
            "~c[t] = ~x[t] > 1\n~o[t] = sum(~x[since ~c : t])",
            "a window of ~o is not of one length",
        ),
    ],
)
def test_queries_that_see_when_rows_are(text: str, reason: str) -> None:
    refusal = kernels(f"input x by k : f64\n{text}").concatenation
    assert refusal is not None
    assert refusal.reason == reason


def test_cells_of_a_calendar_differ() -> None:
    months = "d = TDom(-∞, ∞, calendar(1mo))"
    text = f"unit s\ninput x by k : f64\n{months}\n~o[d] = sum(~x[d-1d : d])"
    refusal = kernels(text).concatenation
    assert refusal is not None
    assert refusal.reason == "the cells of ~o are not of one length"


def test_it_can_be_left_out() -> None:
    options = CompileOptions(disabled_strategies=frozenset({"concatenation"}))
    assert kernels("input x by k : f64\n~o[t] = ~x[t]", options).concatenation


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
    assert furthest_reach(query) >= 30 + 60


BATCHES = KeyCosts(batch_rows=10, batch_keys=4, many_rows=50)


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
    found = list(plan_key_ranges(offsets, BATCHES))
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
    found = list(plan_key_ranges(offsets, BATCHES, joined=2))
    assert found == [KeyRange(*each) for each in ranges]
