"""Queries in Python: sources, time domains, definitions, and the query they make.

    stock = source("stock", F64)
    t = TDom(precision="1s")
    average = mean(stock[t - "10s" : t])
    above = define("above", t, when(stock[t] > average, stock[t]))
    query = build_query(above)

It writes surface syntax with spans of the caller's lines, which `elaborate` treats like
that of a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import count

import numpy as np

from tiltpy.argument_checks import check_argument, check_flag
from tiltpy.errors import ArgumentError, QueryError, QueryErrors, TiltError
from tiltpy.frontend.hints.python import translate_errors
from tiltpy.frontend.python.caller_span import caller_span
from tiltpy.frontend.python.declarations import (
    LengthValue,
    LifetimeArgument,
    PayloadType,
    ScalarType,
    check_lifetime,
    check_name,
    write_columns,
    write_payload,
)
from tiltpy.frontend.python.expressions import (
    Declaration,
    Expression,
    Provenance,
    Value,
    combine,
    lift,
)
from tiltpy.frontend.python.sharing import share
from tiltpy.frontend.python.times import (
    CalendarArgument,
    CellsArgument,
    lift_time,
    write_bound,
)
from tiltpy.frontend.python.window_ends import NEAREST, check_time, lift_end
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.durations import is_duration
from tiltpy.frontend.surface.print import format_declaration, format_domain
from tiltpy.frontend.surface.timestamps import read_moment
from tiltpy.ir.nodes import Query
from tiltpy.types import Unit

_TIME = "t"
SERIALS = count()
"""Numbers for declarations, in the order in which Python makes them."""


class TDom(Expression):
    """A time domain `(start, end]` with grid points `offset + k * precision`.

    It is also its own time variable: `x[t - "10s"]`, and `t` as a number of ticks.
    `start` and `end` are ticks, a duration, a `datetime`, the name of a bound that is
    given when the query runs, or None: infinite. Section 4.1 of the paper. With `left`
    a cell is `[g, g + precision)` of a grid point, else `(g - precision, g]`; the cells
    of `calendar("1d", "Europe/Berlin")` are dates, those of `cells_of(session)` the
    intervals of a source.
    """

    def __init__(
        self,
        start: LengthValue | date | np.datetime64 | None = None,
        end: LengthValue | date | np.datetime64 | None = None,
        precision: LengthValue | CalendarArgument | CellsArgument = 1,
        offset: LengthValue = 0,
        *,
        left: bool = False,
    ) -> None:
        span = caller_span()
        check_flag("left", left)
        if isinstance(precision, Object):
            message, hint = "an object is no precision", "write precision=cells_of(...)"
            raise QueryError("E0206", message, span, hint)
        if isinstance(start, CalendarArgument | CellsArgument):
            message, hint = "cells are no start of a time domain", "write precision=..."
            raise QueryError("E0206", message, span, hint)
        has_ticks = isinstance(precision, int) and precision == 1
        if isinstance(start, str) and is_duration(start) and end is None and has_ticks:
            message = f'a domain of single ticks that starts at "{start}"'
            hint = f'write precision="{start}" for cells of that length'
            raise QueryError("E0206", message, span, hint)
        arguments = (
            write_bound(start, float("-inf"), span),
            write_bound(end, float("inf"), span),
            precision
            if isinstance(precision, CalendarArgument | CellsArgument)
            else lift_time(precision),
            lift_time(offset),
        )
        moved = left or isinstance(offset, Expression) or offset != 0
        if isinstance(precision, CalendarArgument) and moved:
            message = "the cells of a calendar begin with its dates already"
            hint = "leave the offset and `left` out"
            raise QueryError("E0206", message, span, hint)
        if isinstance(precision, CellsArgument) and moved:
            message = "the cells of an input are its intervals: nothing moves them"
            hint = "leave the offset and `left` out"
            raise QueryError("E0206", message, span, hint)
        written = tuple(argument.syntax for argument in arguments)
        domain = syntax.TimeDomain(syntax.Word(_TIME, span), written, span, left)
        objects = (argument.provenance.objects for argument in arguments)
        provenance = Provenance(frozenset().union(*objects), frozenset([domain]))
        super().__init__(syntax.Name(_TIME, span), provenance)

    def __repr__(self) -> str:
        (domain,) = self.provenance.domains
        return format_domain(domain)


class Rows(TDom):
    """A time domain whose points are the rows of an input, each by itself.

    `define("o", e, value)` over `e = Rows(trades)` has a row for each row of `trades`
    where the value is not φ: `trades[e]` is that row, all else is read at its time. It
    keeps its lifetime, and its place among rows of the same time. With `null` a row
    whose value is φ becomes a null row. `rows` may also be an object that is defined
    over rows itself.
    """

    def __init__(self, rows: Object, *, null: bool = False) -> None:
        span = caller_span()
        if not isinstance(rows, Object):
            raise QueryError(
                "E0111",
                f"Rows takes a source, found {rows!r}",
                span,
                "like Rows(trades), of trades = source(...)",
            )
        check_flag("null", null)
        ref = syntax.Ref(rows.name, None, None, span)
        domain = syntax.RowDomain(syntax.Word(_TIME, span), ref, null, span)
        provenance = replace(rows.provenance, domains=frozenset([domain]))
        Expression.__init__(self, syntax.Name(_TIME, span), provenance)


class Object(Expression):
    """A temporal object: `x[t]` is its value at a time, `x[a:b]` its window `(a, b]`.

    A window appears only inside a reduction, like `mean(x[t - "10s" : t])`. Without a
    start, `x[:t]`, it is all the past; see `last_rows`, `since` and `after`. As-of
    looks are values: `x["last" : t]`, `x["nearest" : t]`, and `x[t : "next" : "5m"]`
    within 5 minutes.
    """

    def __init__(self, declared: Declaration) -> None:
        name = declared.statement.name
        bare = syntax.Ref(name.text, None, None, name.span)
        super().__init__(bare, Provenance(objects=frozenset([declared])))

    @property
    def name(self) -> str:
        """Return the name of the object, without `~`."""
        return self._declaration.statement.name.text

    @property
    def _declaration(self) -> Declaration:
        (declared,) = self.provenance.objects
        return declared

    def __getitem__(self, time: Value | slice) -> Expression:
        span = caller_span()
        if isinstance(time, tuple):
            hint = 'like x[t - "10s" : t], or with a distance x["last" : t : "5s"]'
            raise QueryError(
                "E0109", "a comma between the ends of a window", span, hint
            )
        if not isinstance(time, slice):
            check_time(time, self.name, span)
            at = lift_end(time, span)
            return combine(syntax.Ref(self.name, at.syntax, None, span), [self, at])
        if time.stop is None:
            hint = 'like x[t - "10s" : t]'
            raise QueryError("E0109", "a window has an end", span, hint)
        if isinstance(time.start, str) and time.start == NEAREST:
            center = lift_time(time.stop)
            bounds = [combine(syntax.Nearest(center.syntax, span), [center])]
        else:
            bounds = [lift_end(time.start, span), lift_end(time.stop, span)]
        within = [] if time.step is None else [lift_time(time.step)]
        start, stop, *_ = [*(bound.syntax for bound in bounds), None]
        distance = [length.syntax for length in within]
        node = syntax.Ref(self.name, start, stop, span, *distance)
        return combine(node, [self, *bounds, *within])

    def __repr__(self) -> str:
        statement = self._declaration.statement
        assert isinstance(statement, syntax.InputStatement | syntax.ObjectDefinition)
        return format_declaration(statement)


def source(
    name: str,
    type: PayloadType,
    lifetime: syntax.Lifetime | None = None,
    *,
    time: str | None = None,
    order: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
) -> Object:
    """Declare an input: its payload's type, and how its rows become events.

    What is left open (`lifetime`, the `time` column) is given when it is bound. `order`
    names columns that break ties between equal times. `by` names key columns: the rows
    of each key are a temporal object of their own.
    """
    span = caller_span()
    node = syntax.InputStatement(
        check_name(name, span),
        write_payload(type, span),
        check_lifetime(lifetime, span),
        None
        if time is None
        else syntax.Word(check_argument("time", time, str, "a column's name"), span),
        write_columns(order, "order", span),
        write_columns(by, "by", span),
    )
    needs = lifetime.needs if isinstance(lifetime, LifetimeArgument) else frozenset()
    return Object(Declaration(next(SERIALS), node, needs))


def param(name: str, type: ScalarType, default: Value) -> Expression:
    """Declare a parameter: a constant that `run(params={name: value})` may set.

    It stands wherever a number, a duration, a time or a string may. A string is a
    duration or a stamp where the parameter is one: `param("width", duration, "10s")`.
    """
    span = caller_span()
    written = write_payload(type, span)
    if not isinstance(written, syntax.TypeName):
        message = "a parameter is a scalar, no struct"
        raise QueryError("E0202", message, span, "declare a parameter for each field")
    if name == _TIME:
        message = f"`{name}` is the time variable of queries in Python"
        raise QueryError("E0005", message, span, "give the parameter another name")
    value = lift_time(default) if written.name.text == "duration" else lift(default)
    node = value.syntax
    if written.name.text == "time" and isinstance(node, syntax.Text):
        node = read_moment(node.value, span)
    statement = syntax.Param(check_name(name, span), written.name, node)
    declared = Declaration(next(SERIALS), statement, value.provenance.objects)
    return Expression(syntax.Name(name, span), Provenance(frozenset([declared])))


def define(name: str, t: TDom, value: Value, *, distinct: bool = False) -> Object:
    """Define the temporal object `~name[t] = value` over a time domain.

    With `distinct` snapshots that touch and have identical values are one, so that
    `start` and `end` of it are defined.
    """
    span = caller_span()
    body = lift(value)
    if not isinstance(t, TDom):
        message = "an object is defined over a time domain"
        raise QueryError("E0107", message, span, "give define a TDom")
    check_flag("distinct", distinct)
    (domain,) = t.provenance.domains
    if body.provenance.domains - {domain}:
        raise QueryError(
            "E0108",
            f"~{name} uses another time domain than its own",
            span,
            "write all its references relative to the TDom that define is given",
        )
    node = syntax.ObjectDefinition(
        check_name(name, span),
        syntax.Word(_TIME, span),
        share(body.syntax),
        domain,
        distinct,
    )
    needs = body.provenance.objects | t.provenance.objects
    return Object(Declaration(next(SERIALS), node, needs))


def build_query(*outputs: Object, unit: Unit | None = None) -> Query:
    """Build the query whose outputs are these objects, with all that they refer to.

    `unit` is the tick; by default the finest unit of the query's durations. Raises a
    `QueryErrors` that holds everything that is wrong with it.
    """
    return elaborate_program(write_program(*outputs, unit=unit))


def elaborate_program(
    program: syntax.Program, params: Mapping[str, object] | None = None
) -> Query:
    """Elaborate what was written in Python, with values of its parameters."""
    from tiltpy.frontend.elaboration.query import elaborate  # noqa: PLC0415 - late

    values: dict[str, syntax.Expr] = {}
    if params:
        from tiltpy.frontend.text import parameter_values  # noqa: PLC0415 - late

        values = parameter_values.read_values(program, params)
    try:
        return elaborate(program, values)
    except QueryErrors as errors:
        raise translate_errors(errors) from None


def write_program(*outputs: Object, unit: Unit | None = None) -> syntax.Program:
    """Write the statements of the query whose outputs are these objects."""
    span = caller_span()
    if not outputs:
        raise TiltError("a query has at least one output")
    for output in outputs:
        if not isinstance(output, Object):
            raise _no_output(output)
        if isinstance(output._declaration.statement, syntax.InputStatement):  # noqa: SLF001
            raise QueryError(
                "E0114",
                f"~{output.name} is an input; outputs are defined",
                span,
                f'write compile(define("out", t, {output.name}[t]))',
            )
    declarations = _reachable([output._declaration for output in outputs])  # noqa: SLF001
    statements: list[syntax.Statement] = [d.statement for d in declarations]
    if unit is not None:
        check_argument("unit", unit, str, 'a unit of time, like "s"')
        statements.append(syntax.Unit(syntax.Word(unit, span)))
    distinct = dict.fromkeys(output.name for output in outputs)
    names = tuple(syntax.Word(name, span) for name in distinct)
    statements.append(syntax.OutputStatement(names))
    return syntax.Program(tuple(statements), span)


def _no_output(value: object) -> ArgumentError:
    """Make the error that an output is no object."""
    kind, hint = repr(value), ""
    match value:
        case list() | tuple():
            kind, hint = "a list", "; write compile(a, b)"
        case str():
            kind, hint = "a text", "; write parse(...), or load(...) for a file"
        case Expression():
            hint = '; write compile(define("out", t, ...))'
        case _:
            pass
    message = f"an output is a temporal object made by define(), found {kind}{hint}"
    return ArgumentError(message)


def _reachable(outputs: Sequence[Declaration]) -> list[Declaration]:
    """Collect the declarations that outputs need, in the order Python made them."""
    reached: set[Declaration] = set()
    waiting = list(outputs)
    while waiting:
        declaration = waiting.pop()
        if declaration not in reached:
            reached.add(declaration)
            waiting.extend(declaration.needs)
    return sorted(reached, key=lambda declaration: declaration.serial)
