"""Intervals in order of time: against a stable sort by both of their times."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltpy.runtime.ingest.sort_by_time import find_time_order

FAR = 1 << 61


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3)), min_size=1),
    st.sampled_from([1, 1000, FAR // 4]),
)
def test_by_start_then_end_then_as_they_lie(
    rows: list[tuple[int, int]], spread: int
) -> None:
    starts = np.array([start * spread - FAR // 2 for start, _ in rows], np.int64)
    ends = starts + np.array([length for _, length in rows])
    order = find_time_order(starts, ends)
    assert np.array_equal(order, np.lexsort((ends, starts)))
    assert np.array_equal(find_time_order(starts, None), starts.argsort(kind="stable"))


@pytest.mark.parametrize("count", [1, 70_000])
def test_many_runs_of_equal_times(count: int) -> None:
    starts = np.arange(count, dtype=np.int64) % 7
    ends = starts + 1 + np.arange(count) % 5
    order = find_time_order(starts, ends)
    assert np.array_equal(order, np.lexsort((ends, starts)))
