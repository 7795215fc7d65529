"""Numbers are repeated, and little is written behind them."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from tiltpy.routines.catalogue import REPEAT_NUMBERS, SPARE


@given(st.lists(st.integers(0, 50), max_size=20))
def test_numbers_are_repeated(repetitions: list[int]) -> None:
    counts = np.array(repetitions, np.int64)
    numbers = np.arange(len(counts), dtype=np.int64) * 7 - 20
    total = int(counts.sum())
    target = np.full(total + SPARE + 2, -1, np.int64)
    REPEAT_NUMBERS(len(counts), counts, numbers, target)
    assert target[:total].tolist() == np.repeat(numbers, counts).tolist()
    assert target[-2:].tolist() == [-1, -1]
