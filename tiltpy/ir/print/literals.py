"""Constants as text, and whether a constant's type shows in its text."""

from math import isinf

from tiltpy.ir.construct.widening import to_f32
from tiltpy.ir.nodes import Const, Expr, If, Phi
from tiltpy.types import BOOL, F32, F64, I64, STRING
from tiltpy.visible import quote_string


def is_firm(expr: Expr) -> bool:
    """Tell whether an expression, printed anywhere, has its type by itself."""
    match expr:
        case Const():
            return expr.type in (BOOL, STRING) or expr.type.is_temporal
        case Phi():
            return False
        case If():
            return is_firm(expr.then) or is_firm(expr.otherwise)
        case _:
            return True


def settles(expr: Expr) -> bool:
    """Tell whether bare constants, by themselves, get the expression's type."""
    return expr.type in (I64, F64) and _has_literal(expr)


def _has_literal(expr: Expr) -> bool:
    match expr:
        case If():
            return _has_literal(expr.then) or _has_literal(expr.otherwise)
        case _:
            return isinstance(expr, Const)


def literal(const: Const) -> str:
    """Format a constant's value as a literal (a sign may lead it)."""
    value = const.value
    if isinstance(value, str):
        return quote_string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinf(value):
        return "∞" if value > 0 else "-∞"
    return _shortest(value) if const.type == F32 else repr(value)


def _shortest(value: float) -> str:
    """Format an f32 by the shortest text that reads as the same f32."""
    if value != value:  # noqa: PLR0124 - NaN
        return "nan"
    texts = (repr(float(f"{value:.{digits}g}")) for digits in range(1, 10))
    return next((text for text in texts if to_f32(float(text)) == value), repr(value))
