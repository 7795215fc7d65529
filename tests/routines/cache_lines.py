"""Arrays whose entries from one on begin at a cache line."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltpy.array_address import address

LINE = 64


def lines_behind(
    cached: int, count: int, kind: np.dtype[Any] | None = None
) -> NDArray[Any]:
    """Make an array of which the entry `cached` is the first of a cache line."""
    kind = np.dtype(np.int64) if kind is None else kind
    memory = np.zeros(count + 2 * LINE, kind)
    behind = (address(memory) + cached * kind.itemsize) % LINE
    first = (LINE - behind) // kind.itemsize
    return memory[first : first + count]
