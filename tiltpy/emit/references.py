"""References of an object that its loop follows: points, windows, reductions."""

from collections.abc import Container
from typing import Literal

from tiltpy.ir.cuts import event_bounds, expressions, leaf_cuts
from tiltpy.ir.nodes import (
    At,
    CutPoint,
    CutTime,
    CutWindow,
    EventBound,
    Reduce,
    TemporalExpr,
    Window,
)
from tiltpy.ir.traversal import walk


def references(definition: TemporalExpr) -> tuple[list[CutPoint], list[Window]]:
    """The distinct points and windows of an object's body and cuts."""
    points: dict[CutPoint, None] = {}
    windows: dict[Window, None] = {}
    for expr in expressions(definition):
        for node in walk(expr):
            match node:
                case At() | EventBound():
                    points.setdefault(node.point)
                case Reduce():
                    windows.setdefault(node.window)
                case _:
                    pass
    for cut in leaf_cuts(definition.cuts):
        match cut:
            case CutPoint():
                points.setdefault(cut)
            case CutWindow():
                windows.setdefault(cut.window)
            case CutTime():
                pass
    return list(points), list(windows)


def reductions(definition: TemporalExpr) -> list[Reduce]:
    """The distinct reductions of an object's body and cuts."""
    nodes = (node for expr in expressions(definition) for node in walk(expr))
    return list(dict.fromkeys(node for node in nodes if isinstance(node, Reduce)))


def derived_bounds(
    definition: TemporalExpr, rows: Container[str]
) -> tuple[tuple[str, Literal["start", "end"]], ...]:
    """The derived objects of which it sees where snapshots start, or where they end.

    Not of `rows`: those of inputs and row objects have bounds of their own.
    """
    nodes = (n for n in event_bounds(definition) if n.object not in rows)
    return tuple(dict.fromkeys((node.object, node.which) for node in nodes))


def uses_time(definition: TemporalExpr) -> bool:
    """Whether a cut makes every cell a snapshot."""
    return any(isinstance(cut, CutTime) for cut in leaf_cuts(definition.cuts))
