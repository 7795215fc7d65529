"""Values moved by places are those read in the inverse order."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from tiltpy.routines.catalogue import GATHER, SCATTER


@given(st.permutations(range(12)), st.integers(0, 12), st.sampled_from([32, 64]))
def test_both_ways(order: list[int], cut: int, bits: int) -> None:
    rows = np.array(order, np.uint32)
    places = np.argsort(rows).astype(np.uint32)
    values = np.arange(100, 112, dtype=f"u{bits // 8}")
    taken, placed = (np.full(13, 7, values.dtype) for _ in "ab")
    for first, stop in ((0, cut), (cut, 12)):
        GATHER[bits](first, stop, rows, values, taken)
        SCATTER[bits](first, stop, places, values, placed)
    expected = [100 + row for row in order]
    assert taken.tolist() == placed.tolist() == [*expected, 7]
