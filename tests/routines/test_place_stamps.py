"""Times of events by their stamps, with the steps between those."""

import numpy as np
import pytest

from tests.routines.cache_lines import lines_behind
from tiltpy.array_address import address
from tiltpy.routines.catalogue import PLACE_STAMPS
from tiltpy.routines.prepared_call import PreparedCall
from tiltpy.runtime.arrays.steps import StepFinder


@pytest.mark.parametrize("rows", [1, 2, 3, 17, 1000])
@pytest.mark.parametrize("least", [-1, 0, 1])
@pytest.mark.parametrize("cached", [0, 5, 1000])
def test_times_lie_around_the_stamps(rows: int, least: int, cached: int) -> None:
    random = np.random.default_rng(rows)
    stamps = np.cumsum(random.integers(least, 9, rows)) - 40
    cached = min(rows, cached)
    starts, ends = lines_behind(cached, rows + 1), lines_behind(cached, rows + 1)
    starts[rows], ends[rows] = 7, 8
    call = PreparedCall(PLACE_STAMPS, 0, 0, 0, 0, 0, starts, ends)
    call(rows, 3, 5, cached, address(stamps))
    assert (starts[:rows] == stamps - 3).all()
    assert (ends[:rows] == stamps + 5).all()
    assert (starts[rows], ends[rows]) == (7, 8)
    least_step, greatest, first, last = call.numbers[:4]
    assert (first, last) == (stamps[0], stamps[-1])
    steps = StepFinder().find(stamps)
    assert steps in (None, (least_step, greatest))
    assert (steps is None) == (least_step < 0)
