"""Snapshots in order are cut to the time ranges of keys, as one by one."""

from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from tiltpy.routines.catalogue import CUT_RUNS, FIND_RUNS

Times = list[int]


def column(times: Times) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(times, np.int64)


@given(
    st.lists(st.integers(0, 90), unique=True, max_size=60).map(sorted),
    st.sets(st.integers(0, 59)),
    st.lists(st.integers(0, 90), unique=True, max_size=20).map(sorted),
)
def test_each_snapshot_is_in_the_ranges_that_it_overlaps(
    times: Times, gaps: set[int], edges: Times
) -> None:
    snapshots = [pair for n, pair in enumerate(pairwise(times)) if n not in gaps]
    ranges = list(zip(edges[::2], edges[1::2], strict=False))
    shifts = [7 * key for key in range(len(ranges))]
    starts, ends = (column([pair[n] for pair in snapshots] or [0]) for n in (0, 1))
    lows, highs = (column([pair[n] for pair in ranges]) for n in (0, 1))
    firsts = np.full(len(ranges) + 1, -1, np.int64)
    counts = np.full(len(ranges) + 2, -1, np.int64)
    FIND_RUNS(
        *(len(snapshots), len(ranges), starts, ends),
        *(lows, highs, firsts, counts),
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
    assert counts.tolist() == [*(len(each) for each in expected), sum(again), -1]
    for first, each in zip(firsts.tolist(), expected, strict=False):
        assert [row for *_, row in each] == list(range(first, first + len(each)))
    assert firsts[-1] == -1
    cuts = [cut for each in expected for cut in each]
    there = [np.full(len(cuts) + 1, -1, np.int64) for _ in range(2)]
    targets = [there] if any(again) else [there, [starts, ends]]
    for cut_starts, cut_ends in targets:
        CUT_RUNS(
            *(len(ranges), firsts, counts, lows, highs, column(shifts)),
            *(starts, ends, cut_starts, cut_ends),
        )
        made = zip(cut_starts.tolist(), cut_ends.tolist(), strict=True)
        assert list(made)[: len(cuts)] == [(start, end) for start, end, _ in cuts]
    assert there[0][-1] == there[1][-1] == -1
