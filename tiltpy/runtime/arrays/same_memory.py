"""Arrays that are views of the same memory, which need not be copied."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tiltpy.array_address import address
from tiltpy.runtime.arrays.dtypes import I64Array


def are_same(left: I64Array, right: I64Array) -> bool:
    """Tell whether two arrays are the same entries of the same memory."""
    alike = (left.shape, left.strides) == (right.shape, right.strides)
    return alike and left.ctypes.data == right.ctypes.data


def join_slices(arrays: Sequence[I64Array]) -> I64Array:
    """Concatenate arrays; successive slices of one array become a slice of it."""
    arrays = [array for array in arrays if len(array)]
    if not arrays:
        return np.zeros(0, np.int64)
    if len(arrays) == 1:
        return arrays[0]
    base = arrays[0].base
    if base is None or not _are_successive(arrays, base):
        return np.concatenate(arrays)
    assert isinstance(base, np.ndarray)
    first = (address(arrays[0]) - address(base)) // base.itemsize
    joined: I64Array = base[first : first + sum(map(len, arrays))]
    return joined


def _are_successive(arrays: Sequence[I64Array], base: object) -> bool:
    """Decide whether arrays are slices of one array, each behind the one before."""
    if not isinstance(base, np.ndarray) or base.dtype != np.int64:
        return False
    return (
        base.ndim == 1
        and all(array.base is base for array in arrays)
        and all(array.strides == (base.itemsize,) == base.strides for array in arrays)
        and all(
            address(before) + before.nbytes == address(after)
            for before, after in pairwise(arrays)
        )
    )
