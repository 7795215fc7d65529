"""Arguments of declarations in Python: names, payload types, columns, lifetimes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tiltpy.argument_checks import check_argument
from tiltpy.errors import QueryError
from tiltpy.frontend.hints.python import no_columns, no_lifetime, no_type
from tiltpy.frontend.python.caller_span import caller_span
from tiltpy.frontend.python.expressions import Declaration, Expression
from tiltpy.frontend.python.times import NAME, Length, lift_time
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.print import format_lifetime
from tiltpy.lifetimes import Lifetime
from tiltpy.source import Span
from tiltpy.types import DURATION, Scalar, Struct, Unit

LengthValue = Length | Expression
"""A length of time, or a parameter for one."""
ScalarType = Scalar | str | Callable[["Length"], syntax.Lifetime]
"""A scalar type or its name. `duration` is a lifetime and a type."""
PayloadType = ScalarType | Struct | Mapping[str, ScalarType | Mapping[str, ScalarType]]
"""A scalar type (or its name), or a struct: a type for each field."""

# -- lifetimes ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class LifetimeArgument(syntax.Lifetime):
    """A lifetime in Python: `until_next("1d")` reads `until_next max 1d`.

    `needs` are the parameters in it.
    """

    needs: frozenset[Declaration] = field(default=frozenset(), compare=False)

    def __repr__(self) -> str:
        return format_lifetime(self)


def point() -> LifetimeArgument:
    """Let a row stamped `τ` be valid over `(τ-1, τ]`."""
    return _lifetime("point")


def duration(length: LengthValue) -> LifetimeArgument:
    """Let a row stamped `τ` be valid over `(τ-1, τ-1+length]`."""
    return _lifetime("duration", length)


def until_next(max: LengthValue | None = None) -> LifetimeArgument:
    """Let a row be valid until the next later stamp, for at most `max`."""
    return _lifetime("until_next") if max is None else _lifetime("until_next", max)


def sampled(period: LengthValue) -> LifetimeArgument:
    """Let a row stamped `τ` hold over `(τ-period, τ]`: a signal."""
    return _lifetime("sampled", period)


def interval(start: str = "start", end: str = "end") -> LifetimeArgument:
    """Take each event's `(start, end]` from two columns."""
    span = caller_span()
    columns = [
        syntax.Word(check_argument("interval", name, str, "a column's name"), span)
        for name in (start, end)
    ]
    return LifetimeArgument("interval", None, (columns[0], columns[1]), span)


def _lifetime(kind: str, *lengths: LengthValue) -> LifetimeArgument:
    span = caller_span()
    needs: frozenset[Declaration] = frozenset()
    length = None
    for lifted in map(lift_time, lengths):
        length, needs = lifted.syntax, lifted.provenance.objects
    return LifetimeArgument(kind, length, None, span, needs)


def lifetime_in(lifetime: syntax.Lifetime, unit: Unit | None) -> Lifetime:
    """Convert a lifetime to the ticks of a query."""
    from tiltpy.frontend.elaboration.declarations import (  # noqa: PLC0415 - late
        read_lifetime,
    )
    from tiltpy.frontend.elaboration.tick_constants import Times  # noqa: PLC0415 - late

    return read_lifetime(lifetime, Times(unit, {}, frozenset(), set()))


# -- names and types ------------------------------------------------------------------


def check_name(name: str, span: Span) -> syntax.Word:
    """Check the name of an object or a reduction."""
    check_argument("name", name, str, "a name (str)")
    if not NAME.fullmatch(name):
        message = f'"{name}" is no name'
        close = re.sub(r"\W+", "_", name).strip("_")
        hint = f'write "{close}"' if NAME.fullmatch(close) else "letters, digits and _"
        raise QueryError("E0005", message, span, hint)
    return syntax.Word(name, span)


def check_lifetime(value: object, span: Span) -> syntax.Lifetime | None:
    """Check that a value is a lifetime, or None."""
    if value is None or isinstance(value, syntax.Lifetime):
        return value
    raise no_lifetime(value, span)


def write_columns(
    columns: str | Sequence[str], option: str, span: Span
) -> tuple[syntax.Word, ...]:
    """Write the names of columns, one or several; `option` is what takes them."""
    names = (columns,) if isinstance(columns, str) else columns
    if not isinstance(names, list | tuple):
        raise no_columns(columns, option, span)
    for name in names:
        if not isinstance(name, str):
            raise no_columns(name, option, span)
    return tuple(syntax.Word(name, span) for name in names)


def write_payload(type: PayloadType, span: Span) -> syntax.Type:
    """Write a payload type as a text would."""
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
        (syntax.Word(name, span), write_payload(of, span))
        for name, of in _check_fields(type, pairs, span)
    )
    return syntax.StructType(tuple(fields), span)


def _check_fields(
    type: Struct | Mapping[str, object], pairs: Iterable[Any], span: Span
) -> list[tuple[str, Any]]:
    """Check the pairs of names and types that the fields of `type` are."""
    fields: list[tuple[str, Any]] = []
    try:
        for name, of in pairs:
            fields.append((check_argument("a field", name, str, "a name (str)"), of))
    except (TypeError, ValueError):
        wrong = type.fields if isinstance(type, Struct) else type  # it has no repr
        raise no_type(wrong, span) from None
    return fields
