"""Duration literals: `10s`, `250ms`, `1h30m`, `0.1s`, exact in nanoseconds."""

import re
from datetime import timedelta
from fractions import Fraction

import numpy as np

from tiltpy.errors import QueryError
from tiltpy.frontend.surface.syntax import DurationLiteral, Expr, Text
from tiltpy.frontend.surface.timestamps import length_of
from tiltpy.limits import MAX_DIGITS
from tiltpy.source import Span
from tiltpy.types import NANOSECONDS, Unit

_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|ms|s|m|h|d)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")
_NUMBER = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def is_duration(text: str) -> bool:
    """Tell whether a text reads as a duration literal."""
    return _WHOLE.fullmatch(text) is not None


def is_number(text: str) -> bool:
    """Tell whether a text reads as a number literal."""
    return _NUMBER.fullmatch(text) is not None


def parse_duration(text: str, span: Span) -> DurationLiteral:
    """Parse a duration literal, which must be a whole number of nanoseconds."""
    parts = _PART.findall(text)
    if len(parts) > MAX_DIGITS or any(len(n) > MAX_DIGITS for n, _ in parts):
        raise QueryError(
            "E0302", "a duration of this many digits is out of range", span
        )
    total = sum(
        (Fraction(number) * NANOSECONDS[unit] for number, unit in parts), Fraction()
    )
    if total.denominator != 1:
        raise QueryError(
            "E0110",
            f"{text} is not a whole number of nanoseconds, the finest unit",
            span,
        )
    coarsest = min(NANOSECONDS[unit] for _, unit in parts)
    return DurationLiteral(int(total), find_finest(int(total), coarsest), span)


def read_as_duration(node: Expr) -> DurationLiteral | None:
    """Read a string of Python's that stands beside a time or a duration as one."""
    match node:
        case Text(value=value, in_python=True) if is_duration(value):
            return parse_duration(value, node.span)
        case _:
            return None


def from_timedelta(delta: timedelta | np.timedelta64, span: Span) -> DurationLiteral:
    """Convert a duration of Python or numpy, in the coarsest unit that holds it."""
    nanoseconds = length_of(delta)
    return DurationLiteral(
        nanoseconds, find_finest(nanoseconds, NANOSECONDS["d"]), span
    )


def find_finest(nanoseconds: int, coarsest: int) -> int:
    """Find the unit a literal needs: `coarsest`, or a finer one that divides it."""
    return next(
        length
        for length in sorted(NANOSECONDS.values(), reverse=True)
        if length <= coarsest and nanoseconds % length == 0
    )


def unit_of_length(nanoseconds: int) -> Unit:
    """Find the unit of that many nanoseconds."""
    return next(unit for unit, length in NANOSECONDS.items() if length == nanoseconds)
