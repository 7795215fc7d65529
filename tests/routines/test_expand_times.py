"""Times from bits: those of several ranges, one behind the other, by what bits mean."""

from dataclasses import dataclass

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from tiltpy.routines.catalogue import (
    BYTES_BEHIND,
    EXPAND_ALL,
    EXPAND_CELLS,
    EXPAND_RUNS,
    SPARE,
)

Rows = list[tuple[int, int]]
FENCE = -(1 << 40)


@dataclass(frozen=True)
class Range:
    """A character for each cell: a snapshot `b`egins, goes `o`n, or there is none.

    `free` rows are left out before the first of its own.
    """

    text: str
    low: int
    free: int

    def rows(self, period: int) -> tuple[int | None, Rows]:
        """The end of a snapshot carried into the range, and those that begin here."""
        carried: int | None = None
        rows: Rows = []
        for cell, mark in enumerate(self.text):
            start = self.low + cell * period
            if mark == "b":
                rows.append((start, start + period))
            elif mark == "o" and rows:
                rows[-1] = rows[-1][0], start + period
            elif mark == "o":
                carried = start + period
        return carried, rows


@st.composite
def texts(draw: st.DrawFn, carries: bool) -> str:
    """Cells of which none goes on after nothing, but for the first ones."""
    runs = draw(st.lists(st.sampled_from(["b", "boo", ".", ".....", "b" * 17])))
    long = draw(st.sampled_from(["", "b" + "o" * 40, "." * 30]))
    first = draw(st.sampled_from(["", "", "o", "o" * 17])) if carries else ""
    return first + "".join(runs) + long


def ranges(carries: bool) -> st.SearchStrategy[list[Range]]:
    return st.lists(
        st.builds(Range, texts(carries), st.integers(-50, 50), st.integers(1, 3)),
        max_size=5,
    )


class Target:
    """Starts and ends of the rows of ranges, which begin behind the free ones."""

    def __init__(self, of: list[Range], period: int) -> None:
        self.period = period
        self.expected = [each.rows(period) for each in of]
        counts = [len(rows) for _, rows in self.expected]
        free = np.array([each.free for each in of], np.int64)
        self.firsts = free.cumsum() + np.cumsum([0, *counts])[: len(of)]
        total = int(free.sum()) + sum(counts)
        self.starts, self.ends = (
            np.full(total + 1 + SPARE + 1, FENCE) for _ in ("starts", "ends")
        )
        self.lows = np.array([each.low for each in of], np.int64)
        self.cells = np.array([len(each.text) for each in of], np.int64)

    def check(self, ends: np.ndarray) -> None:
        for first, (_, rows) in zip(self.firsts, self.expected, strict=True):
            rows_of = slice(first, first + len(rows))
            times = zip(self.starts[rows_of], ends[rows_of], strict=True)
            assert list(times) == rows
        assert self.starts[-1] == self.ends[-1] == FENCE


def bits_of(of: list[Range], marks: str) -> tuple[np.ndarray, np.ndarray]:
    """The bits of all ranges, and the byte with which each begins.

    The bits behind the cells of a range are set, as a kernel may leave them.
    """
    packed = [
        np.packbits([*(c in marks for c in each.text), *[1] * 9], bitorder="little")
        for each in of
    ]
    firsts = np.cumsum([0, *map(len, packed)])[: len(of)]
    behind = np.full(BYTES_BEHIND, 0xFF, np.uint8)
    return np.concatenate([*packed, behind]), firsts


@given(ranges(carries=True), st.sampled_from([1, 2, 7]))
def test_snapshots_last_until_the_next_or_a_gap(of: list[Range], period: int) -> None:
    target = Target(of, period)
    begins, firsts = bits_of(of, "b")
    covered, _ = bits_of(of, "bo")
    carried = np.full(len(of), FENCE)
    ranges_ = len(of), period, target.lows, target.cells, target.firsts
    EXPAND_RUNS(*ranges_, target.starts, target.ends, begins, firsts, covered, carried)
    target.check(target.ends[1:])
    expected = [FENCE if end is None else end for end, _ in target.expected]
    assert carried.tolist() == expected


@given(ranges(carries=False), st.sampled_from([1, 2, 7]))
def test_snapshots_of_a_cell(of: list[Range], period: int) -> None:
    of = [Range(each.text.replace("o", "."), each.low, each.free) for each in of]
    target = Target(of, period)
    ranges_ = len(of), period, target.lows, target.cells, target.firsts
    EXPAND_CELLS(*ranges_, target.starts, target.ends, *bits_of(of, "b"))
    target.check(target.ends)


@given(ranges(carries=False), st.sampled_from([1, 2, 7]))
def test_a_snapshot_in_every_cell(of: list[Range], period: int) -> None:
    of = [Range("b" * len(each.text), each.low, each.free) for each in of]
    target = Target(of, period)
    ranges_ = len(of), period, target.lows, target.cells, target.firsts
    EXPAND_ALL(*ranges_, target.starts, target.ends)
    target.check(target.ends)
