"""Stable places of rows by small codes, which threads find together.

Each portion of the rows counts its codes; the places of a portion follow those of the
portions before it, so that all are those that one thread finds.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from tiltpy.costs import DEFAULT_COSTS
from tiltpy.routines.catalogue import COUNT_CODES, PLACE_ROWS
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.concurrency.workers import map_shared, portions

COUNTED_BLOCK = 1 << 22
"""Rows between which an interrupt is heard."""


def place_rows(
    codes: NDArray[np.unsignedinteger], size: int, shift: int = 0
) -> tuple[NDArray[np.uint32], I64Array]:
    """Find the place of each row in order of `codes >> shift`, and the rows of each.

    The shifted codes are below `size`, a small number; rows are fewer than 2**32.
    """
    least = max(size, DEFAULT_COSTS.run.portion_rows)
    numbered = list(enumerate(_interruptible(portions(len(codes), least, 1))))
    narrow = np.empty(len(codes), np.uint32)
    counts = np.zeros((len(numbered), size), np.int64)
    places = np.empty(len(codes), np.uint32)
    kind = codes.dtype.type

    def count(portion: tuple[int, slice]) -> None:
        number, rows = portion
        narrow[rows] = codes[rows] >> kind(shift) if shift else codes[rows]
        COUNT_CODES(rows.start, rows.stop, narrow, counts[number])

    def assign(portion: tuple[int, slice]) -> None:
        number, rows = portion
        PLACE_ROWS(rows.start, rows.stop, narrow, before[number], places)

    map_shared(count, numbered)
    before = counts.cumsum(axis=0)
    totals = before[-1].copy()
    before += totals.cumsum() - totals - counts
    map_shared(assign, numbered)
    return places, totals


def _interruptible(rows: Iterable[slice]) -> Iterator[slice]:
    """Cut long portions, so that an interrupt is heard between them."""
    for portion in rows:
        for first in range(portion.start, portion.stop, COUNTED_BLOCK):
            yield slice(first, min(first + COUNTED_BLOCK, portion.stop))
