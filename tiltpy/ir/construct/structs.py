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
    """`{ name = value, ... }` of scalars, and of structs of scalars."""
    fields, types = [], []
    for name, value in zip(names, values, strict=True):
        done = finish(value, f"the field `{name}`")
        if is_nested(done.type):
            raise QueryError(
                "E0201",
                f"the field `{name}` is a struct with a struct in it; structs nest "
                "one level",
                value.span,
                "give each of its fields a name of its own",
            )
        fields.append(done)
        types.append((name, done.type))
    return MakeStruct(tuple(fields), Struct(tuple(types)), span)


def field(operand: Expr, name: str, span: Span, place: Span) -> Expr:
    """`operand.name`; `place` is where the name stands."""
    scalar = operand.type.field(name) if isinstance(operand.type, Struct) else None
    if scalar is None:
        raise no_field(operand, name, place)
    return Field(operand, name, scalar, span)


def no_field(operand: Expr, name: str, place: Span) -> QueryError:
    """The error that an expression has no such field."""
    if not isinstance(operand.type, Struct):
        message = f"`.{name}` of {article(operand.type)}; only structs have fields"
        return QueryError("E0205", message, place, "leave it out")
    known = [n for n, _ in operand.type.fields]
    close = closest(name, known)
    way = f"did you mean {close}?" if close else f"there is {', '.join(known)}"
    return QueryError("E0205", f"no field `{name}` in {operand.type}", place, way)


def with_fields(
    operand: Expr, new: Sequence[tuple[str, Expr, Span]], span: Span
) -> Expr:
    """`operand with { name = value, ... }`: φ where the operand is.

    A literal takes the field's type; another value may change it.
    """
    for name, _, place in new:
        if not isinstance(operand.type, Struct) or operand.type.field(name) is None:
            raise no_field(operand, name, place)
    assert isinstance(operand.type, Struct)
    given = {name: value for name, value, _ in new}
    values: list[Expr] = []
    for name, of in operand.type.fields:
        old = Field(operand, name, of, span)
        value = given.get(name, old)
        if is_bare_phi(value) and isinstance(of, Struct):
            # A bare φ has no type: this is one that prints and reads as a struct.
            value = If(Const(False, BOOL, span), old, Phi(of, span), span)
        elif is_untyped(value.type):
            value = adapt(value, common_type([old, value], value.span))
        values.append(value)
    changed = make_struct([n for n, _ in operand.type.fields], values, span)
    return If(exists(operand, span), changed, Phi(changed.type, span), span)
