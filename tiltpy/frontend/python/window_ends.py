"""Ends of windows in Python: all the past, the last rows, restarts, as-of looks.

    x[:t]              x[tilt.last_rows(20) : t]     x[tilt.since(c) : t]
    x["last" : t]      x[t : "next" : "5m"]          x["last" : tilt.strict(t)]
    x["nearest" : t]   x[:tilt.row(e)]

A third part of a slice is the distance that `within` gives in a text.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tiltpy.errors import QueryError
from tiltpy.frontend.hints.python import translate_hint
from tiltpy.frontend.hints.windows import hint_end
from tiltpy.frontend.python.caller_span import caller_span
from tiltpy.frontend.python.expressions import Expression, Value, combine
from tiltpy.frontend.python.times import lift_time
from tiltpy.frontend.surface import syntax
from tiltpy.messages import nearest_spelling
from tiltpy.source import Span

if TYPE_CHECKING:
    from tiltpy.frontend.python.builder import Object

NEAREST = "nearest"
WORDS = "last", "next", NEAREST
"""The ends of as-of looks."""


def last_rows(count: Value) -> Expression:
    """Begin a window at the last `count` rows: `x[last_rows(20) : t]`."""
    rows = lift_time(count)
    return combine(syntax.RowsEnd(rows.syntax, caller_span()), [rows])


def since(condition: Object) -> Expression:
    """Begin a window at the latest start of a true snapshot: `x[since(c) : t]`."""
    return _restart(condition, after=False)


def after(condition: Object) -> Expression:
    """Begin a window behind the latest start of a true snapshot: `x[after(c) : t]`."""
    return _restart(condition, after=True)


def _restart(condition: Object, *, after: bool) -> Expression:
    span = caller_span()
    node = condition.syntax if isinstance(condition, Expression) else None
    if not isinstance(node, syntax.Ref) or node.start is not None:
        word = "after" if after else "since"
        raise QueryError(
            "E0201",
            f"{word}() takes a temporal object of bools",
            span,
            'define one, like c = tilt.define("c", t, x[t] > 0)',
        )
    here = replace(node, span=span)  # not where the object was declared
    return combine(syntax.RestartEnd(here, after, span), [condition])


def strict(time: Value) -> Expression:
    """Leave a time itself out of an as-of look: `x["last" : tilt.strict(t)]`."""
    bound = lift_time(time)
    return combine(syntax.Strict(bound.syntax, caller_span()), [bound])


def row(time: Value) -> Expression:
    """End a window with the row itself, in tie order: `x[:row(e)]`."""
    bound = lift_time(time)
    return combine(syntax.RowEnd(bound.syntax, caller_span()), [bound])


def lift_end(bound: object, span: Span) -> Expression:
    """Lift an end of a window: a time, or one of `WORDS`; None is -∞."""
    if bound is None or (isinstance(bound, float) and bound == float("-inf")):
        infinite = syntax.Number(float("inf"), span)
        return Expression(syntax.PrefixOperation("-", infinite, span))
    if isinstance(bound, str) and bound in WORDS:
        return Expression(syntax.Name(bound, span))
    if isinstance(bound, str) and (hint := _hint_text(bound)):
        message = f'"{bound}" is no end of a window'
        raise QueryError("E0109", message, span, hint)
    return lift_time(bound)


def _hint_text(text: str) -> str:
    """Hint what to write instead of an end of a window as a text has it."""
    match text.split():
        case ["last", count] if count.isdecimal():
            return f"write tilt.last_rows({count})"
        case [("since" | "after") as word, *_]:
            return f"write tilt.{word}(c), where c is an object of bools"
        case [word] if nearest := nearest_spelling(word, WORDS):
            return f'did you mean "{nearest}"?'
        case _:
            return translate_hint(hint_end(text, "t"))


def check_time(time: object, name: str, span: Span) -> None:
    """Refuse the name of a field as the time of a reference to the object `name`."""
    if not isinstance(time, str) or not time.isidentifier():
        return
    if time not in WORDS and not _hint_text(time):
        message = f'"{time}" is no time'
        hint = f"a field comes after the time: {name}[t].{time}"
        raise QueryError("E0109", message, span, hint)
