"""Arithmetic on literals: exact in unbounded integers, else in f64.

What has no exact answer here (a division by zero) is left for the typed operation.
"""

import operator
from collections.abc import Callable

from tiltpy.errors import QueryError
from tiltpy.ops import COMPARE, BinaryOp
from tiltpy.source import Span

Number = int | float
LIMIT = 2**127
"""No type comes near; a bound here keeps chains of literals cheap."""

_ARITHMETIC: dict[BinaryOp, Callable[[Number, Number], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}


def fold_arithmetic(
    op: BinaryOp, left: Number, right: Number, span: Span
) -> Number | None:
    """Evaluate `left op right` of literals, or return None where it is not defined."""
    if right == 0 and op in ("/", "//", "%"):
        return None
    value = _ARITHMETIC[op](left, right)
    if isinstance(value, int) and abs(value) > LIMIT:
        raise out_of_range(span)
    return value


def out_of_range(span: Span) -> QueryError:
    """Make the error that no integer type holds a value."""
    return QueryError(
        "E0203",
        "this integer is beyond the range of every integer type",
        span,
        "write a float, like 1e30",
    )


def fold_comparison(op: BinaryOp, left: Number, right: Number) -> bool:
    """Evaluate a comparison of literals."""
    return COMPARE[op](left, right)
