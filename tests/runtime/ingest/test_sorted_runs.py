"""Heads of many sorted runs are released in the order (start, arrival)."""

import numpy as np
import pytest

from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.ingest.sorted_runs import SortedRuns
from tiltpy.types import ENDLESS, MAX_TIME

ROWS = 6000


def draw_uploads(sources: int, ticks: int, equal: int) -> I64Array:
    """Draw starts, source after source; `equal` rows of all of them start together."""
    random = np.random.default_rng(sources)
    stamps = np.sort(random.integers(0, ROWS // equal, ROWS) - ROWS // 2) * ticks
    source = random.integers(0, sources, ROWS)
    return np.concatenate([stamps[source == each] for each in reversed(range(sources))])


@pytest.mark.parametrize("sources", [1, 5, 20, 40, 70, 300])
@pytest.mark.parametrize(
    "ticks", [0, 1, 300, 1 << 12, 357_913, 357_914, 1 << 20, 1 << 40]
)
@pytest.mark.parametrize("equal", [1, 50])
def test_heads_of_runs(sources: int, ticks: int, equal: int) -> None:
    starts = draw_uploads(sources, ticks, equal)
    runs, slots = SortedRuns(), np.arange(ROWS)
    runs.append(starts)
    for time in (ticks * (-ROWS // 2 + 40), 0, ENDLESS):
        leaves = starts < time
        order = starts[leaves].argsort(kind="stable")
        released, released_slots = runs.release(time)
        assert released.tolist() == starts[leaves][order].tolist()
        assert released_slots.tolist() == slots[leaves][order].tolist()
        starts, slots = starts[~leaves], slots[~leaves]
    assert not runs.count


def test_heads_farther_apart_than_numbers_tell() -> None:
    """The ticks between the first row and the last do not fit into 64 bits."""
    starts = np.random.default_rng(0).integers(-1000, 1000, 700)
    starts[3], starts[600] = -MAX_TIME, MAX_TIME
    runs = SortedRuns()
    runs.append(starts)
    released, slots = runs.release(ENDLESS)
    order = starts.argsort(kind="stable")
    assert released.tolist() == starts[order].tolist()
    assert slots.tolist() == order.tolist()
