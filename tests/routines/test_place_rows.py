"""Rows are in order of their codes, then as they came."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from tiltpy.routines.catalogue import COUNT_CODES, PLACE_ROWS


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(0, 60))
def test_rows_are_placed_stably(codes: list[int], cut: int) -> None:
    rows, counts = np.array(codes, np.uint32), np.zeros(10, np.int64)
    taken = np.full(len(codes) + 1, 99, np.uint32)
    blocks = [(0, min(cut, len(codes))), (min(cut, len(codes)), len(codes))]
    for block in blocks:
        COUNT_CODES(*block, rows, counts)
    assert counts.tolist() == [codes.count(code) for code in range(10)]
    places = counts.cumsum() - counts
    for block in blocks:
        PLACE_ROWS(*block, rows, places, taken)
    order = sorted(range(len(codes)), key=lambda row: (codes[row], row))
    expected = [order.index(row) for row in range(len(codes))]
    assert taken.tolist() == [*expected, 99]
