"""Ends of rows that hold until the next one."""

import numpy as np
import pytest

from tiltpy.array_address import address
from tiltpy.lifetimes import UntilNext
from tiltpy.routines.catalogue import END_ROWS
from tiltpy.routines.prepared_call import PreparedCall
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.ingest.event_times import lay_out_events
from tiltpy.types import ENDLESS


@pytest.mark.parametrize("longest", [None, 1, 4])
@pytest.mark.parametrize("rows", [1, 2, 3, 17, 1000])
@pytest.mark.parametrize("least", [0, 1])
@pytest.mark.parametrize("is_open", [True, False])
def test_ends_are_those_of_events(
    longest: int | None, rows: int, least: int, is_open: bool
) -> None:
    random = np.random.default_rng(rows)
    stamps = np.cumsum(random.integers(least, 6, rows)) - 40
    behind = None if is_open else int(stamps[-1]) + 3
    of = Column(np.zeros(rows))
    events = lay_out_events((stamps,), UntilNext(longest), (of,), behind)
    starts, ends = stamps - 1, np.full(rows + 1, 8)
    call = PreparedCall(END_ROWS, 0, 0, 0, starts, ends)
    call(rows, ENDLESS if behind is None else behind - 1, longest or ENDLESS)
    assert ends[:rows].tolist() == events.times()[1].tolist()
    assert ends[rows] == 8
    assert call.numbers[0] == starts.searchsorted(starts[-1])
    assert address(starts) == call.numbers[3]


def test_the_latest_times_do_not_wrap() -> None:
    starts = np.array([2**62 - 2, 2**62 - 1])
    ends = np.zeros(2, np.int64)
    PreparedCall(END_ROWS, 0, 0, 0, starts, ends)(2, ENDLESS, 2**62)
    assert ends.tolist() == [2**62 - 1, ENDLESS]
