"""Slices of rows, one for each call: of several keys they have nothing in common."""

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.arrays.time_layout import lay_out
from tiltpy.runtime.execution.row_slices import slice_by_key
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.types import ENDLESS, MAX_TIME


def test_contiguous_rows_cover_the_time_of_their_own_key() -> None:
    """Which may be before that of the key before, or far behind it."""
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
