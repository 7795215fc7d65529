"""Rows without those that are hidden behind the next one."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

import tiltpy as tilt
from tiltpy.abi.layouts import TimeLayout
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import lay_out
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.runtime.ingest.visible_rows import (
    find_hidden_rows,
    may_hide_rows,
    visible_groups,
    visible_rows,
)


def buffer_of(starts: Sequence[int], ends: Sequence[int]) -> SnapshotBuffer:
    values = Column(np.arange(len(starts), dtype=np.float64))
    return lay_out(np.array(starts), np.array(ends), (values,))


def test_the_last_of_those_that_share_both_times_stays() -> None:
    rows = buffer_of([0, 2, 2, 2, 5], [1, 3, 3, 3, 6])
    assert may_hide_rows(rows)
    assert find_hidden_rows(rows).tolist() == [1, 2]
    visible = visible_rows(rows)
    assert visible.layout is TimeLayout.INTERVALS
    assert visible.columns[0].values.tolist() == [0, 3, 4]
    assert visible_rows(rows) is visible


def test_the_others_lie_as_tightly_as_they_can() -> None:
    assert visible_rows(buffer_of([0, 0, 2], [2, 2, 7])).layout is TimeLayout.CONTIGUOUS
    assert visible_rows(buffer_of([0, 2, 2], [2, 4, 4])).layout is TimeLayout.SAMPLED


def test_rows_that_overlap_anyway_stay() -> None:
    for starts, ends in (
        ([0, 0, 2, 3], [1, 1, 5, 6]),
        ([0, 0, 2], [1, 2, 3]),
        ([0, 0, 0], [1, 2, 2]),
    ):
        rows = buffer_of(starts, ends)
        assert visible_rows(rows) is rows


def test_neighbours_of_two_keys_hide_nothing() -> None:
    starts, ends = [0, 0, 0, 0, 4, 4], [1, 1, 1, 1, 5, 5]
    offsets = np.array([0, 2, 2, 3, 6])
    breaks = offsets[[1, 3]]
    values = Column(np.arange(6, dtype=np.float64))
    buffer = lay_out(np.array(starts), np.array(ends), (values,), breaks)
    groups = Groups(buffer, offsets, np.array([0, 9, 0, 0]), np.array([1, 9, 1, 5]))
    visible = visible_groups(groups)
    assert visible.buffer.columns[0].values.tolist() == [1, 2, 3, 5]
    assert visible.offsets.tolist() == [0, 1, 1, 2, 4]
    assert visible.buffer.layout is TimeLayout.INTERVALS
    assert visible_groups(groups) is visible


QUERY = tilt.parse(
    "input x by k : f64 time ts until_next\n~o[t] = ~x[t] + 1\n~p[t] = ~x[t-2] + 1"
)


def test_by_key_as_each_key_alone() -> None:
    random = np.random.default_rng(3)
    keys, stamps = random.integers(0, 5, 200), random.integers(0, 60, 200)
    table = pa.table({"k": keys, "ts": stamps, "x": random.random(200)})
    together = QUERY.run(x=table)
    for output in ("o", "p"):
        alone = [
            QUERY.run(x=table.filter(pa.array(keys == key)))[output].to_arrow()
            for key in range(5)
        ]
        rows = together[output].to_arrow()
        assert rows.num_rows > 100
        assert rows.equals(pa.concat_tables(alone))
