"""Outputs of a vector kernel with a value in each cell: one array for all chunks.

So there is one allocation for each, and one column in the result. A vector kernel
writes whole vectors: what its last one has too much must not lie in another chunk's
cells, so all chunks but the last have to be a multiple of a vector long.
"""

from math import lcm

from tiltpy.abi.signature import LANES, Loop, Signature
from tiltpy.runtime.arrays import pool as memory
from tiltpy.runtime.arrays.pool import Array, dtype_of
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import make_sampled
from tiltpy.runtime.execution.call_numbers import N
from tiltpy.types import columns

CACHE_LINE = 64
"""Bytes; stores past the caches write a whole one at a time."""


class DenseOutput:
    """Memory for dense outputs over `(low, high]`: `values` by output and column."""

    def __init__(self, signature: Signature, low: int, high: int) -> None:
        self.low = low
        self.values: dict[tuple[str, int], Array] = {}
        for loop in signature.loops:
            cells = (high - low) // loop.tdom.precision
            for number, (_, scalar) in enumerate(columns(loop.type)):
                if loop.implicit_times:
                    values = memory.allocate(scalar, cells + LANES)
                    self.values[loop.name, number] = values

    def first(self, loop: Loop, low: N) -> N:
        """The entries of an output from which on chunks write that begin at `low`."""
        return (low - self.low) // loop.tdom.precision

    def part(self, loop: Loop, number: int, low: int, high: int) -> Array:
        """The values of the cells in `(low, high]`."""
        first = (low - self.low) // loop.tdom.precision
        stop = (high - self.low) // loop.tdom.precision
        return self.values[loop.name, number][first:stop]

    def piece(self, loop: Loop, low: int, high: int) -> SnapshotBuffer:
        """All columns of an output in `(low, high]`."""
        payload = (
            Column(self.part(loop, number, low, high))
            for number in range(len(columns(loop.type)))
        )
        period = loop.tdom.precision
        return make_sampled(low, period, (high - low) // period, tuple(payload))


def whole_vectors(signature: Signature) -> int:
    """Chunks as long as a multiple of this write into their own cells alone."""
    full = (loop for loop in signature.loops if loop.implicit_times)
    return lcm(*(LANES * loop.tdom.precision for loop in full))


def alignment(signature: Signature) -> int:
    """The same, and what they write begins at cache lines."""
    lines = [1]
    for loop in signature.loops:
        if loop.implicit_times:
            items = (dtype_of(scalar).itemsize for _, scalar in columns(loop.type))
            lines.append(CACHE_LINE // min(items) * loop.tdom.precision)
    return lcm(whole_vectors(signature), *lines)
