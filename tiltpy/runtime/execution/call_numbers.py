"""Arithmetic on what calls cover: ints for one call, columns for many.

Both may be traced (`traced_operands`), for calls that are made again and again.

One formula serves both. A numpy operation takes as long for one item as for hundreds,
and ten times as long as Python's own: a run over few rows would feel that.
"""

from typing import Any, TypeVar

import numpy as np

from tiltpy.calendars import end_of_cell, round_up
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array
from tiltpy.runtime.execution.traced_operands import TracedOperand, find_trace
from tiltpy.types import ENDLESS, TDom

N = TypeVar("N", int, I64Array)
"""A number of one call, or a column with one for each call."""
Truth = bool | BoolArray


def least(left: N, right: N | int) -> N:
    """The smaller one of two numbers, for each call."""
    if isinstance(left, int) and isinstance(right, int):
        return min(right, left)
    trace = find_trace(left, right)
    find: Any = np.minimum if trace is None else trace.least
    smaller: N = find(left, right)
    return smaller


def most(left: N, right: N | int) -> N:
    """The larger one of two numbers, for each call."""
    if isinstance(left, int) and isinstance(right, int):
        return max(right, left)
    trace = find_trace(left, right)
    find: Any = np.maximum if trace is None else trace.most
    larger: N = find(left, right)
    return larger


def choose(condition: Truth, this: N | int, that: N | int) -> N:
    """One number where a condition holds, the other elsewhere."""
    chosen: Any
    if isinstance(condition, bool):
        chosen = this if condition else that
    elif isinstance(condition, TracedOperand):
        chosen = condition.trace.select(condition, this, that)
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


def end_cells(tdom: TDom, times: N) -> N:
    """The ends of the cells that hold some times; traced ones have no calendar."""
    if tdom.calendar is None:
        return ceil_to(tdom, times)
    if isinstance(times, int):
        return end_of_cell(tdom, times)
    return round_up(tdom, times)


def least_since(times: Any, first: I64Array, count: I64Array, bound: int) -> I64Array:
    """The least time in each of some slices that is no earlier than a bound.

    `ENDLESS` where there is none. Slices are behind one another.
    """
    if not isinstance(times, np.ndarray):
        traced: I64Array = times.least_since(first, count, bound)
        return traced
    found, some = np.full(len(first), ENDLESS), count.nonzero()[0]
    if len(some):
        late = np.where(times >= bound, times, ENDLESS)
        found[some] = np.minimum.reduceat(late, first[some])
    return found


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
