"""The meaning of a query, cell by cell: the oracle of the tests.

Written from what a query means and from nothing in the compiler, slow and obvious on
purpose. An object is asked for its snapshots over a stretch of time and finds them by
walking its grid: for each grid point `g` it evaluates the body, and between each two
neighbouring cells it asks every cut whether both see the same. Source queries and
queries after any pass mean the same here.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple, assert_never

from tiltpy import string_tests as patterns
from tiltpy.errors import DataError
from tiltpy.interpreter import order_statistics as orders
from tiltpy.interpreter import scalars as numbers
from tiltpy.interpreter.scalars import Atom, Number
from tiltpy.ir.cuts import leaf_cuts
from tiltpy.ir.nodes import (
    At,
    Binary,
    Call,
    Cast,
    Const,
    Cut,
    CutInlined,
    CutPoint,
    CutTime,
    CutWindow,
    Element,
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
    Query,
    Reduce,
    TemporalExpr,
    Time,
    Unary,
    UserReduction,
)
from tiltpy.ir.reductions import END, START, STATE
from tiltpy.ir.temporal_types import is_temporal
from tiltpy.ops import WHOLE_WINDOW, StringTest
from tiltpy.types import STRING, Bound, Struct, Type

Value = Atom | Mapping[str, Any]
"""A payload: a scalar, or a struct's fields (None is a field that is φ). An expression
gives a `Value` or None, which is φ."""


FOREVER = 1 << 99
"""The end of an event that holds without end: Python's integers do not wrap."""


class Event(NamedTuple):
    """A payload valid over `(start, end]`."""

    start: int
    end: int
    value: Value

    @property
    def domain_end(self) -> int:
        """Where it ends for the domain of an output."""
        return self.end


class LastEvent(Event):
    """A last row of `until_next`: however long it holds, a domain sees its own tick."""

    __slots__ = ()

    @property
    def domain_end(self) -> int:
        """Its own stamp."""
        return self.start + 1


class Snapshot(NamedTuple):
    """A value of a temporal object, held over `(start, end]`."""

    start: int
    end: int
    value: Value


def interpret(
    query: Query,
    events: Mapping[str, Sequence[Event]],
    *,
    start: int | None = None,
    end: int | None = None,
    bounds: Mapping[str, int] | None = None,
) -> dict[str, list[Snapshot]]:
    """The snapshots of every output, in order.

    `events` holds each input's events in order of start, then tie order. `start` and
    `end` are the domain, in ticks, where the caller gives it; `bounds` the run-time
    bounds by name. A missing input or bound, or a start after its end, is a
    `DataError`.
    """
    _check_domain(start, end)
    meaning = _Meaning.of(query, events, bounds or {})
    return {name: meaning.output(name, start, end) for name in query.outputs}


def evaluate(
    expr: Expr, names: Mapping[str, Value | None], element: Value | None = None
) -> Value | None:
    """What refers to no object: an element, or a part of a query's own reduction."""
    return _Meaning({}).evaluate(expr, _Scope(0, names, element))


def whole_state(state: Value | None, type: Type) -> Value | None:
    """A state: a struct that is φ has fields that are."""
    if state is None and isinstance(type, Struct):
        return dict.fromkeys(name for name, _ in type.fields)
    return state


class _Object(ABC):
    """A temporal object: anything that has snapshots."""

    @abstractmethod
    def snapshots(self, start: int, end: int) -> list[Snapshot]:
        """The snapshots that meet `(start, end]`, cut to it."""

    @abstractmethod
    def window(self, start: int, end: int) -> Sequence[Snapshot | Event]:
        """What a window `(start, end]` holds, in order."""

    def at(self, time: int) -> Value | None:
        found = self.snapshots(time - 1, time)
        return found[0].value if found else None

    def same(self, early: int, late: int) -> bool:
        """Whether one snapshot holds both times, or one gap does."""
        found = self.snapshots(early - 1, late)
        return not found or (found[0].start, found[0].end) == (early - 1, late)


class _Input(_Object):
    """Events. Windows see the events themselves, points the event on top."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self.pieces = list(_on_top(events))
        self.starts = [start for start, _, _ in self.pieces]

    def snapshots(self, start: int, end: int) -> list[Snapshot]:
        found = []
        for piece in range(
            max(0, bisect_right(self.starts, start) - 1), len(self.pieces)
        ):
            first, last, event = self.pieces[piece]
            if first >= end:
                break
            if last > start:
                found.append(Snapshot(max(first, start), min(last, end), event.value))
        return found

    def window(self, start: int, end: int) -> list[Event]:
        return [e for e in self.events if e.start < end and start < e.end]

    def event_at(self, time: int) -> Event | None:
        """The event that a point reference sees."""
        piece = bisect_right(self.starts, time - 1) - 1
        if piece < 0 or self.pieces[piece][1] < time:
            return None
        return self.pieces[piece][2]


def _on_top(events: Sequence[Event]) -> Iterator[tuple[int, int, Event]]:
    """The maximal stretches with one event on top: the alive one that started last."""
    times = sorted({e.start for e in events} | {e.end for e in events})
    begun, top = 0, -1
    for start, end in pairwise(times):
        alive = [i for i, e in enumerate(events) if e.start <= start and end <= e.end]
        highest = alive[-1] if alive else -1
        if highest != top:
            if top >= 0:
                yield begun, start, events[top]
            begun, top = start, highest
    if top >= 0:
        yield begun, times[-1], events[top]


class _Derived(_Object):
    """A temporal expression over its grid, cut to its domain's finite bounds."""

    def __init__(
        self,
        definition: TemporalExpr,
        meaning: "_Meaning",
        start: int | None,
        end: int | None,
    ) -> None:
        self.definition = definition
        self.meaning = meaning
        self.start = start
        self.end = end
        self.values: dict[int, Value | None] = {}
        self.seams: dict[int, bool] = {}

    def snapshots(self, start: int, end: int) -> list[Snapshot]:
        start = start if self.start is None else max(start, self.start)
        end = end if self.end is None else min(end, self.end)
        tdom = self.definition.tdom
        if start >= end:
            return []
        found: list[Snapshot] = []
        for g in range(tdom.ceil(start + 1), tdom.ceil(end) + 1, tdom.precision):
            value = self.value(g)
            if value is None:
                continue
            cell = Snapshot(max(g - tdom.precision, start), min(g, end), value)
            if found and found[-1].end == cell.start and self.continues(g):
                assert repr(found[-1].value) == repr(value), f"a cut is missing at {g}"
                found[-1] = found[-1]._replace(end=cell.end)
            else:
                found.append(cell)
        return found

    def window(self, start: int, end: int) -> list[Snapshot]:
        return self.snapshots(start, end)

    def value(self, g: int) -> Value | None:
        """`F(g)`, which holds over the cell `(g-p, g]`."""
        if g not in self.values:
            body = self.definition.body
            self.values[g] = self.meaning.evaluate(body, _Scope(g))
        return self.values[g]

    def continues(self, g: int) -> bool:
        """Whether every cut sees the same at `g` as at the grid point before it."""
        if g not in self.seams:
            before = g - self.definition.tdom.precision
            self.seams[g] = all(
                self.meaning.sees_same(cut, before, g) for cut in self.definition.cuts
            )
        return self.seams[g]


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where an expression is evaluated: at a time, among local names, in a window."""

    time: int
    names: Mapping[str, Value | None] = field(default_factory=dict)
    element: Value | None = None


@dataclass(frozen=True, slots=True)
class _Meaning:
    """All objects of a query, and what its expressions mean over them."""

    objects: dict[str, _Object]
    own: Mapping[str, UserReduction] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        query: Query,
        events: Mapping[str, Sequence[Event]],
        bounds: Mapping[str, int],
    ) -> "_Meaning":
        """The objects of a query over given events."""
        meaning = cls({}, {one.name: one for one in query.reductions})
        for each in query.inputs:
            if each.name not in events:
                raise DataError("no data was given for it", input=each.name)
            meaning.objects[each.name] = _Input(events[each.name])
        for definition in query.definitions:
            start = _resolve(definition.tdom.start, bounds)
            end = _resolve(definition.tdom.end, bounds)
            _check_domain(start, end)
            meaning.objects[definition.name] = _Derived(definition, meaning, start, end)
        return meaning

    # Outputs

    def output(self, name: str, start: int | None, end: int | None) -> list[Snapshot]:
        """An output over its domain `(Ts, Te]`, which the caller may narrow."""
        derived = self.objects[name]
        assert isinstance(derived, _Derived)
        rows = [e for i in self.inputs_of(derived) for e in i.events]
        first = start if start is not None else derived.start
        last = end if end is not None else derived.end
        if first is None and rows:
            first = min(e.start for e in rows)
        if last is None and rows:
            last = derived.definition.tdom.ceil(max(e.domain_end for e in rows))
        if first is None or last is None:
            return []
        return derived.snapshots(first, last)

    def inputs_of(self, derived: _Derived) -> list[_Input]:
        """The inputs that an object refers to, through others too."""
        found: dict[str, _Input] = {}
        waiting = [derived]
        seen = {derived.definition.name}
        while waiting:
            for name in _objects_of(waiting.pop().definition.cuts):
                other = self.objects[name]
                if isinstance(other, _Input):
                    found[name] = other
                elif name not in seen:
                    assert isinstance(other, _Derived)
                    waiting.append(other)
                seen.add(name)
        return list(found.values())

    # Snapshots

    def sees_same(self, cut: Cut, early: int, late: int) -> bool:
        """Whether a cut sees the same at two neighbouring grid points."""
        match cut:
            case CutPoint():
                seen = self.objects[cut.object]
                return seen.same(early + cut.offset, late + cut.offset)
            case CutWindow():
                return self.contributes_same(cut, early, late)
            case CutTime():
                return False
            case CutInlined():
                at_early = self.evaluate(cut.value, _Scope(early))
                at_late = self.evaluate(cut.value, _Scope(late))
                return (at_early is None and at_late is None) or all(
                    self.sees_same(inner, early, late) for inner in cut.cuts
                )
            case _:
                assert_never(cut)

    def contributes_same(self, cut: CutWindow, early: int, late: int) -> bool:
        """Whether two windows have the same contributing snapshots.

        Both are taken from one stretch that covers both windows, so that a snapshot is
        the same one where its place in that stretch is the same.
        """
        window = cut.window
        seen = self.objects[window.object]
        rows = seen.window(early + window.start, late + window.end)

        def contributing(time: int) -> list[tuple[int, ...]]:
            start, end = time + window.start, time + window.end
            return [
                (i, *_cut_to(row, start, end)) if cut.bounds else (i,)
                for i, row in enumerate(rows)
                if row.start < end
                and start < row.end
                and self.evaluate(cut.element, _Scope(time, element=row.value))
                is not None
            ]

        return contributing(early) == contributing(late)

    # Expressions

    def evaluate(self, expr: Expr, scope: _Scope) -> Value | None:
        """The value of an expression, None where it is φ."""
        match expr:
            case At():
                return self.objects[expr.object].at(scope.time + expr.offset)
            case Binary():
                return self.binary(expr, scope)
            case Const():
                if isinstance(expr.value, str):
                    return expr.value
                return numbers.fit(expr.value, expr.type)
            case Element():
                return scope.element
            case Field():
                struct = self.evaluate(expr.operand, scope)
                return _fields(struct)[expr.name] if struct is not None else None
            case Reduce():
                return self.reduce(expr, scope)
            case If():
                condition = self.evaluate(expr.condition, scope)
                if condition is None:
                    return None
                return self.evaluate(expr.then if condition else expr.otherwise, scope)
            case Exists():
                return self.evaluate(expr.operand, scope) is not None
            case Let():
                value = self.evaluate(expr.value, scope)
                inner = replace(scope, names={**scope.names, expr.name: value})
                return self.evaluate(expr.body, inner)
            case Local():
                return scope.names[expr.name]
            case MakeStruct():
                return {
                    name: self.evaluate(each, scope)
                    for (name, _), each in zip(
                        expr.type.fields, expr.fields, strict=True
                    )
                }
            case Phi():
                return None
            case Time():
                return scope.time + expr.offset
            case EventBound():
                source = self.objects[expr.object]
                assert isinstance(source, _Input), "start() and end() are of inputs"
                event = source.event_at(scope.time + expr.offset)
                if event is None:
                    return None
                if expr.which == "start":
                    return event.start
                return None if event.end == FOREVER else event.end
            case In():
                value = self.evaluate(expr.operand, scope)
                if value is None:
                    return None
                options = (self.evaluate(each, scope) for each in expr.options)
                return any(value == option for option in options)
            case MatchString():
                found = self.evaluate(expr.operand, scope)
                if found is None:
                    return None
                return _matches(expr.test, _string(found), expr.pattern)
            case Unary() | Cast() | Call():
                return self.strict(expr, scope)
            case _:
                assert_never(expr)

    def strict(self, expr: Unary | Cast | Call, scope: _Scope) -> Number | None:
        """What is φ where an operand is."""
        operands = expr.arguments if isinstance(expr, Call) else (expr.operand,)
        values = [self.scalar(each, scope) for each in operands]
        given = [_number(value) for value in values if value is not None]
        if len(given) < len(values):
            return None
        match expr:
            case Unary(op="!"):
                return not given[0]
            case Unary():
                return numbers.fit(-given[0], expr.type)
            case Cast():
                return numbers.cast(given[0], expr.type)
            case Call():
                return numbers.call(expr.function, given, expr.type)

    def binary(self, expr: Binary, scope: _Scope) -> Number | None:
        left = self.scalar(expr.left, scope)
        right = self.scalar(expr.right, scope)
        if expr.op in ("&&", "||"):
            decisive = expr.op == "||"
            if left is decisive or right is decisive:
                return decisive
            return None if left is None or right is None else not decisive
        if left is None or right is None:
            return None
        if isinstance(left, str):
            return numbers.compare_strings(expr.op, left, _string(right))
        one, other = _number(left), _number(right)
        sides = expr.left.type, expr.right.type
        if any(is_temporal(side) for side in sides):
            number = next((s for s in sides if not is_temporal(s)), None)
            assert not isinstance(number, Struct)
            return numbers.temporal(expr.op, one, other, expr.type, number)
        return numbers.binary(expr.op, one, other, expr.type)

    def reduce(self, expr: Reduce, scope: _Scope) -> Value | None:
        """Fold the window's snapshots in order, each once, skipping φ."""
        window = expr.window
        start, end = scope.time + window.start, scope.time + window.end
        rows = self.objects[window.object].window(start, end)
        if expr.reduction in self.own:
            return self.fold(self.own[expr.reduction], expr.element, rows, start, end)
        values = [
            self.evaluate(expr.element, _Scope(scope.time, element=row.value))
            for row in rows
        ]
        given = [value for value in values if value is not None]
        if expr.reduction == "count":
            return len(given)
        if not given:
            return None
        if isinstance(expr.type, Struct):
            names = [name for name, _ in expr.type.fields]
            return dict(zip(names, orders.top(_atoms(given), len(names)), strict=True))
        if expr.reduction in WHOLE_WINDOW:
            found = orders.reduce(expr.reduction, _atoms(given), expr.parameter)
            return numbers.ticks(_number(found)) if expr.type.is_temporal else found
        if expr.type == STRING:
            return numbers.reduce_strings(expr.reduction, list(map(_string, given)))
        scalars = [_number(value) for value in given]
        return numbers.reduce(expr.reduction, scalars, expr.type, expr.ddof)

    def fold(
        self,
        own: UserReduction,
        element: Expr,
        rows: Sequence[Snapshot | Event],
        start: int,
        end: int,
    ) -> Value | None:
        """A reduction of the query's own, by `acc` alone, over `(start, end]`."""

        def part(expr: Expr, names: Mapping[str, Value | None]) -> Value | None:
            return self.evaluate(expr, _Scope(end, names))

        state, some = whole_state(part(own.init, {}), own.state), False
        for row in rows:
            value = self.evaluate(element, _Scope(end, element=row.value))
            if value is None:
                continue
            first, last = _cut_to(row, start, end)
            seen = {own.parameter: value, START: first, END: last}
            state = whole_state(part(own.acc, {STATE: state, **seen}), own.state)
            some = True
        return part(own.result, {STATE: state}) if some else None

    def scalar(self, expr: Expr, scope: _Scope) -> Atom | None:
        value = self.evaluate(expr, scope)
        assert not isinstance(value, Mapping), "a struct where a scalar is expected"
        return value


def _cut_to(row: Snapshot | Event, start: int, end: int) -> tuple[int, int]:
    """The bounds of a snapshot, cut to `(start, end]`."""
    return max(row.start, start), min(row.end, end)


def _number(value: Value) -> Number:
    assert not isinstance(value, Mapping | str), f"{value!r} where a number is expected"
    return value


def _atoms(values: Sequence[Value]) -> list[Atom]:
    found = [value for value in values if not isinstance(value, Mapping)]
    assert len(found) == len(values), "a struct where a scalar is expected"
    return found


def _string(value: Value) -> str:
    assert isinstance(value, str), f"{value!r} where a string is expected"
    return value


def _matches(test: StringTest, string: str, pattern: str) -> bool:
    match test:
        case "starts_with":
            return string.startswith(pattern)
        case "ends_with":
            return string.endswith(pattern)
        case "contains":
            return pattern in string
        case "matches":
            return patterns.holds(test, string, pattern)
        case _:
            assert_never(test)


def _fields(value: Value) -> Mapping[str, Value | None]:
    assert isinstance(value, Mapping), "a scalar where a struct is expected"
    return value


def _objects_of(cuts: tuple[Cut, ...]) -> Iterator[str]:
    """The objects that cuts refer to: all that the result was written with."""
    for cut in leaf_cuts(cuts):
        match cut:
            case CutPoint():
                yield cut.object
            case CutWindow():
                yield cut.window.object
            case CutTime():
                pass


def _resolve(bound: Bound, bounds: Mapping[str, int]) -> int | None:
    """A bound of a domain in ticks, None where it is infinite."""
    if not isinstance(bound, str):
        return bound
    if bound not in bounds:
        raise DataError(f"no value was given for the bound '{bound}'")
    return bounds[bound]


def _check_domain(start: int | None, end: int | None) -> None:
    if start is not None and end is not None and start > end:
        raise DataError(f"the domain starts at {start}, after its end at {end}")
