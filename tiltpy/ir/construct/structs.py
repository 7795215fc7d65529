"""Typed constructors of structs: made of fields, read by name, changed by `with`.

Fields may still be untyped, and a broken rule is a `QueryError`, as in `operators.py`.
"""

from collections.abc import Sequence

from tiltpy.errors import QueryError
from tiltpy.ir.construct.operators import exists, is_bare_phi
from tiltpy.ir.construct.widening import adapt, common_type, finish, is_untyped
from tiltpy.ir.nodes import Const, Expr, Field, If, MakeStruct, Phi
from tiltpy.messages import article, closest
from tiltpy.source import Span
from tiltpy.types import BOOL, Struct, is_nested


def make_struct(names: Sequence[str], values: Sequence[Expr], span: Span) -> Expr:
    """Make `{ name = value, ... }` of scalars, and of structs of scalars."""
    fields, types = [], []
    for name, value in zip(names, values, strict=True):
        field_value = finish(value, f"the field `{name}`")
        if is_nested(field_value.type):
            raise QueryError(
                "E0201",
                f"the field `{name}` is a struct with a struct in it; structs nest "
                "one level",
                value.span,
                "give each of its fields a name of its own",
            )
        fields.append(field_value)
        types.append((name, field_value.type))
    return MakeStruct(tuple(fields), Struct(tuple(types)), span)


def field(operand: Expr, name: str, span: Span, name_span: Span) -> Expr:
    """Make `operand.name`; `name_span` is the span of the name."""
    scalar = operand.type.field(name) if isinstance(operand.type, Struct) else None
    if scalar is None:
        raise no_field(operand, name, name_span)
    return Field(operand, name, scalar, span)


def no_field(operand: Expr, name: str, name_span: Span) -> QueryError:
    """Make the error that an expression has no such field."""
    if not isinstance(operand.type, Struct):
        message = f"`.{name}` of {article(operand.type)}; only structs have fields"
        return QueryError("E0205", message, name_span, "leave it out")
    known = [n for n, _ in operand.type.fields]
    close = closest(name, known)
    hint = f"did you mean {close}?" if close else f"there is {', '.join(known)}"
    return QueryError("E0205", f"no field `{name}` in {operand.type}", name_span, hint)


def with_fields(
    operand: Expr, changes: Sequence[tuple[str, Expr, Span]], span: Span
) -> Expr:
    """Make `operand with { name = value, ... }`: φ where the operand is.

    A literal takes the field's type; another value may change it.
    """
    for name, _, name_span in changes:
        if not isinstance(operand.type, Struct) or operand.type.field(name) is None:
            raise no_field(operand, name, name_span)
    assert isinstance(operand.type, Struct)
    values_by_name = {name: value for name, value, _ in changes}
    values: list[Expr] = []
    for name, of in operand.type.fields:
        old = Field(operand, name, of, span)
        value = values_by_name.get(name, old)
        if is_bare_phi(value) and isinstance(of, Struct):
            # A bare φ has no type: this is one that prints and reads as a struct.
            value = If(Const(False, BOOL, span), old, Phi(of, span), span)
        elif is_untyped(value.type):
            value = adapt(value, common_type([old, value], value.span))
        values.append(value)
    changed = make_struct([n for n, _ in operand.type.fields], values, span)
    return If(exists(operand, span), changed, Phi(changed.type, span), span)
