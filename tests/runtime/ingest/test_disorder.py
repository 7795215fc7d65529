"""Measures of disorder are what their definitions say."""

from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from tiltpy.runtime.ingest.disorder import (
    Arrivals,
    Disorder,
    count_inversions,
    measure_disorder,
)

times = st.lists(st.integers(-30, 30), max_size=60)


def measure_by_definition(times: list[int]) -> Disorder:
    """Look at all pairs, and put each time behind the last one it can follow."""
    wrong = [
        later - earlier
        for later in range(len(times))
        for earlier in range(later)
        if times[earlier] > times[later]
    ]
    tails: list[int] = []
    for time in times:
        fitting = [tail for tail in tails if tail <= time]
        if fitting:
            tails.remove(max(fitting))
        tails.append(time)
    descents = sum(later < earlier for earlier, later in pairwise(times))
    runs = descents + 1 if times else 0
    return Disorder(len(wrong), max(wrong, default=0), runs, len(tails))


@given(times)
def test_measures(times: list[int]) -> None:
    measured = measure_disorder(np.array(times, np.int64))
    assert measured == measure_by_definition(times)


def test_many_rows() -> None:
    count = 100_000
    descending = np.arange(count)[::-1].copy()
    assert count_inversions(descending) == count * (count - 1) // 2
    measured = measure_disorder(descending[:5000])
    assert (measured.distance, measured.runs, measured.interleaved) == (
        4999,
        5000,
        5000,
    )
    shuffled = np.random.default_rng(1).permutation(20_000)
    swaps = sum(
        int((shuffled[:row] > shuffled[row]).sum()) for row in range(len(shuffled))
    )
    assert count_inversions(shuffled) == swaps


def count_waiting_one_by_one(
    rows: list[tuple[int, int]], latency: int
) -> tuple[int, int]:
    """Return the late rows, and those that wait at most, by key and time."""
    clocks: dict[int, int] = {}
    waiting: list[tuple[int, int]] = []
    late = most = 0
    for key, time in rows:
        clock = clocks.get(key, time)
        if time < clock - latency:
            late += 1
            continue
        clocks[key] = max(clock, time)
        waiting.append((key, time))
        waiting = [row for row in waiting if row[1] >= clocks[row[0]] - latency]
        most = max(most, len(waiting))
    return late, most


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40)), max_size=60),
    st.integers(0, 40),
)
def test_late_and_waiting_rows(rows: list[tuple[int, int]], latency: int) -> None:
    keys = np.array([key for key, _ in rows], np.int64)
    order = np.argsort(keys, kind="stable")
    shifted = np.array([time + 100 * key for key, time in rows], np.int64)[order]
    stops = keys[order].searchsorted(keys[order], "right")
    arrivals = Arrivals(shifted, order, stops)
    late = int((arrivals.delays > latency).sum())
    found = late, arrivals.count_waiting(latency)
    assert found == count_waiting_one_by_one(rows, latency)
