"""Runs of rows are copied one behind the other, as slices are."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from tiltpy.runtime.arrays.runs import Runs

RUNS = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 70)), max_size=9)


@pytest.mark.parametrize("kind", ["i8", "f8", "f4", "u4", "?"])
@given(RUNS)
def test_runs_are_copied(kind: str, runs: list[tuple[int, int]]) -> None:
    values = (np.arange(100) * 7 % 5).astype(kind)
    slices = [values[first : first + count] for first, count in runs]
    firsts, counts = (
        np.array(numbers, np.int64)
        for numbers in ([first for first, _ in runs], [len(each) for each in slices])
    )
    made = Runs(firsts, counts, int(counts.sum())).take(values)
    assert made.dtype == values.dtype
    assert made.tolist() == [value for each in slices for value in each.tolist()]
