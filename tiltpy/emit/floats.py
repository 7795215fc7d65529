"""Arithmetic on floats in loop IR that folds constants, such as counts."""

import operator
from collections.abc import Callable
from functools import reduce

from tiltpy.loops.nodes import Bin, CallFn, LExpr, Num
from tiltpy.ops import BinaryOp


def times(*factors: LExpr) -> LExpr:
    """A product of floats of one type."""
    return reduce(lambda a, b: _fold("*", a, b), factors)


def plus(*terms: LExpr) -> LExpr:
    """A sum of floats."""
    return reduce(lambda a, b: _fold("+", a, b), terms)


def minus(left: LExpr, right: LExpr) -> LExpr:
    """A difference of floats."""
    return _fold("-", left, right)


def over(left: LExpr, right: LExpr) -> LExpr:
    """A quotient of floats."""
    return _fold("/", left, right)


def fma(a: LExpr, b: LExpr, c: LExpr) -> LExpr:
    """`a * b + c`, rounded once."""
    return CallFn("fma", (a, b, c), c.type)


_FOLDS: dict[BinaryOp, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def _fold(op: BinaryOp, left: LExpr, right: LExpr) -> LExpr:
    """Apply an operator to floats; constants are computed."""
    match left, right:
        case Num(value=a), Num(value=b) if (op, b) != ("/", 0):
            return Num(_FOLDS[op](a, b), left.type)
        case _:
            return Bin(op, left, right, left.type)
