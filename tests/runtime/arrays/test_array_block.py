"""Arrays that are allocated together."""

import gc

import numpy as np
import pytest

from tiltpy.array_address import address
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.runtime.arrays.array_block import CACHE_LINE, ArrayBlock
from tiltpy.runtime.arrays.pool import POOL, dtype_of
from tiltpy.types import BOOL, F32, F64, I64, Scalar

SHORT = DEFAULT_COSTS.memory.short_bytes
LONG = DEFAULT_COSTS.memory.pooled_bytes

ITEMS: dict[str, list[tuple[Scalar, int]]] = {
    "none": [],
    "empty": [(F64, 0)],
    "short": [(F64, 3), (BOOL, 70), (F32, 1), (I64, SHORT // 8)],
    "mixed": [(I64, SHORT // 8 + 1), (BOOL, 5), (F64, LONG), (F32, 17)],
    "long": [(F64, LONG), (F64, LONG)],
}


@pytest.mark.parametrize("items", ITEMS.values(), ids=ITEMS)
def test_arrays_have_their_lengths_and_share_no_line(
    items: list[tuple[Scalar, int]],
) -> None:
    block = ArrayBlock(items)
    turns = [block.take() for _ in range(3)]
    ranges = []
    for arrays, addresses in turns:
        assert list(map(address, arrays)) == addresses
        for (scalar, count), array in zip(items, arrays, strict=True):
            assert (len(array), array.dtype) == (max(1, count), dtype_of(scalar))
            assert address(array) % CACHE_LINE == 0
            ranges.append((address(array), address(array) + array.nbytes))
            array[:] = np.ones(1, array.dtype)
    ranges.sort()
    ends = [end for _, end in ranges]
    assert all(e <= s for e, (s, _) in zip(ends, ranges[1:], strict=False))


def test_long_arrays_go_back_one_by_one() -> None:
    gc.collect()
    before = POOL.in_use
    arrays, _ = ArrayBlock(ITEMS["mixed"]).take()
    assert POOL.in_use > before
    del arrays[2]
    gc.collect()
    assert POOL.in_use == before
