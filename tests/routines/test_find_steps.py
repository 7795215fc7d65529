"""Steps between numbers tell whether they are in order, however far apart they are."""

from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from tiltpy.routines.catalogue import FIND_STEPS
from tiltpy.routines.prepared_call import PreparedCall
from tiltpy.types import ENDLESS

EDGE = 2**63
numbers = st.one_of(st.integers(-9, 9), st.integers(-EDGE, EDGE - 1))


@given(st.lists(numbers, min_size=1, max_size=40))
def test_steps_are_those_of_neighbours(values: list[int]) -> None:
    array = np.array(values, np.int64)
    call = PreparedCall(FIND_STEPS, 0, 0, array)
    call(len(array))
    least, greatest = call.numbers[0], call.numbers[1]
    steps = [right - left for left, right in pairwise(values)]
    if not steps:
        assert (least, greatest) == (ENDLESS, -ENDLESS)
    elif min(steps) < 0 or max(steps) >= EDGE:
        assert least < 0
    else:
        assert (least, greatest) == (min([*steps, ENDLESS]), max(steps))
