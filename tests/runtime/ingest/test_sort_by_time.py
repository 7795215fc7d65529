"""Times are sorted stably, however wide they are and however many threads share it."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from tiltpy.runtime.arrays.dtypes import Times
from tiltpy.runtime.concurrency.offload import allow_threads
from tiltpy.runtime.ingest.packed_sort import fits_packed, sort_packed
from tiltpy.runtime.ingest.sort_by_time import find_time_order, sort_stably


def check(ticks: Times, threads: int) -> None:
    with allow_threads(threads):
        order = sort_stably(ticks)
    assert np.array_equal(order, np.argsort(ticks, kind="stable"))


@given(
    st.lists(st.integers(-9, 9), min_size=1, max_size=80),
    st.sampled_from([1, 2**40, 2**58]),
    st.integers(1, 3),
)
def test_few_times(numbers: list[int], step: int, threads: int) -> None:
    check(np.array(numbers, np.int64) * step, threads)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("step", [1, 7, 2**20, 2**44])
@pytest.mark.parametrize("runs", [2, 40, 5000])
def test_runs(runs: int, step: int, threads: int) -> None:
    """Rows of so many keys, each in order; the widest times do not fit beside rows."""
    rows = np.arange(100_000, dtype=np.int64)
    ticks = rows % (len(rows) // runs) * step + rows % 3
    check(ticks - 50 * step, threads)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("size", [1, 2, 1000, 2**31, 2**47])
def test_packed_rows(size: int, threads: int) -> None:
    random = np.random.default_rng(size)
    numbers = random.integers(0, size, 70_000)
    numbers[: len(numbers) // 2] //= 1000  # most are in few buckets
    assert fits_packed(size, len(numbers))
    with allow_threads(threads):
        packed = sort_packed(numbers + 3, size, 3)
        order = packed.order()
    assert np.array_equal(order, np.argsort(numbers, kind="stable"))
    assert packed.number(5) == np.sort(numbers)[5]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=2, max_size=60),
    st.booleans(),
    st.integers(1, 3),
)
def test_intervals(rows: list[tuple[int, int]], ties: bool, threads: int) -> None:
    starts = np.array([start for start, _ in rows], np.int64)
    ends = starts + np.array([length for _, length in rows])
    with allow_threads(threads):
        order = find_time_order(starts, None if ties else ends)
    keys = (starts,) if ties else (ends, starts)
    assert np.array_equal(order, np.lexsort(keys))
