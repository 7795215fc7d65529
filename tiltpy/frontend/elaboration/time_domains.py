"""Elaboration of time domains: `TDom(start, end, precision, offset, left)`."""

from dataclasses import replace
from math import inf

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.tick_constants import (
    Times,
    check_range,
    read_constant,
    to_ticks,
)
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.timestamps import moment_in_ticks
from tiltpy.ir.construct.functions import read_zone
from tiltpy.ir.nodes import Const
from tiltpy.types import MAX_TIME, NANOSECONDS, STRING, TIME, Bound, Calendar, TDom


def read_domain(node: syntax.Domain, times: Times) -> TDom:
    """Read the time domain of `name = TDom(start, end, precision, offset, left)`.

    Of `name = Rows(~object)` and `cells of ~object` the object is not looked at: it may
    be defined later.
    """
    if isinstance(node, syntax.RowDomain):
        return TDom(rows=node.rows.object, nulls=node.nulls, span=node.rows.span)
    start = _read_bound(node.arguments[0], times, -inf)
    end = _read_bound(node.arguments[1], times, inf)
    if isinstance(start, int) and isinstance(end, int) and start > end:
        raise QueryError(
            "E0111",
            "this time domain ends before it starts",
            node.arguments[0].span.join(node.arguments[1].span),
            "the earlier bound comes first",
        )
    if isinstance(node.arguments[2], syntax.CalendarPrecision):
        return _read_calendar(node, node.arguments[2], times, (start, end))
    if isinstance(node.arguments[2], syntax.InputCells):
        cells = node.arguments[2]
        return TDom(start, end, cells=cells.object, span=cells.span)
    precision = read_positive(node.arguments[2], times, "a precision")
    offset = read_constant(node.arguments[3], times) if len(node.arguments) > 3 else 0
    if node.left:  # the grid point of a cell is its last tick
        offset -= 1
    return TDom(start, end, precision, offset % precision, node.left, span=node.span)


def _read_calendar(
    node: syntax.TimeDomain,
    cells: syntax.CalendarPrecision,
    times: Times,
    bounds: tuple[Bound, Bound],
) -> TDom:
    """Read a domain over the cells of a calendar.

    Days and weeks of UTC have one length: they are a grid like others.
    """
    unit = times.unit
    if unit is None:
        message = "a calendar needs to know how long a tick is"
        raise QueryError("E0110", message, cells.span, "write `unit s` at the top")
    zone = "" if cells.zone is None else _read_zone(cells.zone, times)
    if zone and NANOSECONDS[unit] > NANOSECONDS["s"]:
        message = (
            f"dates in a time zone begin at any second, and a tick is 1{unit} here"
        )
        raise QueryError("E0110", message, cells.span, "write `unit s` at the top")
    calendar = Calendar(cells.step.count, cells.step.step, zone, unit)
    if calendar.longest > _LONGEST * NANOSECONDS["d"] // NANOSECONDS[unit]:
        message = "a cell of a calendar is no longer than a thousand years"
        raise QueryError("E0302", message, cells.step.span)
    if zone or calendar.months:
        return TDom(*bounds, left=True, calendar=calendar, span=node.span)
    precision = calendar.longest
    offset = NANOSECONDS["d"] // NANOSECONDS[unit] * calendar.origin
    return TDom(*bounds, precision, (offset - 1) % precision, left=True, span=node.span)


_LONGEST = 1000 * 372
"""The days of a cell, at most."""


def _read_zone(zone: syntax.Expr, times: Times) -> str:
    """Read the time zone of a calendar: a literal or a parameter."""
    match zone:
        case syntax.Text(value=value, span=span):
            return read_zone(Const(value, STRING, span))
        case syntax.Name(text=text) if isinstance(times.params.get(text), Const):
            const = times.params[text]
            assert isinstance(const, Const)
            return read_zone(replace(const, span=zone.span))
        case _:
            message = "a time zone must be a constant"
            hint = 'write a literal, like "Europe/Berlin", or a parameter'
            raise QueryError("E0116", message, zone.span, hint)


def _read_bound(expr: syntax.Expr, times: Times, open_end: float) -> Bound:
    """Read a bound: ticks, the name of a run-time bound, or None for `open_end`."""
    operand, sign = expr, 1
    while isinstance(operand, syntax.Paren | syntax.PrefixOperation):
        sign = -sign if isinstance(operand, syntax.PrefixOperation) else sign
        operand = operand.operand
    match operand:
        case syntax.Number(value=float(value)) if value == inf:
            if sign * value == open_end:
                return None
            side = "start is -∞" if open_end < 0 else "end is ∞"
            hint = "write TDom(-∞, ∞, 1) for all of time"
            raise QueryError("E0111", f"an infinite {side}", expr.span, hint)
        case syntax.Name(text=text) if operand is expr and text not in times.params:
            if text in times.domains:
                message = f"the time variable `{text}` cannot be a bound"
                raise QueryError("E0111", message, expr.span, "bounds are constants")
            return text
        case syntax.Moment() if operand is expr:
            ticks = moment_in_ticks(operand, times.unit)
            return check_range(ticks, expr.span, MAX_TIME)
        case syntax.DurationLiteral() if operand is expr:
            return check_range(to_ticks(operand, times.unit), expr.span, MAX_TIME)
        case syntax.Number(value=int(ticks)):
            return check_range(sign * ticks, expr.span, MAX_TIME)
        case _:
            param = (
                times.params.get(expr.text) if isinstance(expr, syntax.Name) else None
            )
            if isinstance(param, Const) and param.type == TIME:
                return check_range(int(param.value), expr.span, MAX_TIME)
            return read_constant(expr, times)


def read_positive(expr: syntax.Expr, times: Times, what: str) -> int:
    """Read a positive constant number of ticks; errors call it `what`."""
    ticks = read_constant(expr, times)
    if ticks <= 0:
        hint = "write 1, or a duration"
        raise QueryError("E0111", f"{what} is at least one tick", expr.span, hint)
    return ticks
