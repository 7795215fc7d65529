"""Types that meet: the common type of operands, and expressions brought to a type.

An expression of literals alone stays untyped (`INT_LITERAL`, `FLOAT_LITERAL`), and so
does a bare φ (`PHI`), until it meets a typed operand; `adapt` then gives it that type
all the way down. Typed operands are widened by an explicit `Cast`. The rules are those
of the language reference.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isinf

from tiltpy.errors import QueryError
from tiltpy.ir.construct.literals import out_of_range
from tiltpy.ir.nodes import (
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    If,
    Phi,
    Unary,
)
from tiltpy.source import Span
from tiltpy.types import (
    DURATION,
    F32,
    F64,
    FLOAT_LITERAL,
    I8,
    I16,
    I32,
    I64,
    INT_LITERAL,
    PHI,
    STRING,
    TIME,
    U64,
    Scalar,
    Struct,
    Type,
    int_range,
)

_SIGNED = (I8, I16, I32, I64)


def is_untyped(type: Type) -> bool:
    """Tell whether a type is still a literal's or φ's."""
    return isinstance(type, Scalar) and type.kind in ("literal", "phi")


def common_type(operands: Sequence[Expr], span: Span) -> Scalar:
    """Find the type that scalar operands widen to; a literal or φ type if all are."""
    result: Scalar = PHI
    for operand in operands:
        if not is_untyped(operand.type):
            result = _join(result, _scalar(operand), span, operands)
    for operand in operands:
        if is_untyped(operand.type):
            result = _join_untyped(result, operand, operands, span)
    return result


def _scalar(operand: Expr) -> Scalar:
    if isinstance(operand.type, Struct):
        first = operand.type.fields[0][0]
        raise QueryError(
            "E0201",
            f"a struct {operand.type} is given where a scalar was expected",
            operand.span,
            f"take one of its fields, like .{first}",
        )
    return operand.type


def _join(
    left: Scalar, right: Scalar, span: Span, operands: Sequence[Expr] = ()
) -> Scalar:
    """Find the type that holds both types' values, as far as one does.

    `operands` are all those that meet; without them both types are numbers'.
    """
    if left in (right, PHI):
        return right
    if STRING in (left, right):
        other = right if left == STRING else left
        hint = (
            'compare strings with strings, like ... == "view"; what the data holds as '
        )
        hint += "numbers is declared as such"
        if other == TIME:
            hint = 'write time("2024-01-01") for a time'
        elif other == DURATION:
            hint = "write a duration without quotes, like 10s"
        raise QueryError("E0201", f"string and {other} cannot be combined", span, hint)
    if left.is_temporal or right.is_temporal:
        raise no_common(operands, span)
    if "bool" in (left.kind, right.kind):
        other = right if left.kind == "bool" else left
        raise QueryError(
            "E0201",
            f"bool and {other} cannot be combined",
            span,
            f"cast the bool, like {other}(...), or compare the number with 0",
        )
    if left.is_float or right.is_float:
        return _join_float(left, right)
    return _join_integers(left, right, span)


def no_common(
    operands: Sequence[Expr], span: Span, wanted: Scalar | None = None
) -> QueryError:
    """Make the error that a time or a duration among operands meets another type.

    `wanted` is the type that a number of ticks has there, by default that of the other.
    """
    typed = [operand for operand in operands if not is_untyped(operand.type)]
    ticks = next(_scalar(x) for x in typed if _is_temporal(x))
    others = [x for x in operands if x.type != PHI and not _is_temporal(x)]
    other = others[0].type if others else next(x.type for x in typed if x.type != ticks)
    if not others:
        hint = "a time minus a time is a duration, a time plus a duration a time"
    else:
        number = others[0].span.quote("...")
        wanted = wanted or ticks
        hint = f"write {wanted}({number}) for that many ticks"
        if wanted == DURATION and number.isdecimal():
            hint += f", or a unit, like {number}s"
        hint += f"; the ticks of a {ticks} are i64(...)"
    met = "a number" if others and is_untyped(other) else other
    message = f"{ticks} and {met} cannot be combined"
    return QueryError("E0201", message, span, hint)


def _is_temporal(operand: Expr) -> bool:
    return isinstance(operand.type, Scalar) and operand.type.is_temporal


def _join_float(left: Scalar, right: Scalar) -> Scalar:
    if left.is_float and right.is_float:
        return F64
    number, other = (left, right) if left.is_float else (right, left)
    # Every 8- and 16-bit integer is an f32; wider ones need the 53 bits of an f64.
    return number if other.bits <= 16 else F64


def _join_integers(left: Scalar, right: Scalar, span: Span) -> Scalar:
    if left.kind == right.kind:
        return left if left.bits >= right.bits else right
    signed, unsigned = (left, right) if left.kind == "int" else (right, left)
    if unsigned == U64:
        raise QueryError(
            "E0201",
            f"no integer type holds both u64 and {signed}",
            span,
            "cast one of them, like i64(...), or both, like f64(...)",
        )
    return next(s for s in _SIGNED if s.bits > unsigned.bits and s.bits >= signed.bits)


def _join_untyped(
    type: Scalar, operand: Expr, operands: Sequence[Expr], span: Span
) -> Scalar:
    """Find the type of an operand (typed, a literal or φ) that meets an untyped one.

    `operands` are all those that meet, for the error.
    """
    if operand.type == PHI:
        return type
    if type == PHI:
        return _scalar(operand)
    if type == STRING:
        raise QueryError(
            "E0201",
            "string and a number cannot be combined",
            operand.span,
            'write the number in quotes, like "10", if the data holds it as text',
        )
    if type.kind == "bool":
        raise QueryError(
            "E0201",
            "bool and a number cannot be combined",
            span,
            "cast the bool, like i64(...), or write true or false",
        )
    if type.is_temporal:
        raise no_common(operands, span)
    if type.kind == "literal":
        both = (type, operand.type)
        return FLOAT_LITERAL if FLOAT_LITERAL in both else INT_LITERAL
    values = [c.number for c in literals(operand)]
    if operand.type == FLOAT_LITERAL:
        fits = type.is_float and not any(_overflows(v, type) for v in values)
        return type if fits else F64
    if type.is_float:
        exact = all(to_f32(value) == value for value in values)
        return type if exact else F64
    for value in values:
        type = _join_value(type, int(value), span)  # noqa: A001
    return type


def _overflows(value: float, type: Scalar) -> bool:
    return type == F32 and isinf(to_f32(value)) and not isinf(value)


def _join_value(type: Scalar, value: int, span: Span) -> Scalar:
    low, high = int_range(type)
    return type if low <= value <= high else _join(type, smallest(value, span), span)


def smallest(value: int, span: Span) -> Scalar:
    """Find the smallest signed type that holds a value, u64 past those."""
    for scalar in (*_SIGNED, U64):
        low, high = int_range(scalar)
        if low <= value <= high:
            return scalar
    raise out_of_range(span)


def literals(expr: Expr) -> Iterator[Const]:
    """Go through the literals that make up an untyped expression."""
    match expr:
        case Const() if is_untyped(expr.type):
            yield expr
        case If(then=then, otherwise=otherwise):
            yield from literals(then)
            yield from literals(otherwise)
        case Unary(operand=operand):
            yield from literals(operand)
        case Binary(left=left, right=right):
            yield from literals(left)
            yield from literals(right)
        case Call(arguments=arguments):
            for argument in arguments:
                yield from literals(argument)
        case _:
            pass


def finish(expr: Expr, name: str) -> Expr:
    """Type the literals of an expression: i64 (u64 if need be) and f64.

    `name` says what it is the value of, for the error that φ alone has no type.
    """
    if expr.type == PHI:
        raise QueryError(
            "E0204",
            f"φ has no type of its own, so {name} has none",
            expr.span,
            "say which, like f64(φ)",
        )
    if expr.type == FLOAT_LITERAL:
        return adapt(expr, F64)
    if expr.type == INT_LITERAL:
        wide = any(smallest(int(c.number), c.span) == U64 for c in literals(expr))
        return adapt(expr, U64 if wide else I64)
    return expr


def adapt(expr: Expr, target: Type) -> Expr:
    """Bring an expression to a type that `common_type` found for it."""
    if expr.type == target:
        return expr
    match expr:
        case Phi():
            return Phi(target, expr.span)
        case If() if is_untyped(expr.type):
            then, otherwise = adapt(expr.then, target), adapt(expr.otherwise, target)
            return replace(expr, then=then, otherwise=otherwise)
    assert isinstance(target, Scalar), f"{expr.type} cannot become {target}"
    if not is_untyped(expr.type):
        return Cast(expr, target, expr.span)
    match expr:
        case Const():
            return convert_constant(expr, target)
        case Unary():
            return replace(expr, operand=adapt(expr.operand, target), type=target)
        case Binary():
            left, right = adapt(expr.left, target), adapt(expr.right, target)
            return replace(expr, left=left, right=right, type=target)
        case Call():
            arguments = tuple(adapt(a, target) for a in expr.arguments)
            return replace(expr, arguments=arguments, type=target)
        case _:
            raise AssertionError(f"an untyped {type(expr).__name__}")


def convert_constant(const: Const, target: Scalar) -> Const:
    """Bring a constant to a type that `common_type` found for it."""
    if const.type == target:
        return const
    value = convert(const.number, target, const.span)
    return Const(value, target, const.span)


def convert(value: float, target: Scalar, span: Span) -> int | float:
    """Convert a literal's value to a type that it takes."""
    if target == INT_LITERAL:
        return int(value)
    if target == F32:
        return to_f32(value)
    if not target.is_integer:
        return float(value)
    low, high = int_range(target)
    if not low <= value <= high:
        raise QueryError(
            "E0203", f"{value} is beyond the range of {target}", span, "cast it"
        )
    return int(value)


def to_f32(value: float) -> float:
    """Round to the nearest f32 (infinite beyond its range)."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
