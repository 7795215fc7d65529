"""The parts of a query's own reductions: what each sees, and going through them."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from tiltpy.ir.nodes import (
    At,
    Element,
    EventBound,
    Expr,
    Reduce,
    Time,
    UserReduction,
)
from tiltpy.types import I64, Scalar, Type, columns

STATE = "state"
START, END = "start", "end"
OLDER, NEWER = "a", "b"
PARTS = ("init", "acc", "deacc", "merge", "result")
"""In the order in which they are written."""
OUTSIDE = At | EventBound | Time | Reduce | Element
"""What no part of a reduction refers to: anything beyond its own names."""


def parts(reduction: UserReduction) -> Iterator[tuple[str, Expr]]:
    """The parts that a reduction has, by name."""
    for name in PARTS:
        part: Expr | None = getattr(reduction, name)
        if part is not None:
            yield name, part


def map_parts(reduction: UserReduction, rule: Callable[[Expr], Expr]) -> UserReduction:
    """The reduction with a rule applied to each of its parts."""
    return replace(
        reduction,
        init=rule(reduction.init),
        acc=rule(reduction.acc),
        deacc=None if reduction.deacc is None else rule(reduction.deacc),
        merge=None if reduction.merge is None else rule(reduction.merge),
        result=rule(reduction.result),
    )


def names_in(
    part: str, state: Type | None, parameter: str, element: Type, *, bounds: bool
) -> dict[str, Type]:
    """The names that a part sees; `state` is not known in `init` yet."""
    if state is None or part == "init":
        return {}
    if part == "merge":
        return {OLDER: state, NEWER: state}
    if part == "result":
        return {STATE: state}
    seen: dict[str, Type] = {STATE: state, parameter: element}
    if bounds:
        seen |= {START: I64, END: I64}
    return seen


def state_scalars(state: Type) -> tuple[Scalar, ...]:
    """What a state is made of."""
    return tuple(scalar for _, scalar in columns(state))
