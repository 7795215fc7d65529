"""Stable sort of a few times: of a block that lies in the processor's cache.

Packed like `packed_sort`, but at once: what that does for many rows, by threads and in
blocks, takes longer here than the sort.
"""

import numpy as np

from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.runtime.ingest.packed_sort import (
    PACKED_BITS,
    count_bits,
    fits_packed,
    sort_by_digits,
)

BLOCK_ROWS = 1 << 16
COMPARED_ROWS = 1 << 11
"""Up to so many rows, comparisons take less time than packing, in whatever order."""


def order_block(times: Times) -> I64Array:
    """Find the order of times; those that are equal stay in theirs."""
    rows = len(times)
    if rows <= COMPARED_ROWS:
        return times.argsort(kind="stable")
    least = times.min()
    size = int(times.max()) - int(least) + 1
    if not fits_packed(size, rows):
        return times.argsort(kind="stable")
    bits, row_bits = count_bits(size), count_bits(rows)
    room = np.empty(2 * rows, np.uint64)
    packed = room[:rows]
    np.subtract(times, least, out=packed.view(np.int64))
    packed <<= np.uint64(PACKED_BITS - bits)
    packed |= np.arange(rows, dtype=np.uint64)
    packed = sort_by_digits(room, bits)
    packed &= np.uint64((1 << row_bits) - 1)
    return packed.view(np.int64)
