"""Traced formulas become code that computes the same, or gives up."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.arrays.time_layout import lay_out
from tiltpy.runtime.execution.call_numbers import choose, least, most
from tiltpy.runtime.execution.row_slices import RowSlices
from tiltpy.runtime.execution.traced_numbers import (
    Trace,
    TracedBuffer,
    TracedNumber,
)

small = st.integers(-20, 20)


def formula(a: Any, b: Any) -> Any:
    larger = most(a + 3, b) - least(a, 2 * b) // 4
    return choose(larger % 5 < 3, larger - b, -larger)


@given(small, small, small, small)
def test_code_computes_what_the_formula_does(a: int, b: int, c: int, d: int) -> None:
    trace = Trace()
    traced = formula(TracedNumber(trace, "a", a), TracedNumber(trace, "b", b))
    assert traced.value == formula(a, b)
    compute = trace.compile(["a", "b"], [traced], [])
    assert compute(a, b) == (formula(a, b),)
    assert compute(c, d) == (formula(c, d),)


def test_code_gives_up_where_a_condition_turns_out_otherwise() -> None:
    trace = Trace()
    number = TracedNumber(trace, "a", 7)
    result = number + 1 if number > 5 else number
    compute = trace.compile(["slots", "a"], [result], [("slots[1]", number * 2)])
    slots = [0, 0]
    assert compute(slots, 9) == (10,)
    assert slots == [0, 18]
    assert compute(slots, 5) is None
    assert slots == [0, 18], "nothing is stored then"


@given(st.lists(st.integers(0, 30), min_size=1, max_size=9), small, small)
def test_rows_are_searched_in_the_buffer_of_each_call(
    steps: list[int], low: int, high: int
) -> None:
    def make_rows(steps: list[int]) -> Any:
        starts = np.cumsum(np.array(steps)) - 40
        return lay_out(starts, starts + 2, (Column(np.zeros(len(steps))),))

    trace = Trace()
    first = make_rows([5, 1, 4] if min(steps) < 2 else [5, 2, 4])
    traced: Any = TracedBuffer(trace, "rows", first)
    times = TracedNumber(trace, "low", -38), TracedNumber(trace, "high", -35)
    found = RowSlices.all_of(traced, 0).narrow(*times)  # type: ignore[arg-type]
    compute = trace.compile(["rows", "low", "high"], [found.first, found.count], [])
    rows = make_rows(steps)
    if rows.layout is first.layout:
        expected = RowSlices.all_of(rows, 0).narrow(low, high)
        assert compute(rows, low, high) == (expected.first, expected.count)
