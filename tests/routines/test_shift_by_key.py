"""Time ranges of keys lie behind one another, and rows are shifted to them."""

from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from tiltpy.routines.catalogue import LAY_OUT_KEYS, SHIFT_BY_KEY, SHIFT_POINTS

LONGEST = 1 << 60
Column = np.ndarray[tuple[int], np.dtype[np.int64]]


def column(numbers: list[int]) -> Column:
    return np.array(numbers, np.int64)


def lay_out(ranges: list[tuple[int, int]], apart: int, precision: int) -> Column:
    shifts = np.zeros(len(ranges) + 1, np.int64)
    lows, highs = (column([pair[n] for pair in ranges]) for n in (0, 1))
    LAY_OUT_KEYS(len(ranges), apart, precision, LONGEST, lows, highs, shifts)
    return shifts


@given(
    st.lists(st.tuples(st.integers(-80, 80), st.integers(0, 40)), max_size=20),
    st.integers(0, 30),
    st.integers(1, 9),
)
def test_ranges_are_apart(
    keys: list[tuple[int, int]], reach: int, precision: int
) -> None:
    ranges = [(low, low + length) for low, length in keys]
    apart = reach + precision
    *shifts, total = lay_out(ranges, apart, precision).tolist()
    assert not any(shift % precision for shift in shifts)
    moved = [(low + s, high + s) for (low, high), s in zip(ranges, shifts, strict=True)]
    assert all(after[0] - before[1] > reach for before, after in pairwise(moved))
    assert total == sum(length for _, length in keys) + apart * len(keys)


@pytest.mark.parametrize(
    "ranges",
    [
        [(-(2**62), 2**62), (0, 1)],
        [(0, 1 << 59), (0, 1 << 59), (0, 1)],
        [(0, 2**62)] * 5,
    ],
)
def test_ranges_that_are_too_long(ranges: list[tuple[int, int]]) -> None:
    assert lay_out(ranges, 10, 1)[-1] > LONGEST


@given(
    st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=5),
    st.one_of(st.integers(1, 100), st.integers(1, 1 << 58)),
)
def test_shifts_are_multiples_of_any_precision(lows: list[int], precision: int) -> None:
    ranges = [(low, low + 1) for low in lows]
    *shifts, total = lay_out(ranges, precision, precision).tolist()
    if total <= LONGEST:
        assert not any(shift % precision for shift in shifts)
        begun = [shift + low for shift, low in zip(shifts, lows, strict=True)]
        ideal = [n * (precision + 1) for n in range(len(lows))]
        assert all(
            wanted - precision < begin <= wanted
            for begin, wanted in zip(begun, ideal, strict=True)
        )


@given(st.lists(st.integers(0, 50), max_size=20))
def test_times_are_shifted(counts: list[int]) -> None:
    total = sum(counts)
    shifts = np.arange(len(counts), dtype=np.int64) * 1000
    times = np.arange(total, dtype=np.int64) * 3 - 5
    expected = times + np.repeat(shifts, counts)
    for routine in (SHIFT_BY_KEY, SHIFT_POINTS):
        targets = [np.full(total + 2, -1, np.int64) for _ in range(2)]
        used = targets if routine is SHIFT_POINTS else targets[:1]
        routine(len(counts), total, column(counts), shifts, times, *used)
        for back, target in enumerate(used):
            assert target[:total].tolist() == (expected - back).tolist()
            assert target[total:].tolist() == [-1, -1]
