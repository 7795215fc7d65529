"""Numbers are sorted stably by their highest digits."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from tiltpy.routines.catalogue import DIGIT_PLACES, MOST_DIGITS, SORT_BY_DIGITS
from tiltpy.routines.prepared_call import PreparedCall


@given(
    st.lists(st.integers(0, 2**64 - 1) | st.sampled_from([0, 2**63]), min_size=1),
    st.integers(1, MOST_DIGITS),
    st.sampled_from([*SORT_BY_DIGITS]),
)
def test_the_order_is_that_of_the_highest_digits(
    numbers: list[int], digits: int, digit_bits: int
) -> None:
    count = len(numbers)
    halves = np.zeros(2 * count, np.uint64)
    halves[:count] = numbers
    places = np.empty(DIGIT_PLACES, np.int64)
    call = PreparedCall(SORT_BY_DIGITS[digit_bits], count, digits, 0, halves, places)
    call()
    first = call.numbers[2]
    low_bits = 64 - digits * digit_bits
    expected = sorted(numbers, key=lambda number: number >> low_bits)
    assert halves[first : first + count].tolist() == expected
