"""Which times a loop need not visit: those at which its object is φ for certain.

`~x[t] - mean(~x[t-10s : t])` is φ wherever `~x` is. Where the events of `~x` are far
apart, most changes of the window fall between them: the loop goes from event to event.
"""

from itertools import islice

from tiltpy.ir.nodes import (
    At,
    CutPoint,
    Element,
    EventBound,
    Reduce,
    TemporalExpr,
    Time,
)
from tiltpy.ir.traversal import walk
from tiltpy.loops.build import FALSE
from tiltpy.loops.nodes import Var
from tiltpy.lowering.assembly import Assembly, Block
from tiltpy.lowering.cursors import gapless
from tiltpy.lowering.rows import ObjectRows
from tiltpy.lowering.values import Leaf, Lowered, lower_expr, phi
from tiltpy.types import BOOL, Struct, Type

FEW, TRIED = 8, 20_000
"""As many points are tried in every body, and so many nodes of bodies with more."""


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
    body = definition.body
    nodes = tuple(walk(body))
    points = (
        CutPoint(node.object, node.offset)
        for node in nodes
        if isinstance(node, At | EventBound)
    )
    trial = Block(Assembly({}))
    return tuple(
        point
        for point in islice(dict.fromkeys(points), max(FEW, TRIED // len(nodes)))
        if lower_expr(trial, _without(point), body).valid == FALSE
    )


def _without(point: CutPoint) -> Leaf:
    """Reads of time of which nothing is known but that a point sees nothing."""

    def leaf(node: At | EventBound | Reduce | Time | Element) -> Lowered:
        match node:
            case At() | EventBound() if CutPoint(node.object, node.offset) == point:
                return phi(node.type)
            case _:
                return _unknown(node.type)

    return leaf


def _unknown(payload: Type) -> Lowered:
    there = Var("there", BOOL)
    if isinstance(payload, Struct):
        fields = tuple(_unknown(scalar) for _, scalar in payload.fields)
        return Lowered(payload, None, there, fields)
    return Lowered(payload, Var("some", payload), there)
