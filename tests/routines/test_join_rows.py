"""Rows of keys are joined with those that came as one by one."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from tiltpy.lifetimes import FixedDuration
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.execution.key_domains import EARLIEST, LATEST
from tiltpy.runtime.ingest.ungrouped_rows import UngroupedRows
from tiltpy.runtime.keyed.held_rows import EDGES, find_edges
from tiltpy.runtime.keyed.row_arena import RowArena
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.types import F64

Row = tuple[int, int, float]


def put(arena: RowArena, code: int, rows: list[Row]) -> None:
    starts, ends = (np.array([row[i] for row in rows]) for i in range(2))
    column = Column(np.array([value for *_, value in rows]))
    counts = np.array([len(rows)])
    arena.put(np.array([code]), KeyedSnapshots(starts, ends, (column,), counts))


@pytest.mark.parametrize("seed", range(40))
def test_rows_are_joined_as_one_by_one(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    codes = random.randint(1, 9)
    arena, held = RowArena(F64), dict[int, list[Row]]()
    arena.grow(codes)
    for code in random.sample(range(codes), random.randint(0, codes)):
        starts = sorted(random.choices(range(40), k=random.randint(1, 4)))
        held[code] = [(s, s + random.randint(1, 9), random.random()) for s in starts]
        put(arena, code, held[code])
    came = []
    for first in range(40, 40 + random.randint(0, 3)):
        of_rows = np.array(random.choices(range(codes), k=random.randint(1, 6)))
        stamps = np.sort(np.array(random.choices(range(first, 60), k=len(of_rows))))
        values = Column(np.array([random.random() for _ in of_rows]))
        batch = UngroupedRows((stamps,), (values,), (pa.nulls(0),), FixedDuration(5))
        came.append((of_rows, batch))
    keys = np.array(random.sample(range(codes), codes))
    keys_of = np.zeros(codes, np.int64)
    keys_of[keys] = np.arange(codes)
    firsts, lasts = np.full(codes, LATEST), np.full(codes, EARLIEST)
    expected = {code: list(held.get(code, [])) for code in range(codes)}
    for of_rows, batch in came:
        starts_of, ends_of = batch.events()
        for row, code in enumerate(of_rows.tolist()):
            start, end = int(starts_of[row]), int(ends_of[row])
            value = float(batch.payload[0].values[row])
            expected[code].append((start, end, value))
            key = keys_of[code]
            firsts[key] = min(firsts[key], start)
            lasts[key] = max(lasts[key], end)
    edges = np.empty((len(EDGES), codes), np.int64)
    joined, _, _ = arena.join(keys, came, keys_of, edges)
    rows = [row for code in keys.tolist() for row in expected[code]]
    assert joined.starts.tolist() == [start for start, *_ in rows]
    assert joined.ends.tolist() == [end for _, end, _ in rows]
    assert joined.columns[0].values[: len(rows)].tolist() == [row[2] for row in rows]
    assert joined.counts.tolist() == [len(expected[code]) for code in keys.tolist()]
    assert np.array_equal(edges, find_edges(joined, firsts, lasts, points=False))
    assert not arena.select(keys).counts.any()
