"""Outputs of a vector kernel with a value in each cell: one array for all chunks.

So there is one allocation for each, and one column in the result. A vector kernel
writes whole vectors: what its last one has too much must not lie in another chunk's
cells, so all chunks but the last have to be a multiple of a vector long.
"""

from collections.abc import Sequence
from math import lcm

from tiltpy.abi.signature import LANES, Loop, Signature
from tiltpy.runtime.arrays.array_block import ArrayBlock
from tiltpy.runtime.arrays.pool import Array, dtype_of
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import make_sampled
from tiltpy.runtime.execution.call_numbers import N
from tiltpy.runtime.execution.call_table import SharedArrays
from tiltpy.types import Scalar, columns

CACHE_LINE = 64
"""Bytes; stores past the caches write a whole one at a time."""


class DenseOutput:
    """The columns of dense outputs over `(low, high]`, which each run allocates."""

    def __init__(self, signature: Signature, low: int, high: int) -> None:
        self.low = low
        self._columns: list[tuple[str, int]] = []
        items: list[tuple[Scalar, int]] = []
        for loop in signature.loops:
            cells = (high - low) // loop.tdom.precision
            for number, (_, scalar) in enumerate(columns(loop.type)):
                if loop.implicit_times:
                    self._columns.append((loop.name, number))
                    items.append((scalar, cells + LANES))
        self._block = ArrayBlock(items)

    def allocate(self) -> SharedArrays:
        """Allocate the values of a run, by output and column."""
        arrays, _ = self._block.take()
        return dict(zip(self._columns, arrays, strict=True))

    def first(self, loop: Loop, low: N) -> N:
        """The entries of an output from which on chunks write that begin at `low`."""
        return (low - self.low) // loop.tdom.precision

    def piece(
        self, loop: Loop, values: Sequence[Array], low: int, high: int
    ) -> SnapshotBuffer:
        """All columns of an output in `(low, high]`; those of a run are `values`."""
        period = loop.tdom.precision
        first, stop = (low - self.low) // period, (high - self.low) // period
        payload = tuple([Column(column[first:stop]) for column in values])
        return make_sampled(low, period, stop - first, payload)


def whole_vectors(signature: Signature) -> int:
    """Return a length of chunks, of which multiples write their own cells alone."""
    full = (loop for loop in signature.loops if loop.implicit_times)
    return lcm(*(LANES * loop.tdom.precision for loop in full))


def alignment(signature: Signature) -> int:
    """Return a length of chunks, of which multiples write whole cache lines."""
    lines = [1]
    for loop in signature.loops:
        if loop.implicit_times:
            items = (dtype_of(scalar).itemsize for _, scalar in columns(loop.type))
            lines.append(CACHE_LINE // min(items) * loop.tdom.precision)
    return lcm(whole_vectors(signature), *lines)
