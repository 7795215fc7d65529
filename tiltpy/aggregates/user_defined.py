"""A query's own reductions in a loop: their parts as code, and how each slides.

A state lies in the loop as one number for each of its fields, and a bool beside each
that may be φ. As an `Aggregate` state it also knows whether there is anything in it:
then `merge` is only ever asked of states of one snapshot or more, and `init` need not be
its neutral element.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from functools import lru_cache

from tiltpy.aggregates.aggregate import Aggregate, Lift, State
from tiltpy.emit.builder import Assembly, Block
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue, lower_expr, zero
from tiltpy.ir.nodes import Expr, UserReduction
from tiltpy.ir.reductions import (
    END,
    NEWER,
    OLDER,
    START,
    STATE,
    names_in,
    state_scalars,
)
from tiltpy.loops.build import FALSE, TRUE, conj, disj, negate, select
from tiltpy.loops.nodes import LExpr, Var
from tiltpy.types import BOOL, I64, Scalar, Struct, Type


class Slide(Enum):
    """How a reduction follows its window."""

    EVICT = "slides by `deacc`"
    MERGE = "slides by `merge`"
    CLIP = "slides by `merge`, and merges what the window's edges cut at each visit"
    RECOMPUTE = "folds its window anew at each visit"


def slide_of(
    own: UserReduction, *, in_order: bool = True, disjoint: bool = True
) -> Slide:
    """How a reduction slides; `in_order`: snapshots leave in the order they came in.

    What is taken out of integers leaves no trace, what is taken out of floats may. Of
    `disjoint` snapshots an edge cuts one at most.
    """
    if own.bounds:
        return Slide.CLIP if disjoint and own.merge is not None else Slide.RECOMPUTE
    if in_order and _takes_out(own):
        return Slide.EVICT
    return Slide.RECOMPUTE if own.merge is None else Slide.MERGE


@lru_cache(maxsize=256)
def _takes_out(own: UserReduction) -> bool:
    """Whether `deacc` is exact: of integers alone, of which none may be φ."""
    whole = all(scalar.is_integer for scalar in state_scalars(own.state))
    if own.deacc is None or not whole or any(_gaps(own)):
        return False
    found = _trial(own, "deacc", own.deacc, _gaps(own))
    return all(field.valid == TRUE for field in _fields(found))


# -- states ---------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _gaps(own: UserReduction) -> tuple[bool, ...]:
    """Which fields of the state may be φ, whatever the snapshots are."""
    gaps = (False,) * len(state_scalars(own.state))
    parts = {"init": own.init, "acc": own.acc, "merge": own.merge}
    while True:
        found = [
            [field.valid != TRUE for field in _fields(_trial(own, name, part, gaps))]
            for name, part in parts.items()
            if part is not None
        ]
        wider = tuple(map(any, zip(gaps, *found, strict=True)))
        if wider == gaps:
            return gaps
        gaps = wider


def _trial(
    own: UserReduction, name: str, part: Expr, gaps: tuple[bool, ...]
) -> LoopValue:
    """A part over values of which nothing is known but which may be φ."""
    seen = names_in(name, own.state, own.parameter, own.type, bounds=own.bounds)
    states = (OLDER, NEWER) if name == "merge" else (STATE,)
    env = {
        each: _some_state(own, gaps) if each in states else _some(kind)
        for each, kind in seen.items()
    }
    return _part(Block(Assembly({})), part, env)


def _some(payload: Type) -> LoopValue:
    """A snapshot's value: it is there, but the fields of a struct need not be."""
    if isinstance(payload, Struct):
        there = Var("there", BOOL)
        fields = (replace(_some(scalar), valid=there) for _, scalar in payload.fields)
        return LoopValue(payload, None, TRUE, tuple(fields))
    return LoopValue(payload, Var("some", payload), TRUE)


def _some_state(own: UserReduction, gaps: tuple[bool, ...]) -> LoopValue:
    parts: list[LExpr] = []
    for scalar, gap in zip(state_scalars(own.state), gaps, strict=True):
        parts.append(Var("some", scalar))
        parts += [Var("there", BOOL)] if gap else []
    return _unpacked(own, gaps, tuple(parts))


def _fields(state: LoopValue) -> tuple[LoopValue, ...]:
    """The fields of a state; those of one that is φ are."""
    if not isinstance(state.type, Struct):
        return (state,)
    return tuple(
        replace(field, valid=conj(state.valid, field.valid)) for field in state.fields
    )


def _unpacked(own: UserReduction, gaps: tuple[bool, ...], state: State) -> LoopValue:
    """A state as a value that the parts refer to."""
    waiting = list(state)
    fields = []
    for scalar, gap in zip(state_scalars(own.state), gaps, strict=True):
        value = waiting.pop(0)
        fields.append(LoopValue(scalar, value, waiting.pop(0) if gap else TRUE))
    assert not waiting
    if isinstance(own.state, Struct):
        return LoopValue(own.state, None, TRUE, tuple(fields))
    return fields[0]


def _packed(own: UserReduction, state: LoopValue) -> State:
    """A value that a part gave as a state."""
    parts: list[LExpr] = []
    for field, gap in zip(_fields(state), _gaps(own), strict=True):
        parts += [field.scalar, field.valid] if gap else [field.scalar]
    return tuple(parts)


def types_of(own: UserReduction) -> tuple[Scalar, ...]:
    """What a state lies in."""
    types: list[Scalar] = []
    for scalar, gap in zip(state_scalars(own.state), _gaps(own), strict=True):
        types += [scalar, BOOL] if gap else [scalar]
    return tuple(types)


# -- parts ----------------------------------------------------------------------------


def _part(block: Block, part: Expr, env: Mapping[str, LoopValue]) -> LoopValue:
    def leaf(node: object) -> LoopValue:
        raise AssertionError(f"{node} in a reduction")

    return lower_expr(block, leaf, part, env)


def _state(own: UserReduction, state: State) -> LoopValue:
    return _unpacked(own, _gaps(own), state)


def initial(block: Block, own: UserReduction) -> State:
    """The state of no snapshot."""
    return _packed(own, _part(block, own.init, {}))


def accumulated(
    block: Block,
    own: UserReduction,
    state: State,
    value: LoopValue,
    bounds: tuple[LExpr, LExpr] | None = None,
) -> State:
    """The state with one snapshot more; `bounds` are its own, cut to the window."""
    return _packed(own, _part(block, own.acc, _seen(own, state, value, bounds)))


def taken_out(
    block: Block, own: UserReduction, state: State, value: LoopValue
) -> State:
    """The state without its oldest snapshot."""
    assert own.deacc is not None
    return _packed(own, _part(block, own.deacc, _seen(own, state, value, None)))


def _seen(
    own: UserReduction,
    state: State,
    value: LoopValue,
    bounds: tuple[LExpr, LExpr] | None,
) -> dict[str, LoopValue]:
    env = {STATE: _state(own, state), own.parameter: replace(value, valid=TRUE)}
    if bounds is not None:
        start, end = bounds
        env |= {START: LoopValue(I64, start, TRUE), END: LoopValue(I64, end, TRUE)}
    return env


def merged(block: Block, own: UserReduction, older: State, newer: State) -> State:
    """The state of two stretches, neither without any snapshot."""
    assert own.merge is not None
    env = {OLDER: _state(own, older), NEWER: _state(own, newer)}
    return _packed(own, _part(block, own.merge, env))


def result_of(block: Block, own: UserReduction, state: State, some: LExpr) -> LoopValue:
    """What becomes of a state; φ unless there is `some` snapshot in it."""
    value = _part(block, own.result, {STATE: _state(own, state)})
    return replace(value, valid=conj(value.valid, some))


# -- as a state that is merged --------------------------------------------------------


@lru_cache(maxsize=256)
def user_aggregate(own: UserReduction) -> Aggregate:
    """The state that slides by `merge`: whether there is something in it, and what."""

    def lift(block: Block, _row: LExpr, value: LoopValue) -> State:
        return (TRUE, *accumulated(block, own, initial(block, own), value))

    return _kept(own, lift)


def bounded_aggregate(own: UserReduction, rows: ObjectRows) -> Aggregate:
    """As `user_aggregate`, of rows whose bounds it sees as they are."""

    def lift(block: Block, row: LExpr, value: LoopValue) -> State:
        start = block.name("start", rows.start_at(row))
        end = block.name("end", rows.end_at(row))
        state = initial(block, own)
        return (TRUE, *accumulated(block, own, state, value, (start, end)))

    return _kept(own, lift)


def lift_cut(
    block: Block,
    own: UserReduction,
    value: LoopValue,
    bounds: tuple[LExpr, LExpr],
    there: LExpr,
) -> State:
    """The state of one snapshot with these bounds, if it is `there`."""
    state = accumulated(block, own, initial(block, own), value, bounds)
    return (there, *state)


def _kept(own: UserReduction, lift: Lift) -> Aggregate:
    def joined(block: Block, a: State, b: State) -> State:
        return (TRUE, *merged(block, own, a[1:], b[1:]))

    def merge(block: Block, a: State, b: State) -> State:
        some_a, some_b = a[0], b[0]
        both = merged(block, own, a[1:], b[1:])
        parts = (
            select(negate(some_a), right, select(negate(some_b), left, each))
            for left, right, each in zip(a[1:], b[1:], both, strict=True)
        )
        return (disj(some_a, some_b), *parts)

    types = types_of(own)
    nothing = (FALSE, *(zero(scalar) for scalar in types))
    kinds = (BOOL, *types)
    return Aggregate(
        f"own.{own.name}", kinds, nothing, lift, merge, joined, ordered=True
    )


def finish_user_defined(block: Block, own: UserReduction, state: State) -> LoopValue:
    """The value of a reduction from such a state."""
    return result_of(block, own, state[1:], state[0])
