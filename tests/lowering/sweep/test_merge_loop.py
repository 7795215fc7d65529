"""Objects that are merely looked at, merged from bound to bound, over many rows.

Against the interpreter: rows that touch, rows with gaps, points, in any combination and
with offsets; beside objects of coarse grids, which are computed first.
"""

from dataclasses import replace
from random import Random

import pytest

from tests.compiled import Setting
from tests.lowering.sweep.test_tumbling_rows import STREAMS
from tests.plain import check_engines
from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import QueryKernels
from tiltpy.frontend.parse import parse
from tiltpy.loops.printer import format_kernel

HEAD = "input x : f64\ninput y : f64\nw = TDom(-∞, ∞, 40)\n"
QUERIES = {
    "join": "~o[t] = ~x[t] + ~y[t]",
    "join of other times": "~o[t] = ~x[t-3] * ~y[t+2]",
    "one may be missing": "~o[t] = ~x[t] + (~y[t] != φ ? ~y[t] : 100.0)",
    "each may be missing": (
        "~o[t] = ~x[t] != φ ? ~x[t] : (~y[t] != φ ? ~y[t] : 100.0)"
    ),
    "of one object": "~o[t] = ~x[t] - ~x[t-7]",
    "where it is not": "~o[t] = ~x[t] != φ ? φ : ~y[t]",
    "kept": "~o[t] = ~x[t] > ~y[t] ? ~x[t] - ~y[t] : φ",
    "three": "~o[t] = ~x[t] + ~y[t-1] - ~x[t-20]",
    "bounds": "~o[t] = f64(end(~x[t]) - start(~y[t]))",
    "struct": "~o[t] = { return { a = ~x[t] + ~y[t], b = ~y[t] } }",
    "with blocks": "~s[w] = sum(~x[w-40 : w])\n~o[t] = (~x[t] - ~s[t]) / ~s[t-5]",
    "blocks may be missing": (
        "~s[w] = sum(v for v in ~x[w-40 : w] if v > 4.5)\n"
        "~o[t] = ~x[t] - (~s[t] != φ ? ~s[t] : 0.0)"
    ),
    "gaps filled with blocks": (
        "~s[w] = mean(~x[w-40 : w])\n~o[t] = ~x[t] != φ ? ~x[t] : ~s[t]"
    ),
    "filled": "~o[t] = ~x[t] != φ ? ~x[t] * 2 : 100.0",
    "later gaps in a struct": (
        "~s[w] = sum(~x[w-40 : w])\n"
        "~o[t] = { a = ~x[t+3], b = ~s[t], c = ~x[t+3] > ~s[t], d = end(~x[t+3]) }"
    ),
    "more than blocks, and later": (
        "~s[w] = mean(~x[w-40 : w])\n~o[t] = ~x[t+2] > ~s[t] ? ~x[t+2] - ~s[t] : φ"
    ),
    "blocks alone are kept": (
        "~s[w] = max(~y[w-40 : w])\n~o[t] = ~x[t] + ~y[t-2] + ~s[t]"
    ),
}
WAYS = (Setting(), Setting(chunk=250, workers=2), Setting(small=True))


@pytest.mark.covering(1)
@pytest.mark.parametrize("left", STREAMS)
@pytest.mark.parametrize("right", STREAMS)
@pytest.mark.parametrize("query", QUERIES)
def test_merges(query: str, left: str, right: str) -> None:
    random = Random(f"{query} {left} {right}")  # noqa: S311
    text = f"{HEAD}{QUERIES[query]}\noutput ~o"
    for count in (3, 100):
        rows = {
            "x": STREAMS[left](random, count),
            "y": STREAMS[right](random, random.choice((count, count // 3, 2 * count))),
        }
        points = left == "points" and right == "points"
        settings = [replace(way, points=points) for way in WAYS]
        check_engines(text, rows, settings=settings)


CONTIGUOUS = Layout(TimeLayout.CONTIGUOUS, (False,))
NULLABLE = Layout(TimeLayout.CONTIGUOUS, (True,))


@pytest.mark.parametrize(
    ("body", "layout", "merged"),
    [
        ("~o[t] = ~x[t] + ~y[t]", CONTIGUOUS, True),
        ("~o[t] = ~x[t] + ~y[t]", NULLABLE, False),
        ("~o[t] = ~x[t] + sum(~y[t-9 : t])", CONTIGUOUS, False),
        ("~o[t] = ~x[t] + ~y[t] + f64(t)", CONTIGUOUS, False),
    ],
)
def test_which_are_merged(body: str, layout: Layout, *, merged: bool) -> None:
    layouts = {"x": layout, "y": layout}
    found = QueryKernels(parse(HEAD + body), layouts, CompileOptions())
    assert ("merged" in format_kernel(found.sweep_code.lower().kernel)) == merged
