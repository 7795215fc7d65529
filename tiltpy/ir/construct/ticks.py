"""Typed constructors over times and durations, for `operators.py` and the others."""

from math import isfinite

from tiltpy.errors import QueryError
from tiltpy.ir.construct.widening import (
    adapt,
    common_type,
    finish,
    is_untyped,
    no_common,
)
from tiltpy.ir.nodes import Binary, Cast, Const, EventBound, Expr, Phi, Time, Unary
from tiltpy.ir.temporal_types import as_time, beside_times, castable, temporal_result
from tiltpy.ops import REDUCTIONS, BinaryOp
from tiltpy.source import Span
from tiltpy.types import (
    DURATION,
    F64,
    FLOAT_LITERAL,
    I64,
    INT_LITERAL,
    PHI,
    TIME,
    U64,
    Scalar,
    Struct,
    int_range,
)

_RULES = (
    "times: time - time, time + duration; durations: + - of durations, * / // of "
    "numbers, / // % of durations; ticks are i64(...)"
)


def ticks_const(ticks: int, scalar: Scalar, span: Span) -> Const:
    """Make a time or a duration; beyond 64 bits it is an error."""
    low, high = int_range(scalar)
    if not low <= ticks <= high:
        raise QueryError("E0302", f"this {scalar} is beyond 64 bits of ticks", span)
    return Const(ticks, scalar, span)


def negate_duration(operand: Expr, span: Span) -> Expr:
    """Make `-operand` of a duration; a literal's is a literal."""
    low, _ = int_range(DURATION)
    if isinstance(operand, Const) and operand.value != low:
        return Const(-operand.number, DURATION, span)
    return Unary("-", operand, DURATION, span)


def ticks_arithmetic(op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr:
    """Make `left op right` where one at least is a time or a duration."""
    left, right = beside_times(left, right)
    if op in ("+", "-") and right.type == DURATION:
        left = as_time(left)
    elif op == "+" and left.type == DURATION:
        right = as_time(right)
    left, right = _settle(op, left, right), _settle(op, right, left)
    sides = [common_type([side], span) for side in (left, right)]  # no structs
    result = temporal_result(op, left.type, right.type)
    if result is None:
        if op in ("+", "-") and not all(side.is_temporal for side in sides):
            raise no_common((left, right), span, DURATION)
        message = f"`{op}` does not take {left.type} and {right.type}"
        raise QueryError("E0201", message, span, _RULES)
    return Binary(op, left, right, result, span)


def _settle(op: BinaryOp, operand: Expr, other: Expr) -> Expr:
    """Bring an operand to the type that it has beside a time or a duration."""
    match operand.type:
        case Struct():
            return operand
        case scalar if scalar == PHI and other.type == TIME:
            return adapt(operand, TIME if op == "-" else DURATION)
        case scalar if scalar == PHI:
            return adapt(operand, I64 if op == "*" else DURATION)
        case scalar if op == "/" and scalar.is_number:
            return adapt(operand, F64)
        case scalar if scalar == FLOAT_LITERAL or scalar.is_float:
            return adapt(operand, F64)
        case scalar if scalar == INT_LITERAL or (scalar.is_integer and scalar != U64):
            return adapt(operand, I64)
        case _:
            return operand


def ticks_cast(operand: Expr, target: Scalar, span: Span) -> Expr:
    """Make `target(operand)` where one of both is a time or a duration."""
    if target == TIME and isinstance(operand, Time | EventBound):
        return as_time(operand)
    if isinstance(operand, Const) and is_untyped(operand.type):
        return _literal_ticks(operand, target, span)
    operand = finish(operand, "the operand")
    operand_type = operand.type
    if isinstance(operand_type, Struct) or not castable(operand_type, target):
        raise QueryError(
            "E0201",
            f"no cast from {operand_type} to {target}",
            operand.span,
            "a time minus a time is a duration, a time plus a duration a time; their "
            "ticks are i64(...)",
        )
    return operand if operand_type == target else Cast(operand, target, span)


def _literal_ticks(operand: Const, target: Scalar, span: Span) -> Expr:
    if not isfinite(operand.number):
        return Phi(target, span)
    low, high = int_range(target)
    return Const(min(max(round(operand.number), low), high), target, span)


def no_number(scalar: Scalar, span: Span, what: str) -> QueryError:
    """Make the error that a function of numbers is given a time or a duration."""
    message = f"{what} takes numbers, not {scalar}"
    return QueryError("E0201", message, span, "its ticks are i64(...) and f64(...)")


def no_ticks_reduction(reduction: str, element: Expr) -> QueryError:
    """Make the error that a time or a duration has no such reduction."""
    hint = "reduce its ticks, i64(...) or f64(...)"
    if element.type == TIME:
        *names, last = [rule.name for rule in REDUCTIONS.values() if rule.times]
        hint = f"times have {', '.join(names)} and {last}; or "
        hint += "reduce durations, like x - time(0)"
    message = f"{reduction} does not take {element.type}"
    return QueryError("E0201", message, element.span, hint)
