"""Values of parameters that are set outside of a query, as its literals."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from numbers import Integral, Real
from typing import TypeVar

import numpy as np

from tiltpy.argument_checks import check_argument
from tiltpy.errors import ArgumentError, QueryError, TiltError
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.durations import (
    from_timedelta,
    is_duration,
    parse_duration,
)
from tiltpy.frontend.surface.size_limits import source_of
from tiltpy.frontend.surface.timestamps import nanoseconds_of, parse_stamp
from tiltpy.frontend.text.program import read_expression
from tiltpy.messages import closest
from tiltpy.source import Source, Span
from tiltpy.types import STRING

T = TypeVar("T")
EXPECTED = {
    "duration": "a duration, like '30s'",
    "time": "a time, like '2026-03-01 08:00'",
}
"""Words for the value that a parameter of a type expects, beside the type's name."""


def read_values(
    program: syntax.Program, values: Mapping[str, object] | None
) -> dict[str, syntax.Expr]:
    """Read the values of a query's parameters by name.

    They are numbers, bools, lengths and instants of Python and numpy, ticks (whole
    numbers) for durations, or texts that are read as the language's own literals, like
    "30s", or are a stamp; those of strings are taken as they are.
    """
    given = {} if values is None else values
    check_argument("params", given, Mapping, "a dict, like {'width': '30s'}")
    if program.errors:  # which are reported instead
        return {}
    declared = {node.name.text: node for node in parameters(program)}
    for name in given:
        if name not in declared:
            raise _unknown_parameter_error(name, list(declared))
    read = {name: _read_value(declared[name], value) for name, value in given.items()}
    for name, expr in read.items():
        if isinstance(expr, syntax.Name) and expr.text not in declared:
            raise _other_kind_error(declared[name], expr.text)
    return read


def parameters(program: syntax.Program) -> list[syntax.Param]:
    """List the declarations of parameters."""
    return [node for node in program.statements if isinstance(node, syntax.Param)]


def _unknown_parameter_error(name: object, known: Sequence[str]) -> TiltError:
    nearest = closest(str(name), known)
    hint = f"; did you mean '{nearest}'?" if nearest else ""
    there = ", ".join(known) or "none"
    return TiltError(
        f"no parameter '{name}' in this query; its parameters: {there}{hint}"
    )


def _other_kind_error(param: syntax.Param, text: str) -> TiltError:
    expected = EXPECTED.get(param.type.text, param.type.text)
    return TiltError(
        f"parameter '{param.name.text}': expected {expected}, found '{text}'"
    )


def _read_value(param: syntax.Param, value: object) -> syntax.Expr:
    name, span = param.name.text, param.name.span
    if isinstance(value, str):
        return _read_text(value, source_of(f"parameter {name}", value), param)
    match value:
        case bool() | np.bool_():
            return syntax.Bool(bool(value), span)
        case timedelta() | np.timedelta64():  # which numpy counts among the integers
            return _read_time(name, partial(from_timedelta, value, span))
        case Integral():
            return syntax.Number(int(value), span)
        case Real():
            try:
                return syntax.Number(float(value), span)
            except OverflowError:
                message = f"parameter '{name}': {value} is beyond the range of f64"
                raise TiltError(message) from None
        case date() | np.datetime64():
            instant = _read_time(name, partial(nanoseconds_of, value))
            return syntax.Moment(instant, span)
        case _:
            kind = type(value).__name__
            raise ArgumentError(
                f"parameter '{name}': a {kind} is no number, bool, string, duration or "
                "time"
            )


def _read_text(text: str, source: Source, param: syntax.Param) -> syntax.Expr:
    span = Span(source, 0, len(text))
    if param.type.text == STRING.name:
        return syntax.Text(text, span)
    if (nanoseconds := parse_stamp(text)) is not None:
        return syntax.Moment(nanoseconds, span)
    if is_duration(text):
        return parse_duration(text, span)
    try:
        return read_expression(source)
    except QueryError:
        if param.type.text not in EXPECTED or "(" in text:
            raise
        raise _other_kind_error(param, text) from None


def _read_time(name: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except TiltError as error:
        raise TiltError(f"parameter '{name}': {error}") from None
