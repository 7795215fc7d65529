"""Summaries that are derived of folds, and what `explain` says of them."""

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.costs import default_costs
from tiltpy.emit.references import reductions
from tiltpy.passes.analyses.fold_summaries import FoldSummary, summarize
from tiltpy.passes.pipeline import optimize
from tiltpy.runtime.execution.run_options import default_workers

HEAD = "input x : f64 point\n"
BIQUAD = """init = { y = 0.0, a = 0.0, b = 0.0 }
    acc = {
        y = 0.25 * v + state.a
        return { y = y, a = 0.5 * y + state.b, b = -0.25 * v - 0.5 * y }
    }
    result = state.y"""
KALMAN = """init = { p = 1.0, mean = 0.0 }
    acc = {
        prior = state.p + 0.1
        gain = prior / (prior + 1.0)
        return {
            p = (1.0 - gain) * prior, mean = state.mean + gain * (v - state.mean)
        }
    }
    result = state.mean"""
DEBOUNCE = """init = { count = 0, on = false }
    acc = {
        count = v > 0 ? min(state.count + 1, 3) : 0
        return { count = count, on = count == 3 ? true : count > 0 && state.on }
    }
    result = state.on"""
HOLT = """init = { level = 0.0, trend = 0.0, begun = false }
    acc = {
        ahead = state.level + state.trend
        level = state.begun ? 0.5 * v + 0.5 * ahead : v
        return {
            level = level,
            trend = state.begun ? 0.1 * (level - state.level) + 0.9 * state.trend : 0.0,
            begun = true
        }
    }
    result = state.level"""
USER_DEFINED = {
    BIQUAD: ("affine 2x2, forgets in 132 rows", 132),
    KALMAN: ("affine 1x1, forgets in 144 rows", 144),
    HOLT: ("affine 2x2, forgets in 368 rows", 368),
    DEBOUNCE: ("finite, 4 states", 0),
    "init = f64(φ) acc = state == φ ? v : 0.9 * state + 0.1 * v result = state": (
        "affine 1x1, forgets in 424 rows", 424
    ),
    "init = 0.0 acc = 0.5 * exp(-v) * state + v result = state": ("affine 1x1", 0),
    "init = 0.0 acc = state + v result = state": (
        "affine 1x1, never forgets: sequential", None
    ),
    "init = 0 acc = v > 5 ? 0 : state + 1 result = state": ("affine 1x1, segmented", 0),
    "init = 0.0 acc = v > 5 ? v : max(state, v) result = state": ("segmented", 0),
    "init = { last = 0.0, rows = 0 } acc = {"
    " last = v, rows = v - state.last > 3 ? 0 : state.rows + 1 } result = state.rows": (
        "affine 1x1, segmented", 0
    ),
    "init = false acc = v > 1 ? true : (v < -1 ? false : state) result = state": (
        "finite, 2 states", 0
    ),
    "init = 0 acc = (state + 1) % 64 result = state": ("finite, 64 states", 0),
    "init = 0 acc = (state + 1) % 65 result = state": (
        "sequential: acc is not affine in the state", None
    ),
    "init = { last = 0.0, before = 0.0 } acc = { last = v, before = state.last }"
    " result = state.before": ("of the last rows", 2),
    "init = 0.0 acc = max(state, v) result = state": (
        "sequential: acc is not affine in the state", None
    ),
    "init = 0.0 acc = state > 9 ? 0.0 : state + v result = state": (
        "sequential: a condition depends on state", None
    ),
    "init = { a = 0.0, b = 0.0, c = 0.0, d = 0.0, e = 0.0 } acc = {"
    " sum = state.a + state.b + state.c + state.d + state.e return {"
    " a = sum + v, b = sum, c = sum, d = sum, e = sum } } result = state.e": (
        "sequential: its state has 5 fields, more than 4", None
    ),
}  # fmt: skip


def derive(text: str) -> FoldSummary:
    """The summary of the only reduction of a query."""
    _, query = optimize(tilt.parse(f"{HEAD}{text}\noutput ~o\n").query)[-1]
    (node,) = reductions(query.definitions[-1])
    return summarize(node, {each.name: each for each in query.reductions})


@pytest.mark.parametrize("clauses", USER_DEFINED)
def test_user_defined_reductions(clauses: str) -> None:
    summary = derive(f"reduction r(v: f64) {{ {clauses} }}\n~o[t] = r(~x[-∞ : t])")
    assert (summary.text, summary.rows) == USER_DEFINED[clauses]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("~o[t] = recursive_ema(~x, 0.05)", "affine 1x1, forgets in 868 rows"),
        ("~o[t] = ema(~x, 0.05)", "affine 2x2, forgets in 868 rows"),
        ("~o[t] = rsi(~x, 14)", "affine 2x2, forgets in 605 rows"),
        ("~o[t] = sum(~x[-∞ : t])", "of all rows, never forgets: sequential"),
        (
            "~c[t] = ~x[t] > 5\n~o[t] = sum(~x[since ~c : t])",
            "segmented, restarts at ~c",
        ),
    ],
)
def test_library_and_built_in_reductions(text: str, expected: str) -> None:
    assert derive(text).text == expected


def test_explain_says_which() -> None:
    query = tilt.parse(f"{HEAD}~o[t] = recursive_ema(~x, 0.5)\noutput ~o\n")
    said = "~o: recursive of ~x folds on, one step for each row\n    fold: affine 1x1, "
    assert said in query.explain()


ONE_CHUNK = {
    "~o[t] = median(~x[since ~c : t])": "all of ~c, ~x may matter to ~o at any time",
    "~o[t] = sum(~x[since ~c : t]) + sum(~x[-∞ : t])": "sum of ~x never forgets a row",
    "~m[t] = sum(~x[since ~c : t])\n~o[t] = max(~m[t-9 : t])": (
        "~o reads ~m, which keeps states"
    ),
}


@pytest.mark.parametrize("text", ONE_CHUNK)
def test_explain_says_why_restarts_cut_no_chunks(text: str) -> None:
    query = tilt.parse(f"{HEAD}~c[t] = ~x[t] > 5\n{text}\noutput ~o\n")
    assert f"fold: restarts at ~c, one chunk: {ONE_CHUNK[text]}" in query.explain()
    assert "segmented" not in query.explain()


def test_explain_says_of_rows_whether_they_are_cut() -> None:
    text = f"{HEAD}~c[t] = ~x[t] > 5\n~o[t] = sum(~x[since ~c : t])\noutput ~o\n"
    table = pa.table({"time": np.arange(40_000), "x": np.zeros(40_000)})
    whole = tilt.parse(text).explain(inputs={"x": table})
    assert (
        "restarts at ~c, one chunk: too few for several threads: 40,000 rows" in whole
    )
    assert "segmented" not in whole
    with default_costs(warmup_rows=100, least_chunk_work=1000):
        cut = tilt.parse(text).explain(inputs={"x": table})
    if default_workers() > 1:
        assert "fold: segmented, restarts at ~c" in cut
        assert "chunks go on from states" in cut
