"""An index of pairs of codes: a summand for each code, whose sums are all different.

A table of what two columns of strings make together has a row for each left code and a
column for each right one, mostly empty. Its rows are laid over one another so that no
two entries meet: row displacement, as for the tables of parsers (Tarjan and Yao, 1979).
Rows with many entries do not overlap.
"""

import numpy as np

from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.dtypes import I64Array

LOADS = tuple((most, max(4, most // 2)) for most in (0, 1, 2, 4, 8, 16, 32, 64))
"""The most entries of a row that overlaps others, and how many cells each entry has.

A random displacement suits such a row with a probability of a tenth or more."""


@dataclass(frozen=True, slots=True)
class PairIndex:
    """The left and the right codes, each with its summand, and the sum of each pair.

    Any sum of two summands, or of one and 0, is less than `size`.
    """

    sides: tuple[tuple[I64Array, I64Array], tuple[I64Array, I64Array]]
    index: I64Array
    size: int


def index_pairs(left: I64Array, right: I64Array, most: int) -> PairIndex | None:
    """Index distinct pairs; None if that takes more than `most` numbers."""
    codes, ranks = zip(*map(_rank, (left, right)), strict=True)
    plans = [
        (size, densest, which)
        for which in (0, 1)
        for size, densest in _sizes(ranks[which], len(codes[1 - which]))
    ]
    size, densest, which = min(plans)
    if size > most:
        return None
    rows, columns = ranks[which], ranks[1 - which]
    offsets = _displace(rows, columns, densest, size)
    first, second = codes[which], codes[1 - which]
    sides = (first, offsets), (second, np.arange(len(second)))
    ordered = sides if which == 0 else (sides[1], sides[0])
    return PairIndex(ordered, offsets[rows] + columns, size)


def _rank(codes: I64Array) -> tuple[I64Array, I64Array]:
    """Sort codes, each once, and find the rank of each of those given."""
    there = np.zeros(int(codes.max()) + 1, np.bool_)
    there[codes] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


def _sizes(rows: I64Array, width: int) -> list[tuple[int, int]]:
    """Find the size of the table for each limit of `LOADS`."""
    counts = np.bincount(rows)
    sizes = []
    for densest, cells in LOADS:
        light = counts <= densest
        entries = int(counts[light].sum())
        sizes.append((int((~light).sum()) * width + entries * cells + width, densest))
    return sizes


def _displace(rows: I64Array, columns: I64Array, densest: int, size: int) -> I64Array:
    """Find an offset of each row; those with more entries than `densest` come first."""
    counts, width = np.bincount(rows), int(columns.max()) + 1
    heavy = counts > densest
    offsets = np.where(heavy, (np.cumsum(heavy) - 1) * width, 0)
    first = int(heavy.sum()) * width
    taken = np.zeros(size - first, np.bool_)
    owners = np.zeros(size - first, np.int64)
    waiting = ~heavy[rows]
    random = np.random.default_rng(0)
    while waiting.any():
        rows, columns = rows[waiting], columns[waiting]
        drawn = random.integers(0, size - first - width + 1, len(counts))
        cells = drawn[rows] + columns
        owners[cells] = rows  # of rows that meet one keeps the cell
        clash = taken[cells] | (owners[cells] != rows)
        lost = np.zeros(len(counts), np.bool_)
        lost[rows[clash]] = True
        waiting = lost[rows]
        settled = rows[~waiting]
        taken[cells[~waiting]] = True
        offsets[settled] = first + drawn[settled]
    return offsets
