"""Windows of all the past, over objects that go back without end.

A count is 0, and `t` is a number, however far one goes back. What folds all of that
needs a first snapshot: the start of a time domain. All other objects are φ before the
first row of any input.
"""

from collections.abc import Mapping
from dataclasses import replace

from tiltpy.errors import QueryError
from tiltpy.ir.cuts import leaf_cuts
from tiltpy.ir.nodes import (
    At,
    Const,
    CutWindow,
    EventBound,
    Expr,
    IntervalSpan,
    Phi,
    Query,
    Reduce,
    Since,
    TemporalExpr,
    Window,
)
from tiltpy.ir.traversal import rewrite, sees_more, sees_present
from tiltpy.passes.fold_constants import fold_constants
from tiltpy.types import ALL_FUTURE, ALL_PAST, I64


def check_windows(query: Query) -> None:
    """Raise a QueryError if a window would fold snapshots without number."""
    before: dict[str, Expr] = {each.name: Phi(each.type) for each in query.inputs}
    for definition in query.definitions:
        for cut in leaf_cuts(definition.cuts):
            if isinstance(cut, CutWindow):
                _check(cut.window, before)
                tdom, window = definition.tdom, cut.window
                cells = "a calendar" if tdom.calendar else ""
                hint = "define the reduction over ticks, ~y[t] = ..., and read that"
                if isinstance(window.cells, IntervalSpan):
                    cells = f"the cells of ~{window.cells.input}"
                    hint = "give the window a duration, like t - 1h : t"
                if cells and sees_more(cut):
                    sees = "elements that look at the time of the window do"
                    if not sees_present(cut.element):
                        sees = "a reduction that sees where an open window cuts does"
                    raise QueryError(
                        "E0113",
                        f"{sees} not go over {cells} in this version",
                        cut.window.span,
                        hint,
                    )
        value = _value_before(query, definition, before)
        if value is not None:
            before[definition.name] = value


def _check(window: Window, before: Mapping[str, Expr]) -> None:
    names = set()
    if window.start == ALL_PAST or window.limit is not None:
        names.add(window.object)
    if isinstance(window.limit, Since):
        names.add(window.limit.object)
    begins = {name for name, value in before.items() if isinstance(value, Phi)}
    endless = sorted(names - begins)
    if endless:
        name = endless[0]
        raise QueryError(
            "E0109",
            f"~{name} has a value before the first row of any input, so this window "
            "has no beginning",
            window.span,
            f"give the TDom of ~{name} a start, or make it φ where nothing is, like "
            "~x[t] != φ ? ... : φ",
        )


def _value_before(
    query: Query, definition: TemporalExpr, before: Mapping[str, Expr]
) -> Expr | None:
    """Find the value of an object before all rows: φ, a constant, or None: unknown.

    `before` are those of the objects that it refers to.
    """
    if definition.tdom.start is not None or definition.tdom.rows is not None:
        return Phi(definition.type)
    if definition.tdom.cells is not None:
        return Phi(definition.type)

    def rule(node: Expr) -> Expr:
        match node:
            case At() if node.object in before:
                return before[node.object]
            case EventBound() if isinstance(before.get(node.object), Phi):
                return Phi(node.type, node.span)
            case Reduce(window=window) if isinstance(before.get(window.object), Phi):
                if window.end == ALL_FUTURE:
                    return node
                if node.reduction == "count":
                    return Const(0, I64, node.span)
                return Phi(node.type, node.span)
            case _:
                return node

    body = replace(definition, body=rewrite(definition.body, rule))
    (folded,) = fold_constants(replace(query, definitions=(body,))).definitions
    return folded.body if isinstance(folded.body, Phi | Const) else None
