"""Distinct integers are those that numpy finds."""

import numpy as np
import pytest

from tiltpy.runtime.arrays.distinct import distinct


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.int64, np.uint64])
def test_distinct_values_are_those_of_numpy(kind: type[np.integer]) -> None:
    random = np.random.default_rng(1)
    for values in ([], [3], [7, 7, 7], random.integers(0, 100, (20, 30))):
        array = np.asarray(values, kind)
        assert np.array_equal(distinct(array), np.unique(array))
