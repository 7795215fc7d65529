"""Functions of strings, character by character."""

import re

from tiltpy.interpreter.scalars import Atom, cast
from tiltpy.ir.nodes import StringCall
from tiltpy.types import F64

_FLOAT = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?|nan",
    re.IGNORECASE | re.ASCII,
)
_INTEGER = re.compile(r"[+-]?[0-9]+")
_UPPER, _LOWER = {"ß": "ẞ"}, {"İ": "i"}
"""Letters whose other case Python writes with several."""


def call_string(expr: StringCall, operands: list[str]) -> Atom | None:
    """Compute a function of strings; None where it is φ."""
    string = operands[0]
    match expr.function, expr.constants:
        case "lower", _:
            return "".join(map(_lower, string))
        case "upper", _:
            return "".join(map(_upper, string))
        case "trim", _:
            return string.strip()
        case "substr", (start, stop):
            assert not isinstance(start, str)
            assert not isinstance(stop, str)
            return string[start:stop]
        case "split", (str(separator), int(n)):
            parts = string.split(separator)
            return parts[n] if -len(parts) <= n < len(parts) else None
        case "concat", (first, *behind):
            pairs = zip(operands, behind, strict=True)
            return str(first) + "".join(f"{each}{text}" for each, text in pairs)
        case "len", _:
            return len(string)
        case "number", _:
            return _read(string, expr)
        case _:
            raise AssertionError(expr)


def _read(string: str, expr: StringCall) -> Atom | None:
    if expr.type == F64:
        return float(string) if _FLOAT.fullmatch(string) else None
    return cast(int(string), expr.type) if _INTEGER.fullmatch(string) else None


def _lower(letter: str) -> str:
    return _LOWER.get(letter, letter.lower())


def _upper(letter: str) -> str:
    """Write one letter for one: of those that Python writes with several the title."""
    upper = letter.upper()
    if len(upper) > 1:
        title = letter.title()
        return title if len(title) == 1 else _UPPER.get(letter, letter)
    return upper
