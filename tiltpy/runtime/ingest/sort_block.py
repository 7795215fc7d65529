"""Stable sort of a few times: of a block that lies in the processor's cache.

Packed like `packed_sort`, but at once: what that does for many rows, by threads and in
blocks, takes longer here than the sort.
"""

import numpy as np

from tiltpy.runtime.arrays.dtypes import I64Array, Times

BLOCK_ROWS = 1 << 14
NARROW_BITS, WIDE_BITS = 32, 63
COMPARED_ROWS = 256
"""Up to so many rows, comparisons take less time than packing."""

_NUMBERS = np.arange(BLOCK_ROWS)
_NARROW_NUMBERS = _NUMBERS.astype(np.uint32)


def order_block(times: Times) -> I64Array:
    """Find the order of times; those that are equal stay in theirs."""
    rows = len(times)
    if rows <= COMPARED_ROWS or rows > BLOCK_ROWS:
        return times.argsort(kind="stable")
    least = times.min()
    bits = (rows - 1).bit_length()
    all_bits = (int(times.max()) - int(least)).bit_length() + bits
    if all_bits > WIDE_BITS:
        return times.argsort(kind="stable")
    packed: I64Array = times - least
    if all_bits <= NARROW_BITS:
        narrow = packed.astype(np.uint32)
        narrow <<= np.uint32(bits)
        narrow |= _NARROW_NUMBERS[:rows]
        narrow.sort()
        narrow &= np.uint32((1 << bits) - 1)
        order: I64Array = narrow.astype(np.int64)
        return order
    packed <<= bits
    packed |= _NUMBERS[:rows]
    packed.sort()
    packed &= (1 << bits) - 1
    return packed
