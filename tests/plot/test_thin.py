"""Tests of what is left out of a picture of many snapshots, and what never is."""

import numpy as np
import pyarrow as pa
import pytest

from tiltpy.plot.series import Clock, Series
from tiltpy.plot.thin import COLUMNS, MARKS, STEPS, ThinnedSeries, thin
from tiltpy.runtime.results.plot_series import series_of


def random_series(seed: int, count: int, longest_gap: int) -> Series:
    """Snapshots of all lengths, every tenth before a gap."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, rng.choice([2, 50]), count)
    lengths[rng.integers(0, count, 5)] = 20 * count
    gaps = rng.integers(1, longest_gap, count) * (rng.random(count) < 0.1)
    gaps[rng.integers(0, count, 5)] = 20 * count
    ends = np.cumsum(lengths + gaps) + rng.integers(-(2**62), 2**61)
    values = np.cumsum(rng.normal(size=count))
    values[rng.integers(0, count, 3)] = np.nan
    return Series("~x", ends - lengths, ends, values)


def seen_at(drawing: ThinnedSeries, times: np.ndarray) -> np.ndarray:
    """The height of the lines at some times."""
    steps = drawing.steps
    place = np.searchsorted(steps.times, times, side="left") - 1
    heights = np.where(place < 0, np.nan, steps.values[place])
    return np.asarray(heights)


@pytest.mark.few(8)
@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_invented_and_extremes_and_gaps_are_kept(seed: int) -> None:
    count = 40_000
    series = random_series(seed, count, [3, 1000][seed % 2])
    drawing = thin(series, Clock(tick=10**9))
    finite = series.drawable()
    assert (drawing.snapshots, drawing.drawable) == (count, len(finite))
    assert drawing.drawn <= STEPS + 2 * COLUMNS + 2
    # each corner is where a snapshot with that value begins or ends
    steps = drawing.steps
    there = set(zip(finite.starts.tolist(), finite.values.tolist(), strict=True))
    there |= set(zip(finite.ends.tolist(), finite.values.tolist(), strict=True))
    corners = zip(steps.times.tolist(), steps.values.tolist(), strict=True)
    assert {pair for pair in corners if not np.isnan(pair[1])} <= there
    # a gap that is wider than a column is one in the picture
    span = int(finite.ends[-1]) - int(finite.starts[0])
    wide = span / COLUMNS
    gaps = finite.starts[1:] - finite.ends[:-1]
    before = np.flatnonzero(gaps > wide)
    assert len(before) >= 3
    inside = finite.ends[before] + gaps[before] // 2
    assert np.isnan(seen_at(drawing, inside)).all()
    # each snapshot that is wider than a column has its value for most of its length
    lengths = finite.ends - finite.starts
    long = np.flatnonzero(lengths > 2 * wide)
    assert len(long) >= 3
    middles = finite.starts[long] + lengths[long] // 2
    assert seen_at(drawing, middles).tolist() == finite.values[long].tolist()
    # the least and the greatest value of each column are drawn
    column = ((finite.starts - finite.starts[0]) / wide).astype(int)
    shown = [*steps.values.tolist(), *drawing.marks.values.tolist()]
    lows = np.full(column[-1] + 1, np.inf)
    np.minimum.at(lows, column, finite.values)
    kept = np.isin(lows[np.isfinite(lows)], shown)
    assert kept.mean() > 0.95  # the columns of M4 are not exactly these
    assert {finite.values.min(), finite.values.max()} <= set(shown)


@pytest.mark.parametrize("seed", range(5))
def test_points_keep_one_marker_in_each_place(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 200_000
    ends = np.cumsum(rng.integers(2, 9, count))
    values = rng.normal(size=count)
    values[77] = 1e6 if seed else 5.0
    drawing = thin(Series("~x", ends - 1, ends, values), Clock())
    assert len(drawing.steps.times) == 0
    marks = drawing.marks
    assert drawing.drawn == len(marks.times) <= MARKS[0] * MARKS[1] + 2
    assert {values.min(), values.max()} <= set(marks.values.tolist())
    assert (np.diff(marks.times) > 0).all()
    rows = np.searchsorted(ends, marks.times)
    assert (values[rows] == marks.values).all()
    # no point is further from a marker than a place is wide and high
    across, up = np.ptp(ends) / MARKS[0], np.ptp(values) / MARKS[1]
    for row in rng.integers(0, count, 200):
        near = np.abs(marks.times - ends[row]) <= across
        assert (np.abs(marks.values[near] - values[row]) <= up * 1.001).any()


@pytest.mark.parametrize("value", [0.0, -1.5, 1.7e308])
def test_equal_values_and_equal_extremes(value: float) -> None:
    ends = 2 * np.arange(1, 30_001)
    both = np.where(np.arange(30_000) % 2, value, -value)
    for values in (np.full(30_000, value), both):
        points = thin(Series("~x", ends - 1, ends, values), Clock())
        assert set(points.marks.values.tolist()) == set(values.tolist())
        held = thin(Series("~x", ends - 2, ends, values), Clock())
        assert set(held.steps.values[:-1].tolist()) == set(values.tolist())


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "int64", "uint64", "float32", "float64"]
)
def test_numbers_of_every_type(dtype: str) -> None:
    ends = np.arange(1, 50_001)
    values = (ends % 100).astype(dtype)
    values[31_234] = 120
    drawing = thin(Series("~x", ends - 1, ends, values), Clock())
    assert np.nanmax(drawing.steps.values) == 120
    assert len(drawing.steps.times) < STEPS + 10


def test_few_snapshots_are_all_drawn() -> None:
    ends = np.arange(1, STEPS + 1) * 3
    drawing = thin(Series("~x", ends - 2, ends, ends % 7), Clock())
    assert drawing.drawn == STEPS == drawing.drawable
    assert len(drawing.steps.times) == 3 * STEPS


def test_words_have_places_in_their_order() -> None:
    times = pa.array([0, 1, 2, 3], pa.int64())
    words = pa.array(["b", "a", None, "b"])
    long = pa.array(["x" * 50 + "\n", "x", "x", "x"]).dictionary_encode()
    table = pa.table({"start": times, "end": times, "w": words, "l": long})
    (first,), (second,) = series_of("o", table)
    assert (first.name, first.words) == ("~o.w", ("a", "b"))
    assert first.drawable().values.tolist() == [1, 0, 1]
    assert second.words == ("x", "x" * 50 + "\n")
    assert second.values.tolist() == [1, 0, 0, 0]


def test_fields_of_fields_have_panels_of_their_own() -> None:
    times = pa.array([0, 1], pa.int64())
    inner = pa.array([{"a": 1, "b": {"c": True}}, {"a": None, "b": {"c": False}}])
    table = pa.table({"start": times, "end": times, "o": inner})
    found = {
        one.name: one.drawable().values.tolist() for (one,) in series_of("o", table)
    }
    assert found == {"~o.a": [1], "~o.b.c": [1, 0]}
