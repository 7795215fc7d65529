"""Elaboration of time domains: `TDom(start, end, precision, offset)`, `Rows(~x)`."""

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
from tiltpy.ir.nodes import Const
from tiltpy.types import MAX_TIME, TIME, Bound, TDom


def read_domain(node: syntax.Domain, times: Times) -> TDom:
    """Read the time domain of `name = TDom(start, end, precision, offset)`.

    Of `name = Rows(~object)` the object is not looked at: it may be defined later.
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
            "the earlier bound stands first",
        )
    precision = read_positive(node.arguments[2], times, "a precision")
    offset = read_constant(node.arguments[3], times) if len(node.arguments) > 3 else 0
    return TDom(start, end, precision, offset % precision, span=node.span)


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
                message = f"the time variable `{text}` as a bound"
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
