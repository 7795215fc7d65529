"""Slices of one array are joined without a copy, and all others with one."""

import numpy as np
import pytest

from tiltpy.runtime.arrays.same_memory import are_same, join_slices

ALL = np.arange(20)


@pytest.mark.parametrize(
    ("cuts", "shared"),
    [
        ([(3, 7), (7, 7), (7, 20)], True),
        ([(0, 20)], True),
        ([(3, 7), (8, 20)], False),
        ([(7, 20), (3, 7)], False),
    ],
)
def test_slices_are_joined(cuts: list[tuple[int, int]], *, shared: bool) -> None:
    slices = [ALL[first:stop] for first, stop in cuts]
    joined = join_slices(slices)
    assert joined.tolist() == [number for each in slices for number in each]
    assert np.shares_memory(joined, ALL) == shared


def test_other_arrays_are_copied() -> None:
    others = [ALL[::2], ALL[1::2]], [ALL[:3], ALL[3:].copy()], [ALL[:3].copy()] * 2
    for arrays in others:
        assert join_slices(arrays).tolist() == np.concatenate(arrays).tolist()
    assert join_slices([]).tolist() == []


def test_same_entries() -> None:
    assert are_same(ALL[2:5], ALL[2:5])
    assert not are_same(ALL[2:5], ALL[3:6])
    assert not are_same(ALL[2:6], ALL[2:6:2])
    assert not are_same(ALL, ALL.copy())
