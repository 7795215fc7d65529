"""Reductions: which round, and in which blocks; the clauses of user-defined ones."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

from tiltpy.ir.nodes import (
    At,
    Call,
    Const,
    Element,
    EventBound,
    Expr,
    Local,
    Query,
    Reduce,
    Time,
    UserReduction,
)
from tiltpy.ir.traversal import walk
from tiltpy.ops import REDUCTIONS
from tiltpy.types import I64, NANOSECONDS, Scalar, Type, Unit, columns, int_range

STATE = "state"
START, END = "start", "end"
OLDER, NEWER = "a", "b"
Bound = Literal["start", "end"]
CLAUSES = ("init", "acc", "deacc", "merge", "result")
"""In the order in which they are written."""
OUTSIDE = At | EventBound | Time | Reduce | Element
"""Nodes that no clause of a reduction may have: references beyond its own names."""


def rounds(node: Reduce) -> bool:
    """Tell whether the bits of a reduction may depend on the order of additions."""
    rule = REDUCTIONS.get(node.reduction)
    if rule is None:  # a user may add up anything
        return True
    if rule.result in ("sum", "i64"):
        return isinstance(node.type, Scalar) and node.type.is_float
    if node.reduction == "mean" and isinstance(node.element.type, Scalar):
        # Of integers of fewer bits the sum is exact, which doubles are of no others.
        return node.element.type.is_float or node.element.type.bits == 64
    return rule.additive or rule.moments > 0


def block_ticks(unit: Unit | None) -> int:
    """Choose the ticks of a block in which windows that fold on add floats up.

    The power of two next to an hour, or 4,096 ticks. It decides how sums associate, so
    it follows from the query alone.
    """
    if unit is None:
        return 1 << 12
    ticks = NANOSECONDS["h"] // NANOSECONDS[unit]
    return 1 << max(12, ticks.bit_length())


def picked_bound(reduction: UserReduction) -> Bound | None:
    """Find the bound that a reduction picks: the latest end, or the earliest start."""
    state, older, newer = (Local(name, I64) for name in (STATE, OLDER, NEWER))
    first, last = int_range(I64)
    bounds: tuple[tuple[Bound, str, int], ...] = (
        ("start", "min", last),
        ("end", "max", first),
    )
    for bound, function, nothing in bounds:
        picks = replace(
            reduction,
            init=Const(nothing, I64),
            acc=Call(function, (state, Local(bound, I64)), I64),
            merge=Call(function, (older, newer), I64),
            result=state,
        )
        if reduction == picks:
            return bound
    return None


def adds_floats(query: Query) -> bool:
    """Tell whether the bits of any object may depend on the order of additions."""
    return any(
        isinstance(node, Reduce) and rounds(node)
        for definition in query.definitions
        for node in walk(definition.body)
    )


def clauses(reduction: UserReduction) -> Iterator[tuple[str, Expr]]:
    """Yield the clauses that a reduction has, by name."""
    for name in CLAUSES:
        clause: Expr | None = getattr(reduction, name)
        if clause is not None:
            yield name, clause


def map_clauses(
    reduction: UserReduction, rule: Callable[[Expr], Expr]
) -> UserReduction:
    """Apply a rule to each clause of a reduction."""
    return replace(
        reduction,
        init=rule(reduction.init),
        acc=rule(reduction.acc),
        deacc=None if reduction.deacc is None else rule(reduction.deacc),
        merge=None if reduction.merge is None else rule(reduction.merge),
        result=rule(reduction.result),
    )


def names_in(
    clause: str, state: Type | None, parameter: str, element: Type, *, bounds: bool
) -> dict[str, Type]:
    """Map the names that a clause sees to their types.

    `state` is None while the type of the state is not known, `element` the type of
    `parameter`; with `bounds` the clause sees the event's as well.
    """
    if state is None or clause == "init":
        return {}
    if clause == "merge":
        return {OLDER: state, NEWER: state}
    if clause == "result":
        return {STATE: state}
    seen: dict[str, Type] = {STATE: state, parameter: element}
    if bounds:
        seen |= {START: I64, END: I64}
    return seen


def state_scalars(state: Type) -> tuple[Scalar, ...]:
    """List the scalars that a state is made of."""
    return tuple(scalar for _, scalar in columns(state))
