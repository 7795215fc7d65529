"""Windows in loops that step from edge to edge, over many rows.

Against the interpreter: rows that touch, rows with gaps and points, with objects that
are looked at beside them; in chunks, and with runs of a few visits.
"""

from dataclasses import replace
from functools import partial
from random import Random

import pytest

from tests.compiled import Setting
from tests.lowering.sweep.test_tumbling_rows import STREAMS
from tests.plain import check_engines
from tests.plan.shapes import Census
from tiltpy.abi.layouts import Layout, SamplingGrid, TimeLayout
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import QueryKernels
from tiltpy.frontend.parse import parse

QUERIES = {
    "sum": "~o[t] = sum(~x[t-30 : t])",
    "short": "~o[t] = mean(~x[t-2 : t])",
    "extremes": "~o[t] = max(~x[t-40 : t]) - min(~x[t-40 : t])",
    "spread": "~o[t] = std(~x[t-50 : t])",
    "of the past": "~o[t] = sum(~x[t-60 : t-20]) * count(~x[t-60 : t-20])",
    "of the future": "~o[t] = rms(~x[t+3 : t+33])",
    "two": "~o[t] = mean(~x[t-20 : t]) > mean(~x[t-50 : t])",
    "with a point": "~o[t] = ~x[t] - mean(~x[t-31 : t-1])",
    "with gaps": "~o[t] = (~x[t-5] != φ ? ~x[t-5] : 0.0) + sum(~x[t-30 : t])",
    "ends": "~o[t] = first(~x[t-30 : t]) - last(~x[t-30 : t])",
    "another": "~o[t] = ~y[t] + sum(~x[t-25 : t])",
    "both": "~o[t] = sum(~x[t-25 : t]) * sum(~y[t-10 : t+5])",
    "longer than all": "~o[t] = sum(~x[t-9000 : t])",
    "struct": "~o[t] = { a = sum(~x[t-30 : t]), b = ~y[t], c = count(~y[t-9 : t]) }",
    "own": "~o[t] = net(i64(v) for v in ~x[t-30 : t])",
    "own beside a sum": "~o[t] = { a = tally(~x[t-30 : t]), b = sum(~x[t-30 : t]) }",
}
OWN = """\
reduction net(v: i64) {
    init = 0
    acc = state + v
    deacc = state - v
    result = state
}
reduction tally(v: f64) {
    init = 0
    acc = state + 1
    deacc = state - 1
    result = state
}
"""
WAYS = (
    Setting(vector=False),
    Setting(vector=False, chunk=250, workers=2),
    Setting(vector=False, small=True),
    Setting(small=True),
)


@pytest.mark.covering(1)
@pytest.mark.parametrize("left", STREAMS)
@pytest.mark.parametrize("right", STREAMS)
@pytest.mark.parametrize("query", QUERIES)
def test_steps(query: str, left: str, right: str) -> None:
    random = Random(f"{query} {left} {right}")  # noqa: S311
    own = OWN if query.startswith("own") else ""
    text = f"{own}input x : f64\ninput y : f64\n{QUERIES[query]}\noutput ~o"
    for count in (3, 120):
        others = random.choice((count, count // 4, 2 * count))
        rows = {"x": STREAMS[left](random, count), "y": STREAMS[right](random, others)}
        points = left == "points" and right == "points"
        settings = [replace(way, points=points) for way in WAYS]
        check_engines(text, rows, settings=settings)


@pytest.mark.parametrize("query", ["sum", "both", "struct"])
def test_rows_that_overlap_beside_rows_that_do_not(query: str) -> None:
    """No edge of a loop follows those."""
    random = Random(query)  # noqa: S311
    text = f"input x : f64\ninput y : f64\n{QUERIES[query]}\noutput ~o"
    long = [(s, s + 7, v) for s, _, v in STREAMS["gaps"](random, 200)]
    rows = {"x": long, "y": STREAMS["points"](random, 200)}
    check_engines(text, rows, settings=WAYS)


def test_runs_are_reached() -> None:
    random = Random(1)  # noqa: S311
    text = f"input x : f64\n{QUERIES['sum']}\noutput ~o"
    census = Census()
    rows = {"x": STREAMS["gaps"](random, 200)}
    census.run(partial(check_engines, text, rows, settings=WAYS))
    assert census.counts["sweep: windows from edge to edge, for a while"]


GAPS = Layout(TimeLayout.INTERVALS, (False,))
NULLABLE = Layout(TimeLayout.INTERVALS, (True,))
POINTS = Layout(TimeLayout.INTERVALS, (False,), points=True)


@pytest.mark.parametrize(
    ("body", "layout", "apart", "grid"),
    [
        ("sum(~x[t-500 : t])", GAPS, True, False),
        ("sum(~x[t-500 : t])", GAPS, False, True),
        ("sum(~x[t-500 : t])", NULLABLE, True, True),
        ("sum(~x[t-500 : t])", POINTS, True, False),
        ("sum(~x[t-50 : t])", GAPS, True, True),
        ("sum(v for v in ~x[t-500 : t] if v > 0)", GAPS, True, True),
        ("max(~x[t-500 : t])", GAPS, True, False),
        ("max(~x[t-50 : t])", GAPS, True, True),
        ("std(~x[t-80 : t])", GAPS, True, False),
        ("std(~x[t-20 : t])", GAPS, True, False),
        ("std(~x[t-9 : t])", GAPS, True, True),
        ("~x[t] - sum(~x[t-500 : t])", GAPS, True, True),
    ],
)
def test_which_are_stepped(
    body: str, layout: Layout, *, apart: bool, grid: bool
) -> None:
    """Rows that are some ticks long, and windows that are long."""
    query = parse(f"input x : f32\n~o[t] = {body}")
    found = QueryKernels(query, {"x": layout}, CompileOptions())
    sampling_grids = {"x": SamplingGrid(1, 0, apart=apart)}
    assert (found.vector_code(sampling_grids) is not None) == grid
