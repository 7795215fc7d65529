"""Steps of a fold: how the state after a row follows from the state before it.

`acc` is evaluated symbolically, path by path: where a condition is not known both
branches are taken, and the path remembers the choice. On each path a field is a
constant, or an affine function of fields whose factors may be numbers or come from the
row, or neither.
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from tiltpy.ir.nodes import (
    At,
    Binary,
    Call,
    Cast,
    Const,
    DateComponent,
    Element,
    ElementStart,
    EventBound,
    Exists,
    Expr,
    Field,
    If,
    In,
    Let,
    Local,
    MakeStruct,
    MatchString,
    Phi,
    Reduce,
    StringCall,
    Time,
    Unary,
    UserReduction,
)
from tiltpy.ir.reductions import STATE
from tiltpy.lean_dataclass import dataclass
from tiltpy.passes.analyses.affine_values import AffineValue, operate, presence_of
from tiltpy.passes.analyses.strictness import never_phi
from tiltpy.types import Scalar, Struct

MOST_PATHS = 128
"""Paths of an `acc` that are followed."""
State = dict[str, AffineValue]
"""The value of each field; the one of a scalar state is nameless."""
Known = Mapping[str, AffineValue]


@dataclass(frozen=True, slots=True)
class PathChoice:
    """A condition that is not known, and the side that a path takes."""

    condition: Expr
    holds: bool | None
    reads: frozenset[str]
    affine: bool
    """Whether it depends on nothing but the row and known fields."""


@dataclass(frozen=True, slots=True)
class Step:
    """One path through `acc`: its choices, and the state at its end."""

    choices: tuple[PathChoice, ...]
    state: State


class TooManyPathsError(Exception):
    """An `acc` has more paths than are followed."""


class _Fork(Exception):  # noqa: N818 - no error: the path divides
    def __init__(self, choice: PathChoice, *, nullable: bool) -> None:
        self.choice = choice
        self.nullable = nullable


def steps(
    reduction: UserReduction, element: Expr, known: Known, gaps: Container[str]
) -> Iterator[Step]:
    """Yield every path of a row through `acc`.

    `known` has the values of some fields, the others in `gaps` may be φ.
    """
    waiting: list[tuple[PathChoice, ...]] = [()]
    count = 0
    before = _fields_before(reduction, known, gaps)
    row = _fields_of_row(reduction, element)
    while waiting:
        choices = waiting.pop()
        taken = {choice.condition: choice for choice in choices}
        path = _Path(before, row, taken)
        try:
            state = path.fields(reduction.acc, {})
        except _Fork as fork:
            holds = (True, False, None) if fork.nullable else (True, False)
            waiting += ((*choices, replace(fork.choice, holds=h)) for h in holds)
            continue
        count += 1
        if count + len(waiting) > MOST_PATHS:
            raise TooManyPathsError
        yield Step(choices, state)


def first_state(reduction: UserReduction) -> dict[str, Const | Phi | None]:
    """Find the constants of the state before any row."""
    path = _Path({}, {}, {})
    return {
        name: value.constant for name, value in path.fields(reduction.init, {}).items()
    }


def _fields_before(
    reduction: UserReduction, known: Known, gaps: Container[str]
) -> State:
    """List the fields of the state before a row: a constant, or what it was."""
    return {
        name: replace(known[name], reads=frozenset((name,)))
        if name in known
        else AffineValue(None, {name: 1.0}, frozenset((name,)), nullable=name in gaps)
        for name in _names(reduction.state)
    }


def _fields_of_row(reduction: UserReduction, element: Expr) -> State:
    """List the fields of a row that is a struct: constants where elements say so."""
    if not isinstance(reduction.type, Struct):
        return {}
    parts: dict[str, Expr] = {}
    if isinstance(element, MakeStruct):
        fields = zip(element.type.fields, element.fields, strict=True)
        parts = {name: part for (name, _), part in fields}
    row: State = {}
    for name in _names(reduction.type):
        part = parts.get(name)
        if isinstance(part, Const):
            row[name] = AffineValue(part)
        else:
            row[name] = AffineValue(nullable=part is None or not never_phi(part))
    return row


@dataclass(frozen=True, slots=True)
class _Path:
    before: State
    row: State
    choices: Mapping[Expr, PathChoice]

    def fields(self, expr: Expr, names: Mapping[str, State]) -> State:
        """Evaluate an expression by field: a struct, or a nameless scalar."""
        match expr:
            case Let():
                bound = {**names, expr.name: self.fields(expr.value, names)}
                return self.fields(expr.body, bound)
            case MakeStruct(type=Struct(fields=of)):
                made: State = {}
                for (name, kind), part in zip(of, expr.fields, strict=True):
                    inner = self.fields(part, names)
                    if isinstance(kind, Struct):
                        made |= {f"{name}.{each}": v for each, v in inner.items()}
                    else:
                        made[name] = inner[""]
                return made
            case Local(name=name) if name in names:
                return names[name]
            case Local(name=name) if name == STATE:
                return self.before
            case Local(type=Struct()):
                return self.row
            case Local():  # a row that is a scalar, or a bound of its snapshot
                return {"": AffineValue()}
            case Field():
                inner = self.fields(expr.operand, names)
                if isinstance(expr.type, Struct):
                    prefix = f"{expr.name}."
                    return {
                        each.removeprefix(prefix): value
                        for each, value in inner.items()
                        if each.startswith(prefix)
                    }
                return {"": inner[expr.name]}
            case If():
                return self._choose(expr, names)
            case Phi():
                nothing = AffineValue(expr, nullable=True)
                return dict.fromkeys(_names(expr.type), nothing)
            case _:
                return {"": self._scalar(expr, names)}

    def _choose(self, expr: If, names: Mapping[str, State]) -> State:
        condition = self._scalar(expr.condition, names)
        match condition.constant:
            case Const(value=holds):
                chosen = self.fields(expr.then if holds else expr.otherwise, names)
            case Phi():
                nothing = AffineValue(Phi(expr.type), nullable=True)
                chosen = dict.fromkeys(_names(expr.type), nothing)
            case None:
                choice = self.choices.get(expr.condition)
                if choice is None:
                    reads, affine = condition.reads, condition.factors == {}
                    fork = PathChoice(expr.condition, None, reads, affine)
                    raise _Fork(fork, nullable=condition.nullable)
                if choice.holds is None:
                    nothing = AffineValue(Phi(expr.type), nullable=True)
                    chosen = dict.fromkeys(_names(expr.type), nothing)
                else:
                    taken = expr.then if choice.holds else expr.otherwise
                    chosen = self.fields(taken, names)
        return {
            name: value
            if condition.reads <= value.reads
            else replace(value, reads=value.reads | condition.reads)
            for name, value in chosen.items()
        }

    def _scalar(self, expr: Expr, names: Mapping[str, State]) -> AffineValue:
        match expr:
            case Const():
                return AffineValue(expr)
            case Let() | Local() | Field() | If() | Phi():
                return self.fields(expr, names)[""]
            case Exists():
                operands = list(self.fields(expr.operand, names).values())
                return presence_of(operands)
            case Unary() | Cast() | DateComponent() | MatchString() | In():
                return operate(expr, [self._scalar(expr.operand, names)])
            case Binary():
                sides = expr.left, expr.right
                return operate(expr, [self._scalar(side, names) for side in sides])
            case Call():
                return operate(expr, [self._scalar(a, names) for a in expr.arguments])
            case StringCall():
                return operate(expr, [self._scalar(a, names) for a in expr.operands])
            case (
                At() | EventBound() | Time() | Reduce() | Element() | ElementStart()
                | MakeStruct()
            ):  # fmt: skip
                raise AssertionError(f"{expr} as a scalar in a reduction")
            case _:
                assert_never(expr)


def _names(of: Scalar | Struct) -> list[str]:
    if isinstance(of, Scalar):
        return [""]
    return [
        f"{name}.{inner}" if inner else name
        for name, kind in of.fields
        for inner in _names(kind)
    ]
