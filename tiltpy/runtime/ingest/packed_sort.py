"""Stable sort of rows by a number: packed into one integer with the row's number.

No two packed integers are equal, so that any sort of them is stable, and numpy's is
vectorised: many times faster than `argsort`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiltpy.runtime.arrays.snapshot_buffer import CACHE_BLOCK, cache_blocks

Codes = NDArray[np.unsignedinteger]
RowNumbers = NDArray[np.integer]
"""A row for each row: the one that comes first, second, ..., or the place of each."""

MOST_BITS = 63
"""Of a packed integer."""


@dataclass(frozen=True, slots=True, eq=False)
class PackedRows:
    """Numbers in order, each with the number of its row in the lowest `bits`."""

    rows: Codes
    bits: int

    def blocks(self) -> Iterator[tuple[slice, Codes, Codes]]:
        """Yield cache blocks: range, numbers and rows."""
        kind = self.rows.dtype
        shift, mask = kind.type(self.bits), kind.type((1 << self.bits) - 1)
        for block in cache_blocks(len(self.rows)):
            packed = self.rows[block]
            yield block, packed >> shift, packed & mask

    def order(self) -> Codes:
        """Extract the order of the rows."""
        order = self.empty_order()
        for block, _, rows in self.blocks():
            order[block] = rows
        return order

    def empty_order(self) -> Codes:
        """Allocate an order."""
        return np.empty(len(self.rows), np.uint32 if self.bits <= 32 else np.uint64)


def fits_packed(size: int, rows: int) -> bool:
    """Tell whether rows can be sorted by numbers below a size."""
    return excess_bits(size, rows) == 0


def sort_packed(numbers: NDArray[np.integer], size: int, least: int = 0) -> PackedRows:
    """Sort rows stably by their numbers, which lie in `[least, least + size)`."""
    rows = len(numbers)
    bits = _bits(rows)
    kind = np.dtype(np.uint32 if bits + _bits(size) <= 32 else np.uint64)
    packed: Codes = np.empty(rows, kind)
    row_numbers = np.arange(CACHE_BLOCK, dtype=kind)
    low = numbers.dtype.type(least)
    for block in cache_blocks(rows):
        target = packed[block]
        distances = numbers[block] - low if least else numbers[block]
        np.left_shift(distances, bits, out=target, dtype=kind, casting="unsafe")
        target |= row_numbers[: len(target)] + kind.type(block.start)
    packed.sort()
    return PackedRows(packed, bits)


def excess_bits(size: int, rows: int) -> int:
    """Count the bits of numbers below a size that do not fit beside row numbers."""
    return max(0, _bits(size) + _bits(rows) - MOST_BITS)


def _bits(numbers: int) -> int:
    return max(0, numbers - 1).bit_length()
