"""Choices for each kind of query and layout, with refusals: golden.

One file for each query in `tests/golden/plan/`, with the plan of the sweep kernel and
the vector kernel, or its refusal, for each layout of its inputs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

import tiltpy as tilt
from tests import GOLDEN
from tests.lowering.sweep.test_golden_kernels import check_golden
from tiltpy.abi.layouts import Layout, SamplingGrid, TimeLayout
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import QueryKernels
from tiltpy.frontend.parse import parse
from tiltpy.plan.choose import LOOP_STRATEGIES, STRATEGY_NAMES
from tiltpy.plan.nodes import Refusal
from tiltpy.plan.print import format_choices

PLANS = GOLDEN / "plan"
ONE, TWO = "input x : f64\n", "input x : f64\ninput y : f64\n"
QUERIES = {
    "select": ONE + "~o[t] = ~x[t] * 2",
    "where": ONE + "~o[t] = ~x[t] > 0 ? ~x[t] : φ",
    "change": ONE + "~o[t] = ~x[t] != ~x[t-1] ? ~x[t] : φ",
    "join": TWO + "~o[t] = ~x[t] + ~y[t]",
    "either": TWO + "~o[t] = ~x[t] != φ ? ~x[t] : ~y[t]",
    "asof": TWO + "~o[t] = ~x[t] != φ ? last(~y[t-100 : t]) : φ",
    "rolling": ONE + "~o[t] = mean(~x[t-20 : t]) - mean(~x[t-50 : t])",
    "at_rows": ONE + "~o[t] = ~x[t] - mean(~x[t-300 : t])",
    "few_rows": ONE + "~o[t] = ~x[t] - mean(~x[t-10 : t])",
    "tumbling": ONE + "w = TDom(-∞, ∞, 60)\n~o[w] = sum(~x[w-60 : w])",
    "hopping": ONE + "w = TDom(-∞, ∞, 60)\n~o[w] = max(~x[w-3600 : w])",
    "top": ONE + "w = TDom(-∞, ∞, 1000)\n~o[w] = topk(~x[w-1000 : w], 3)",
    "median": ONE + "~o[t] = median(~x[t-31 : t])",
    "long_median": ONE + "~o[t] = median(~x[t-9999 : t])",
    "hopping_whole": ONE
    + """w = TDom(-∞, ∞, 100)
        ~o[w] = median(~x[w-1600 : w]) + f64(nunique(~x[w-500 : w]))""",
    "last": ONE + "~o[t] = last(~x[t-30 : t])",
    "sessions": ONE + "~first[t] = session_start(~x, 60)\n"
    "~o[t] = ~x[t] != φ ? count(~x[since ~first : t]) : φ\noutput ~o",
    "time": ONE + "~o[t] = f64(t) * ~x[t]",
    "rates": TWO + "w = TDom(-∞, ∞, 10)\n~m[w] = mean(~x[w-10 : w])\n"
    "~o[t] = ~m[t] * ~y[t]\noutput ~o",
    "clipped": "reduction area(v: f64, start, end) { init = 0.0 "
    "acc = state + v * (end - start) merge = a + b result = state }\n"
    + ONE
    + "~o[t] = area(~x[t-40 : t])",
    "evicting": "reduction rises(v: f64) { init = 0 acc = v > 0 ? state + 1 : state "
    "deacc = v > 0 ? state - 1 : state result = state }\n"
    + ONE
    + "~o[t] = rises(~x[t-40 : t])",
    "alike": ONE + "~o[t] = count(v for v in ~x[t-900 : t] if v == ~x[t])",
    "rank": ONE + "~o[t] = count(v for v in ~x[t-9000 : t] if v < ~x[t])",
    "deviation": ONE + "~o[t] = sum(v - ~x[t] for v in ~x[t-900 : t])",
    "distinct": ONE + "distinct ~o[t] = ~x[t] > 0 ? ~x[t] : φ",
    "distinct_joined": TWO + "distinct ~o[t] = ~x[t] > ~y[t]",
    "distinct_rolling": ONE + "distinct ~o[t] = mean(~x[t-20 : t]) > 1",
    "distinct_read": ONE + "distinct ~d[t] = ~x[t] > 0\n~o[t] = start(~d[t])",
    "row_join": TWO + "e = Rows(~x)\n~o[e] = { x = ~x[e], y = ~y[e] }",
    "row_window": ONE + "e = Rows(~x)\n~o[e] = ~x[e] - mean(~x[e-20 : e])",
    "row_values": ONE + "e = Rows(~x)\n~p[e] = ~x[e] * 2\n"
    "~o[e] = ~p[e] > 0 ? ~p[e] : φ\n~s[t] = sum(~p[t-9 : t])\noutput ~o, ~s",
    "merge_less": "reduction r(v: f64) { init = 0.0 acc = state * 0.5 + v "
    "result = state }\n" + ONE + "~o[t] = r(~x[t-40 : t])",
}
SAMPLED = Layout(TimeLayout.SAMPLED, (False,))
CONTIGUOUS = Layout(TimeLayout.CONTIGUOUS, (False,))
INTERVALS = Layout(TimeLayout.INTERVALS, (False,))
POINTS = replace(INTERVALS, points=True)
OVERLAPPING = Layout(TimeLayout.OVERLAPPING, (False,))
UNORDERED = replace(OVERLAPPING, fifo=False)
LAYOUTS: Mapping[str, tuple[Layout, SamplingGrid | None]] = {
    "sampled": (SAMPLED, SamplingGrid(1, 0)),
    "sampled nullable": (replace(SAMPLED, nullable=(True,)), SamplingGrid(1, 0)),
    "contiguous, short rows": (CONTIGUOUS, SamplingGrid(1, 0, apart=True)),
    "contiguous, long rows": (CONTIGUOUS, None),
    "intervals nullable": (replace(INTERVALS, nullable=(True,)), SamplingGrid(1, 0)),
    "points, dense": (POINTS, SamplingGrid(1, 0, apart=True)),
    "points, sparse": (POINTS, None),
    "overlapping": (OVERLAPPING, None),
    "ends out of order": (UNORDERED, None),
}


def plans(text: str) -> Iterator[str]:
    """Plan a query for each layout; its second input, if any, is sampled as well."""
    query = parse(text)
    for title, (layout, sampling_grid) in LAYOUTS.items():
        layouts = {one.name: layout for one in query.inputs}
        compiled = QueryKernels(query, layouts, CompileOptions(cache=False))
        yield f"== {title} =="
        if sampling_grid is not None:
            refusal = compiled.vector_refusal(dict.fromkeys(layouts, sampling_grid))
            yield vector_line(compiled, refusal, dict.fromkeys(layouts, sampling_grid))
        yield format_choices(compiled.choices, query.unit)
        yield ""


def vector_line(
    compiled: QueryKernels,
    refusal: Refusal | None,
    sampling_grids: Mapping[str, SamplingGrid],
) -> str:
    if refusal is not None:
        return f"not vector_kernel: {refusal.reason}"
    code = compiled.vector_code(sampling_grids)
    assert code is not None
    shapes = ", ".join(f"~{o.name} {o.shape.value}" for o in code.signature.loops)
    return f"vector_kernel: {shapes}"


@pytest.mark.parametrize("name", QUERIES)
def test_what_is_chosen(name: str, *, update_golden: bool) -> None:
    text = QUERIES[name]
    found = "\n".join([text, "", *plans(text)])
    check_golden(PLANS / f"{name}.txt", found, update=update_golden)


def test_each_strategy_is_chosen_and_refused() -> None:
    """The goldens reach all of them: none is chosen by name alone."""
    golden = "\n".join(path.read_text() for path in PLANS.glob("*.txt"))
    for name in (*LOOP_STRATEGIES, "vector_kernel"):
        assert f"not {name}: " in golden, name
        assert f": {name}, " in golden or f"{name}: ~" in golden, name
    for words in ("16 rows of ~", "16 events of ~", "16 rows of a window"):
        assert words in golden
    for name in ("tumbling_fold", "fifo", "evict", "merge", "clip"):
        assert f"        not {name}: " in golden, name


@pytest.mark.few(2)
@pytest.mark.parametrize("name", LOOP_STRATEGIES)
def test_a_disabled_strategy_is_left_out(name: str) -> None:
    options = CompileOptions(disabled_strategies=frozenset({name}), cache=False)
    for text in QUERIES.values():
        for layout, _ in LAYOUTS.values():
            query = parse(text)
            layouts = {one.name: layout for one in query.inputs}
            for choice in QueryKernels(query, layouts, options).choices:
                reasons = dict(choice.refusals)
                if name in reasons:
                    assert reasons[name].reason == "it is disabled"


def test_unknown_strategies_are_refused() -> None:
    options = tilt.CompileOptions(disabled_strategies=frozenset({"row_maps"}))
    with pytest.raises(tilt.TiltError, match="no strategy row_maps to leave out"):
        tilt.parse(QUERIES["select"], options=options)
    assert "row_map" in STRATEGY_NAMES
