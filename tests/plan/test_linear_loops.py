"""Scans that take a bounded time for each row, and others."""

import pytest

from tests.plan.test_dense_events import FOLD, POINTS
from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import QueryKernels
from tiltpy.frontend.parse import parse


@pytest.mark.parametrize(
    ("value", "linear"),
    [
        ("sum(~x[-∞ : t])", True),
        ("mean(~x[last 20 : t]) - mean(~x[t-500 : t])", True),
        ("fold(~x[-∞ : t])", True),
        ("fold(~x[last 20 : t])", False),
        ("median(~x[t-500 : t])", False),
        ("count(v for v in ~x[t-500 : t] if v < ~x[t])", False),
    ],
)
def test_linear(value: str, *, linear: bool) -> None:
    fold = FOLD.replace("RESULT", "state.sum")
    query = parse(f"{fold}input x : f64\n~o[t] = ~x[t] != φ ? {value} : φ")
    kernels = QueryKernels(query, {"x": POINTS}, CompileOptions())
    (loop,) = kernels.sweep().signature.loops
    assert loop.linear is linear


@pytest.mark.parametrize(
    ("definition", "linear"),
    [
        ("~o[t] = ~x[t] + ~x[t-3]", True),
        ("~o[t] = sum(~x[t-500 : t])", True),
        ("h = TDom(-inf, inf, 500)\n~o[h] = max(~x[h-500 : h])", True),
        ("h = TDom(-inf, inf, 500)\n~o[h] = median(~x[h-500 : h])", False),
        ("e = Rows(~x)\n~o[e] = mean(~x[last 20 : e])", True),
        ("e = Rows(~x)\n~o[e] = ~x[e] * 2", True),
        ("e = Rows(~x)\n~o[e] = median(~x[last 20 : e])", False),
    ],
)
def test_linear_whatever_the_scan(definition: str, *, linear: bool) -> None:
    query = parse(f"input x : f64 time t until_next\n{definition}")
    layout = Layout(TimeLayout.INTERVALS, (False,))
    kernels = QueryKernels(query, {"x": layout}, CompileOptions())
    assert [loop.linear for loop in kernels.sweep().signature.loops] == [linear]


def test_overlapping_events_leave_a_window_in_any_order() -> None:
    query = parse("input x : f64\n~o[t] = max(~x[t-500 : t])")
    layout = Layout(TimeLayout.OVERLAPPING, (False,), fifo=False)
    kernels = QueryKernels(query, {"x": layout}, CompileOptions())
    (loop,) = kernels.sweep().signature.loops
    assert not loop.linear
