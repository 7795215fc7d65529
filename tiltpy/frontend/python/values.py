"""Values in Python that no operator makes: `when`, `cast`, `struct`, `start`, `phi`."""

from __future__ import annotations

from tiltpy.errors import QueryError
from tiltpy.frontend.hints.python import no_type
from tiltpy.frontend.python.caller_span import caller_span
from tiltpy.frontend.python.declarations import ScalarType, duration
from tiltpy.frontend.python.expressions import (
    Expression,
    Value,
    bind,
    call,
    combine,
    lift,
)
from tiltpy.frontend.surface import syntax
from tiltpy.source import UNKNOWN
from tiltpy.types import DURATION, Scalar

phi = Expression(syntax.PhiLiteral(UNKNOWN))
"""φ, the absence of a value: `x != phi` asks whether there is one."""


def when(condition: Value, value: Value, otherwise: Value = phi) -> Expression:
    """Choose: `condition ? value : otherwise`; φ where the condition is."""
    parts = [lift(condition), lift(value), lift(otherwise)]
    node = syntax.Conditional(
        parts[0].syntax, parts[1].syntax, parts[2].syntax, caller_span()
    )
    return combine(node, parts)


def exists(value: Value) -> Expression:
    """Tell whether there is a value: never φ itself."""
    return call("exists", value)


def cast(value: Value, type: ScalarType) -> Expression:
    """Cast to another scalar type: saturating; NaN to an integer is 0."""
    name = DURATION if type is duration else type
    if not isinstance(name, Scalar | str):
        raise no_type(type, caller_span())
    return call(str(name), value)


def struct(**fields: Value) -> Expression:
    """Make a struct of named scalars; it is never φ itself, its fields may be."""
    span = caller_span()
    if not fields:
        hint = "a struct has a field at least, like struct(a=1)"
        raise QueryError("E0206", "struct() has no fields", span, hint)
    values = [lift(value) for value in fields.values()]
    bindings = bind(list(fields), values, span)
    return combine(syntax.StructValue(bindings, span), values)


def start(point: Expression) -> Expression:
    """Return the start of what a point reference sees, in ticks.

    That is an event of an input, or a snapshot of a distinct object. It is excluded:
    the stamp of a point is `start(x[t]) + 1`. φ where there is none.
    """
    return call("start", point)


def end(point: Expression) -> Expression:
    """Return the end of what a point reference sees, in ticks.

    That is an event of an input, or a snapshot of a distinct object. φ where there is
    none, and where a row holds indefinitely.
    """
    return call("end", point)
