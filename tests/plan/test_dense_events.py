"""Event scans with a snapshot at each event, which share the times of their input."""

import pytest

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import QueryKernels
from tiltpy.frontend.parse import parse
from tiltpy.loops.printer import format_kernel
from tiltpy.plan.nodes import EventScan

POINTS = Layout(TimeLayout.INTERVALS, (False,), points=True)
HOLED = Layout(TimeLayout.INTERVALS, (True,), points=True)

FOLD = """\
reduction fold(v: f64) {
    init = { sum = 0.0, rows = 0 }
    acc = { sum = state.sum + v, rows = state.rows + 1 }
    result = RESULT
}
"""


def is_dense(text: str, layout: Layout = POINTS) -> bool:
    query = parse("input x : f64\n" + text)
    layouts = {declared.name: layout for declared in query.inputs}
    choice = QueryKernels(query, layouts, CompileOptions()).choices[-1]
    assert isinstance(choice.plan, EventScan)
    return choice.plan.dense


@pytest.mark.parametrize(
    "value",
    [
        "sum(~x[-∞ : t])",
        "~x[t] - max(~x[-∞ : t])",
        "mean(~x[last 20 : t])",
        "mean(~x[t-1000 : t])",
        "{ v = ~x[t], n = count(~x[t-1000 : t]) }",
        "recursive_ema(~x, 0.1)",
    ],
)
def test_a_value_at_each_event(value: str) -> None:
    assert is_dense(f"~o[t] = ~x[t] != φ ? {value} : φ")


@pytest.mark.parametrize(
    "value",
    [
        "std(~x[-∞ : t])",
        "wilder(~x, 14)",
        "sum(v for v in ~x[-∞ : t] if v > 0)",
        "sum(~x[-∞ : t-5])",
        "sum(~x[since ~x : t])",
        "~x[t] > 0 ? sum(~x[-∞ : t]) : φ",
    ],
)
def test_maybe_no_value(value: str) -> None:
    text = f"~o[t] = ~x[t] != φ ? {value} : φ".replace("since ~x", "since ~c")
    assert not is_dense(f"~c[t] = ~x[t] > 1\n{text}\noutput ~o")


def test_rows_that_may_be_null() -> None:
    assert not is_dense("~o[t] = ~x[t] != φ ? sum(~x[-∞ : t]) : φ", HOLED)


def test_others_than_plain_outputs() -> None:
    value = "[t] = ~x[t] != φ ? sum(~x[-∞ : t]) : φ"
    assert not is_dense(f"distinct ~o{value}")
    assert not is_dense(f"~p{value}\n~o[t] = ~x[t] - max(~p[t-50 : t])\noutput ~p, ~o")


@pytest.mark.parametrize(
    ("result", "dense"),
    [
        ("state.sum", True),
        ("state.rows > 3 ? state.sum : φ", False),
        ("state.rows > 3 ? state.sum : 0.0", True),
    ],
)
def test_results_of_folds(result: str, dense: bool) -> None:
    fold = FOLD.replace("RESULT", result)
    body = "~o[t] = ~x[t] != φ ? fold(~x[-∞ : t]) : φ"
    assert is_dense(f"{fold}{body}") is dense


def test_fields_of_results_may_be_null() -> None:
    fold = FOLD.replace("sum = 0.0", "sum = f64(φ)").replace("RESULT", "state")
    fold = fold.replace("state.sum + v", "state.rows > 3 ? v : φ")
    whole = "~o[t] = ~x[t] != φ ? fold(~x[-∞ : t]) : φ"
    assert is_dense(f"{fold}{whole}")
    field = whole.replace(" : φ", ".sum : φ")
    assert not is_dense(f"{fold}{field}")


NONE_BEFORE = "count(~x[t-9 : t-1]) == 0"


@pytest.mark.parametrize(
    ("value", "reader", "stored"),
    [
        ("t", "sum(~v[t-9 : t])", False),
        ("3 * t", "sum(~v[-∞ : t])", False),
        ("t + i64(~x[t])", "first(~v[since ~up : t])", False),
        ("3 * t", "sum(~v[t-9 : t])", True),  # which reads each several times
        ("floor(t / 7)", "sum(~v[-∞ : t])", True),
        (f"{NONE_BEFORE} ? 1 : 2", "sum(~v[-∞ : t])", False),
        (f"{NONE_BEFORE} ? 1 : 2", "max(~v[t-5 : t])", True),
        (NONE_BEFORE, "count(~x[since ~v : t])", False),
        ("count(~x[t-9 : t]) == 1", "count(~x[since ~v : t])", True),
    ],
)
def test_which_values_of_events_are_stored_for_readers(
    value: str, reader: str, *, stored: bool
) -> None:
    text = f"""input x : f64
~up[t] = ~x[t] > 1
~v[t] = ~x[t] != φ ? {value} : φ
~o[t] = ~x[t] > 0 ? {reader} : φ
output ~o
"""
    query = parse(text)
    kernels = QueryKernels(query, {"x": POINTS}, CompileOptions())
    printed = format_kernel(kernels.sweep_code.lower().kernel)
    assert ("v.out_values[" in printed) is stored
