"""Arithmetic on what calls cover: ints for one call, columns for many.

Ints may be traced (`traced_numbers`), for calls that are made again and again.

One formula serves both. A numpy operation takes as long for one item as for hundreds,
and ten times as long as Python's own: a run over few rows would feel that.
"""

from typing import Any, TypeVar

import numpy as np

from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array
from tiltpy.runtime.execution.traced_numbers import (
    is_traced,
    least_of,
    most_of,
    select,
)
from tiltpy.types import TDom

N = TypeVar("N", int, I64Array)
"""A number of one call, or a column with one for each call."""
Truth = bool | BoolArray


def least(left: N, right: N | int) -> N:
    """The smaller one of two numbers, for each call."""
    if isinstance(left, int) and isinstance(right, int):
        return min(right, left)
    find: Any = least_of if is_traced(left, right) else np.minimum
    smaller: N = find(left, right)
    return smaller


def most(left: N, right: N | int) -> N:
    """The larger one of two numbers, for each call."""
    if isinstance(left, int) and isinstance(right, int):
        return max(right, left)
    find: Any = most_of if is_traced(left, right) else np.maximum
    larger: N = find(left, right)
    return larger


def choose(condition: Truth, this: N | int, that: N | int) -> N:
    """One number where a condition holds, the other elsewhere."""
    chosen: Any
    if isinstance(condition, bool):
        chosen = this if condition else that
    elif is_traced(condition):
        chosen = select(condition, this, that)
    else:
        chosen = np.where(condition, this, that)
    numbers: N = chosen
    return numbers


def ceil_to(tdom: TDom, times: N) -> N:
    """The first grid points at or after some times."""
    return times + (tdom.offset - times) % tdom.precision


def floor_to(tdom: TDom, times: N) -> N:
    """The last grid points at or before some times."""
    return times - (times - tdom.offset) % tdom.precision


def multiply(left: N, right: N) -> N:
    """The product of two numbers for each call; columns hold 2**62 at most."""
    if isinstance(left, int):
        return left * right
    product: N = np.minimum(left * right.astype(np.float64), 2**62).astype(np.int64)
    return product


def share_of(counts: N, length: int, span: N) -> N:
    """Return how many of some counts, spread evenly over a span, a length of it has.

    Rounded up, and all at most.
    """
    if isinstance(counts, int):
        return min(counts, -(-counts * length // span))
    share: N = np.ceil(counts * np.minimum(length / span, 1.0)).astype(np.int64)
    return share


def item(numbers: I64Array | int, call: int) -> int:
    """The number of one call."""
    return int(numbers[call]) if isinstance(numbers, np.ndarray) else numbers


def greatest(numbers: I64Array | int) -> int:
    """The largest number of all calls."""
    return int(numbers.max()) if isinstance(numbers, np.ndarray) else numbers


def total(numbers: I64Array | int) -> int:
    """The sum over all calls."""
    return int(numbers.sum()) if isinstance(numbers, np.ndarray) else numbers
