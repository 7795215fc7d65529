"""Separate states, for streams: whoever reads an output that folds on reads a copy.

Before:

    ~peak[t] = max(~x[-∞ : t])
    ~loss[t] = ~x[t] / ~peak[t]
    output ~peak, ~loss

After, where the copy is then fused into its reader:

    ~peak[t] = max(~x[-∞ : t])
    ~peak_1[t] = max(~x[-∞ : t])
    ~loss[t] = ~x[t] / ~peak_1[t]
    output ~peak, ~loss

States are those of the last time that a call has reached, and a reader may need an
object at times before. Fused, it keeps states of its own.
"""

from dataclasses import replace
from functools import partial

from tiltpy.ir.cuts import leaf_cuts, map_cuts
from tiltpy.ir.nodes import (
    At,
    CutPoint,
    CutWindow,
    EventBound,
    Expr,
    Query,
    TemporalExpr,
)
from tiltpy.ir.traversal import rewrite
from tiltpy.passes.analyses.substitution import Names


def separate_states(query: Query) -> Query:
    """Give each reader of outputs that fold on, as points, copies of its own."""
    names = Names({each.name for each in query.inputs})
    names.taken.update(each.name for each in query.definitions)
    lasting: dict[str, TemporalExpr] = {}
    definitions: list[TemporalExpr] = []
    for definition in query.definitions:
        copies: dict[str, TemporalExpr] = {}
        for name in _list_points(definition):
            if name in lasting and name in query.outputs:
                copies[name] = replace(lasting[name], name=names.fresh(name))
        reader = _read_copies(definition, {n: each.name for n, each in copies.items()})
        definitions += [*copies.values(), reader]
        if _folds_on(definition) or lasting.keys() & _list_points(definition):
            lasting[definition.name] = reader
    if len(definitions) == len(query.definitions):
        return query
    return replace(query, definitions=tuple(definitions))


def _list_points(definition: TemporalExpr) -> dict[str, None]:
    """List the objects that a definition refers to at points, but for rows."""
    points = (cut for cut in definition.cuts if isinstance(cut, CutPoint))
    return dict.fromkeys(point.object for point in points if not point.row)


def _folds_on(definition: TemporalExpr) -> bool:
    return any(
        isinstance(cut, CutWindow) and cut.window.folds_on
        for cut in leaf_cuts(definition.cuts)
    )


def _read_copies(definition: TemporalExpr, copies: dict[str, str]) -> TemporalExpr:
    """Refer to copies instead of objects, at points."""

    def rule(node: Expr) -> Expr:
        if isinstance(node, At | EventBound) and not node.row:
            return replace(node, object=copies.get(node.object, node.object))
        return node

    whole = partial(rewrite, rule=rule)
    cuts = tuple(
        replace(cut, object=copies.get(cut.object, cut.object))
        if isinstance(cut, CutPoint) and not cut.row
        else cut
        for cut in map_cuts(definition.cuts, whole)
    )
    return replace(definition, body=whole(definition.body), cuts=cuts)
