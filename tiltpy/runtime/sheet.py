"""The full outputs of a grid kernel: chunks write them side by side into one array.

So there is one allocation for each, and one column in the result. A grid kernel writes
whole vectors: what its last one has too much must not lie in another chunk's cells, so
all chunks but the last have to be a number of vectors long.
"""

from math import lcm

from tiltpy.abi import LANES, Loop, Signature
from tiltpy.runtime import memory
from tiltpy.runtime.memory import Array, dtype_of
from tiltpy.types import columns

CACHE_LINE = 64
"""Bytes; stores past the caches write a whole one at a time."""


class Sheet:
    """Memory for the full outputs over `(low, high]`."""

    def __init__(self, signature: Signature, low: int, high: int) -> None:
        self.low = low
        self.high = high
        self._values: dict[tuple[str, int], Array] = {}
        for loop in signature.loops:
            cells = (high - low) // loop.tdom.precision
            for number, (_, scalar) in enumerate(columns(loop.type)):
                if loop.implicit_times:
                    values = memory.allocate(scalar, cells + LANES)
                    self._values[loop.name, number] = values

    def part(self, loop: Loop, number: int, low: int, high: int) -> Array:
        """Where the values of the chunk `(low, high]` go."""
        first = (low - self.low) // loop.tdom.precision
        stop = (high - self.low) // loop.tdom.precision
        room = LANES if high == self.high else 0
        return self._values[loop.name, number][first : stop + room]


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
