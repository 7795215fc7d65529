"""Bounds on visits hold, however long the rows beside others are."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tiltpy as tilt
from tiltpy.abi.layouts import TimeLayout
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.execution.loop_extents import _sums_between, ticks_of
from tiltpy.runtime.execution.supports import FAR
from tiltpy.types import ENDLESS, MAX_TIME

HELD = """
input x by k : i64 time ts until_next
~o[t] = ~x[t] != φ ? t : φ
output ~o
"""
HELD_TWICE = """
input x by k : i64 time ts until_next
~o[t] = ~x[t-5] != φ ? ~x[t-5] : ~x[t-1] + t
output ~o
"""


def test_sums_are_exact_beside_rows_that_hold_on() -> None:
    random = np.random.default_rng(1)
    values = random.integers(0, 1 << random.integers(1, 40, 500))
    values[random.random(500) < 0.1] = FAR
    first = random.integers(0, 500, 300)
    stop = np.maximum(first, random.integers(0, 501, 300))
    expected = [
        min(sum(values[begin:end].tolist()), FAR)
        for begin, end in zip(first, stop, strict=True)
    ]
    assert _sums_between(values, first, stop).tolist() == expected
    assert FAR in expected
    assert min(expected) < 1000


def test_a_row_that_holds_on_from_the_first_time_covers_very_many_ticks() -> None:
    """A kernel by key wrote beyond its arrays where their length overflowed."""
    starts, ends = (
        np.array([-MAX_TIME, 3 - MAX_TIME]),
        np.array([2 - MAX_TIME, ENDLESS]),
    )
    column = Column(np.zeros(2, np.int64))
    buffer = SnapshotBuffer(TimeLayout.INTERVALS, 2, 0, 1, starts, ends, (column,))
    ticks = ticks_of(buffer, np.array([0, 0, 1]), np.array([1, 2, 2]))
    assert ticks.tolist() == [2, FAR, FAR]


@pytest.mark.parametrize(
    ("query", "end"), [(HELD, None), (HELD_TWICE, 400)], ids=["once", "twice"]
)
def test_keys_behind_one_that_holds_on_have_all_their_cells(
    query: str, end: int | None
) -> None:
    """The last row of the first key holds on; nulls make gaps in the others."""
    table = pa.table(
        {
            "k": np.repeat([0, 1, 2], [5, 7, 4]),
            "ts": [
                *(202, 210, 245, 288, 342),
                *(36, 166, 255, 257, 276, 330, 391),
                *(80, 290, 329, 359),
            ],
            "x": [1, 2, None, 3, 4, 5, 6, 7, 8, None, 9, None, 10, 11, 12, 13],
        }
    )
    found = tilt.parse(query).run(x=table, end=end).to_arrow()
    alone = tilt.parse(query.replace(" by k", ""))
    for key in range(3):
        rows = table.filter(pc.equal(table["k"], key)).drop_columns("k")
        expected = alone.run(x=rows, end=end).to_arrow()
        of_key = found.filter(pc.equal(found["k"], key)).drop_columns("k")
        assert of_key.combine_chunks().equals(expected.combine_chunks())
