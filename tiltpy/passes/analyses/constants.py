"""Operators on constants, as every kernel computes them to the bit.

What might differ in a bit is left alone: library functions, floor division and
remainder of floats, and whatever gives a NaN (its sign is the machine's).
"""

import math
from dataclasses import replace
from typing import assert_never

import numpy as np

from tiltpy.ir.construct.strings import fold_string_call
from tiltpy.ir.nodes import (
    Binary,
    Call,
    Cast,
    Const,
    DateComponent,
    Expr,
    In,
    MatchString,
    Phi,
    StringCall,
    Unary,
)
from tiltpy.ops import COMPARE
from tiltpy.string_predicates import match_string
from tiltpy.types import BOOL, F32, Scalar, int_range

Value = bool | int | float
Operation = (
    Unary | Cast | DateComponent | MatchString | StringCall | In | Binary | Call
)  # fmt: skip
"""Nodes whose values follow from those of their operands."""


def constant(value: Value | None, scalar: Scalar, old: Expr) -> Expr:
    """Replace an expression by a constant, unless there is no value."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return old
    return Const(value, scalar, old.span)


def fold_operation(expr: Operation, operands: tuple[Const, ...]) -> Expr:
    """Compute an operation on constants; what might differ in a bit stays."""
    match expr:
        case Unary():
            return fold_unary(expr, operands[0])
        case Cast():
            return fold_cast(expr, operands[0])
        case Binary():
            return fold_binary(expr, operands[0], operands[1])
        case Call():
            return fold_call(expr, operands)
        case In():
            return fold_in(expr, operands[0])
        case MatchString():
            matches = match_string(expr.test, str(operands[0].value), expr.pattern)
            return Const(matches, BOOL, expr.span)
        case StringCall():
            return fold_string_call(replace(expr, operands=operands))
        case DateComponent():
            return expr
        case _:
            assert_never(expr)


def fold_unary(expr: Unary, operand: Const) -> Expr:
    """Compute `-c` and `!c`."""
    value = _value(operand)
    if expr.op == "!":
        return constant(not value, BOOL, expr)
    return constant(_fit(-value, expr.type), expr.type, expr)


def fold_cast(expr: Cast, operand: Const) -> Expr:
    """Compute `type(c)`: saturating; NaN to an integer is 0; to bool is `!= 0`."""
    value, target = _value(operand), expr.type
    if target == BOOL:
        return constant(value != 0, BOOL, expr)
    if target.is_float:
        rounded = _to_float(value, target)
        # An overflow to infinity is left to the machine.
        finite = math.isfinite(rounded) or not math.isfinite(value)
        return constant(rounded, target, expr) if finite else expr
    low, high = int_range(target)
    if isinstance(value, float):
        if math.isnan(value):
            return constant(0, target, expr)
        value = max(float(low), min(float(high), value))
    return constant(max(low, min(high, int(value))), target, expr)


def fold_binary(expr: Binary, left: Const, right: Const) -> Expr:
    """Compute arithmetic, comparison and logic of two constants."""
    if isinstance(left.value, str):
        holds = COMPARE[expr.op](left.value.encode(), str(right.value).encode())
        return constant(holds, BOOL, expr)
    a, b, scalar = _value(left), _value(right), left.type
    match expr.op:
        case "&&":
            return constant(bool(a and b), BOOL, expr)
        case "||":
            return constant(bool(a or b), BOOL, expr)
        case "==" | "!=" | "<" | "<=" | ">" | ">=":
            return constant(COMPARE[expr.op](a, b), BOOL, expr)
        case "//" | "%" if scalar.is_float:
            return expr
        case "//" | "%":
            if b == 0:
                return Phi(scalar, expr.span)
            value = a // b if expr.op == "//" else a % b
            return constant(_fit(value, scalar), scalar, expr)
        case "+" | "-" | "*" | "/":
            return constant(_arithmetic(expr.op, a, b, scalar), scalar, expr)
        case _:
            assert_never(expr.op)


def fold_call(expr: Call, arguments: tuple[Const, ...]) -> Expr:
    """Compute the functions whose results are exact."""
    values = tuple(_value(argument) for argument in arguments)
    scalar = arguments[0].type
    if scalar.is_float:
        return constant(_float_call(expr.function, values, scalar), expr.type, expr)
    return constant(_integer_call(expr.function, values, scalar), expr.type, expr)


def fold_in(expr: In, operand: Const) -> Expr:
    """Compute `c in (...)`."""
    if isinstance(operand.value, str):
        return constant(operand in expr.options, BOOL, expr)
    value = _value(operand)
    return constant(any(value == _value(o) for o in expr.options), BOOL, expr)


def _value(constant: Const) -> Value:
    """Round a constant number to its type."""
    if isinstance(constant.value, float):
        return _to_float(constant.value, constant.type)
    return constant.number


def _fit(value: Value, scalar: Scalar) -> Value:
    """Wrap an integer in its type."""
    if not scalar.is_integer:
        return value
    low, _ = int_range(scalar)
    return (int(value) - low) % (1 << scalar.bits) + low


def _to_float(value: Value, scalar: Scalar) -> float:
    kind = np.float32 if scalar == F32 else np.float64
    with np.errstate(all="ignore"):
        if isinstance(value, float):
            return float(kind(value))
        whole = np.uint64(value) if value > np.iinfo(np.int64).max else np.int64(value)
        return float(whole.astype(kind))  # one rounding, unlike through a double


def _arithmetic(op: str, a: Value, b: Value, scalar: Scalar) -> Value:
    if scalar.is_integer:
        exact = a + b if op == "+" else a - b if op == "-" else a * b
        return _fit(exact, scalar)
    kind = np.float32 if scalar == F32 else np.float64
    left, right = kind(a), kind(b)
    with np.errstate(all="ignore"):
        match op:
            case "+":
                return float(left + right)
            case "-":
                return float(left - right)
            case "*":
                return float(left * right)
            case _:
                return float(left / right)


def _float_call(
    function: str, values: tuple[Value, ...], scalar: Scalar
) -> Value | None:
    x = float(values[0])
    match function:
        case "is_nan":
            return math.isnan(x)
        case "is_inf":
            return math.isinf(x)
        case "is_finite":
            return math.isfinite(x)
        case "abs":
            return abs(x)
        case "floor" | "ceil" | "trunc":
            return float(getattr(np, function)(x))
        case "round":
            return float(np.rint(x))
        case "sqrt" if x >= 0:
            return _to_float(math.sqrt(x), scalar)
        case "sign" if x != 0:
            return math.copysign(1.0, x) if x == x else None  # noqa: PLR0124 - NaN
        case "min" | "max":
            return _extreme(function, x, float(values[1]))
        case _:
            return None


def _extreme(function: str, x: float, y: float) -> float | None:
    if math.isnan(x) or math.isnan(y) or x == y:
        return None  # which NaN, and which zero, is the kernel's business
    return min(x, y) if function == "min" else max(x, y)


def _integer_call(
    function: str, values: tuple[Value, ...], scalar: Scalar
) -> Value | None:
    first = values[0]
    match function:
        case "abs":
            return _fit(abs(first), scalar)
        case "sign":
            return (first > 0) - (first < 0)
        case "min":
            return min(values)
        case "max":
            return max(values)
        case _:
            return None
