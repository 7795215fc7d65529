"""Snapshots in order are cut to the time ranges of keys, as one by one."""

from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from tiltpy.routines.catalogue import CUT_BY_KEY

Times = list[int]


def column(times: Times) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(times, np.int64)


@given(
    st.lists(st.integers(0, 60), unique=True, max_size=20).map(sorted),
    st.sets(st.integers(0, 19)),
    st.lists(st.integers(0, 60), unique=True, max_size=20).map(sorted),
)
def test_each_snapshot_is_in_the_ranges_that_it_overlaps(
    times: Times, gaps: set[int], edges: Times
) -> None:
    snapshots = [pair for n, pair in enumerate(pairwise(times)) if n not in gaps]
    ranges = list(zip(edges[::2], edges[1::2], strict=False))
    shifts = [7 * key for key in range(len(ranges))]
    room = len(snapshots) + len(ranges)
    starts, ends, rows = (np.full(room + 1, -1, np.int64) for _ in range(3))
    counts = np.zeros(len(ranges) + 1, np.int64)
    CUT_BY_KEY(
        len(snapshots),
        len(ranges),
        column([start for start, _ in snapshots] or [0]),
        column([end for _, end in snapshots] or [0]),
        column([low for low, _ in ranges]),
        column([high for _, high in ranges]),
        column(shifts),
        *(starts, ends, rows, counts),
    )
    expected = [
        [
            (max(start, low) - shift, min(end, high) - shift, row)
            for row, (start, end) in enumerate(snapshots)
            if end > low and start < high
        ]
        for (low, high), shift in zip(ranges, shifts, strict=True)
    ]
    again = [start < high < end for _, high in ranges for start, end in snapshots]
    assert counts.tolist() == [*(len(each) for each in expected), sum(again)]
    total = int(counts[:-1].sum())
    made = zip(starts.tolist(), ends.tolist(), rows.tolist(), strict=True)
    assert list(made)[:total] == [cut for each in expected for cut in each]
    assert starts[-1] == ends[-1] == rows[-1] == -1
