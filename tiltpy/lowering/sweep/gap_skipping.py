"""Which times a loop need not visit: those at which its object is φ for certain.

`~x[t] - mean(~x[t-10s : t])` is φ wherever `~x` is. Where the events of `~x` are far
apart, most changes of the window fall between them: the loop goes from event to event.
"""

from collections.abc import Callable
from itertools import islice
from typing import TypeVar

from tiltpy.emit.builder import Assembly, Block
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import Leaf, Lowered, lower_expr, phi
from tiltpy.ir.nodes import (
    At,
    CutPoint,
    Element,
    EventBound,
    Expr,
    Reduce,
    TemporalExpr,
    Time,
    Window,
)
from tiltpy.ir.traversal import walk
from tiltpy.loops.build import FALSE
from tiltpy.loops.nodes import Var
from tiltpy.lowering.sweep.cursors import gapless
from tiltpy.types import BOOL, Struct, Type

Reference = TypeVar("Reference", CutPoint, Window)
FEW, TRIED = 8, 20_000
"""As many references are tried in every body, and so many nodes of bodies with more."""


def skipped_points(
    definition: TemporalExpr, objects: dict[str, ObjectRows]
) -> tuple[CutPoint, ...]:
    """The points to whose snapshots a loop keeps.

    To step over a short gap, a visit without a branch, is cheaper than to skip it. So
    only events of one tick are worth it, and loops that do not step anyway.
    """
    steps = definition.tdom.precision == 1

    def pays(rows: ObjectRows) -> bool:
        if gapless(rows):
            return False
        return rows.layout.points or not (steps and rows.disjoint)

    strict = strict_points(definition)
    return tuple(point for point in strict if pays(objects[point.object]))


def strict_points(definition: TemporalExpr) -> tuple[CutPoint, ...]:
    """The points of an object's body without which it is φ, in order."""
    return _strict(
        definition,
        lambda node: (
            CutPoint(node.object, node.offset)
            if isinstance(node, At | EventBound)
            else None
        ),
    )


def strict_windows(definition: TemporalExpr) -> tuple[Window, ...]:
    """The windows of an object's body that must not be empty, or it is φ, in order."""
    return _strict(
        definition, lambda node: node.window if isinstance(node, Reduce) else None
    )


def _strict(
    definition: TemporalExpr, reference: Callable[[Expr], Reference | None]
) -> tuple[Reference, ...]:
    """The references of one kind without which a body is φ; of many, the first."""
    body = definition.body
    nodes = tuple(walk(body))
    references = dict.fromkeys(filter(None, map(reference, nodes)))
    trial = Block(Assembly({}))
    return tuple(
        one
        for one in islice(references, max(FEW, TRIED // len(nodes)))
        if lower_expr(trial, _without(one), body).valid == FALSE
    )


def _without(reference: CutPoint | Window) -> Leaf:
    """Reads of time of which only one thing is known: a reference sees nothing."""

    def leaf(node: At | EventBound | Reduce | Time | Element) -> Lowered:
        match node:
            case At() | EventBound() if CutPoint(node.object, node.offset) == reference:
                return phi(node.type)
            case Reduce(window=window) if window == reference:
                counts = node.reduction == "count"
                return _unknown(node.type) if counts else phi(node.type)
            case _:
                return _unknown(node.type)

    return leaf


def _unknown(payload: Type) -> Lowered:
    there = Var("there", BOOL)
    if isinstance(payload, Struct):
        fields = tuple(_unknown(scalar) for _, scalar in payload.fields)
        return Lowered(payload, None, there, fields)
    return Lowered(payload, Var("some", payload), there)
