"""Numbers that are times: they move with the rows where those are shifted in time.

`t` and the bounds of events do, and what is the first or the earliest of such numbers.
How far apart two of them are, and which is later, is the same wherever the rows are. A
query whose values are made of times in no other way means the same at every time.
"""

from collections.abc import Iterator, Mapping

from tiltpy.ir.nodes import (
    At,
    Binary,
    Call,
    Cast,
    Const,
    Cut,
    CutWindow,
    DateComponent,
    Element,
    ElementStart,
    EventBound,
    Exists,
    Expr,
    Field,
    If,
    In,
    InlinedCut,
    Let,
    Local,
    MakeStruct,
    MatchString,
    Phi,
    Query,
    Reduce,
    StringCall,
    TemporalExpr,
    Time,
    Unary,
    UserReduction,
)
from tiltpy.ir.reductions import END, NEWER, OLDER, START, STATE
from tiltpy.ir.traversal import children
from tiltpy.ops import COMPARISON, LOGICAL
from tiltpy.types import MAX_OFFSET, Scalar, Struct, Type

Motion = bool | None | tuple["Motion", ...]
"""Whether a number moves with the rows; None of φ, which suits either; of a struct, the
motion of each field."""

_KEEPS = frozenset({"first", "last", "min", "max"})
"""Reductions of times whose result is one of them."""


class TimeMotions:
    """The motion of each object of a query, and of what its outputs have in columns.

    `refused` names the first definition that uses a time as another number, if any
    does. Times are divided by `moduli`: they may be shifted by multiples of those.
    """

    def __init__(self, query: Query) -> None:
        self.refused: str | None = None
        self.moduli: set[int] = set()
        self._reductions = {each.name: each for each in query.reductions}
        self._objects: dict[str, Motion] = {
            each.name: _at_rest(each.type) for each in query.inputs
        }
        for definition in query.definitions:
            motion = self._definition(definition)
            self._objects[definition.name] = self._join(_phi(definition.type), motion)
            if self._misused:
                self.refused = definition.name
                return

    def columns(self, name: str) -> tuple[bool, ...]:
        """Tell of each payload column of an object whether it has times that move."""
        return tuple(_flatten(self._objects[name]))

    def _definition(self, definition: TemporalExpr) -> Motion:
        self._misused = False
        motion = self._of(definition.body, {})
        for cut in definition.cuts:
            self._look_at(cut)
        return motion

    def _look_at(self, cut: Cut) -> None:
        """Look for misused times in what is carried only to cut."""
        if isinstance(cut, CutWindow):
            self._of(cut.element, {}, cut.window.object)
        elif isinstance(cut, InlinedCut):
            self._of(cut.value, {})
            for inner in cut.cuts:
                self._look_at(inner)

    def _misuse(self) -> Motion:
        self._misused = True
        return None

    def _of(self, expr: Expr, names: Mapping[str, Motion], element: str = "") -> Motion:
        """Find the motion of an expression, of an element of a window over `element`.

        `names` are the motions of the names that it sees.
        """
        match expr:
            case Phi():
                return None
            case Time() | EventBound() | ElementStart():
                return True
            case At(object=name):
                return self._objects[name]
            case Element():
                return self._objects[element]
            case Local(name=name):
                return names[name]
            case Let(name=name, value=value, body=body):
                bound = self._of(value, names, element)
                return self._of(body, {**names, name: bound}, element)
            case If(condition=condition, then=then, otherwise=otherwise):
                self._fixed_all((condition,), names, element)
                motions = (self._of(each, names, element) for each in (then, otherwise))
                return self._join(*motions)
            case Exists(operand=operand):
                self._of(operand, names, element)
                return False
            case MakeStruct(fields=fields):
                return tuple(self._of(each, names, element) for each in fields)
            case Field(operand=operand, name=name):
                return self._field(operand, name, self._of(operand, names, element))
            case Binary():
                return self._binary(expr, names, element)
            case Reduce():
                return self._reduce(expr, names)
            case Cast(operand=operand, type=kind):
                motion = self._of(operand, names, element)
                return self._misuse() if motion and not _is_ticks(kind) else motion
            case Call(function="min" | "max", arguments=arguments):
                motions = (self._of(each, names, element) for each in arguments)
                return self._join(*motions)
            case (
                Const()
                | Unary()
                | Call()
                | In()
                | MatchString()
                | StringCall()
                | DateComponent()
            ):
                return self._fixed_all(children(expr), names, element)

    def _fixed_all(
        self, exprs: tuple[Expr, ...], names: Mapping[str, Motion], element: str
    ) -> Motion:
        """Tell that a number does not move: none of those that it is made of may."""
        for each in exprs:
            if any(_flatten(self._of(each, names, element))):
                return self._misuse()
        return False

    def _field(self, operand: Expr, name: str, motion: Motion) -> Motion:
        if not isinstance(motion, tuple):  # of a struct that is φ
            return motion
        assert isinstance(operand.type, Struct)
        return motion[[field for field, _ in operand.type.fields].index(name)]

    def _binary(
        self, expr: Binary, names: Mapping[str, Motion], element: str
    ) -> Motion:
        left, right = (
            self._of(each, names, element) for each in (expr.left, expr.right)
        )
        if not left and not right:
            return False
        match expr:
            case Binary(op="-") if left and right:
                return False
            case (
                Binary(op="+" | "-", right=Const(value=int(ticks)))
                | Binary(op="+", left=Const(value=int(ticks)))
            ) if abs(ticks) <= MAX_OFFSET:
                return True
            case Binary(op="%", right=Const(value=int(ticks))) if (
                0 < ticks <= MAX_OFFSET
            ):
                self.moduli.add(ticks)
                return False
            case Binary(op=op) if op in COMPARISON and left == right:
                return False
            case Binary(op=op) if op not in LOGICAL and None in (left, right):
                return None
            case _:
                return self._misuse()

    def _reduce(self, expr: Reduce, names: Mapping[str, Motion]) -> Motion:
        motion = self._of(expr.element, names, expr.window.object)
        reduction = self._reductions.get(expr.reduction)
        if reduction is not None:
            return self._fold(reduction, motion, bounds=expr.bounds)
        if expr.reduction == "count":
            return False
        if not any(_flatten(motion)):
            return _at_rest(expr.type)
        return motion if expr.reduction in _KEEPS else self._misuse()

    def _fold(
        self, reduction: UserReduction, parameter: Motion, *, bounds: bool
    ) -> Motion:
        """Find the motion of a result: that of the state is the same at every step."""
        state = self._of(reduction.init, {})
        if state is None:
            state = _phi(reduction.state)
        seen: dict[str, Motion] = {reduction.parameter: parameter}
        if bounds:
            seen |= {START: True, END: True}
        for _ in range(len(tuple(_flatten(state))) + 1):
            steps = [self._of(reduction.acc, {**seen, STATE: state})]
            if reduction.deacc is not None:
                steps.append(self._of(reduction.deacc, {**seen, STATE: state}))
            if reduction.merge is not None:
                steps.append(self._of(reduction.merge, {OLDER: state, NEWER: state}))
            state = self._join(state, *steps)
        return self._of(reduction.result, {STATE: state})

    def _join(self, *motions: Motion) -> Motion:
        """Join the motions of numbers of which one is taken."""
        joined: Motion = None
        for motion in motions:
            if isinstance(joined, tuple) and isinstance(motion, tuple):
                pairs = zip(joined, motion, strict=True)
                joined = tuple(self._join(*pair) for pair in pairs)
            elif joined is None:
                joined = motion
            elif motion is not None and joined != motion:
                return self._misuse()
        return joined


def _is_ticks(kind: Scalar) -> bool:
    return kind.bits == 64 and (kind.is_temporal or kind.kind == "int")


def _at_rest(kind: Type) -> Motion:
    """Tell of all that a type has that it does not move."""
    if isinstance(kind, Struct):
        return tuple(_at_rest(field) for _, field in kind.fields)
    return False


def _phi(kind: Type) -> Motion:
    if isinstance(kind, Struct):
        return tuple(_phi(field) for _, field in kind.fields)
    return None


def _flatten(motion: Motion) -> Iterator[bool]:
    """Yield the motion of each scalar."""
    if isinstance(motion, tuple):
        for field in motion:
            yield from _flatten(field)
    else:
        yield bool(motion)
