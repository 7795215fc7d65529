"""Exact sums of sliding windows: differences of prefix sums, in each layout of rows."""

from random import Random

import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compiled import ARROW, Setting
from tests.run_everywhere import run_everywhere
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event

EXTREMES = (-(2**63), 2**63 - 1, 2**62, -7, 0, 1)
WINDOWS = ("t-7 : t", "t-20 : t-3", "t+1 : t+6", "last 4 : t", "since ~zero : t")
SETTINGS = (
    Setting(),
    Setting(points=True),
    Setting(chunk=5, workers=2),
    Setting(chunk=1, special_shapes=False, optimize=False),
)
QUERY = """\
input x : i64
~zero[t] = ~x[t] == 0
~o[t] = {when}{{
    total = sum(~x[{window}]),
    mean = mean(i32(v) for v in ~x[{window}]),
    big = count(v for v in ~x[{window}] if v > 1),
    any = any(v == 1 for v in ~x[{window}] if v != 0)
}}{otherwise}
output ~o
"""


def _draw(gaps: tuple[int, ...], lengths: tuple[int, ...]) -> list[Event]:
    """Draw events of extreme values, each of which comes a gap after the one before."""
    draws, events, now = Random(len(gaps)), [], 0  # noqa: S311
    for _ in range(60):
        start = now + draws.choice(gaps)
        end = start + draws.choice(lengths)
        events.append(Event(start, end, draws.choice(EXTREMES)))
        now = end
    return events


@pytest.mark.covering(2)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("at_events", [True, False])
@pytest.mark.parametrize(
    ("gaps", "lengths"),
    [((0,), (1,)), ((0, 1, 3), (1,)), ((0, 1, 2, 50), (1, 4)), ((0,), (1, 2, 30))],
)
def test_sums_of_extremes(
    window: str, gaps: tuple[int, ...], lengths: tuple[int, ...], *, at_events: bool
) -> None:
    when, otherwise = ("~x[t] != φ ? ", " : φ") if at_events else ("", "")
    text = QUERY.format(window=window, when=when, otherwise=otherwise)
    events = {"x": _draw(gaps, lengths)}
    found = run_everywhere(parse(text), events, start=0, end=400, settings=SETTINGS)
    assert found["o"]


@pytest.mark.parametrize(
    ("scalar", "reduction", "states"),
    [
        ("i64", "sum(~x[t-9 : t])", ", by prefix sums"),
        ("i32", "mean(~x[t-9 : t])", ", by prefix sums"),
        ("f64", "sum(~x[t-9 : t])", ", on two stacks"),
        ("f64", "count(~x[t-9 : t])", ""),
        ("f64", "count(v for v in ~x[t-9 : t] if v > 1)", ", by prefix sums"),
        (
            "f64",
            "mean(v for v in ~x[t-9 : t] if v > 1)",
            ", by prefix sums and on two stacks",
        ),
        ("f64", "median(~x[t-9 : t])", ""),
    ],
)
def test_the_plan_names_states(scalar: str, reduction: str, states: str) -> None:
    query = tilt.parse(
        f"input x : {scalar} time ts point\n~o[t] = ~x[t] != φ ? {reduction} : φ"
    )
    values = pa.array([1, 2, 3], ARROW[scalar])
    rows = pa.table({"ts": [1, 3, 90], "x": values})
    plan = query.explain(inputs={"x": rows})
    assert f"~x[t-9 : t] inserts and evicts in order{states}\n" in plan
