"""Event scans that take a bounded time for each row, and others."""

import pytest

from tests.plan.test_dense_events import FOLD, POINTS
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
