"""Queries over concatenated keys, which see nothing beyond the rows of their key.

The rows of concatenated keys follow those of other keys, and a window of all the past
would take them all in; so would the last rows, and a look for the last one. It restarts
before the rows of each key: an input that nobody declared is true there. So

    ~o[t] = ~x[t] / sum(~x[-∞ : t])

becomes

    ~o[t] = ~x[t] / sum(~x[since ~key.starts : t])

Nor do rows have their times: an output has no bounds there, and is cut afterwards.
"""

from collections.abc import Collection
from dataclasses import replace
from functools import partial

from tiltpy.ir.cuts import leaf_cuts, readers_of, reads
from tiltpy.ir.keys import KEY_STARTS
from tiltpy.ir.nodes import (
    Cut,
    CutWindow,
    Expr,
    InlinedCut,
    Input,
    LastRows,
    Query,
    Reduce,
    Since,
    TemporalExpr,
    Window,
)
from tiltpy.ir.traversal import rewrite, sees_present
from tiltpy.plan.definedness import strict_points
from tiltpy.plan.first_rows import begins_with_rows
from tiltpy.types import ALL_FUTURE, ALL_PAST, BOOL


def sees_beyond_keys(query: Query) -> bool:
    """Tell whether a query has windows or bounds that `confine_to_keys` changes."""
    return _confine(query) != query.definitions


def confine_to_keys(query: Query) -> Query:
    """Let windows of all the past begin with the rows of their key.

    An output that nothing else reads has no bounds in time: what lies beyond them is
    cut, as what lies beyond its key is.
    """
    keys = next(declared.keys for declared in query.inputs if declared.keys)
    starts = Input(KEY_STARTS, BOOL, keys=keys)
    inputs = *query.inputs, starts
    return replace(query, inputs=inputs, definitions=_confine(query))


def _confine(query: Query) -> tuple[TemporalExpr, ...]:
    read = readers_of(query.definitions)
    return tuple(
        _restart(query, each)
        if each.name in read or each.tdom.rows is not None
        else _restart(query, _unbound(each))
        for each in query.definitions
    )


def _unbound(definition: TemporalExpr) -> TemporalExpr:
    return replace(definition, tdom=replace(definition.tdom, start=None, end=None))


def _begin(
    query: Query, definition: TemporalExpr, window: Window, element: Expr
) -> Window:
    """Let a window begin with each key, if it can."""
    if window.start > ALL_PAST or window.end == ALL_FUTURE:
        return window
    match window.limit:
        case LastRows() if not sees_present(element):
            return replace(window, origin=KEY_STARTS)
        case Since(object=name) if not (
            window.by_row
            or name == KEY_STARTS
            or begins_with_rows(query, definition, window)
        ):
            return replace(window, origin=KEY_STARTS)
        case None if window.look == "last":
            return replace(window, origin=KEY_STARTS)
        case None if window.look is None and not window.by_row:
            return replace(window, limit=Since(KEY_STARTS))
        case _:
            return window


def _restart(query: Query, definition: TemporalExpr) -> TemporalExpr:
    begin = partial(_begin, query, definition)

    def rule(node: Expr) -> Expr:
        if isinstance(node, Reduce):
            return replace(node, window=begin(node.window, node.element))
        return node

    def cut(old: Cut) -> Cut:
        match old:
            case CutWindow():
                element = rewrite(old.element, rule)
                return replace(old, window=begin(old.window, element), element=element)
            case InlinedCut():
                return InlinedCut(rewrite(old.value, rule), tuple(map(cut, old.cuts)))
            case _:
                return old

    body = rewrite(definition.body, rule)
    return replace(definition, body=body, cuts=tuple(map(cut, definition.cuts)))


def find_ending(query: Query) -> frozenset[str]:
    """Find the objects that are φ some time after the last row of a key.

    What folds on holds its last value until the next restart, unless it is φ without a
    row. A window that restarts may hold no other object: it would see that value.
    """
    ending = {declared.name for declared in query.inputs}
    for definition in query.definitions:
        if _ends(definition, ending):
            ending.add(definition.name)
    return frozenset(ending)


def _ends(definition: TemporalExpr, ending: Collection[str]) -> bool:
    """Tell whether an object ends with the rows of a key, where others are `ending`."""
    if definition.tdom.rows is not None:
        return True
    if any(point.object in ending for point in strict_points(definition)):
        return True
    windows = (c.window for c in leaf_cuts(definition.cuts) if isinstance(c, CutWindow))
    if any(window.start == ALL_PAST for window in windows):
        return False
    return all(name in ending for name in reads(definition))
