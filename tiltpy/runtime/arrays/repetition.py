"""Repetition of numbers, by machine code."""

import numpy as np

from tiltpy.routines.catalogue import REPEAT_NUMBERS, SPARE
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.types import I64


def repeat_numbers(numbers: I64Array, counts: I64Array, total: int) -> I64Array:
    """Repeat each number as often as its count says, `total` times in all."""
    target = allocate(I64, total + SPARE).view(np.int64)
    contiguous = map(np.ascontiguousarray, (counts, numbers))
    REPEAT_NUMBERS(len(numbers), *contiguous, target)
    return target[:total]
