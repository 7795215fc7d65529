"""Rows of keys that are still needed are those that a look at each row finds."""

from itertools import chain
from random import Random

import numpy as np
import pytest

from tiltpy.routines.catalogue import KEEP_ROWS
from tiltpy.routines.prepared_call import PreparedCall


@pytest.mark.parametrize("points", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_rows_are_kept_as_one_by_one(seed: int, *, points: bool) -> None:
    random = Random(seed)  # noqa: S311
    keys, last_rows = random.randint(1, 9), random.choice((0, 0, 1, 3))
    starts, ends, counts, horizons = (list[int]() for _ in range(4))
    expected = list[list[int]]()
    for _ in range(keys):
        count = random.randint(0, 5)
        begins = sorted(random.choices(range(20), k=count))
        stops = [start + (1 if points else random.randint(1, 9)) for start in begins]
        horizon = random.randint(-3, 25)
        before = sum(start < horizon for start in begins)
        needed = [
            len(starts) + row
            for row, end in enumerate(stops)
            if end > horizon or (last_rows and row >= before - last_rows)
        ]
        expected.append(needed)
        starts += begins
        ends += stops
        counts.append(count)
        horizons.append(horizon)
    needed_counts, rows = np.empty(keys, np.int64), np.empty(len(starts) + 1, np.int64)
    arrays = (np.array(each, np.int64) for each in (counts, starts, ends, horizons))
    call = PreparedCall.of(KEEP_ROWS, 10)
    _, total, *_ = call(keys, 0, int(points), last_rows, *arrays, needed_counts, rows)
    assert rows[:total].tolist() == [*chain.from_iterable(expected)]
    assert needed_counts.tolist() == list(map(len, expected))
