"""Arrays that are allocated together, again and again: the outputs of kernel calls.

Small ones lie in one piece of memory, at offsets that are computed once.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from tiltpy.costs import DEFAULT_COSTS
from tiltpy.runtime.arrays import pool as memory
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.pool import Array, dtype_of
from tiltpy.runtime.arrays.views import address
from tiltpy.types import U8, Scalar

CACHE_LINE = 64
"""Bytes at whose multiples arrays begin: no two share a line."""


class ArrayBlock:
    """Arrays of some types and lengths (`items`): each `take` allocates all of them."""

    def __init__(self, items: Sequence[tuple[Scalar, int]]) -> None:
        self.items = items
        kinds = [(dtype_of(scalar), max(1, count)) for scalar, count in items]
        lengths = [
            -(-kind.itemsize * n // CACHE_LINE) * CACHE_LINE for kind, n in kinds
        ]
        *starts, self.size = accumulate(lengths, initial=0)
        self._views = [
            (n, kind, at) for (kind, n), at in zip(kinds, starts, strict=True)
        ]
        self._starts: I64Array = np.array(starts, np.int64)

    def take(self) -> tuple[list[Array], I64Array]:
        """Allocate the arrays, uninitialised; find their addresses."""
        if self.size >= DEFAULT_COSTS.memory.pooled_bytes:
            arrays = [memory.allocate(*item) for item in self.items]
            return arrays, np.array(list(map(address, arrays)), np.int64)
        block = memory.allocate(U8, self.size)
        arrays = [np.ndarray(n, kind, block, at) for n, kind, at in self._views]
        return arrays, address(block) + self._starts
