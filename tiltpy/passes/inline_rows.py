"""Inline rows: row objects refer to rows of inputs alone.

Before:

    e = Rows(~trades)
    ~value[e] = ~trades[e].price * ~trades[e].size
    ~large[e] = ~value[e] > 1000.0 ? ~value[e] : φ
    f = Rows(~large)
    ~share[f] = ~large[f] / sum(~value[f-1d : f])

After:

    ~value[e] = ~trades[e].price * ~trades[e].size
    ~share[e] = { large = ~trades[e].price * ~trades[e].size > 1000.0 ? ... : φ
                  return large != φ ? large / sum(~value[e-1d : e]) : φ }

A row is where it is in its input, and nowhere else: a kernel goes through the rows of
an input, and has no way to find the one that another object makes of a row. It always
runs. An object with null rows that others read, too, becomes two: null rows are for
outputs, and whoever reads the object sees none. One that windows by row read gets a
copy for these with a row for each row of the input, so that both count alike.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from tiltpy.ir.cuts import map_cuts, reads
from tiltpy.ir.nodes import (
    At,
    Cut,
    CutPoint,
    CutWindow,
    EventBound,
    Exists,
    Expr,
    If,
    Phi,
    Query,
    Reduce,
    Since,
    TemporalExpr,
    Window,
)
from tiltpy.ir.rows import row_roots
from tiltpy.ir.traversal import rewrite, walk
from tiltpy.passes.analyses.substitution import Names, inline_points
from tiltpy.passes.eliminate_dead import drop_definitions
from tiltpy.types import BOOL


def inline_rows(query: Query) -> Query:
    """Replace what row objects see of each other, row by row, by how it is made."""
    if all(definition.tdom.rows is None for definition in query.definitions):
        return query
    roots = row_roots(query)
    made: dict[str, TemporalExpr] = {}
    for definition in query.definitions:
        if definition.tdom.rows is None:
            made[definition.name] = definition
        else:
            made[definition.name] = _inline(definition, made, roots)
    split = replace(query, definitions=tuple(_split_null_rows(query, made)))
    return drop_definitions(_align_rows(split))


def _inline(
    definition: TemporalExpr,
    made: dict[str, TemporalExpr],
    roots: dict[str, str],
) -> TemporalExpr:
    """Stand over the rows of an input, and refer to no row but its own."""
    over = definition.tdom.rows
    assert over is not None
    root = roots[over]
    body, cuts = definition.body, dict.fromkeys(definition.cuts)
    if over != root:
        whole = At(over, 0, made[over].type, row=True)
        exists = Exists(whole, BOOL)
        body = If(exists, body, Phi(body.type))
        cuts.setdefault(whole.point)
    for name, other in made.items():
        own = CutPoint(name, 0, row=True)
        if own not in cuts:
            continue
        inline = partial(_inline_row, other=other, root=root)
        body = inline(body)
        cuts = {
            inner: None
            for cut in map_cuts(tuple(cuts), inline)
            for inner in (other.cuts if cut == own else (cut,))
        }
        if _sees_bounds(body, root):
            cuts.setdefault(CutPoint(root, 0, row=True))
    tdom = replace(definition.tdom, rows=root)
    return replace(definition, tdom=tdom, body=body, cuts=tuple(cuts))


def _inline_row(expr: Expr, other: TemporalExpr, root: str) -> Expr:
    """Replace the row of another object by how it is made, with its input's bounds."""
    name = other.name

    def rule(node: Expr) -> Expr:
        if not isinstance(node, EventBound) or node.object != name or not node.row:
            return node
        exists = Exists(At(name, 0, other.type, row=True), BOOL)
        return If(exists, replace(node, object=root), Phi(node.type), node.span)

    return inline_points(rewrite(expr, rule), name, {0: other.body}, row=True)


def _sees_bounds(body: Expr, root: str) -> bool:
    return any(
        isinstance(node, EventBound) and node.row and node.object == root
        for node in walk(body)
    )


def _split_null_rows(
    query: Query, made: dict[str, TemporalExpr]
) -> Iterator[TemporalExpr]:
    """Give the readers of objects with null rows objects without."""
    read = {name for definition in made.values() for name in reads(definition)}
    others: dict[str, str] = {}
    for name, definition in made.items():
        renamed = _read_others(definition, others)
        if definition.tdom.nulls and name in read:
            others[name] = Names({*made, *(each.name for each in query.inputs)}).fresh(
                name
            )
            tdom = replace(definition.tdom, nulls=False)
            yield replace(renamed, name=others[name], tdom=tdom)
        if name not in others or name in query.outputs:
            yield renamed


def _align_rows(query: Query) -> Query:
    """Give windows by row objects with a row for each row of the input."""
    windows = (
        node.window
        for definition in query.definitions
        for node in walk(definition.body)
        if isinstance(node, Reduce) and node.window.by_row
    )
    inputs = {declared.name for declared in query.inputs}
    read = {name for window in windows for name in window.objects} - inputs
    if not read:
        return query
    others: dict[str, str] = {}
    definitions: list[TemporalExpr] = []
    names = {*inputs, *(definition.name for definition in query.definitions)}
    for definition in query.definitions:
        renamed = _read_others(definition, others, by_row=True)
        definitions.append(renamed)
        if definition.name in read:
            name = Names({*names, *others.values()}).fresh(definition.name)
            others[definition.name] = name
            tdom = replace(definition.tdom, nulls=True)
            definitions.append(replace(renamed, name=name, tdom=tdom))
    return replace(query, definitions=tuple(definitions))


def _read_others(
    definition: TemporalExpr, others: dict[str, str], *, by_row: bool = False
) -> TemporalExpr:
    """Refer to other objects instead of those of the same meaning.

    With `by_row` windows by row do so alone.
    """
    if not others:
        return definition

    def window(old: Window) -> Window:
        if by_row and not old.by_row:
            return old
        limit = old.limit
        if isinstance(limit, Since):
            limit = Since(others.get(limit.object, limit.object))
        return replace(old, object=others.get(old.object, old.object), limit=limit)

    def rule(node: Expr) -> Expr:
        match node:
            case At() | EventBound() if not by_row:
                return replace(node, object=others.get(node.object, node.object))
            case Reduce():
                return replace(node, window=window(node.window))
            case _:
                return node

    def cut(old: Cut) -> Cut:
        match old:
            case CutPoint() if not by_row:
                return replace(old, object=others.get(old.object, old.object))
            case CutWindow():
                return replace(old, window=window(old.window))
            case _:
                return old

    body = rewrite(definition.body, rule)
    return replace(definition, body=body, cuts=tuple(map(cut, definition.cuts)))
