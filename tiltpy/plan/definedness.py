"""References without which the body of an object is φ for certain.

`~x[t] - mean(~x[t-10s : t])` is φ wherever `~x` is. Where the events of `~x` are far
apart, most changes of the window fall between them: the loop goes from event to event.

A body is lowered on trial, over references of which a single fact is known: so the
null rules stand in one place, `emit.values`.
"""

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import TypeVar

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.values import Leaf, LoopValue, Reading, lower_expr, phi
from tiltpy.ir.nodes import (
    At,
    Cut,
    CutPoint,
    CutWindow,
    EventBound,
    Expr,
    Reduce,
    TemporalExpr,
    Window,
)
from tiltpy.ir.traversal import sees_present, walk
from tiltpy.loops.build import FALSE, TRUE
from tiltpy.loops.nodes import Var
from tiltpy.types import BOOL, Struct, Type

Reference = TypeVar("Reference", CutPoint, Window)

FEW, TRIED = 8, 20_000
"""As many references are tried in every body, and so many nodes of bodies with more."""


def strict_points(definition: TemporalExpr) -> tuple[CutPoint, ...]:
    """Find the points of an object's body without which it is φ, in order."""
    return _strict(
        definition,
        lambda node: node.point if isinstance(node, At | EventBound) else None,
    )


def strict_windows(definition: TemporalExpr) -> tuple[Window, ...]:
    """Find the windows of an object's body that must have events, in order."""
    return _strict(
        definition, lambda node: node.window if isinstance(node, Reduce) else None
    )


def is_phi_without_reads(definition: TemporalExpr) -> bool:
    """Decide whether an object is φ where all that it reads is."""
    return _is_phi(definition.body, lambda node: phi(node.type))


def is_never_phi(definition: TemporalExpr) -> bool:
    """Decide whether an object has a value whatever it reads."""
    value = lower_expr(
        trial_block(), lambda node: unknown_value(node.type), definition.body
    )
    return value.valid == TRUE


def exists_by_windows(definition: TemporalExpr) -> bool:
    """Decide whether an object has a value wherever its windows have theirs.

    Whatever else it refers to, if all of that has values, and if nothing has.
    """

    def leaf(node: Reading, other: Callable[[Type], LoopValue]) -> LoopValue:
        return (present_value if isinstance(node, Reduce) else other)(node.type)

    return all(
        lower_expr(trial_block(), partial(leaf, other=other), definition.body).valid
        == TRUE
        for other in (present_value, phi)
    )


def cuts_at_each_row(cut: Cut) -> bool:
    """Decide whether an object is cut where any row comes into a window, or leaves.

    No field of a row is null.
    """
    if not isinstance(cut, CutWindow) or cut.bounds or sees_present(cut.element):
        return False
    value = lower_expr(
        trial_block(), lambda node: present_value(node.type, whole=True), cut.element
    )
    return value.valid == TRUE


def _strict(
    definition: TemporalExpr, reference: Callable[[Expr], Reference | None]
) -> tuple[Reference, ...]:
    """Find the references of one kind without which a body is φ; of many, the first."""
    body = definition.body
    nodes = tuple(walk(body))
    references = dict.fromkeys(filter(None, map(reference, nodes)))
    return tuple(
        candidate
        for candidate in islice(references, max(FEW, TRIED // len(nodes)))
        if _is_phi(body, _without(candidate))
    )


def _is_phi(body: Expr, leaf: Leaf) -> bool:
    return lower_expr(trial_block(), leaf, body).valid == FALSE


def trial_block() -> Block:
    """A block of no kernel, to lower on trial."""
    return Block(KernelBuilder({}))


def _without(reference: CutPoint | Window) -> Leaf:
    """Reading time where one reference sees nothing; of the others nothing is known."""

    def leaf(node: Reading) -> LoopValue:
        match node:
            case At() | EventBound() if node.point == reference:
                return phi(node.type)
            case Reduce(window=window) if window == reference:
                counts = node.reduction == "count"
                return unknown_value(node.type) if counts else phi(node.type)
            case _:
                return unknown_value(node.type)

    return leaf


def unknown_value(payload: Type) -> LoopValue:
    """Stand for something of which nothing is known."""
    there = Var("there", BOOL)
    if isinstance(payload, Struct):
        fields = tuple(unknown_value(scalar) for _, scalar in payload.fields)
        return LoopValue(payload, None, there, fields)
    return LoopValue(payload, Var("some", payload), there)


def present_value(payload: Type, *, whole: bool = False) -> LoopValue:
    """Stand for something of which nothing is known but that it is not φ.

    Nor are the fields of a struct that is `whole`.
    """
    if isinstance(payload, Struct):
        value = present_value if whole else unknown_value
        fields = tuple(value(scalar) for _, scalar in payload.fields)
        return LoopValue(payload, None, TRUE, fields)
    return LoopValue(payload, Var("some", payload), TRUE)
