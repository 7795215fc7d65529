"""References of an object that its loop follows: points, windows, reductions."""

from collections.abc import Container, Iterable, Iterator
from typing import Literal

from tiltpy.ir.cuts import event_bounds, expressions, inlined_values, leaf_cuts
from tiltpy.ir.nodes import (
    At,
    CutPoint,
    CutTime,
    CutWindow,
    Element,
    EventBound,
    Expr,
    Field,
    Reduce,
    TemporalExpr,
    Window,
)
from tiltpy.ir.traversal import children, sees_more, walk


def references(definition: TemporalExpr) -> tuple[list[CutPoint], list[Window]]:
    """The distinct points and windows of an object's body and cuts.

    Not the windows that only have elements that see the present (`present_folds`).
    """
    points: dict[CutPoint, None] = {}
    windows: dict[Window, None] = {}
    for node in _nodes(definition):
        match node:
            case At() | EventBound():
                points.setdefault(node.point)
            case Reduce() if not sees_more(node):
                windows.setdefault(node.window)
            case _:
                pass
    for cut in leaf_cuts(definition.cuts):
        match cut:
            case CutPoint():
                points.setdefault(cut)
            case CutWindow():
                if not sees_more(cut):
                    windows.setdefault(cut.window)
            case CutTime():
                pass
    return list(points), list(windows)


def reductions(definition: TemporalExpr) -> list[Reduce]:
    """The distinct reductions that see values of their snapshots alone."""
    return [node for node in _reductions(definition) if not sees_more(node)]


def present_reductions(definition: TemporalExpr) -> list[Reduce]:
    """The distinct reductions that see more: the present, or cuts of open windows."""
    return [node for node in _reductions(definition) if sees_more(node)]


def present_folds(definition: TemporalExpr) -> list[tuple[Window, Expr]]:
    """The windows that are reduced by an element that sees the present, or by bounds.

    Those whose results another element sees come first.
    """
    folds: dict[tuple[Window, Expr], None] = {}

    def collect(expr: Expr) -> None:
        for child in children(expr):
            collect(child)
        if isinstance(expr, Reduce) and sees_more(expr):
            folds.setdefault((expr.window, expr.element))

    for expr in expressions(definition):
        collect(expr)
    for cut in leaf_cuts(definition.cuts):
        if isinstance(cut, CutWindow) and sees_more(cut):
            folds.setdefault((cut.window, cut.element))
    return list(folds)


def _reductions(definition: TemporalExpr) -> dict[Reduce, None]:
    nodes = _nodes(definition)
    return dict.fromkeys(node for node in nodes if isinstance(node, Reduce))


def _nodes(definition: TemporalExpr) -> Iterator[Expr]:
    """Yield the nodes of an object's body and cuts, those in elements among them."""
    return (node for expr in expressions(definition) for node in walk(expr))


def fields_read(definitions: Iterable[TemporalExpr]) -> dict[str, frozenset[str]]:
    """Find the fields that are read of each object; not of those read as a whole."""
    reads: dict[str, set[str | None]] = {}

    def collect(expr: Expr, window: str) -> None:
        match expr:
            case Field(operand=At(object=name), name=field):
                reads.setdefault(name, set()).add(field)
            case Field(operand=Element(), name=field):
                reads.setdefault(window, set()).add(field)
            case At(object=name):
                reads.setdefault(name, set()).add(None)
            case Element():
                reads.setdefault(window, set()).add(None)
            case Reduce():
                for child in children(expr):
                    collect(child, expr.window.object)
            case _:
                for child in children(expr):
                    collect(child, window)

    for definition in definitions:
        collect(definition.body, "")
        for value in inlined_values(definition.cuts):
            collect(value, "")
        for cut in leaf_cuts(definition.cuts):
            if isinstance(cut, CutWindow):
                collect(cut.element, cut.window.object)
    return {
        name: frozenset(field for field in fields if field is not None)
        for name, fields in reads.items()
        if None not in fields
    }


def derived_bounds(
    definition: TemporalExpr, rows: Container[str]
) -> tuple[tuple[str, Literal["start", "end"]], ...]:
    """The derived objects of which it sees where snapshots start, or where they end.

    Not of `rows`: those of inputs and row objects have bounds of their own.
    """
    nodes = (n for n in event_bounds(definition) if n.object not in rows)
    return tuple(dict.fromkeys((node.object, node.which) for node in nodes))


def uses_time(definition: TemporalExpr) -> bool:
    """Return whether a cut makes every cell a snapshot."""
    return any(isinstance(cut, CutTime) for cut in leaf_cuts(definition.cuts))
