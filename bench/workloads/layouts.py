"""Streams of events in each layout: times and values, drawn from one seed.

Values are multiples of 1/8 and small, so that sums of floats are exact in any order and
a peer must give the same bits. There are as many events as asked for in all, however
many streams they come in.
"""

from collections.abc import Callable

import numpy as np

from bench.workloads.streams import Family, Make, Stream, Values

LONGEST = 10
"""The longest event of an irregular stream, and the longest way between two points."""
SPARSE = (2000, 4000)
"""The shortest and the longest way between the points of a sparse stream."""
LARGEST = 8000
"""The largest magnitude of a value, in eighths."""
KINDS = 5
"""Event types of the Yahoo query: 0, 1, ..."""


def numbers(count: int, random: np.random.Generator) -> Values:
    """Multiples of 1/8."""
    eighths = random.integers(-LARGEST, LARGEST + 1, count, dtype=np.int16)
    return eighths.astype(np.float32) / np.float32(8)


def kinds(count: int, random: np.random.Generator) -> Values:
    """Draw event types."""
    return random.integers(0, KINDS, count, dtype=np.int32)


Draw = Callable[[int, np.random.Generator], Values]


def _sampled(draw: Draw, random: np.random.Generator, count: int) -> Stream:
    return Stream(draw(count, random))


def every_fourth(draw: Draw, random: np.random.Generator, count: int) -> Stream:
    """Sample every fourth tick."""
    return Stream(draw(count, random), period=4)


def missing(draw: Draw, random: np.random.Generator, count: int) -> Stream:
    """A tenth of the values is missing, but neither the first nor the last."""
    valid = random.integers(0, 10, count) > 0
    valid[[0, -1]] = True
    return Stream(draw(count, random), valid=valid)


def _contiguous(draw: Draw, random: np.random.Generator, count: int) -> Stream:
    ends = np.cumsum(random.integers(1, LONGEST + 1, count))
    return Stream(draw(count, random), ends)


def _intervals(draw: Draw, random: np.random.Generator, count: int) -> Stream:
    """A fifth of the events has a gap before it, 1 to 10 ticks long too."""
    lengths = random.integers(1, LONGEST + 1, count)
    gaps = random.integers(1, LONGEST + 1, count)
    gaps[random.integers(0, 5, count) > 0] = 0
    ends = np.cumsum(lengths + gaps)
    return Stream(draw(count, random), ends, ends - lengths)


def _points(draw: Draw, random: np.random.Generator, count: int) -> Stream:
    ends = np.cumsum(random.integers(1, LONGEST + 1, count))
    return Stream(draw(count, random), ends, ends - 1)


def _sparse(draw: Draw, random: np.random.Generator, count: int) -> Stream:
    ends = np.cumsum(random.integers(SPARSE[0], SPARSE[1] + 1, count))
    return Stream(draw(count, random), ends, ends - 1)


Layout = Callable[[Draw, np.random.Generator, int], Stream]


def maker(layout: Layout, names: str = "x", draw: Draw = numbers) -> Make:
    """Make a stream of a layout for each letter of `names`."""

    def make(events: int, seed: int) -> dict[str, Stream]:
        random = np.random.default_rng(seed)
        count = events // len(names)
        return {name: layout(draw, random, count) for name in names}

    return make


LAYOUTS: dict[str, tuple[Family, str, Layout]] = {
    "sampled": ("sampled", "sampled 1", _sampled),
    "contiguous": ("contiguous", "interval (start, end)", _contiguous),
    "intervals": ("intervals", "interval (start, end)", _intervals),
    "points": ("points", "time end point", _points),
    "sparse": ("points", "time end point", _sparse),
}
"""How events lie in time: the family, the lifetime, and the data."""
