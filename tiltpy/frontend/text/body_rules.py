"""Parse tree -> surface syntax: the rules of blocks, structs and definitions."""

from collections.abc import Mapping
from math import inf
from typing import Any

from lark import Token
from lark.tree import Meta

from tiltpy.frontend.hints.general import quote
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.text.tree_reader import Rule, TreeReader
from tiltpy.messages import quantity
from tiltpy.source import Span
from tiltpy.types import NANOSECONDS


def _read_block(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.BlockBody:
    *statements, result = [node for node in nodes if not isinstance(node, Token)]
    for statement in statements:
        if isinstance(statement, syntax.NamedValue):
            reader.check_unreserved(statement.name)
    bindings = tuple(_split_domain(reader, statement) for statement in statements)
    return syntax.BlockBody(bindings, result, reader.span(meta))


def _split_domain(
    reader: TreeReader, statement: syntax.BlockStatement
) -> syntax.BlockStatement:
    """Tell `name = TDom(...)`, which parses as a local name, from those for values."""
    if isinstance(statement, syntax.NamedValue):
        return read_domain(reader, statement.name, statement.value) or statement
    return statement


def read_domain(
    reader: TreeReader, name: syntax.Word, value: syntax.Expr | syntax.BlockBody
) -> syntax.Domain | None:
    """Read `name = TDom(...)` or `name = Rows(...)`; None if it is neither."""
    match value:
        case syntax.CallExpression(callee=syntax.Word(text="TDom")):
            return make_domain(reader, name, value, value.span)
        case syntax.CallExpression(callee=syntax.Word(text="Rows")):
            rows, nulls = check_rows(reader, value)
            return syntax.RowDomain(name, rows, nulls, value.span)
        case _:
            return None


def check_rows(
    reader: TreeReader, call: syntax.CallExpression
) -> tuple[syntax.Ref, bool]:
    """Check the arguments of `Rows(...)`: an object, and perhaps `null`."""
    nothing = syntax.Ref("", None, None, call.span), False
    for binding in call.named:
        hint = "write Rows(~x), or Rows(~x, null) to keep rows that are φ"
        message = f"Rows takes no argument `{binding.name.text}`"
        reader.fail("E0206", message, binding.name.span, hint)
        return nothing
    match call.arguments:
        case (first,):
            nulls = False
        case (first, syntax.Name(text="null")):
            nulls = True
        case (_, syntax.PhiLiteral(span=span)):
            message = "rows that are φ are kept by the word `null`"
            reader.fail("E0206", message, span, "write null")
            return nothing
        case (_, syntax.Ref(start=None, object=name, span=span)):
            message = "Rows takes the rows of one object"
            hint = f"leave ~{name} out: a definition reads it at the time of each row"
            reader.fail("E0206", message, span, hint)
            return nothing
        case (_, other):
            message = "behind its object Rows takes `null` alone"
            hint = "select rows in the definition: condition ? value : φ"
            reader.fail("E0206", message, other.span, hint)
            return nothing
        case _:
            count = len(call.arguments)
            message = f"Rows takes an input or a row object, not {count} arguments"
            reader.fail("E0206", message, call.span, "write Rows(~x)")
            return nothing
    match first:
        case syntax.Ref(start=None):
            return first, nulls
        case syntax.Ref(object=name):
            message, hint = "the rows of an object have no time", f"write Rows(~{name})"
        case syntax.Name(text=name):
            message, hint = "Rows takes an object", f"write Rows(~{name})"
        case _:
            message = "Rows takes an object, and this is a value"
            hint = "give Rows the input alone, and compute in the definition"
    reader.fail("E0206", message, first.span, hint)
    return nothing


def make_domain(
    reader: TreeReader, name: syntax.Word, call: syntax.CallExpression, span: Span
) -> syntax.TimeDomain:
    """Make `name = TDom(...)`, whose call has a start, an end and a precision.

    There may be an offset, and then the word `left`. The cells of an input may stand
    alone: `TDom(cells of ~x)`.
    """
    arguments, left = list(call.arguments), False
    match arguments:
        case [syntax.InputCells(span=place)]:
            infinite = syntax.Number(inf, place)
            begin = syntax.PrefixOperation("-", infinite, place)
            arguments = [begin, infinite, *arguments]
    match arguments[3:]:
        case [*_, syntax.Name(text="left")]:
            del arguments[-1]
            left = True
        case [*_, syntax.Name(text="right") as right]:
            message = "cells end with their grid points: (g-p, g]"
            hint = "leave `right` out; `left` is the other way"
            reader.fail("E0206", message, right.span, hint)
            return syntax.TimeDomain(name, (), span)
        case _:
            names = (a for a in arguments[2:] if isinstance(a, syntax.Name))
            early = next((each for each in names if each.text == "left"), None)
            if early is not None:
                message = "`left` comes last, after the precision and the offset"
                hint = "write TDom(-∞, ∞, 1d, left), or TDom(-∞, ∞, 1d, 5h, left)"
                reader.fail("E0206", message, early.span, hint)
                return syntax.TimeDomain(name, (), span)
    for binding in call.named:
        if binding.name.text == "offset" and len(arguments) == 3:
            arguments.append(binding.value)
        else:
            words = ("left", "closed", "label", "convention")
            hint = "write TDom(start, end, precision), without names"
            if binding.name.text in words:
                hint = "write TDom(-∞, ∞, 1d, left) for cells [g, g+p)"
            message = f"TDom takes no argument `{binding.name.text}`"
            reader.fail("E0206", message, binding.name.span, hint)
            return syntax.TimeDomain(name, (), span)
    if len(arguments) not in (3, 4):
        reader.fail(
            "E0206",
            "TDom takes a start, an end and a precision, not "
            f"{quantity(len(arguments), 'argument')}",
            call.span,
            _hint_arguments(arguments),
        )
    cells = arguments[2] if len(arguments) > 2 else None
    behind = arguments[3].span if len(arguments) > 3 else None
    match cells:
        case syntax.CallExpression(callee=syntax.Word(text="calendar")):
            arguments[2] = _read_calendar(reader, cells)
            moved = "the cells of a calendar begin with its dates already"
        case syntax.InputCells():
            moved = "the cells of an input are its intervals: nothing moves them"
        case syntax.CallExpression(callee=syntax.Word(text="cells")):
            message = "the cells of an input need the words `cells of`"
            reader.fail("E0206", message, cells.span, _hint_arguments([cells]))
            return syntax.TimeDomain(name, (), span)
        case _:
            return syntax.TimeDomain(name, tuple(arguments), span, left)
    if left or behind is not None:
        hint = "leave the offset and `left` out"
        reader.fail("E0206", moved, behind or cells.span, hint)
    return syntax.TimeDomain(name, tuple(arguments), span, left)


def _hint_arguments(arguments: list[syntax.Expr]) -> str:
    """Hint at the arguments of a domain, of which there are too few or too many."""
    for argument in arguments:
        match argument:
            case (
                syntax.InputCells(object=name)
                | syntax.Ref(object=name)
                | syntax.CallExpression(arguments=(syntax.Ref(object=name), *_))
            ):
                return f"write TDom(cells of ~{name})"
            case syntax.CallExpression(callee=syntax.Word(text="calendar")):
                return f"write TDom(-∞, ∞, {quote(argument, 'calendar(1d)')})"
            case syntax.DurationLiteral() if len(arguments) == 1:
                return f"write TDom(-∞, ∞, {quote(argument)})"
            case _:
                pass
    return "write TDom(-∞, ∞, 1), or other bounds and another precision"


_CALENDAR = 'calendar takes a step and a time zone, like calendar(1d, "Europe/Berlin")'


def _read_calendar(reader: TreeReader, call: syntax.CallExpression) -> syntax.Expr:
    """Read `calendar(step, zone)`, the precision of a time domain."""
    arguments = list(call.arguments)
    for binding in call.named:
        if binding.name.text == "zone" and len(arguments) == 1:
            arguments.append(binding.value)
        else:
            message = f"calendar takes no argument `{binding.name.text}`"
            reader.fail("E0206", message, binding.name.span, _CALENDAR)
    if len(arguments) not in (1, 2):
        message = f"calendar takes one or two arguments, not {len(arguments)}"
        reader.fail("E0206", message, call.span, _CALENDAR)
        return call
    step = read_step(arguments[0])
    if isinstance(step, str):
        hint = "the steps are days, weeks, months, quarters, years: 1d, 1w, 1mo, 1q, 1y"
        reader.fail("E0206", step, arguments[0].span, hint)
        return call
    zone = arguments[1] if len(arguments) > 1 else None
    return syntax.CalendarPrecision(step, zone, call.span)


def read_step(node: syntax.Expr) -> syntax.CalendarStep | str:
    """Read a step of a calendar, in which `1d` is a date; or say what is wrong."""
    day = NANOSECONDS["d"]
    match node:
        case syntax.CalendarStep(count=count) if count > 0:
            return node
        case syntax.DurationLiteral(nanoseconds=length, finest=finest) if length:
            if finest == day:
                return syntax.CalendarStep(length // day, "d", node.span)
            return "a step of a calendar is a day or longer"
        case syntax.CalendarStep() | syntax.DurationLiteral():
            return "a step of a calendar is at least one"
        case _:
            return "a step of a calendar was expected"


def _read_local_object(
    reader: TreeReader, _: Meta, nodes: list[Any]
) -> syntax.ObjectDefinition:
    return make_definition(reader, nodes)


def make_definition(reader: TreeReader, nodes: list[Any]) -> syntax.ObjectDefinition:
    """Make `~name[time] = body` of its name, time and body, distinct or not."""
    name, time, body = reader.word(nodes[1]), nodes[2], nodes[3]
    match time:
        case syntax.Name(text, span):
            over = syntax.Word(text, span)
        case None:
            over = name
            reader.fail(
                "E0103",
                f"~{name.text} is a temporal object; say over which time",
                name.span,
                f"write ~{name.text}[t] = ...",
            )
        case syntax.CallExpression(callee=syntax.Word(text="TDom" | "Rows"), span=span):
            over = name
            reader.fail(
                "E0107",
                "an object is defined at a time variable, and this is a domain",
                span,
                f"name it before, like e = {quote(time)}, and write ~{name.text}[e]",
            )
        case _:
            over = name
            reader.fail(
                "E0107",
                "an object is defined at a time variable itself",
                time.span,
                f"write ~{name.text}[t] = ... and shift the references instead",
            )
    distinct = nodes[0] is not None
    return syntax.ObjectDefinition(name, over, body, distinct=distinct)


def _read_binding(reader: TreeReader, _: Meta, nodes: list[Any]) -> syntax.NamedValue:
    token = nodes[0]
    quoted = token.type == "STRING"
    name = reader.quoted_name(token) if quoted else reader.word(token)
    return syntax.NamedValue(name, nodes[1])


def _read_struct(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    return syntax.StructValue(_fields(reader, nodes), reader.span(meta))


def _read_with_fields(reader: TreeReader, meta: Meta, nodes: list[Any]) -> syntax.Expr:
    return syntax.With(nodes[0], _fields(reader, nodes[2:]), reader.span(meta))


def _fields(reader: TreeReader, nodes: list[Any]) -> tuple[syntax.NamedValue, ...]:
    fields = tuple(node for node in nodes if node is not None)
    reader.check_distinct([field.name for field in fields], "the field")
    return fields


def _read_word(reader: TreeReader, _: Meta, nodes: list[Any]) -> syntax.Word:
    return reader.word(nodes[0])


def _read_quoted(reader: TreeReader, _: Meta, nodes: list[Any]) -> syntax.Word:
    return reader.quoted_name(nodes[0])


BODY_RULES: Mapping[str, Rule] = {
    "block": _read_block,
    "local_object": _read_local_object,
    "binding": _read_binding,
    "struct": _read_struct,
    "with_fields": _read_with_fields,
    "word": _read_word,
    "object_word": _read_word,
    "quoted": _read_quoted,
}
"""By the name of the grammar's rule."""
