"""Elaboration of what stands around the definitions: unit, parameters, inputs."""

from collections.abc import Sequence

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.expressions import open_body
from tiltpy.frontend.elaboration.library import Functions
from tiltpy.frontend.elaboration.objects import Objects
from tiltpy.frontend.elaboration.poison import Poison
from tiltpy.frontend.elaboration.scope import Scope
from tiltpy.frontend.elaboration.tick_constants import Ticks, Times, read_constant
from tiltpy.frontend.elaboration.time_domains import read_positive
from tiltpy.frontend.hints.numbers import hint_length
from tiltpy.frontend.hints.other_languages import TYPES_ELSEWHERE
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.durations import unit_of_length
from tiltpy.frontend.surface.names import nearest
from tiltpy.ir import nodes
from tiltpy.ir.construct.widening import adapt, common_type, is_untyped
from tiltpy.ir.nodes import Const
from tiltpy.lifetimes import Lifetime, make_lifetime
from tiltpy.messages import article
from tiltpy.types import (
    BOOL,
    NAMED,
    NANOSECONDS,
    STRING,
    TIME,
    Scalar,
    Struct,
    Type,
    Unit,
    int_range,
)


def read_unit(word: syntax.Word) -> Unit:
    """Read the unit of a `unit` statement."""
    for unit in NANOSECONDS:
        if unit == word.text:
            return unit
    known = " ".join(NANOSECONDS)
    message = f"`{word.text}` is not a unit of time; the units are {known}"
    hint = hint_length("", word.text) or "write one of these"
    raise QueryError("E0110", message, word.span, hint)


def find_finest_unit(exprs: Sequence[syntax.Expr | syntax.BlockBody]) -> Unit | None:
    """Find the unit of the finest duration literal, or None if there is none."""
    units = [
        node.finest
        for expr in exprs
        for node in syntax.walk(expr)
        if isinstance(node, syntax.DurationLiteral)
    ]
    return unit_of_length(min(units)) if units else None


# -- parameters -----------------------------------------------------------------------


def read_param(
    param: syntax.Param, override: syntax.Expr | None, times: Times
) -> Const | Ticks:
    """Read the value of a parameter: its override, or its default."""
    name, wanted = param.name.text, param.type.text
    value = param.value if override is None else override
    if wanted == "duration":
        return Ticks(read_constant(value, times))
    if wanted not in NAMED:
        message = f"`{wanted}` is not a parameter type"
        hint = TYPES_ELSEWHERE.get(wanted.lower()) or nearest(wanted, NAMED)
        raise QueryError("E0202", message, param.type.span, hint)
    return _elaborate_constant(value, NAMED[wanted], f"the parameter `{name}`", times)


def _elaborate_constant(
    value: syntax.Expr, wanted: Scalar, what: str, times: Times
) -> Const:
    """Read a constant of the type `wanted`; errors call its place `what`."""
    for node in syntax.walk(value):
        if isinstance(node, syntax.Ref):
            hint = "what the data decides is an object, like ~y[t] = ..."
            raise QueryError("E0116", "a constant was expected", node.span, hint)
    errors: list[QueryError] = []
    scope = Scope("", times, Functions(), closed=True)
    body = open_body(scope, Objects({}, {}, {}, set()), errors)
    try:
        expr = body.expression(value, 0)
    except Poison:
        raise errors[0] if errors else Poison from None
    if isinstance(expr, Const) and is_untyped(expr.type) and wanted.is_number:
        typed = Const(0 if wanted.is_integer else 0.0, wanted, expr.span)
        if common_type([typed, expr], expr.span) == wanted:
            expr = adapt(expr, wanted)
    if isinstance(expr, Const) and expr.type == wanted:
        return expr
    if not isinstance(expr, Const):
        hint = "literals and parameters, with + - * / // %"
        raise QueryError("E0116", "a constant was expected", value.span, hint)
    message = f"{what} is of type {wanted}, its value is {article(expr.type)}"
    raise QueryError("E0115", message, value.span, _example_values(wanted))


def _example_values(wanted: Scalar) -> str:
    """Describe the values of a type, for a hint."""
    if wanted == BOOL:
        return "true or false"
    if wanted == STRING:
        return 'such as "view"'
    if wanted.is_integer:
        return "whole numbers from {} to {}".format(*int_range(wanted))
    if wanted == TIME:
        return 'such as time("2024-01-01"), or time(100) in ticks'
    return "such as 2.5"


# -- inputs ---------------------------------------------------------------------------


def read_input(node: syntax.InputStatement, times: Times) -> nodes.Input:
    """Read the declaration of an input."""
    lifetime = None if node.lifetime is None else read_lifetime(node.lifetime, times)
    if lifetime is not None and lifetime.columns and node.time is not None:
        raise QueryError(
            "E0006",
            "an interval has two time columns of its own",
            node.time.span,
            "leave `time` out, and write interval (start, end)",
        )
    _check_keys(node, lifetime)
    return nodes.Input(
        name=node.name.text,
        type=read_payload(node.type),
        lifetime=lifetime,
        time=None if node.time is None else node.time.text,
        order=tuple(word.text for word in node.order),
        keys=tuple(word.text for word in node.keys),
        span=node.name.span,
    )


def _check_keys(node: syntax.InputStatement, lifetime: Lifetime | None) -> None:
    """Check that key columns are distinct, and are not used for time or order."""
    timed = set() if node.time is None else {node.time.text}
    if lifetime is not None and lifetime.columns:
        timed.update(lifetime.columns)
    seen: set[str] = set()
    for key in node.keys:
        name, message = key.text, ""
        if name in seen:
            message, hint = f"the key `{name}` appears twice", "leave one of them out"
        elif name in ("start", "end"):
            message = f"a key cannot be called `{name}`, like a time column of outputs"
            hint = (
                "give it another name; bind(..., by=...) says what its column is called"
            )
        elif name == node.name.text and isinstance(node.type, syntax.TypeName):
            message = f"the values of ~{name} have a column `{name}`, as its key has"
            hint = "give the input another name"
        elif name in timed:
            message = (
                f"the time column `{name}` cannot be a key: each time would be one"
            )
            hint = "leave it out of the keys"
        elif name in {word.text for word in node.order}:
            message = f"the key `{name}` is the same in all rows that `order` compares"
            hint = "leave it out of `order`"
        if message:
            raise QueryError("E0117", message, key.span, hint)
        seen.add(name)


def read_payload(node: syntax.Type) -> Type:
    """Read the type of an input's payload, or of a reduction's element."""
    if isinstance(node, syntax.TypeName):
        return read_scalar(node.name)
    return _read_struct(node)


def _read_struct(node: syntax.StructType) -> Struct:
    return Struct(tuple((name.text, _read_field(t)) for name, t in node.fields))


def _read_field(node: syntax.Type) -> Type:
    """Read the type of a field: a scalar, or a struct of scalars."""
    if isinstance(node, syntax.TypeName):
        return read_scalar(node.name)
    for name, inner in node.fields:
        if isinstance(inner, syntax.StructType):
            raise QueryError(
                "E0202",
                f"the field `{name.text}` is a struct in a struct in a struct; structs "
                "nest one level",
                inner.span,
                "give each of its fields a name of its own",
            )
    return _read_struct(node)


def read_scalar(word: syntax.Word) -> Scalar:
    """Find the scalar type of that name."""
    if word.text not in NAMED:
        hint = (
            TYPES_ELSEWHERE.get(word.text.lower())
            or nearest(word.text, NAMED)
            or "types are " + " ".join(NAMED)
        )
        raise QueryError("E0202", f"unknown type `{word.text}`", word.span, hint)
    return NAMED[word.text]


def read_lifetime(node: syntax.Lifetime, times: Times) -> Lifetime:
    """Read how rows become events, in ticks."""
    arguments: list[int | str] = []
    if node.length is not None:
        arguments.append(read_positive(node.length, times, "a lifetime"))
    if node.columns is not None:
        start, end = node.columns
        if start.text == end.text:
            message = f"the column `{end.text}` is both start and end"
            raise QueryError("E0006", message, end.span, "name two columns")
        arguments += [start.text, end.text]
    return make_lifetime(node.kind, *arguments)
