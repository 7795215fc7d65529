"""Queries in Python: sources, time domains, definitions, and the query they make.

    stock = source("stock", F64)
    t = TDom(precision="1s")
    average = mean(stock[t - "10s" : t])
    above = define("above", t, when(stock[t] > average, stock[t]))
    query = build_query(above)

It writes the same surface syntax as a text does, with spans of the caller's lines, and
`elaborate` makes the same IR of it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from itertools import count
from typing import Any

from tiltpy.argument_checks import check_argument
from tiltpy.errors import QueryError, QueryErrors, TiltError
from tiltpy.frontend.elaboration.declarations import read_lifetime
from tiltpy.frontend.elaboration.query import elaborate
from tiltpy.frontend.elaboration.tick_constants import Times
from tiltpy.frontend.hints.python import (
    no_columns,
    no_lifetime,
    no_type,
    translate_errors,
)
from tiltpy.frontend.python.caller_span import caller_span
from tiltpy.frontend.python.expressions import (
    Declared,
    Expression,
    Parts,
    Value,
    bind,
    call,
    combine,
    lift,
    lift_time,
)
from tiltpy.frontend.python.sharing import share
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.durations import is_duration
from tiltpy.ir.nodes import Query
from tiltpy.lifetimes import Lifetime
from tiltpy.source import UNKNOWN, Span
from tiltpy.types import DURATION, Scalar, Struct, Unit

_NAME = re.compile(r"[^\W\d]\w*'*")
_TIME = "t"
SERIALS = count()

Length = str | int | timedelta
"""A length of time: "10s", a number of ticks, or a `timedelta`."""
ScalarType = Scalar | str | Callable[["Length"], syntax.Lifetime]
"""A scalar type or its name. `duration` is a lifetime and a type."""
PayloadType = ScalarType | Struct | Mapping[str, ScalarType | Mapping[str, ScalarType]]
"""A scalar type (or its name), or a struct: a type for each field."""

phi = Expression(syntax.Phi(UNKNOWN))
"""φ, the absence of a value: `x != phi` asks whether there is one."""


class TDom(Expression):
    """A time domain `(start, end]` with grid points `offset + k * precision`.

    It is also its own time variable: `x[t - "10s"]`, and `t` as a number of ticks.
    `start` and `end` are ticks, a duration, a `datetime`, the name of a bound that is
    given when the query runs, or None: infinite. Section 4.1 of the paper.
    """

    def __init__(
        self,
        start: Length | date | None = None,
        end: Length | date | None = None,
        precision: Length = 1,
        offset: Length = 0,
    ) -> None:
        span = caller_span()
        arguments = (
            _bound(start, float("-inf"), span),
            _bound(end, float("inf"), span),
            lift_time(precision).syntax,
            lift_time(offset).syntax,
        )
        domain = syntax.TimeDomain(syntax.Word(_TIME, span), arguments, span)
        time = syntax.Name(_TIME, span)
        super().__init__(time, Parts(domains=frozenset([domain])))


class Object(Expression):
    """A temporal object: `x[t]` is its value at a time, `x[a:b]` its window `(a, b]`.

    A window stands inside a reduction only, like `mean(x[t - "10s" : t])`.
    """

    def __init__(self, declared: Declared) -> None:
        name = declared.statement.name
        bare = syntax.Ref(name.text, None, None, name.span)
        super().__init__(bare, Parts(objects=frozenset([declared])))

    @property
    def name(self) -> str:
        """The name of the object, without `~`."""
        return self._declared.statement.name.text

    @property
    def _declared(self) -> Declared:
        (declared,) = self.parts.objects
        return declared

    def __getitem__(self, time: Value | slice) -> Expression:
        span = caller_span()
        if not isinstance(time, slice | tuple):
            at = lift_time(time)
            return combine(syntax.Ref(self.name, at.syntax, None, span), [self, at])
        whole = isinstance(time, slice) and time.step is None
        if not whole or time.start is None or time.stop is None:
            raise QueryError(
                "E0109",
                "a window has a start and an end",
                span,
                'like x[t - "10s" : t]',
            )
        bounds = lift_time(time.start), lift_time(time.stop)
        node = syntax.Ref(self.name, bounds[0].syntax, bounds[1].syntax, span)
        return combine(node, [self, *bounds])

    def __repr__(self) -> str:
        return f"<temporal object ~{self.name}>"


def source(
    name: str,
    type: PayloadType,
    lifetime: syntax.Lifetime | None = None,
    time: str | None = None,
    order: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
) -> Object:
    """An input: its payload's type, and how its rows become events.

    What is left open (`lifetime`, the `time` column) is given when it is bound. `order`
    names columns that break ties between equal times. `by` names key columns: the rows
    of each key are a temporal object of their own.
    """
    span = caller_span()
    node = syntax.Input(
        named(name, span),
        payload_written(type, span),
        _lifetime(lifetime, span),
        None if time is None else syntax.Word(time, span),
        _columns(order, "order", span),
        _columns(by, "by", span),
    )
    return Object(Declared(next(SERIALS), node, frozenset()))


def define(name: str, t: TDom, value: Value) -> Object:
    """The temporal object `~name[t] = value` over a time domain."""
    span = caller_span()
    body = lift(value)
    if not isinstance(t, TDom):
        message = "an object is defined over a time domain"
        raise QueryError("E0107", message, span, "give define a TDom")
    (domain,) = t.parts.domains
    if body.parts.domains - {domain}:
        raise QueryError(
            "E0108",
            f"~{name} uses another time domain than its own",
            span,
            "write all its references relative to the TDom that define is given",
        )
    node = syntax.Definition(
        named(name, span), syntax.Word(_TIME, span), share(body.syntax), domain
    )
    return Object(Declared(next(SERIALS), node, body.parts.objects))


def build_query(*outputs: Object, unit: Unit | None = None) -> Query:
    """The query whose outputs are these objects, with all that they refer to.

    `unit` is the tick; by default the finest unit of the query's durations. Raises a
    `QueryErrors` that holds everything that is wrong with it.
    """
    span = caller_span()
    if not outputs:
        raise TiltError("a query has at least one output")
    for output in outputs:
        if not isinstance(output, Object):
            kind = "a list" if isinstance(output, list | tuple) else repr(output)
            raise TiltError(
                f"an output is a temporal object made by define(), found {kind}"
                + ("; write compile(a, b)" if kind == "a list" else "")
            )
        if isinstance(output._declared.statement, syntax.Input):  # noqa: SLF001
            raise QueryError(
                "E0114",
                f"~{output.name} is an input; outputs are defined",
                span,
                f'write compile(define("out", t, {output.name}[t]))',
            )
    declared = _reachable([output._declared for output in outputs])  # noqa: SLF001
    statements: list[syntax.Statement] = [one.statement for one in declared]
    if unit is not None:
        check_argument("unit", unit, str, 'a unit of time, like "s"')
        statements.append(syntax.Unit(syntax.Word(unit, span)))
    distinct = dict.fromkeys(output.name for output in outputs)
    names = tuple(syntax.Word(name, span) for name in distinct)
    statements.append(syntax.Output(names))
    try:
        return elaborate(syntax.Program(tuple(statements), span), {})
    except QueryErrors as errors:
        raise translate_errors(errors) from None


def _reachable(outputs: Sequence[Declared]) -> list[Declared]:
    found: set[Declared] = set()
    waiting = list(outputs)
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting.extend(one.needs)
    return sorted(found, key=lambda one: one.serial)


def when(condition: Value, value: Value, otherwise: Value = phi) -> Expression:
    """`condition ? value : otherwise`; φ where the condition is."""
    parts = [lift(condition), lift(value), lift(otherwise)]
    node = syntax.Conditional(
        parts[0].syntax, parts[1].syntax, parts[2].syntax, caller_span()
    )
    return combine(node, parts)


def exists(value: Value) -> Expression:
    """Whether there is a value: never φ itself."""
    return call("exists", value)


def cast(value: Value, type: ScalarType) -> Expression:
    """The value in another scalar type: saturating; NaN to an integer is 0."""
    name = DURATION if type is duration else type
    if not isinstance(name, Scalar | str):
        raise no_type(type, caller_span())
    return call(str(name), value)


def struct(**fields: Value) -> Expression:
    """A struct of named scalars; it is never φ itself, its fields may be."""
    span = caller_span()
    values = [lift(value) for value in fields.values()]
    bindings = bind(list(fields), values, span)
    return combine(syntax.StructValue(bindings, span), values)


def start(point: Expression) -> Expression:
    """The start of the event that a point reference of an input sees, in ticks."""
    return call("start", point)


def end(point: Expression) -> Expression:
    """The end of the event that a point reference of an input sees, in ticks."""
    return call("end", point)


# -- lifetimes ------------------------------------------------------------------------


def point() -> syntax.Lifetime:
    """A row stamped `τ` is valid over `(τ-1, τ]`."""
    return syntax.Lifetime("point", None, None, caller_span())


def duration(length: Length) -> syntax.Lifetime:
    """A row stamped `τ` is valid over `(τ-1, τ-1+length]`."""
    return syntax.Lifetime("duration", lift_time(length).syntax, None, caller_span())


def until_next(max: Length | None = None) -> syntax.Lifetime:
    """A row is valid until the next later stamp, for at most `max`."""
    longest = None if max is None else lift_time(max).syntax
    return syntax.Lifetime("until_next", longest, None, caller_span())


def sampled(period: Length) -> syntax.Lifetime:
    """A signal: a row stamped `τ` holds over `(τ-period, τ]`."""
    return syntax.Lifetime("sampled", lift_time(period).syntax, None, caller_span())


def interval(start: str = "start", end: str = "end") -> syntax.Lifetime:
    """Two columns hold each event's start and end: it is valid over `(start, end]`."""
    span = caller_span()
    columns = syntax.Word(start, span), syntax.Word(end, span)
    return syntax.Lifetime("interval", None, columns, span)


def lifetime_in(lifetime: syntax.Lifetime, unit: Unit | None) -> Lifetime:
    """A lifetime in the ticks of a query."""
    return read_lifetime(lifetime, Times(unit, {}, frozenset(), set()))


# -- names, types and bounds ----------------------------------------------------------


def named(name: str, span: Span) -> syntax.Word:
    """The name of an object or a reduction."""
    check_argument("name", name, str, "a name (str)")
    if not _NAME.fullmatch(name):
        message = f'"{name}" is no name'
        plain = re.sub(r"\W+", "_", name).strip("_")
        way = f'write "{plain}"' if _NAME.fullmatch(plain) else "letters, digits and _"
        raise QueryError("E0005", message, span, way)
    return syntax.Word(name, span)


def _lifetime(given: object, span: Span) -> syntax.Lifetime | None:
    if given is None or isinstance(given, syntax.Lifetime):
        return given
    raise no_lifetime(given, span)


def _columns(
    given: str | Sequence[str], option: str, span: Span
) -> tuple[syntax.Word, ...]:
    """The names of columns: one, or several."""
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, list | tuple):
        raise no_columns(given, option, span)
    for name in names:
        if not isinstance(name, str):
            raise no_columns(name, option, span)
    return tuple(syntax.Word(name, span) for name in names)


def payload_written(type: PayloadType, span: Span) -> syntax.Type:
    """A type as a text would have it."""
    if type is duration:
        type = DURATION  # noqa: A001
    match type:
        case Scalar() | str():
            return syntax.TypeName(syntax.Word(str(type), span))
        case Struct() | Mapping():
            pass
        case _:
            raise no_type(type, span)
    pairs = type.fields if isinstance(type, Struct) else type.items()
    fields = (
        (syntax.Word(name, span), payload_written(of, span))
        for name, of in _field_pairs(type, pairs, span)
    )
    return syntax.StructType(tuple(fields), span)


def _field_pairs(
    type: Struct | Mapping[str, object], pairs: Iterable[Any], span: Span
) -> list[tuple[str, Any]]:
    """The names of fields with their types."""
    found: list[tuple[str, Any]] = []
    try:
        for name, of in pairs:
            found.append((check_argument("a field", name, str, "a name (str)"), of))
    except (TypeError, ValueError):
        raise no_type(type, span) from None
    return found


def _bound(bound: Length | date | None, infinite: float, span: Span) -> syntax.Expr:
    if bound is None:
        number = syntax.Number(abs(infinite), span)
        return number if infinite > 0 else syntax.Unary("-", number, span)
    if isinstance(bound, str) and not is_duration(bound):
        if not _NAME.fullmatch(bound):
            message = f'"{bound}" is no bound of a time domain'
            way = "ticks, a duration, or a name: run(name=...) gives it, stamps too"
            raise QueryError("E0111", message, span, way)
        return syntax.Name(bound, span)
    return lift_time(bound).syntax
