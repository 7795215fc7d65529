"""Times in Python: what stands for a length of time, a time or a bound of a domain."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta

import numpy as np

from tiltpy.argument_checks import check_argument
from tiltpy.errors import QueryError
from tiltpy.frontend.hints.numbers import hint_text
from tiltpy.frontend.python.caller_span import caller_span
from tiltpy.frontend.python.expressions import Expression, Provenance, lift
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.durations import is_duration, parse_duration
from tiltpy.frontend.surface.print import format_syntax
from tiltpy.lean_dataclass import dataclass
from tiltpy.source import Span
from tiltpy.types import STEPS

NAME = re.compile(r"[^\W\d]\w*'*")

Length = str | int | timedelta | np.timedelta64
"""A length of time: "10s", a number of ticks, or a `timedelta`."""


@dataclass(frozen=True, slots=True, repr=False)
class CalendarArgument:
    """The precision of a time domain over a calendar, made by `calendar`."""

    syntax: syntax.CalendarPrecision
    provenance: Provenance

    def __repr__(self) -> str:
        return format_syntax(self.syntax)


@dataclass(frozen=True, slots=True, repr=False)
class CellsArgument:
    """The precision of a time domain over intervals, made by `cells_of`."""

    syntax: syntax.InputCells
    provenance: Provenance

    def __repr__(self) -> str:
        return format_syntax(self.syntax)


def calendar(step: str, zone: str | Expression | None = None) -> CalendarArgument:
    """Make the precision of a time domain of dates: cells of a calendar.

    The step is "1d", "1w" (from Monday), "1mo", "1q", "1y", or several of one kind; the
    zone is one like "Europe/Berlin", by default UTC. `x[t - cells(1) : t]` is the cell.
    """
    span = caller_span()
    check_argument("step", step, str, 'a step like "1mo"')
    match = _STEP.fullmatch(step)
    steps = [each for each in STEPS if match is not None and match[2] == each]
    if match is None or not steps or not int(match[1]):
        message = f'"{step[:40]}" is no step of a calendar'
        hint = 'days, weeks, months, quarters, years: "1d", "1w", "1mo", "1q", "1y"'
        raise QueryError("E0206", message, span, hint)
    text = None if zone is None else lift(zone)
    count = syntax.CalendarStep(int(match[1]), steps[0], span)
    written = None if text is None else text.syntax
    provenance = Provenance() if text is None else text.provenance
    return CalendarArgument(syntax.CalendarPrecision(count, written, span), provenance)


def cells_of(object: Expression) -> CellsArgument:
    """Make the precision of a time domain whose cells are the intervals of an input.

    An object over it has nothing between them. `x[t - cells(1) : t]` is the interval.
    """
    span = caller_span()
    match object:
        case Expression(syntax=syntax.Ref(object=name, start=None)):
            cells = syntax.InputCells(name, span)
            return CellsArgument(cells, object.provenance)
        case _:
            message = f"cells_of takes a source, found {object!r}"
            hint = "like cells_of(session), of session = source(...)"
            raise QueryError("E0111", message, span, hint)


def cells(count: int) -> Expression:
    """Count cells of a time domain, in the earlier bound of a window."""
    check_argument("count", count, int, "a number of cells")
    return Expression(syntax.CellCount(count, caller_span()))


_STEP = re.compile(r"(\d{1,9})(d|w|mo|q|y)")


def lift_time(value: object) -> Expression:
    """Lift a Python value that stands for a time: its strings are durations."""
    lifted = lift(value)
    return replace(lifted, syntax=_read_durations(lifted.syntax))


def _read_durations(node: syntax.Expr) -> syntax.Expr:
    match node:
        case syntax.Text(value=value, span=span) if is_duration(value):
            return parse_duration(value, span)
        case syntax.Text(value=value, span=span):
            message = f'"{value[:40]}" is no duration'
            raise QueryError("E0004", message, span, hint_text(value))
        case syntax.InfixOperation(left=left, right=right):
            return replace(
                node, left=_read_durations(left), right=_read_durations(right)
            )
        case syntax.PrefixOperation(operand=operand):
            return replace(node, operand=_read_durations(operand))
        case _:
            return node


def write_bound(
    bound: Length | date | np.datetime64 | Expression | None,
    infinite: float,
    span: Span,
) -> Expression:
    """Write a bound of a time domain: a time, a name, or `infinite` for None."""
    if bound is None:
        number = syntax.Number(abs(infinite), span)
        negative = syntax.PrefixOperation("-", number, span)
        return Expression(number if infinite > 0 else negative)
    if isinstance(bound, str) and not is_duration(bound):
        if not NAME.fullmatch(bound):
            message = f'"{bound}" is no bound of a time domain'
            hint = "ticks, a duration, or a name: run(name=...) gives it, stamps too"
            raise QueryError("E0111", message, span, hint)
        return Expression(syntax.Name(bound, span))
    return lift_time(bound)
