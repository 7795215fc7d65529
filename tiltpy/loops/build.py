"""Short constructors of loop IR, which simplify what is trivially known.

Lowering reads like arithmetic with these; they fold constants, so that printed kernels
stay readable and LLVM has less to do.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from math import frexp
from typing import Literal

from tiltpy.loops.nodes import (
    Array,
    Bin,
    CallFn,
    Convert,
    LExpr,
    Load,
    Not,
    Num,
    Select,
    Var,
)
from tiltpy.ops import BinaryOp
from tiltpy.types import BOOL, ENDLESS, F64, I64, Scalar

TRUE, FALSE = Num(True, BOOL), Num(False, BOOL)
INF = Num(ENDLESS, I64)
"""Later than every time; adding an offset to it cannot wrap."""

NEVER = Num(-ENDLESS, I64)
"""Earlier than every time; subtracting an offset from it cannot wrap."""


def i64(value: int) -> Num:
    """A 64-bit integer."""
    return Num(value, I64)


def f64(value: float) -> Num:
    """A double."""
    return Num(value, F64)


def number(var: str) -> Var:
    """A 64-bit integer variable."""
    return Var(var, I64)


def is_power_of_two(expr: LExpr) -> bool:
    """Return whether it is a constant power of two, so that dividing by it is exact."""
    return isinstance(expr, Num) and abs(frexp(expr.value)[0]) == 0.5


def binary(op: BinaryOp, left: LExpr, right: LExpr) -> LExpr:
    """An arithmetic operator; the type is the operands'."""
    return Bin(op, left, right, left.type)


def add(left: LExpr, right: LExpr) -> LExpr:
    """`left + right` of integers."""
    if isinstance(right, Num) and isinstance(left, Num):
        return Num(left.value + right.value, left.type)
    if isinstance(right, Num) and right.value == 0:
        return left
    if isinstance(right, Num) and right.value < 0:
        return Bin("-", left, Num(-right.value, right.type), left.type)
    return Bin("+", left, right, left.type)


def sub(left: LExpr, right: LExpr) -> LExpr:
    """`left - right` of integers."""
    if isinstance(right, Num):
        return add(left, Num(-right.value, right.type))
    return Bin("-", left, right, left.type)


def mul(left: LExpr, right: LExpr) -> LExpr:
    """`left * right` of integers."""
    if isinstance(right, Num) and right.value == 1:
        return left
    return Bin("*", left, right, left.type)


def compare(op: BinaryOp, left: LExpr, right: LExpr) -> LExpr:
    """A comparison."""
    return Bin(op, left, right, BOOL)


def lt(left: LExpr, right: LExpr) -> LExpr:
    """`left < right`."""
    return compare("<", left, right)


def le(left: LExpr, right: LExpr) -> LExpr:
    """`left <= right`."""
    return compare("<=", left, right)


def eq(left: LExpr, right: LExpr) -> LExpr:
    """`left == right`."""
    return compare("==", left, right)


def ne(left: LExpr, right: LExpr) -> LExpr:
    """`left != right`."""
    return compare("!=", left, right)


def conj(*terms: LExpr) -> LExpr:
    """Return whether all terms hold."""
    return _join_bools("&&", terms, TRUE, FALSE)


def disj(*terms: LExpr) -> LExpr:
    """Return whether any term holds."""
    return _join_bools("||", terms, FALSE, TRUE)


MOST_CHAINED = 8
"""Terms joined in a chain; longer sequences are halved, to bound the depth."""


def _join(combine: Callable[[LExpr, LExpr], LExpr], terms: Sequence[LExpr]) -> LExpr:
    """Join at least one term by an operator whose operands group in any way."""
    if len(terms) > MOST_CHAINED:
        half = len(terms) // 2
        terms = [_join(combine, terms[:half]), _join(combine, terms[half:])]
    return reduce(combine, terms)


def _join_bools(
    op: Literal["&&", "||"], terms: Sequence[LExpr], neutral: LExpr, absorbing: LExpr
) -> LExpr:
    def combine(left: LExpr, right: LExpr) -> LExpr:
        if absorbing in (left, right):
            return absorbing
        if left == neutral:
            return right
        return left if right in (neutral, left) else Bin(op, left, right, BOOL)

    return _join(combine, terms or [neutral])


def negate(operand: LExpr) -> LExpr:
    """The negation of a bool."""
    match operand:
        case Num(value=value):
            return Num(not value, BOOL)
        case Not(operand=inner):
            return inner
        case _:
            return Not(operand, BOOL)


def select(condition: LExpr, then: LExpr, otherwise: LExpr) -> LExpr:
    """`condition ? then : otherwise`."""
    if condition == TRUE:
        return then
    if condition == FALSE:
        return otherwise
    if then == otherwise and not then.type.is_float:  # 0.0 == -0.0
        return then
    if then == TRUE and otherwise == FALSE:
        return condition
    return Select(condition, then, otherwise, then.type)


def least(*terms: LExpr) -> LExpr:
    """The least of integers."""
    return _join(lambda a, b: CallFn("min", (a, b), a.type), terms)


def greatest(*terms: LExpr) -> LExpr:
    """The greatest of integers."""
    return _join(lambda a, b: CallFn("max", (a, b), a.type), terms)


def load(array: Array, index: LExpr) -> Load:
    """`array[index]`."""
    return Load(array, index, array.type)


def convert(operand: LExpr, to: Scalar) -> LExpr:
    """A cast, unless it is of that type already."""
    if isinstance(operand, Num) and operand.type == I64 and to.is_float:
        return Num(float(operand.value), to)
    if isinstance(operand, Convert) and operand.type == I64 and to.is_float:
        narrow = operand.operand
        if narrow.type.is_integer and narrow.type.bits < I64.bits:
            return Convert(narrow, to)
    return operand if operand.type == to else Convert(operand, to)
