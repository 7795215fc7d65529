"""Stable sort of rows by a number: packed into one integer with the row's number.

The number has the highest bits, by whose digits machine code sorts. As no two packed
integers are equal, any sort of a few is stable.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tiltpy.lean_dataclass import dataclass
from tiltpy.routines.catalogue import (
    DIGIT_PLACES,
    MOST_DIGITS,
    SORT_BY_DIGITS,
)
from tiltpy.routines.prepared_call import PreparedCall
from tiltpy.runtime.arrays.block_passes import CACHE_BLOCK, cache_blocks, for_each_block
from tiltpy.runtime.concurrency.workers import map_portions, map_shared, portions
from tiltpy.runtime.ingest.place_rows import place_rows
from tiltpy.runtime.ingest.row_order import RowOrder

Codes = NDArray[np.unsignedinteger]
Packed = NDArray[np.uint64]

PACKED_BITS = 64
FEW_ROWS = 1 << 11
"""Rows up to which the counts of digits take longer than comparing."""
BUCKET_BITS = 10
"""Of the digit by which threads share a sort: more than enough for even portions, and
few enough for a cache line of each bucket to stay in the cache."""
BUCKETS = 1 << BUCKET_BITS


@dataclass(frozen=True, slots=True, eq=False)
class PackedRows:
    """Numbers in order, each with the number of its row in the lowest `bits`."""

    rows: Packed
    bits: int

    def number(self, index: int) -> int:
        """Extract the number that stands at an index."""
        return int(self.rows[index]) >> self.bits

    def blocks(self, portion: slice) -> Iterator[tuple[slice, Packed, Packed]]:
        """Yield cache blocks of a portion: range, numbers and rows."""
        shift, mask = np.uint64(self.bits), np.uint64((1 << self.bits) - 1)
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
        rows = len(self.rows)
        return np.empty(rows, np.uint32 if rows <= 1 << 32 else np.uint64)


def fits_packed(size: int, rows: int) -> bool:
    """Tell whether rows can be sorted by numbers below a size."""
    return excess_bits(size, rows) == 0


def sort_packed(
    numbers: NDArray[np.integer], size: int, least: int = 0, shift: int = 0
) -> PackedRows:
    """Sort rows stably by their numbers, which lie in `[least, least + size)`.

    That is so after a `shift` to the right. Threads share the work.
    """
    rows, bits = len(numbers), PACKED_BITS - count_bits(size)
    room: Packed = np.empty(2 * rows, np.uint64)
    packed = room[:rows]
    row_numbers = np.arange(CACHE_BLOCK, dtype=np.uint64)
    low, drop = numbers.dtype.type(least), numbers.dtype.type(shift)

    def pack(block: slice) -> None:
        target = packed[block]
        distances = numbers[block] >> drop if shift else numbers[block]
        distances = distances - low if least else distances
        np.left_shift(distances, bits, out=target, dtype=np.uint64, casting="unsafe")
        target |= row_numbers[: len(target)] + np.uint64(block.start)

    for_each_block(pack, rows)
    return PackedRows(_sort(room, count_bits(size)), bits)


def _sort(room: Packed, bits: int) -> Packed:
    """Sort as `sort_by_digits` does; threads share the rows by their highest digits.

    What each sorts are neighbouring buckets, about as many numbers as others have.
    """
    packed = room[: len(room) // 2]
    divided = list(portions(len(packed)))
    if len(divided) == 1 or len(packed) >= 1 << 32:
        return sort_by_digits(room, bits)
    places, counts = place_rows(packed, BUCKETS, PACKED_BITS - BUCKET_BITS)
    result = RowOrder(places=places).move_values(packed)
    ends = counts.cumsum()
    wanted = [portion.stop for portion in divided[:-1]]
    edges = [0, *ends[ends.searchsorted(wanted)].tolist(), len(packed)]

    def sort(edge: tuple[int, int]) -> None:
        first, stop = edge
        own = room[2 * first : 2 * stop]  # of what has been moved
        own[: stop - first] = result[first:stop]
        result[first:stop] = sort_by_digits(own, bits)

    map_shared(sort, list(pairwise(edges)))
    return result


def sort_by_digits(room: Packed, bits: int) -> Packed:
    """Sort the first half of an array by the highest bits, in this thread.

    The other half is room to move them to; they are returned where they are then.
    """
    rows = len(room) // 2
    digits, digit_bits = min((-(-bits // size), size) for size in SORT_BY_DIGITS)
    if rows <= FEW_ROWS or digits > MOST_DIGITS:
        few = room[:rows]
        few.sort()
        return few
    places = np.empty(DIGIT_PLACES, np.int64)
    call = PreparedCall(SORT_BY_DIGITS[digit_bits], rows, digits, 0, room, places)
    call()
    first = call.numbers[2]
    return room[first : first + rows]


def excess_bits(size: int, rows: int) -> int:
    """Count the bits of numbers below a size that do not fit beside row numbers."""
    return max(0, count_bits(size) + count_bits(rows) - PACKED_BITS)


def count_bits(size: int) -> int:
    """Count the bits of numbers below a size, at least one."""
    return max(1, (size - 1).bit_length())
