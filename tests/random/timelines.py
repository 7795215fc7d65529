"""Random cases with distinct objects, and what others see of their snapshots.

Any generator's case may have such objects: some definitions whose values are the same
to the bit become distinct, comparisons of their columns join them, and further outputs
see where the snapshots of all of these start and end.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Literal

from tests.compare import is_rough
from tests.random.queries import PRECISIONS, Case
from tiltpy.ir.endless import endless_bounds
from tiltpy.ir.nodes import (
    At,
    Binary,
    Const,
    Element,
    EventBound,
    Exists,
    Expr,
    Field,
    If,
    MakeStruct,
    Phi,
    Query,
    Reduce,
    TemporalExpr,
    Time,
    Window,
)
from tiltpy.ir.traversal import source_cuts
from tiltpy.types import BOOL, I64, STRING, Scalar, Struct, TDom, Type

BOUNDS = Struct((("from", I64), ("to", I64), ("n", I64), ("there", BOOL)))


def with_distinct(case: Case, seed: int, *, bounds: bool = True) -> Case:
    """Make some definitions of a case distinct, and add states and readers."""
    return replace(case, query=distinct_query(case.query, seed, bounds=bounds))


def distinct_query(query: Query, seed: int, *, bounds: bool = True) -> Query:
    """Make some definitions distinct, and add states and readers of their `bounds`."""
    random = Random(f"distinct {seed}")  # noqa: S311 - tests, not secrets
    definitions = [
        replace(made, distinct=random.random() < 0.5 and not is_rough(query, made.name))
        if made.tdom.rows is None
        else made
        for made in query.definitions
    ]
    states = [
        state
        for number, made in enumerate(definitions)
        if not is_rough(query, made.name)
        for state in _state(random, f"state{number}", made)
        if random.random() < 0.5
    ]
    definitions += states
    outputs = [*query.outputs]
    outputs += [state.name for state in states if random.random() < 0.5]
    for made in [made for made in definitions if made.distinct]:
        reader = _reader(random, f"seen{len(definitions)}", made)
        reads = bounds and random.random() < 0.6
        if reads and not any(endless_bounds([*definitions, reader])):
            definitions.append(reader)
            outputs.append(reader.name)
    return replace(query, definitions=tuple(definitions), outputs=tuple(outputs))


def _state(random: Random, name: str, made: TemporalExpr) -> Iterator[TemporalExpr]:
    """Compare a column of an object with a constant, over its own grid or another."""
    value: Expr = At(made.name, random.choice((0, 0, -1, 2)), made.type)
    kind: Type = made.type
    if isinstance(kind, Struct):
        column, kind = random.choice(kind.fields)
        value = Field(value, column, kind)
    if not isinstance(kind, Scalar) or kind == STRING or kind.is_temporal:
        test: Expr = Exists(value, BOOL)
    else:
        limit = Const(1.0 if kind.is_float else kind == BOOL or 1, kind)
        test = Binary(random.choice(("<", ">=", "==")), value, limit, BOOL)
    if random.random() < 0.3:
        test = If(test, Const(True, BOOL), Phi(BOOL))
    tdom = made.tdom if random.random() < 0.5 else _tdom(random)
    yield TemporalExpr(name, tdom, test, source_cuts(test), distinct=True)


def _reader(random: Random, name: str, made: TemporalExpr) -> TemporalExpr:
    """See where snapshots of an object start and end, and how many are in a window."""

    def bound(which: Literal["start", "end"]) -> Expr:
        offset = random.choice((0, 0, 0, -1, 3, -7))
        if random.random() < 0.3:
            return Phi(I64)
        return EventBound(which, made.name, offset, I64)

    if random.random() < 0.3:
        start = EventBound("start", made.name, random.choice((0, -2)), I64)
        body: Expr = Binary("-", Time(0, I64), start, I64)
    else:
        first = -random.randint(1, 12)
        window = Window(made.name, first, first + random.randint(1, 14))
        count = Reduce("count", window, Element(made.type), I64)
        there = Exists(At(made.name, 0, made.type), BOOL)
        body = MakeStruct((bound("start"), bound("end"), count, there), BOUNDS)
    return TemporalExpr(name, _tdom(random), body, source_cuts(body))


def _tdom(random: Random) -> TDom:
    precision = random.choice(PRECISIONS)
    return TDom(precision=precision, offset=random.randrange(precision))
