"""Stable sort of a few numbers: of a block that lies in the processor's cache.

Packed like `packed_sort`, but at once: what that does for many rows, by threads and in
blocks, takes longer here than the sort.
"""

from typing import Literal

import numpy as np

from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.ingest.packed_sort import (
    PACKED_BITS,
    count_bits,
    fits_packed,
    sort_by_digits,
)

BLOCK_ROWS = 1 << 16
COMPARED_ROWS = 1 << 11
"""Up to so many rows, comparisons take less time than packing, in whatever order."""


def order_block(numbers: I64Array, *, distinct: bool = False) -> I64Array:
    """Find the order of numbers, such as times; those that are equal stay in theirs.

    Where all are `distinct` comparisons need not be stable.
    """
    rows = len(numbers)
    kind: Literal["stable"] | None = None if distinct else "stable"
    if rows <= COMPARED_ROWS:
        return numbers.argsort(kind=kind)
    least = numbers.min()
    size = int(numbers.max()) - int(least) + 1
    if not fits_packed(size, rows):
        return numbers.argsort(kind=kind)
    bits, row_bits = count_bits(size), count_bits(rows)
    room = np.empty(2 * rows, np.uint64)
    packed = room[:rows]
    np.subtract(numbers, least, out=packed.view(np.int64))
    packed <<= np.uint64(PACKED_BITS - bits)
    packed |= np.arange(rows, dtype=np.uint64)
    packed = sort_by_digits(room, bits)
    packed &= np.uint64((1 << row_bits) - 1)
    return packed.view(np.int64)
