"""Slices of rows, one for each call: of several keys they have nothing in common."""

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from tiltpy.abi.layouts import TimeLayout
from tiltpy.runtime.arrays.search_slices import search_slices
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.arrays.time_layout import lay_out
from tiltpy.runtime.execution.row_slices import slice_by_key
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.types import ENDLESS, MAX_TIME


def test_contiguous_rows_cover_the_time_of_their_own_key() -> None:
    """That time may be before that of the key before, or far behind it."""
    starts = np.array([90, 93, -5, 0, 40, 1000, -MAX_TIME])
    ends = np.array([93, 100, 0, 40, 41, ENDLESS, ENDLESS])
    heads = np.array([0, 2, 5, 6, 7])
    column = Column(np.zeros(7))
    buffer = lay_out(starts, ends, (column,), heads[1:-1])
    assert buffer.layout is TimeLayout.CONTIGUOUS
    groups = Groups.of(buffer, heads, starts[heads[:-1]])
    slices = slice_by_key(groups, np.arange(4))
    zero, counts = np.zeros(4, np.int64), np.diff(heads)
    whole = [10, 46, ENDLESS - 1000, ENDLESS]
    assert slices.cover(zero, counts).tolist() == whole
    assert slices.cover(zero + 1, counts).tolist() == [7, 41, 0, 0]
    assert slices.cover(zero, zero).tolist() == [0] * 4
    one = groups.segment(1)
    assert slice_by_key(one, np.arange(1)).cover(np.array([0]), np.array([3])) == 46


def test_rows_that_end_in_order_are_found_behind_a_key_that_ends_later() -> None:
    """Also where nobody knows that they do."""
    starts, ends = np.array([80, 90, 4, 8]), np.array([85, 95, 7, 10])
    heads = np.array([0, 2, 4])
    buffer = lay_out(starts, ends, (Column(np.zeros(4)),), heads[1:-1])
    for fifo in (True, False):
        groups = Groups.of(replace(buffer, fifo=fifo), heads, starts[heads[:-1]])
        slices = slice_by_key(groups, np.arange(2))
        first, stop = slices.find_ending(np.array([85, 7]), np.array([99, 12]))
        assert (first.tolist(), stop.tolist()) == ([1, 1], [2, 2])


@given(
    st.lists(st.lists(st.integers(0, 30), max_size=12).map(sorted), max_size=6),
    st.data(),
)
def test_a_time_is_searched_in_each_slice(slices: list[list[int]], data: Any) -> None:
    times = np.array([time for each in slices for time in each], np.int64)
    counts = np.array([len(each) for each in slices], np.int64)
    stop = counts.cumsum()
    searched = [data.draw(st.integers(-1, 31)) for _ in slices]
    for side in ("left", "right"):
        places = search_slices(
            times, stop - counts, stop, np.array(searched, np.int64), side
        )
        expected = [
            np.searchsorted(each, time, side)
            for each, time in zip(slices, searched, strict=True)
        ]
        assert (places - (stop - counts)).tolist() == expected
