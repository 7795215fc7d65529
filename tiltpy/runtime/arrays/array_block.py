"""Arrays that are allocated together, again and again: the outputs of kernel calls.

Short ones lie in one piece of memory, at offsets that are computed once.
"""

from collections.abc import Sequence

import numpy as np

from tiltpy.array_address import address
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.runtime.arrays import pool as memory
from tiltpy.runtime.arrays.pool import Array, dtype_of
from tiltpy.types import U8, Scalar

CACHE_LINE = 64
"""Bytes at whose multiples arrays begin: no two share a line."""


class ArrayBlock:
    """Arrays of some types and lengths (`items`): each `take` allocates all of them."""

    def __init__(self, items: Sequence[tuple[Scalar, int]]) -> None:
        self.items = items
        self.size = 0
        """The bytes of all short arrays."""
        self._short: list[tuple[int, np.dtype[np.generic], int]] = []
        """Of each short array its length, type and offset."""
        self._is_short: list[bool] = []
        for scalar, length in items:
            kind, count = dtype_of(scalar), max(1, length)
            bytes_ = -(-kind.itemsize * count // CACHE_LINE) * CACHE_LINE
            is_short = bytes_ <= DEFAULT_COSTS.memory.short_bytes
            self._is_short.append(is_short)
            if is_short:
                self._short.append((count, kind, self.size))
                self.size += bytes_

    def take(self) -> tuple[list[Array], list[int]]:
        """Allocate the arrays, uninitialised; find their addresses."""
        short: list[Array] = []
        addresses: list[int] = []
        if self.size:
            block = memory.allocate(U8, self.size)
            first = address(block)
            short = [np.ndarray(n, kind, block, at) for n, kind, at in self._short]
            addresses = [first + at for _, _, at in self._short]
        if len(short) == len(self.items):
            return short, addresses
        views = iter(short)
        arrays = [
            next(views) if is_short else memory.allocate(*item)
            for item, is_short in zip(self.items, self._is_short, strict=True)
        ]
        return arrays, [address(array) for array in arrays]
