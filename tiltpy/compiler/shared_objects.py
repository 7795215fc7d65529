"""Shared objects: what all keys see is computed once, and not key by key.

Before:

    input x by k : f64 time ts
    input y : f64 time ts
    ~out[t] = ~x[t] - mean(~y[t-1h : t])

After, in a query of objects without keys and in one by key, which has them as inputs:

    ~mean[t] = mean(~y[t-1h : t])

    ~out[t] = ~x[t] - ~mean[t]

Results are the same to the bit, since the rows of a window alone say in which order
they are folded. A kernel by key would fold windows over `~y` for each key anew.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tiltpy.compiler.output_selection import select_outputs
from tiltpy.ir.cuts import event_bounds, leaf_cuts, reads
from tiltpy.ir.keys import Keys, object_keys
from tiltpy.ir.nodes import At, CutTime, Expr, Input, Local, Query, Reduce, TemporalExpr
from tiltpy.ir.traversal import rewrite, sees_present, source_cuts, walk
from tiltpy.lean_dataclass import dataclass
from tiltpy.ops import REDUCTIONS
from tiltpy.passes.analyses.substitution import Names
from tiltpy.types import Scalar, Struct, TDom, Type


@dataclass(frozen=True, slots=True)
class SeparateQueries:
    """The query of the objects that all keys share, and the one by key over them."""

    objects: Query
    keyed: Query


def separate_shared(query: Query) -> SeparateQueries | None:
    """Separate the objects that fold windows and that all keys of outputs see.

    None where there are none.
    """
    known = object_keys(query.inputs, query.definitions)
    if all(known.values()) or not any(known[name] for name in query.outputs):
        return None
    names = Names(set(known))
    definitions: list[TemporalExpr] = []
    for definition in query.definitions:
        if known[definition.name]:
            apart, definition = _name_folds(definition, known, names)  # noqa: PLW2901
            definitions += apart
        definitions.append(definition)
    known = object_keys(query.inputs, definitions)
    shared = _list_shared(definitions, known)
    if not shared:
        return None
    whole = replace(query, definitions=tuple(definitions))
    inputs = tuple(Input(each.name, each.type) for each in shared)
    others = tuple(each for each in definitions if each not in shared)
    keyed = replace(whole, inputs=query.inputs + inputs, definitions=others)
    return SeparateQueries(
        select_outputs(whole, tuple(each.name for each in shared)),
        select_outputs(keyed, query.outputs),
    )


def _name_folds(
    definition: TemporalExpr, known: Mapping[str, Keys], names: Names
) -> tuple[list[TemporalExpr], TemporalExpr]:
    """Make objects of the folds of a definition by key that all keys share."""
    tdom = definition.tdom
    if tdom.calendar is not None or tdom.cells is not None:
        return [], definition
    if definition.cuts != source_cuts(definition.body):
        return [], definition
    own = TDom() if tdom.rows is not None else tdom
    made: dict[Reduce, TemporalExpr] = {}

    def rule(node: Expr) -> Expr:
        if not isinstance(node, Reduce) or not _is_shared(node, known):
            return node
        if node not in made:
            name = names.fresh(f"{definition.name}_{node.reduction}")
            made[node] = TemporalExpr(
                name, own, node, source_cuts(node), span=definition.span
            )
        return At(made[node].name, 0, node.type, span=node.span)

    body = rewrite(definition.body, rule)
    if not made:
        return [], definition
    return [*made.values()], replace(definition, body=body, cuts=source_cuts(body))


def _is_shared(node: Reduce, known: Mapping[str, Keys]) -> bool:
    """Decide whether a fold is the same for all keys, and φ only without rows."""
    window = node.window
    free = any(isinstance(each, Local) for each in walk(node.element))
    return (
        not any(known[name] for name in window.objects)
        and window.is_fixed
        and window.cells is None
        and window.look is None
        and not (window.by_row or node.bounds or free or sees_present(node.element))
        and node.reduction in REDUCTIONS
        and isinstance(node.type, Scalar)
        and _is_plain(node.type)
    )


def _list_shared(
    definitions: list[TemporalExpr], known: Mapping[str, Keys]
) -> list[TemporalExpr]:
    """List the objects without keys that objects by key see at points, and that fold.

    Where snapshots start and end is another matter: they are cut where keys end.
    """
    by_name = {each.name: each for each in definitions}
    keyed = [each for each in definitions if known[each.name]]
    bounded = {node.object for each in keyed for node in event_bounds(each)}
    windows = {
        name
        for each in keyed
        for node in walk(each.body)
        if isinstance(node, Reduce)
        for name in node.window.objects
    }
    rows = {each.tdom.rows or each.tdom.cells for each in keyed}
    read = dict.fromkeys(name for each in keyed for name in reads(each))
    return [
        by_name[name]
        for name in read
        if not known[name]
        and name in by_name
        and name not in bounded | windows | rows
        and by_name[name].tdom.rows is None
        and _is_plain(by_name[name].type)
        and _pays(by_name, name)
    ]


def _pays(by_name: Mapping[str, TemporalExpr], name: str) -> bool:
    """Decide whether an object folds windows, and has few snapshots.

    One that uses the time as a number has one in each cell, and keys need few of them.
    """
    read = [*_definitions(by_name, name)]
    timed = any(CutTime() in leaf_cuts(each.cuts) for each in read)
    nodes = (node for each in read for node in walk(each.body))
    return not timed and any(isinstance(node, Reduce) for node in nodes)


def _definitions(
    by_name: Mapping[str, TemporalExpr], name: str
) -> Iterator[TemporalExpr]:
    """Yield the definition of an object, and those of what it reads."""
    definition = by_name.get(name)
    if definition is not None:
        yield definition
        for each in reads(definition):
            yield from _definitions(by_name, each)


def _is_plain(payload: Type) -> bool:
    """Decide whether a payload has no strings, and no structs in structs."""
    fields = [one for _, one in payload.fields] if isinstance(payload, Struct) else []
    return all(
        isinstance(one, Scalar) and one.kind != "string" for one in fields or [payload]
    )
