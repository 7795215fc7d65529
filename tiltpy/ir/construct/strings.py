"""Typed constructors of strings, and of numbers made of strings.

Operands may still be untyped, and a broken rule is a `QueryError`, as in
`operators.py`. Of constants alone they make constants.
"""

from collections.abc import Sequence

from tiltpy.errors import QueryError
from tiltpy.ir.construct.widening import adapt
from tiltpy.ir.nodes import Cast, Const, Expr, Phi, StringCall
from tiltpy.ops import StringFunction
from tiltpy.source import Span
from tiltpy.string_functions import call_string
from tiltpy.types import F64, I32, I64, PHI, STRING, U64, Scalar, int_range

EXAMPLES: dict[StringFunction, str] = {
    "lower": "lower(~x[t].name)",
    "upper": "upper(~x[t].name)",
    "trim": "trim(~x[t].name)",
    "substr": "substr(~x[t].name, 0, 3)",
    "split": 'split(~x[t].url, "/", 2)',
    "concat": 'concat(~x[t].user, "-", ~x[t].page)',
    "len": "len(~x[t].name)",
}


def string_call(
    function: StringFunction, arguments: Sequence[Expr], span: Span
) -> Expr:
    """Make `function(...)`, such as `lower(s)` or `split(s, "/", 2)`."""
    if function == "concat":
        return _concat([_string(function, each) for each in arguments], span)
    operand, *others = arguments
    string = _string(function, operand)
    constants: tuple[str | int | None, ...] = ()
    if function == "substr":
        constants = _range(others)
    elif function == "split":
        separator, n = others
        constants = _separator(separator), _whole("split", "the number of a part", n)
    scalar = I64 if function == "len" else STRING
    return fold_string_call(StringCall(function, (string,), constants, scalar, span))


def read_number(operand: Expr, target: Scalar, span: Span) -> Expr:
    """Make `target(operand)`: the number that a string is, φ if it is none."""
    widest = F64 if target.is_float else U64 if target == U64 else I64
    read = fold_string_call(StringCall("number", (operand,), (), widest, span))
    return read if widest == target else Cast(read, target, span)


def fold_string_call(expr: StringCall) -> Expr:
    """Compute a call of constants; return any other as it is."""
    values = [each.value for each in expr.operands if isinstance(each, Const)]
    if len(values) < len(expr.operands):
        return expr
    strings = [str(value) for value in values]
    value = call_string(expr.function, expr.constants, strings, expr.type)
    if value is None:
        return Phi(expr.type, expr.span)
    return Const(value, expr.type, expr.span)


def _concat(operands: Sequence[Expr], span: Span) -> Expr:
    """Join strings two by two, and the constants before, between and behind them."""
    strings, fixed = list[Expr](), [""]
    for operand in operands:
        if isinstance(operand, Const):
            fixed[-1] += str(operand.value)
        else:
            strings.append(operand)
            fixed.append("")
    if not strings:
        return Const(fixed[0], STRING, span)
    if len(strings) == 1 and not any(fixed):
        return strings[0]
    return _join(strings, fixed, span)


def _join(strings: Sequence[Expr], fixed: Sequence[str], span: Span) -> Expr:
    """Join strings as a balanced tree; one more constant stands around them."""
    count = len(strings)
    if count == 1:
        return StringCall("concat", tuple(strings), tuple(fixed), STRING, span)
    half = (count + 1) // 2
    sides = strings[:half], strings[half:]
    inner = fixed[1:half], fixed[half + 1 : count]
    operands = tuple(
        side[0] if len(side) == 1 else _join(side, ["", *between, ""], span)
        for side, between in zip(sides, inner, strict=True)
    )
    outer = fixed[0], fixed[half], fixed[count]
    return StringCall("concat", operands, outer, STRING, span)


def _string(function: StringFunction, operand: Expr) -> Expr:
    if operand.type == PHI:
        return adapt(operand, STRING)
    if operand.type == STRING:
        return operand
    message = f"{function}() takes strings, not {operand.type}"
    hint = f"like {EXAMPLES[function]}"
    if function == "concat":
        hint = "no string is made of it: keep it in a field of its own"
    raise QueryError("E0201", message, operand.span, hint)


def _range(bounds: Sequence[Expr]) -> tuple[int, int | None]:
    """Read where a substring starts and where it stops, None for its end."""
    start = _whole("substr", "the first position", bounds[0])
    if len(bounds) == 1:
        return start, None
    length = _whole("substr", "the length", bounds[1])
    if length < 0:
        message = f"substr() of a negative length: {length}"
        hint = "the position may be negative: substr(x, -3) are the last three"
        raise QueryError("E0206", message, bounds[1].span, hint)
    stop = start + length
    return start, None if start < 0 <= stop else stop


def _separator(separator: Expr) -> str:
    if separator.type != STRING:
        message = f"split() takes a separator, not {separator.type}"
        hint = f"like {EXAMPLES['split']}"
        raise QueryError("E0201", message, separator.span, hint)
    if not isinstance(separator, Const):
        message = "the separator of split() is a constant"
        raise QueryError("E0116", message, separator.span, "a literal or a parameter")
    if separator.value == "":
        message = "split() by nothing"
        hint = "substr(x, 2, 1) is one character, the third"
        raise QueryError("E0206", message, separator.span, hint)
    return str(separator.value)


def _whole(function: str, role: str, number: Expr) -> int:
    if not isinstance(number, Const):
        hint = "a literal or a parameter"
        if number.type not in (STRING, PHI):
            message = f"{role} of {function}() is a constant"
            raise QueryError("E0116", message, number.span, hint)
    elif isinstance(number.value, int) and not isinstance(number.value, bool):
        low, high = int_range(I32)
        if low < number.value < high and not number.type.is_temporal:
            return number.value
    message = f"{role} of {function}() is a whole number"
    raise QueryError("E0206", message, number.span, "0 is the first")
