"""Restarts by key: windows of all the past over keys that are behind one another.

The rows of concatenated keys follow those of other keys, and a window of all the past
would take them all in. It restarts before the rows of each key: an input that nobody
declared is true there. So

    ~o[t] = ~x[t] / sum(~x[-∞ : t])

becomes

    ~o[t] = ~x[t] / sum(~x[since ~key.starts : t])
"""

from dataclasses import replace

from tiltpy.ir.cuts import leaf_cuts, reads
from tiltpy.ir.nodes import (
    Cut,
    CutWindow,
    Expr,
    InlinedCut,
    Input,
    Query,
    Reduce,
    Since,
    TemporalExpr,
    Window,
)
from tiltpy.ir.traversal import rewrite
from tiltpy.plan.definedness import strict_points
from tiltpy.types import ALL_PAST, BOOL

KEY_STARTS = "key.starts"
"""The input that has a true row before the rows of each key; no query can name it."""


def restarts_by_key(query: Query) -> bool:
    """Tell whether a query has windows that can restart with each key."""
    return any(
        isinstance(cut, CutWindow) and _restarts(cut.window)
        for definition in query.definitions
        for cut in leaf_cuts(definition.cuts)
    )


def restart_by_key(query: Query) -> Query:
    """Let windows of all the past begin with the rows of their key."""
    keys = next(declared.keys for declared in query.inputs if declared.keys)
    starts = Input(KEY_STARTS, BOOL, keys=keys)
    return replace(
        query,
        inputs=(*query.inputs, starts),
        definitions=tuple(map(_restart, query.definitions)),
    )


def _restarts(window: Window) -> bool:
    """Tell whether a window folds on, and goes by time."""
    return window.folds_on and window.limit is None and not window.by_row


def _restart(definition: TemporalExpr) -> TemporalExpr:
    def limit(window: Window) -> Window:
        return replace(window, limit=Since(KEY_STARTS)) if _restarts(window) else window

    def rule(node: Expr) -> Expr:
        if isinstance(node, Reduce):
            return replace(node, window=limit(node.window))
        return node

    def cut(old: Cut) -> Cut:
        match old:
            case CutWindow():
                element = rewrite(old.element, rule)
                return replace(old, window=limit(old.window), element=element)
            case InlinedCut():
                return InlinedCut(rewrite(old.value, rule), tuple(map(cut, old.cuts)))
            case _:
                return old

    body = rewrite(definition.body, rule)
    return replace(definition, body=body, cuts=tuple(map(cut, definition.cuts)))


def ends_with_rows(query: Query, name: str) -> bool:
    """Tell whether an object is φ some time after the last row of a key.

    What folds on holds its last value until the next restart, unless it is φ without a
    row. A window that restarts may hold no other object: it would see that value.
    """
    definition = query.definition(name)
    if definition is None or definition.tdom.rows is not None:
        return True
    if any(ends_with_rows(query, each.object) for each in strict_points(definition)):
        return True
    windows = (c.window for c in leaf_cuts(definition.cuts) if isinstance(c, CutWindow))
    if any(window.start == ALL_PAST for window in windows):
        return False
    return all(ends_with_rows(query, each) for each in reads(definition))
