"""Formulas over columns become loops that compute what numpy does."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from tiltpy.loops.nodes import LoopKernel
from tiltpy.loops.verify import verify_kernel
from tiltpy.routines.load_kernel import load_kernel
from tiltpy.runtime.execution import traced_loops
from tiltpy.runtime.execution.call_numbers import choose, least, most
from tiltpy.runtime.execution.traced_loops import LoopTrace
from tiltpy.runtime.execution.traced_operands import Side
from tiltpy.types import BOOL

small = st.integers(-20, 20)


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verify the kernel of each loop."""

    def check(kernel: LoopKernel) -> Any:
        verify_kernel(kernel)
        return load_kernel(kernel)

    monkeypatch.setattr(traced_loops, "load_kernel", check)


def formulas(a: Any, b: Any, flag: Any) -> list[Any]:
    larger = most(a + 3, b) - least(a, 2 * b) // 4
    chosen = choose((larger % 5 < 3) & flag, larger - b, -larger)
    truth = (a < b) | ~flag
    return [chosen, truth, choose(truth, 7, a - b), (1 - a == b) != flag, a * 1]


@given(st.lists(st.tuples(small, st.booleans()), max_size=20), small)
def test_a_loop_computes_what_the_formulas_do(
    rows: list[tuple[int, bool]], b: int
) -> None:
    columns: list[NDArray[Any]] = [
        np.array([number for number, _ in rows], np.int64),
        np.array([truth for _, truth in rows], np.bool_),
    ]
    trace = LoopTrace()
    traced = trace.column(), trace.number(), trace.column(BOOL)
    total, greatest = trace.total(traced[0]), trace.greatest(b - traced[0])
    loop = trace.compile(formulas(*traced))
    found = loop(len(rows), [columns[0], b, columns[1]])
    expected = formulas(columns[0], b, columns[1])
    for (is_truth, column), other in zip(loop.places, expected, strict=True):
        assert np.array_equal(found[is_truth][column], other)
        assert found[is_truth].dtype == other.dtype
    assert loop.folds[total] == columns[0].sum()
    assert loop.folds[greatest] == max(0, *(b - columns[0]), 0)


def test_results_may_be_the_same_in_all_rows() -> None:
    trace = LoopTrace()
    total = trace.total(3)
    loop = trace.compile([5, trace.number() + 1, True])
    for rows in (4, 0):
        numbers, truths = loop(rows, [7])
        assert numbers.tolist() == [[5] * rows, [8] * rows]
        assert truths.tolist() == [[True] * rows]
        assert loop.folds[total] == 3 * rows


def test_columns_may_lie_behind_one_another() -> None:
    trace = LoopTrace()
    block = trace.table()
    difference = trace.column_of(block, 2) - trace.column_of(block, 0)
    numbers, _ = trace.compile([difference])(4, [np.arange(12)])
    assert numbers.tolist() == [[8] * 4]


@given(st.lists(small, max_size=20), st.lists(small, min_size=1, max_size=9))
def test_slices_are_searched(times: list[int], wanted: list[int]) -> None:
    sorted_times = np.sort(np.array(times, np.int64))
    first = np.arange(len(wanted)) % (len(times) + 1)
    trace = LoopTrace()
    array, begin, time, stop = (
        trace.table(),
        trace.column(),
        trace.column(),
        trace.number(),
    )
    sides: tuple[Side, ...] = "left", "right"
    loop = trace.compile([trace.search(array, begin, stop, time, s) for s in sides])
    numbers, _ = loop(len(wanted), [sorted_times, first, np.array(wanted), len(times)])
    for side, rows in zip(sides, numbers, strict=True):
        expected = [
            low + sorted_times[low:].searchsorted(each, side)
            for low, each in zip(first, wanted, strict=True)
        ]
        assert rows.tolist() == expected


def test_values_are_stored_where_formulas_say() -> None:
    trace = LoopTrace()
    target = trace.table(is_written=True)
    items, values = trace.column(), trace.column()
    trace.store(target, items, values + trace.row)
    written = np.zeros(5, np.int64)
    trace.compile([])(2, [written, np.array([4, 1]), np.array([10, 20])])
    assert written.tolist() == [0, 21, 0, 0, 10]


def test_nobody_asks_for_the_truth_of_many_rows() -> None:
    truth = LoopTrace().column() < 3
    with pytest.raises(AssertionError, match="a truth of many rows"):
        assert truth
