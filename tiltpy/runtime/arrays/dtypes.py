"""The numpy arrays that the runtime works with, by their element type.

All are one-dimensional unless a docstring gives another shape.
"""

import numpy as np
from numpy.typing import NDArray

I64Array = NDArray[np.int64]
"""Row numbers, counts, offsets or argument slots."""
Times = NDArray[np.int64]
"""Ticks."""
Steps = tuple[int, int]
"""The least and the greatest step between neighbouring times, in ticks, or bounds."""
BoolArray = NDArray[np.bool_]
"""A mask: one byte per row."""
Bits = NDArray[np.uint8]
"""A bitmap: eight rows per byte, the lowest bit first."""
