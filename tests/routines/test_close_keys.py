"""Snapshots of keys are closed as one by one."""

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.execution.key_domains import EARLIEST
from tiltpy.runtime.keyed.key_records import KeyRecords
from tiltpy.runtime.keyed.open_snapshots import CloseTimes, OpenSnapshots
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.types import F64

Snapshots = list[tuple[int, int, float]]


def make(by_key: list[Snapshots]) -> KeyedSnapshots:
    rows = [row for several in by_key for row in several]
    starts, ends = (np.array([row[i] for row in rows], np.int64) for i in range(2))
    values = np.array([row[2] for row in rows] or [0.0])
    counts = np.array([len(several) for several in by_key], np.int64)
    return KeyedSnapshots(starts, ends, (Column(values),), counts)


def listed(rows: KeyedSnapshots) -> list[Snapshots]:
    values = rows.columns[0].values[: len(rows.starts)].tolist()
    several = list(zip(rows.starts.tolist(), rows.ends.tolist(), values, strict=True))
    stops = rows.counts.cumsum().tolist()
    return [
        several[stop - count : stop]
        for stop, count in zip(stops, rows.counts.tolist(), strict=True)
    ]


def draw(random: Random, first: int, values: Iterator[float]) -> Snapshots:
    edges = sorted(random.sample(range(first, first + 14), 2 * random.randint(0, 3)))
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [(start, end, next(values)) for start, end in pairs]


def close(
    opened: Snapshots, made: Snapshots, seam: int, reached: int, end: int, carried: int
) -> tuple[Snapshots, Snapshots, bool, bool]:
    made = [(start, min(stop, reached), value) for start, stop, value in made]
    reach = carried
    if made and made[0][0] < seam:
        (_, stop, _), *made = made
        if stop > seam:
            reach = max(reach, stop)
    opened = [(start, max(stop, reach), value) for start, stop, value in opened]
    rows, goes_on, is_open = [], False, False
    for start, stop, value in opened + made:
        if stop > end:
            goes_on, is_open = True, is_open or start < end
        if start < min(stop, end):
            rows.append((start, min(stop, end), value))
    is_open = is_open or bool(rows and rows[-1][1] >= reached)
    waiting = rows[-1:] if is_open else []
    return rows[: len(rows) - len(waiting)], waiting, goes_on, is_open


@pytest.mark.parametrize("seed", range(40))
def test_snapshots_are_closed_as_one_by_one(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    values = iter(np.arange(1000.0).tolist())
    keys = random.randint(0, 7)
    made = [draw(random, 0, values) for _ in range(keys)]
    opened = [
        [(-3, random.randint(-2, 0), next(values))] if random.random() < 0.6 else []
        for _ in range(keys)
    ]
    seams = [random.choice((EARLIEST, 2, 4)) for _ in range(keys)]
    reached = [random.randint(4, 14) for _ in range(keys)]
    ends = [random.randint(3, 14) for _ in range(keys)]
    carried = {
        key: random.randint(0, 14) for key in range(keys) if random.random() < 0.2
    }
    bounds = [np.array(each, np.int64) for each in (seams, reached, ends)]
    times = CloseTimes(bounds[0], bounds[1], bounds[2], carried)
    codes = np.array(random.sample(range(20), keys), np.int64)
    records = KeyRecords()
    records.grow(20)
    snapshots = OpenSnapshots(F64, records)
    snapshots.grow(20)
    some = codes[[bool(each) for each in opened]]
    snapshots.restore({"codes": some, "rows": make([each for each in opened if each])})
    closed = snapshots.close(codes, make(made), times)
    expected = [
        close(
            *(opened[key], made[key], seams[key], reached[key], ends[key]),
            min(carried[key], reached[key]) if key in carried else EARLIEST,
        )
        for key in range(keys)
    ]
    assert listed(closed.final) == [final for final, *_ in expected]
    assert listed(snapshots.select(codes)) == [waiting for _, waiting, *_ in expected]
    assert closed.goes_on.tolist() == [goes_on for *_, goes_on, _ in expected]
    assert closed.is_open.tolist() == [is_open for *_, is_open in expected]
