"""Windows of overlapping events: states that are evicted, and those of trees.

Random windows against the interpreter, with every way to run them; long ones against a
few lines of NumPy, where rows are sorted by digits.
"""

from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compiled import random_setting
from tests.random.overlaps import random_overlap_case
from tests.semantics.test_properties import check

RANDOM, BATCH, DEEPER = 6, 6, 500


@pytest.mark.parametrize("batch", range(RANDOM // BATCH))
def test_random_windows(batch: int, *, deep: bool) -> None:
    unordered = 0
    for first in range(batch * BATCH, RANDOM * (DEEPER if deep else 1), RANDOM):
        for seed in range(first, first + BATCH):
            case = random_overlap_case(seed)
            ends = [event.end for event in case.events["x"]]
            unordered += ends != sorted(ends)
            setting = random_setting(Random(seed), span=80)  # noqa: S311
            if seed % 3:
                setting = replace(setting, special_shapes=True, small=True)
            difference = check(case, setting, exact=True)
            assert difference is None, f"seed {seed}, {setting}\n{difference}"
    assert unordered >= BATCH // 2


def test_first_values_ahead_where_all_lanes_have_one() -> None:
    """Lanes were filled where a bool was one for all of them: no kernel of the IR."""
    seed = 9_600_180
    setting = random_setting(Random(seed), span=80)  # noqa: S311
    assert check(random_overlap_case(seed), setting, exact=True) is None


@pytest.mark.parametrize("stretch", [1, 1 << 40])
@pytest.mark.parametrize("workers", [1, 2])
def test_many_events_alive(stretch: int, workers: int) -> None:
    """Also with stamps so far apart that a sort by ends takes all digits."""
    random = np.random.default_rng(5)
    starts = np.cumsum(random.integers(0, 3, 3000)) * stretch
    lengths = np.where(random.random(3000) < 0.01, 5000, random.integers(1, 200, 3000))
    ends = starts + lengths * stretch
    x = random.integers(-40, 40, 3000)
    table = pa.table({"start": starts, "end": ends, "x": x, "y": x / 8})
    query = tilt.parse(
        "input r : {x: i64, y: f64} interval (start, end)\n"
        "~o[t] = { n = count_active(~r[t]), s = sum_active(~r[t].x),\n"
        "  f = sum_active(~r[t].y), m = max_active(~r[t].x) }"
    )
    found = query.run(r=table, workers=workers).to_arrow()
    for row in random.integers(0, len(found), 200):
        cell = {name: found[name][row].as_py() for name in found.column_names}
        alive = (starts < cell["end"]) & (ends >= cell["end"])
        some = x[alive]
        assert cell["n"] == len(some)
        if cell["n"]:
            values = cell["s"], cell["f"], cell["m"]
            assert values == (some.sum(), some.sum() / 8, some.max())


def test_events_without_end() -> None:
    """Rows that hold on for ever never leave."""
    table = pa.table({"ts": [1, 1, 5, 9], "x": [4.0, float("inf"), 2.0, 1.0]})
    query = tilt.parse(
        "input r : f64 time ts until_next\n~o[t] = { n = count(~r[t-3 : t]),\n"
        "  s = sum(~r[t-3 : t]), m = min(~r[t-3 : t]) }"
    )
    found = query.run(r=table, end=14).to_arrow()
    assert found["n"].to_pylist()[-1] == 1
    assert found["s"].to_pylist()[-1] == 1.0


def test_what_has_left_leaves_no_trace() -> None:
    starts = np.arange(400)
    values = np.where(starts % 50 == 7, np.nan, np.where(starts % 50 == 9, np.inf, 1.0))
    table = pa.table({"start": starts, "end": starts + 1 + starts % 5 * 3, "x": values})
    query = tilt.parse(
        "input r : f64 interval (start, end)\n"
        "~o[t] = { s = sum_active(~r[t]), m = max_active(~r[t]) }"
    )
    found = query.run(r=table).to_arrow()
    ends = table["end"].to_numpy()
    columns = (found[name].to_pylist() for name in ("end", "s", "m"))
    for end, total, largest in zip(*columns, strict=True):
        alive = values[(starts < end) & (ends >= end)]
        assert np.array_equal([total], [alive.sum()], equal_nan=True)
        assert np.array_equal([largest], [alive.max()], equal_nan=True)
