"""Typed constructors of literals and operators, for texts and for Python alike.

Each takes operands that may still be untyped (see `widening.py`), applies the typing
rules of the language reference, and raises a `QueryError` where they are broken; so do
`functions.py`, `structs.py` and `reductions.py`. Times and durations are in `ticks.py`.
"""

from collections.abc import Callable
from functools import partial

from tiltpy.errors import QueryError, QueryErrors, collect_errors
from tiltpy.ir.construct.literals import (
    LIMIT,
    fold_arithmetic,
    fold_comparison,
    out_of_range,
)
from tiltpy.ir.construct.ticks import negate_duration, no_number, ticks_arithmetic
from tiltpy.ir.construct.widening import adapt, common_type, finish, is_untyped
from tiltpy.ir.nodes import Binary, Const, Exists, Expr, If, Phi, Unary
from tiltpy.ir.temporal_types import beside_times, is_temporal
from tiltpy.messages import article
from tiltpy.ops import COMPARISON, LOGICAL, BinaryOp, UnaryOp
from tiltpy.source import Span
from tiltpy.types import (
    BOOL,
    DURATION,
    F64,
    FLOAT_LITERAL,
    INT_LITERAL,
    PHI,
    STRING,
    TIME,
    Scalar,
    Struct,
    Type,
)


def number(value: float, span: Span) -> Const:
    """Make a number literal, untyped until it meets a typed operand."""
    if isinstance(value, int) and abs(value) > LIMIT:
        raise out_of_range(span)
    return Const(value, INT_LITERAL if isinstance(value, int) else FLOAT_LITERAL, span)


def string(value: str, span: Span) -> Const:
    """Make a string literal."""
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise QueryError(
            "E0004",
            "half of a surrogate pair is no character of a string",
            span,
            "write the character itself, or its code point",
        )
    return Const(value, STRING, span)


def is_bare_phi(expr: Expr) -> bool:
    """Tell whether an expression is `φ` itself: `x != φ` asks for existence."""
    return isinstance(expr, Phi) and expr.type == PHI


def unary(op: UnaryOp, operand: Expr, span: Span) -> Expr:
    """Make `-operand` of a number, or `!operand` of a bool."""
    if op == "!":
        return Unary(op, _bool(operand, "`!`"), BOOL, span)
    scalar = common_type([operand], span)
    if is_bare_phi(operand):
        return operand
    if isinstance(operand, Const) and is_untyped(scalar):
        return number(-operand.number, span)
    if scalar == DURATION:
        return negate_duration(operand, span)
    require_number(scalar, operand, "`-`")
    return Unary(op, operand, scalar, span)


def binary(op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr:
    """Make `left op right`, with the operands widened to one type."""
    if op in LOGICAL:
        sides = check_sides(lambda side: _bool(side, f"`{op}`"), left, right)
        return Binary(op, sides[0], sides[1], BOOL, span)
    if op in COMPARISON:
        return _comparison(op, *beside_times(left, right), span)
    if is_temporal(left.type) or is_temporal(right.type):
        return ticks_arithmetic(op, left, right, span)
    return _arithmetic(op, left, right, span)


def _comparison(op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr:
    if op in ("==", "!=") and (is_bare_phi(left) or is_bare_phi(right)):
        existence = exists(left if is_bare_phi(right) else right, span)
        return existence if op == "!=" else Unary("!", existence, BOOL, span)
    if left.type == BOOL != right.type and _is_comparison(left):
        message = f"`a < b {op} c` compares a bool with {article(right.type)}"
        raise QueryError("E0201", message, span, f"write a < b && b {op} c")
    scalar = common_type([left, right], span)
    if is_untyped(scalar):
        if isinstance(left, Const) and isinstance(right, Const):
            sides = left.number, right.number
            return Const(fold_comparison(op, *sides), BOOL, span)
        return _comparison(op, *_finish_both(left, right, scalar), span)
    return Binary(op, adapt(left, scalar), adapt(right, scalar), BOOL, span)


def _is_comparison(expr: Expr) -> bool:
    return isinstance(expr, Binary) and expr.op in COMPARISON


def _finish_both(left: Expr, right: Expr, scalar: Scalar) -> tuple[Expr, Expr]:
    """Type two untyped operands of which one at least is no plain literal."""
    sides = adapt(left, scalar), adapt(right, scalar)
    return finish(sides[0], "the left side"), finish(sides[1], "the right side")


def _arithmetic(op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr:
    check_sides(lambda side: require_own_number(side, f"`{op}`"), left, right)
    scalar = common_type([left, right], span)
    if is_bare_phi(left) and is_bare_phi(right):
        return left
    if is_untyped(scalar) and isinstance(left, Const) and isinstance(right, Const):
        value = fold_arithmetic(op, left.number, right.number, span)
        if value is not None:
            return number(value, span)
    if op == "/" and not scalar.is_float:
        scalar = float_of(scalar)
    return Binary(op, adapt(left, scalar), adapt(right, scalar), scalar, span)


def float_of(scalar: Scalar) -> Scalar:
    """Find the type that `/` and the functions of floats make of another number's."""
    return FLOAT_LITERAL if is_untyped(scalar) else F64


def check_sides(check: Callable[[Expr], Expr], left: Expr, right: Expr) -> list[Expr]:
    """Check both sides of an operator; if both have the same fault, say it once."""
    try:
        return collect_errors(partial(check, side) for side in (left, right))
    except QueryErrors as both:
        if len({error.message for error in both.errors}) == 1:
            raise both.errors[0] from None
        raise


def require_own_number(operand: Expr, what: str) -> Expr:
    """Refuse an operand of `what` that is no number, time, duration or φ by itself."""
    scalar = common_type([operand], operand.span)
    if not scalar.is_temporal:
        require_number(scalar, operand, what)
    return operand


def require_number(scalar: Scalar, operand: Expr, what: str) -> None:
    """Refuse an operand of `what` that is no number and no bare φ."""
    if scalar.is_temporal:
        raise no_number(scalar, operand.span, what)
    if not scalar.is_number and scalar != PHI:
        hint = "cast it, like i64(...), or use && || ! on bools"
        if scalar == STRING:
            hint = "strings are compared, and asked: contains(s, ...), s in (...)"
            if what == "`+`":
                hint = "strings are joined by concat(a, b)"
        raise QueryError(
            "E0201", f"{what} takes numbers, not {operand.type}", operand.span, hint
        )


def _bool(operand: Expr, what: str) -> Expr:
    if operand.type == PHI:
        return adapt(operand, BOOL)
    if operand.type != BOOL:
        joins = what == "`||`" and operand.type == STRING
        joined = "; strings are joined by concat(a, b)" if joins else ""
        raise QueryError(
            "E0201",
            f"{what} takes a bool, not {article(operand.type)}",
            operand.span,
            "compare it, like " + comparison_of(operand.type) + joined,
        )
    return operand


def comparison_of(type: Type) -> str:
    """Write a comparison that makes a bool of a value of that type, for a hint."""
    ways = {STRING: '... == "view"', DURATION: "... > 0s", TIME: "... < t"}
    return ways.get(type, "... != 0") if isinstance(type, Scalar) else "... != 0"


def conditional(condition: Expr, then: Expr, otherwise: Expr, span: Span) -> Expr:
    """Make `condition ? then : otherwise`, with the branches widened to one type."""
    condition = _bool(condition, "the condition of `?`")
    branches = (then, otherwise)
    structs = [b.type for b in branches if isinstance(b.type, Struct)]
    if not structs:
        then, otherwise = beside_times(then, otherwise)
        scalar = common_type([then, otherwise], span)
        return If(condition, adapt(then, scalar), adapt(otherwise, scalar), span)
    target = structs[0]
    for branch in branches:
        if branch.type not in (target, PHI):
            raise QueryError(
                "E0201",
                f"the branches of `?` are {then.type} and {otherwise.type}",
                branch.span,
                "give both the same fields of the same types in the same order",
            )
    return If(condition, adapt(then, target), adapt(otherwise, target), span)


def exists(operand: Expr, span: Span) -> Expr:
    """Make `operand != φ`."""
    return Exists(finish(operand, "the operand"), BOOL, span)
