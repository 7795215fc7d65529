"""Traversal of cuts: what an object's snapshots depend on, and the objects read."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import assert_never

from tiltpy.ir.nodes import (
    At,
    Cut,
    CutPoint,
    CutTime,
    CutWindow,
    EventBound,
    Expr,
    InlinedCut,
    Reduce,
    TemporalExpr,
)
from tiltpy.ir.traversal import sees_present, walk

LeafCut = CutPoint | CutWindow | CutTime
"""A cut that is no `InlinedCut`."""


def leaf_cuts(cuts: tuple[Cut, ...]) -> Iterator[LeafCut]:
    """Yield the cuts themselves and those inside inlined ones, in order."""
    for cut in cuts:
        match cut:
            case CutPoint() | CutWindow() | CutTime():
                yield cut
            case InlinedCut():
                yield from leaf_cuts(cut.cuts)
            case _:
                assert_never(cut)


def inlined_values(cuts: tuple[Cut, ...]) -> Iterator[Expr]:
    """Yield the values of the inlined cuts, outer ones first."""
    for cut in cuts:
        if isinstance(cut, InlinedCut):
            yield cut.value
            yield from inlined_values(cut.cuts)


def map_cuts(cuts: tuple[Cut, ...], rule: Callable[[Expr], Expr]) -> tuple[Cut, ...]:
    """Apply a rule to each expression in some cuts (elements, values).

    Cuts that become equal become one.
    """
    return tuple(dict.fromkeys(_map_cut(cut, rule) for cut in cuts))


def _map_cut(cut: Cut, rule: Callable[[Expr], Expr]) -> Cut:
    match cut:
        case CutPoint() | CutTime():
            return cut
        case CutWindow():
            return replace(cut, element=rule(cut.element))
        case InlinedCut():
            return InlinedCut(rule(cut.value), map_cuts(cut.cuts, rule))
        case _:
            assert_never(cut)


def map_definition(
    definition: TemporalExpr, rule: Callable[[Expr], Expr]
) -> TemporalExpr:
    """Apply a rule to the body of a definition and within its cuts."""
    cuts = map_cuts(definition.cuts, rule)
    return replace(definition, body=rule(definition.body), cuts=cuts)


def expressions(definition: TemporalExpr) -> Iterator[Expr]:
    """Yield the body, and what is carried only to cut.

    The values of inlined objects, and elements that see the present.
    """
    yield definition.body
    yield from inlined_values(definition.cuts)
    for cut in leaf_cuts(definition.cuts):
        if isinstance(cut, CutWindow) and sees_present(cut.element):
            yield cut.element


def event_bounds(definition: TemporalExpr) -> Iterator[EventBound]:
    """Yield the places where a definition sees where snapshots start or end."""
    for expr in expressions(definition):
        for node in walk(expr):
            if isinstance(node, EventBound):
                yield node


def reads(definition: TemporalExpr) -> tuple[str, ...]:
    """Name the objects that a definition refers to, each once.

    Those are the one whose rows or intervals it stands over, and those in its body and
    cuts.
    """
    rows = definition.tdom.rows or definition.tdom.cells
    names: dict[str, None] = {} if rows is None else {rows: None}
    for cut in leaf_cuts(definition.cuts):
        match cut:
            case CutPoint():
                names.setdefault(cut.object)
            case CutWindow():
                names.update(dict.fromkeys(cut.window.objects))
            case CutTime():
                pass
    for expr in expressions(definition):
        for node in walk(expr):
            match node:
                case At() | EventBound():
                    names.setdefault(node.object)
                case Reduce():
                    names.update(dict.fromkeys(node.window.objects))
                case _:
                    pass
    return tuple(names)


def readers_of(
    definitions: Iterable[TemporalExpr],
) -> dict[str, list[TemporalExpr]]:
    """Return the definitions that refer to each object to which any does, in order."""
    readers: dict[str, list[TemporalExpr]] = {}
    for definition in definitions:
        for name in reads(definition):
            readers.setdefault(name, []).append(definition)
    return readers
