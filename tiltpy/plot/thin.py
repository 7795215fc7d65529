"""Thinning: the snapshots that are drawn, held values as steps, points as markers.

A point is a snapshot one tick long that touches no other. Where there are more
snapshots than a picture has columns, a line keeps the first, the last, the least and
the greatest of each column (M4), and each gap that is wider than one; of markers that
would cover each other one is kept. Lines shorter than a column, alone in theirs, would
be invisible: they become markers. All that is drawn is a snapshot of the series.
"""

import numpy as np
from numpy.typing import NDArray
from tsdownsample import M4Downsampler

from tiltpy.lean_dataclass import dataclass
from tiltpy.plot.series import Clock, Numbers, Series, Times

COLUMNS = 1500
"""The columns of a picture: about its pixels."""
MARKS = (375, 60)
"""Markers that fit beside and above each other."""
STEPS = 4 * COLUMNS
"""Snapshots from which on a line is thinned."""

RowIndices = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Lines: `values[i]` holds from `times[i]` on; NaN where a line has ended."""

    times: Times
    values: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """Markers: a point is marked at its end, which is its stamp."""

    times: Times
    values: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class ThinnedSeries:
    """The steps and markers of a series.

    `drawn` of `drawable` snapshots are in the picture, out of `snapshots` in all.
    """

    series: Series
    steps: Steps
    marks: Marks
    drawn: int
    drawable: int
    snapshots: int


def thin(series: Series, clock: Clock) -> ThinnedSeries:
    """Choose the steps and markers of a series."""
    drawable = series.drawable()
    rows = _find_points(drawable, clock.tick)
    points = drawable.take(rows)
    held = drawable.take(_invert(rows, len(drawable))) if len(rows) else drawable
    points = points.take(_thin_markers(points)) if len(points) else points
    corners, stops = _choose_steps(held)
    lines, specks = _split_short_lines(held, corners, stops)
    steps = _steps(held, lines, stops)
    times = np.concatenate([points.ends, held.ends[specks]])
    values = np.concatenate([points.values, held.values[specks]])
    order = np.argsort(times, kind="stable")
    marks = Marks(times[order], values[order])
    drawn = len(points) + len(corners)
    return ThinnedSeries(series, steps, marks, drawn, len(drawable), len(series))


def _find_points(series: Series, tick: int) -> RowIndices:
    """Find the snapshots that are one tick long and touch no other."""
    touch = series.starts[1:] == series.ends[:-1]
    alone = np.ones(len(series), np.bool_)
    alone[1:] &= ~touch
    alone[:-1] &= ~touch
    rows: RowIndices = np.flatnonzero(alone)
    points: RowIndices = rows[series.ends[rows] - series.starts[rows] == tick]
    return points


def _invert(rows: RowIndices, count: int) -> RowIndices:
    others = np.ones(count, np.bool_)
    others[rows] = False
    return np.flatnonzero(others)


def _thin_markers(points: Series) -> RowIndices:
    """Choose the last point under each marker, and the extremes."""
    across, up = MARKS
    if len(points) <= across:
        return np.arange(len(points))
    values = points.values.astype(np.float64)
    low, high = values.min(), values.max()
    # halves, for the greatest float less the least is none
    level = (values / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)
    time = _times_since(points.ends, points.ends[0])
    row = np.minimum((level * up).astype(np.intp), up - 1)
    column = np.minimum((time / (time[-1] or 1.0) * across).astype(np.intp), across - 1)
    last = np.full(across * up, -1, np.intp)
    last[column * up + row] = np.arange(len(points))
    return np.union1d(last[last >= 0], [values.argmin(), values.argmax()])


def _choose_steps(held: Series) -> tuple[RowIndices, RowIndices]:
    """Choose the snapshots of lines that are drawn, and those of them before a gap."""
    if len(held) == 0:
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    stops = np.flatnonzero(held.starts[1:] != held.ends[:-1])
    if len(held) <= STEPS:
        rows = np.arange(len(held))
    else:
        stops = stops[_gaps(held, stops) > _column(held)]
        time = _times_since(held.starts, held.starts[0])
        chosen = M4Downsampler().downsample(time, held.values, n_out=STEPS)
        rows = np.union1d(chosen.astype(np.intp), np.append(stops, stops + 1))
        rows = np.union1d(rows, [0, len(held) - 1])
    return rows, np.append(stops, len(held) - 1)


def _split_short_lines(
    held: Series, rows: RowIndices, stops: RowIndices
) -> tuple[RowIndices, RowIndices]:
    """Split lines from those too short to be seen, which become markers."""
    if len(stops) < 2:
        return rows, rows[:0]
    wide = _column(held)
    last = stops[np.append(_gaps(held, stops[:-1]) > wide, [True])]
    firsts = np.concatenate([[0], last[:-1] + 1])
    lengths = (held.ends[last] - held.starts[firsts]).view(np.uint64)
    short = (lengths < wide)[np.searchsorted(last, rows)]
    return rows[~short], rows[short]


def _steps(held: Series, rows: RowIndices, stops: RowIndices) -> Steps:
    """Make the corners of lines: a value goes on to its end, then NaN at each stop."""
    stops = np.intersect1d(rows, stops)
    twice = np.repeat(np.searchsorted(rows, stops) + 1, 2)
    ends, nothing = held.ends[stops], np.full(len(stops), np.nan)
    values = held.values[rows].astype(np.float64)
    lasting = np.column_stack([held.values[stops].astype(np.float64), nothing])
    return Steps(
        np.insert(held.starts[rows], twice, np.repeat(ends, 2)),
        np.insert(values, twice, lasting.ravel()),
    )


def _column(held: Series) -> float:
    """Compute the width of a column of the picture."""
    return float(_times_since(held.ends[-1:], held.starts[0])[0]) / COLUMNS


def _gaps(held: Series, stops: RowIndices) -> NDArray[np.uint64]:
    """Compute the time between snapshots and the next ones."""
    return (held.starts[stops + 1] - held.ends[stops]).view(np.uint64)


def _times_since(times: Times, origin: np.int64) -> NDArray[np.float64]:
    """Subtract an origin; differences may exceed signed 64 bits."""
    return (times - origin).view(np.uint64).astype(np.float64)
