"""`searchsorted` in many slices of an array at once."""

from typing import Literal

import numpy as np

from tiltpy.runtime.arrays.dtypes import I64Array, Times


def search_slices(
    times: Times,
    first: I64Array,
    stop: I64Array,
    wanted: Times,
    side: Literal["left", "right"],
) -> I64Array:
    """`searchsorted` of one time in each of many ranges of an array.

    Most times lie outside of the range: its ends are looked at first.
    """
    below = np.less if side == "left" else np.less_equal
    nonempty = first < stop
    if not nonempty.any():
        return first.copy()
    oldest = times[np.where(nonempty, first, 0)]
    newest = times[np.where(nonempty, stop - 1, 0)]
    low = np.where(nonempty & below(newest, wanted), stop, first)
    high = np.where(nonempty & ~below(oldest, wanted), first, stop)
    while (active := low < high).any():
        middle = (low + high) >> 1
        passed = below(times[np.where(active, middle, 0)], wanted)
        low = np.where(active & passed, middle + 1, low)
        high = np.where(active & ~passed, middle, high)
    return low
