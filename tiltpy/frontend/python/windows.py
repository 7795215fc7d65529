"""Calls of reductions: the window or its element, a condition, and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from tiltpy.argument_checks import has_items
from tiltpy.errors import QueryError
from tiltpy.frontend.python.caller_span import caller_span
from tiltpy.frontend.python.expressions import (
    Expression,
    Value,
    call,
    combine,
    lift,
)
from tiltpy.frontend.surface import syntax
from tiltpy.limits import MAX_ELEMENT
from tiltpy.ops import CONVOLVE, REDUCTIONS


def reduce_window(
    name: str,
    x: Value,
    where: Value | None,
    *parameter: Value,
    ddof: int = 0,
    method: str = "linear",
) -> Expression:
    """Call a reduction of a window or its element `x`, with a condition `where`.

    `parameter` is what it takes besides the window, `ddof` that of variances,
    `method` that of quantiles.
    """
    element = filter_element(name, x, where)
    if not isinstance(ddof, int) or ddof:
        return call(name, element, ddof=ddof)
    if not isinstance(method, str) or method != "linear":
        return call(name, element, *parameter, method=method)
    return call(name, element, *parameter)


def reduce_or_call(
    name: str, x: Value, y: Value | None, where: Value | None
) -> Expression:
    """Call a reduction of a window `x`, or the function of two values `x` and `y`."""
    if y is None:
        return reduce_window(name, x, where)
    if where is not None:
        raise QueryError(
            "E0206",
            f"{name} takes one window, with a condition, or two values",
            caller_span(),
            f"write {name}(a, {name}(b, c)) for three",
        )
    return call(name, x, y)


def filter_element(name: str, x: Value, where: Value | None) -> Expression:
    """Make the element of a reduction: `x`, or φ where `where` is not true."""
    element, rule = lift(x), REDUCTIONS.get(name)
    if where is not None:
        span = caller_span()
        if not isinstance(where, Expression | bool):
            hint = f"write ddof={where}" if rule and rule.ddof else "like w > 0"
            if isinstance(where, str | timedelta):
                hint = f'a length is that of a window: {name}(x[t - "{where}" : t])'
            message = f"`where` is a condition, not {where!r}"
            raise QueryError("E0206", message, span, hint)
        condition = lift(where)
        node = syntax.Conditional(
            condition.syntax, element.syntax, syntax.PhiLiteral(span), span
        )
        element = combine(node, [condition, element])
    if element.provenance.size > MAX_ELEMENT:
        raise QueryError(
            "E0303",
            f"the element of this {name} has more than {MAX_ELEMENT:,} parts",
            caller_span(),
            "define an object for what is used many times, and reduce its window",
        )
    return element


def reduce_pair(name: str, x: Value, y: Value, where: Value | None) -> Expression:
    """Call a reduction of two expressions of one window's elements."""
    return call(name, filter_element(name, x, where), y)


def convolve(x: Value, weights: Sequence[float]) -> Expression:
    """The weighted sum of a window's samples, the first weight that of the newest.

    As many samples as weights divide the window among them; φ where one is missing.
    """
    span = caller_span()
    if not has_items(weights):
        message, hint = "the weights are a list", f"write [{weights}]"
        raise QueryError("E0206", message, span, hint)
    values = [lift(weight) for weight in weights]
    listed = syntax.ListLiteral(tuple(value.syntax for value in values), span)
    window = lift(x)
    node = syntax.CallExpression(
        syntax.Word(CONVOLVE, span), (window.syntax, listed), (), span
    )
    return combine(node, [window, *values])
