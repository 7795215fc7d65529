"""Rows sorted by a number, stably: the number and the row's own as one integer.

No two such integers are equal, so any sort of them is stable, and numpy's sorts them as
fast as the CPU's vectors allow, whatever the numbers: many times faster than it finds
an order.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiltpy.runtime.arrays.time_layout import PIECE

Codes = NDArray[np.unsignedinteger]
Rows = NDArray[np.integer]
"""Which row comes first, second, ..."""

MOST_BITS = 63
"""For a number and that of its row together."""


@dataclass(frozen=True, slots=True, eq=False)
class PackedRows:
    """Numbers in order, each with the number of its row in the lowest `bits`."""

    rows: Codes
    bits: int

    def blocks(self) -> Iterator[tuple[slice, Codes, Codes]]:
        """Yield blocks that stay in the cache: range, numbers and rows."""
        kind = self.rows.dtype
        shift, mask = kind.type(self.bits), kind.type((1 << self.bits) - 1)
        for place in _cache_blocks(len(self.rows)):
            part = self.rows[place]
            yield place, part >> shift, part & mask

    def order(self) -> Codes:
        """Extract which row comes first, second, ..."""
        order = self.empty_order()
        for place, _, rows in self.blocks():
            order[place] = rows
        return order

    def empty_order(self) -> Codes:
        """Room for an order."""
        return np.empty(len(self.rows), np.uint32 if self.bits <= 32 else np.uint64)


def fits_packed(size: int, rows: int) -> bool:
    """Tell whether so many rows can be sorted by numbers below a size."""
    return excess_bits(size, rows) == 0


def sort_packed(numbers: NDArray[np.integer], size: int, least: int = 0) -> PackedRows:
    """Sort rows stably by their numbers, which lie in `[least, least + size)`."""
    rows = len(numbers)
    bits = _bits(rows)
    kind = np.dtype(np.uint32 if bits + _bits(size) <= 32 else np.uint64)
    packed: Codes = np.empty(rows, kind)
    count = np.arange(PIECE, dtype=kind)
    low = numbers.dtype.type(least)
    for place in _cache_blocks(rows):
        part = packed[place]
        taken = numbers[place] - low if least else numbers[place]
        np.left_shift(taken, bits, out=part, dtype=kind, casting="unsafe")
        part |= count[: len(part)] + kind.type(place.start)
    packed.sort()
    return PackedRows(packed, bits)


def excess_bits(size: int, rows: int) -> int:
    """Count the bits that numbers below a size have too many for `fits_packed`."""
    return max(0, _bits(size) + _bits(rows) - MOST_BITS)


def _bits(numbers: int) -> int:
    return max(0, numbers - 1).bit_length()


def _cache_blocks(rows: int) -> Iterator[slice]:
    for first in range(0, rows, PIECE):
        yield slice(first, min(first + PIECE, rows))
