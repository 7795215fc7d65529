"""`searchsorted` in many slices of an array at once."""

from typing import Literal

import numpy as np

from tiltpy.routines.catalogue import SEARCH_LEFT, SEARCH_RIGHT
from tiltpy.runtime.arrays.dtypes import I64Array, Times


def search_slices(
    times: Times,
    first: I64Array,
    stop: I64Array,
    wanted: Times,
    side: Literal["left", "right"],
) -> I64Array:
    """`searchsorted` of one time in each of many ranges of an array."""
    found = np.empty(len(first), np.int64)
    search = SEARCH_LEFT if side == "left" else SEARCH_RIGHT
    arrays = [np.ascontiguousarray(each) for each in (times, first, stop, wanted)]
    search(len(found), *arrays, found)
    return found
