"""Folds that go on from row to row, in chunks that go on from states before them.

Whatever the chunks, the workers, and the rows from which states are guessed, results
are those of the fold in order, to the bit.
"""

from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compare import assert_same
from tests.compiled import Setting, random_setting, run_compiled
from tests.costs import default_costs
from tests.engines.test_out_of_core import run_streamed
from tests.plain import check_engines
from tests.random.folds import random_fold_case
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import interpret
from tiltpy.ir.print.query import format_query
from tiltpy.runtime.execution.run_options import default_workers

CASES, BATCH, STREAMS, DEEPER = 5, 5, 2, 640


def check(seed: int) -> None:
    case = random_fold_case(seed)
    assert parse(format_query(case.query)) == case.query
    expected = interpret(case.query, case.events, start=case.start, end=case.end)
    random = Random(seed)  # noqa: S311 - tests, not secrets
    setting = random_setting(random, span=80)
    chunk = random.choice((2, 5, 9, None))
    for each in (setting, replace(setting, chunk=chunk, workers=2, small=True)):
        result = run_compiled(case, each)
        try:
            assert_same(result, expected, case.query, exact=True)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, {each}\n{error}") from None


def check_stream(seed: int) -> None:
    case = random_fold_case(seed)
    expected = interpret(case.query, case.events, start=case.start, end=case.end)
    random = Random(seed)  # noqa: S311 - tests, not secrets
    setting = random_setting(random, span=80)
    try:
        result = run_streamed(case, setting, random)
        assert_same(result, expected, case.query, exact=True)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}, {setting}\n{error}") from None


@pytest.mark.parametrize("batch", range(CASES // BATCH))
def test_random_folds(batch: int, *, deep: bool) -> None:
    for first in range(batch * BATCH, CASES * (DEEPER if deep else 1), CASES):
        for seed in range(first, first + BATCH):
            check(seed)


def test_streams_of_random_folds(*, deep: bool) -> None:
    for seed in range(STREAMS * (DEEPER if deep else 1)):
        check_stream(seed)


ROWS = 30_000
HEAD = "unit s\ninput x : f64 time time point\n"
BIQUAD = """reduction fold(v: f64) {
    init = { y = 0.0, a = 0.0, b = 0.0 }
    acc = {
        y = 0.25 * v + state.a
        return { y = y, a = 0.5 * y + state.b, b = -0.25 * v - 0.5 * y }
    }
    result = state.y
}
~o[t] = fold(~x[-∞ : t])"""
LONG = {
    "biquad": BIQUAD,
    "average": "~o[t] = recursive_ema(~x, 0.2)",
    "averages": "~o[t] = { a = ema(~x, 0.2), b = rsi(~x, 14) }",
    "restarts": "~c[t] = ~x[t] > 1.5\n~o[t] = sum(~x[since ~c : t])",
    "highest since": "~c[t] = ~x[t] > 2\n~o[t] = max(~x[after ~c : t])",
    "last rows": "~c[t] = ~x[t] > 1.5\nh = TDom(-∞, ∞, 7)\n~l[t] = max(~x[last 4 : t])"
    "\n~p[h] = ~l[h+1] - ~x[last : <h]\n"
    "~o[t] = { a = min(~x[after ~c : t]), b = ~p[t] }",
    "own restarts": "distinct ~c[t] = max(~x[t-9 : t]) > 2\n"
    "~m[t] = max(~x[t-5 : t+2])\n~o[t] = count(~m[after ~c : t])",
    "streaks": "reduction fold(v: f64) { init = 0 acc = v > 1 ? 0 : state + 1"
    " result = state }\n~o[t] = fold(~x[-∞ : t])",
    "hysteresis": "reduction fold(v: f64) { init = false acc = v > 2 ? true :"
    " v < -2 ? false : state result = state }\n~o[t] = fold(~x[-∞ : t])",
    "parity": "reduction fold(v: f64) { init = false acc = v > 0 ? !state : state"
    " result = state }\n~o[t] = fold(~x[-∞ : t])",
    "last": "~o[t] = ~x[t-2] == φ ? last(v for v in ~x[-∞ : t] if v > 1) : φ",
    "total": "~o[t] = sum(~x[-∞ : t])",
}

SEQUENTIAL = ("total",)
"""Folds whose chunks do not go on from guesses."""


@pytest.mark.parametrize("name", LONG)
def test_no_bit_depends_on_chunks_or_workers(name: str) -> None:
    random = np.random.default_rng(len(name))
    times = np.cumsum(random.integers(1, 4, ROWS))
    table = pa.table(
        {"time": pa.array(times, pa.timestamp("s")), "x": random.normal(size=ROWS)}
    )
    with default_costs(least_chunk_work=1000, warmup_rows=100, warmup_share=2):
        query = tilt.parse(f"{HEAD}{LONG[name]}\noutput ~o\n")
        expected = query.run(x=table, workers=1).to_arrow()
        for workers, chunk in ((2, None), (3, None), (1, "1h"), (2, "37s"), (4, "2h")):
            result = query.run(x=table, workers=workers, chunk=chunk).to_arrow()
            assert result.equals(expected), (workers, chunk)
        said = query.explain(inputs={"x": table})
    if default_workers() > 1:
        forgets = "chunks go on from states, guessed from the"
        assert (forgets in said) == (name not in SEQUENTIAL)


IN_CHUNKS = [Setting(chunk=chunk) for chunk in (None, 1, 2, 3, 7)]


@pytest.mark.parametrize("window", ["since ~c", "after ~c"])
@pytest.mark.parametrize("fold", ["count", "sum", "max", "first"])
def test_the_first_row_of_a_chunk_may_restart(window: str, fold: str) -> None:
    """Restarts by row are numbered in each chunk anew, from 0 on."""
    text = f"""input x : i64
        e = Rows(~x)
        ~c[e] = ~x[e] > 0
        ~o[e] = {fold}(~x[{window} : e])
        output ~o"""
    values = (3, -1, 0, 5, 5, -2, 3, -4, -4, 1)
    rows = [(2 * i // 3 * 2, 2 * i // 3 * 2 + 1, v) for i, v in enumerate(values)]
    check_engines(text, {"x": rows}, settings=IN_CHUNKS)


@pytest.mark.parametrize("precision", [1, 2, 3])
@pytest.mark.parametrize("end", ["e", "e-1", "e+2"])
@pytest.mark.parametrize(
    "fold",
    [
        "last(~x[after ~c : {}])",
        "count(~x[since ~c : {}])",
        "count(~m[since ~c : {}])",
        "sum(~m[since ~c : {} within 7])",
    ],
)
def test_snapshots_go_on_in_the_chunks_of_rows(
    fold: str, end: str, precision: int
) -> None:
    """Those that a chunk computes anew, of an object that its rows fold."""
    text = f"""input x : f64
        input y : f64
        e = Rows(~x)
        g = TDom(-∞, ∞, {precision})
        ~c[g] = ~x[g-2] + ~y[g] > 3
        ~m[g] = ~x[g] + ~y[g-1]
        ~o[e] = {fold.format(end)}
        output ~o"""
    x = [(1, 9, 7.0), (9, 10, -1.0), (10, 17, 5.0), (17, 24, -1.0), (30, 33, 4.0)]
    y = [(0, 12, 1.0), (12, 20, 2.0), (25, 40, 3.0)]
    check_engines(text, {"x": x, "y": y}, settings=IN_CHUNKS)
