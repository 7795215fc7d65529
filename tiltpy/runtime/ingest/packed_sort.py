"""Stable sort of rows by a number: packed into one integer with the row's number.

No two packed integers are equal, so that any sort of them is stable, and numpy's is
vectorised: many times faster than `argsort`.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.block_passes import for_each_block
from tiltpy.runtime.arrays.snapshot_buffer import CACHE_BLOCK, cache_blocks
from tiltpy.runtime.concurrency.workers import map_portions, map_shared, portions
from tiltpy.runtime.ingest.place_rows import place_rows
from tiltpy.runtime.ingest.row_order import RowOrder

Codes = NDArray[np.unsignedinteger]

MOST_BITS = 63
"""Of a packed integer."""
BUCKET_BITS = 10
"""Of the digit by which threads share a sort: more than enough for even portions, and
few enough for a cache line of each bucket to stay in the cache."""
BUCKETS = 1 << BUCKET_BITS


@dataclass(frozen=True, slots=True, eq=False)
class PackedRows:
    """Numbers in order, each with the number of its row in the lowest `bits`."""

    rows: Codes
    bits: int

    def number(self, index: int) -> int:
        """Extract the number that stands at an index."""
        return int(self.rows[index]) >> self.bits

    def blocks(self, portion: slice) -> Iterator[tuple[slice, Codes, Codes]]:
        """Yield cache blocks of a portion: range, numbers and rows."""
        kind = self.rows.dtype
        shift, mask = kind.type(self.bits), kind.type((1 << self.bits) - 1)
        for block in cache_blocks(portion.stop, portion.start):
            packed = self.rows[block]
            yield block, packed >> shift, packed & mask

    def order(self) -> Codes:
        """Extract the order of the rows."""
        order = self.empty_order()

        def extract(portion: slice) -> None:
            for block, _, rows in self.blocks(portion):
                order[block] = rows

        map_portions(extract, len(order))
        return order

    def empty_order(self) -> Codes:
        """Allocate an order."""
        return np.empty(len(self.rows), np.uint32 if self.bits <= 32 else np.uint64)


def fits_packed(size: int, rows: int) -> bool:
    """Tell whether rows can be sorted by numbers below a size."""
    return excess_bits(size, rows) == 0


def sort_packed(
    numbers: NDArray[np.integer], size: int, least: int = 0, shift: int = 0
) -> PackedRows:
    """Sort rows stably by their numbers, which lie in `[least, least + size)`.

    That is so after a `shift` to the right. Threads share the work.
    """
    rows = len(numbers)
    bits = _bits(rows)
    kind = np.dtype(np.uint32 if bits + _bits(size) <= 32 else np.uint64)
    packed: Codes = np.empty(rows, kind)
    row_numbers = np.arange(CACHE_BLOCK, dtype=kind)
    low, drop = numbers.dtype.type(least), numbers.dtype.type(shift)

    def pack(block: slice) -> None:
        target = packed[block]
        distances = numbers[block] >> drop if shift else numbers[block]
        distances = distances - low if least else distances
        np.left_shift(distances, bits, out=target, dtype=kind, casting="unsafe")
        target |= row_numbers[: len(target)] + kind.type(block.start)

    for_each_block(pack, rows)
    return PackedRows(_sort(packed, bits + _bits(size)), bits)


def _sort(packed: Codes, bits: int) -> Codes:
    """Sort integers of some bits, all different; threads share them by highest digits.

    What each sorts are neighbouring buckets, about as many numbers as others have.
    """
    divided = list(portions(len(packed)))
    if len(divided) == 1 or len(packed) >= 1 << 32:
        packed.sort()
        return packed
    places, counts = place_rows(packed, BUCKETS, max(0, bits - BUCKET_BITS))
    result = RowOrder(places=places).move_values(packed)
    ends = counts.cumsum()
    wanted = [portion.stop for portion in divided[:-1]]
    edges = [0, *ends[ends.searchsorted(wanted)].tolist(), len(packed)]
    map_shared(lambda edge: result[slice(*edge)].sort(), list(pairwise(edges)))
    return result


def excess_bits(size: int, rows: int) -> int:
    """Count the bits of numbers below a size that do not fit beside row numbers."""
    return max(0, _bits(size) + _bits(rows) - MOST_BITS)


def _bits(numbers: int) -> int:
    return max(0, numbers - 1).bit_length()
