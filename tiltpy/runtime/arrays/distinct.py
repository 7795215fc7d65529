"""Distinct values of an array."""

from math import expm1
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Integer = TypeVar("Integer", bound=np.integer)


def distinct(values: NDArray[Integer]) -> NDArray[Integer]:
    """List each of some integers once, in ascending order.

    `np.unique` would import numpy's masked arrays, to see that the array is none.
    """
    # The stable sort is by digits where there are few; the other one is slow for bytes.
    ordered = np.sort(values, axis=None, kind="stable" if values.itemsize < 4 else None)
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def expect_distinct(rows: int, values: int) -> float:
    """Estimate how many of some values a sample shows, which are equally frequent."""
    return values * -expm1(-rows / values)
