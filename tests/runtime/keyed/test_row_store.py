"""Rows that wait by key: whatever is put and taken, in whatever order."""

from random import Random

import numpy as np
import pytest

from tiltpy.runtime.arrays.snapshot_buffer import Column, pack_validity
from tiltpy.runtime.keyed.row_arena import RowArena
from tiltpy.runtime.keyed.row_store import RowStore
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.types import F64

Rows = list[tuple[int, int, float | None]]


def make_rows(by_key: list[Rows]) -> KeyedSnapshots:
    rows = [row for several in by_key for row in several]
    starts, ends = (np.array([row[i] for row in rows], np.int64) for i in range(2))
    values = np.array([0.0 if row[2] is None else row[2] for row in rows])
    valid = np.array([row[2] is not None for row in rows], np.bool_)
    column = Column(values, pack_validity(valid))
    counts = np.array([len(several) for several in by_key], np.int64)
    return KeyedSnapshots(starts, ends, (column,), counts)


def list_rows(rows: KeyedSnapshots) -> list[Rows]:
    count = len(rows.starts)
    (column,) = rows.columns
    values = [
        value if valid else None
        for value, valid in zip(
            column.values[:count].tolist(), column.valid(count), strict=True
        )
    ]
    listed = list(zip(rows.starts.tolist(), rows.ends.tolist(), values, strict=True))
    ends = rows.counts.cumsum().tolist()
    return [
        listed[end - n : end] for end, n in zip(ends, rows.counts.tolist(), strict=True)
    ]


@pytest.mark.parametrize("make", [RowStore, RowArena])
@pytest.mark.parametrize("seed", range(20))
def test_keys_get_back_what_was_put_there(
    seed: int, make: type[RowStore | RowArena]
) -> None:
    """And few rows are left that were taken."""
    random, numbers = Random(seed), iter(range(10**6))  # noqa: S311
    store, kept = make(F64), dict[int, Rows]()
    known = 0
    for _ in range(60):
        known += random.choice((0, 0, 1, 7))
        store.grow(known)
        most = random.choice((1, 5, known))
        codes = random.sample(range(known), random.randint(0, min(most, known)))
        taken = store.take(np.array(codes, np.int64))
        assert list_rows(taken) == [kept.pop(code, []) for code in codes]
        assert taken.counts.flags.c_contiguous, "routines read what is taken"
        put: list[Rows] = []
        for _code in codes:
            put.append([])
            for _row in range(random.choice((0, 0, 1, 1, 2, 9))):
                start = next(numbers)
                value = None if random.random() < 0.2 else start / 8
                put[-1].append((start, start + 5, value))
        store.put(np.array(codes, np.int64), make_rows(put))
        kept |= {code: rows for code, rows in zip(codes, put, strict=True) if rows}
        rows = sum(map(len, kept.values()))
        assert rows <= len(store) <= 12 * rows + 40
    everything = np.arange(known)
    assert list_rows(store.take(everything)) == [
        kept.get(code, []) for code in range(known)
    ]
    assert len(store) == 0
