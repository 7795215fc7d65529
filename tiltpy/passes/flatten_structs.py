"""Flatten structs: no struct has a field that is one, before any other pass.

Before:

    input q : { bid: { price: f64, size: i64 }, venue: i32 }
    ~o[t] = ~q[t].bid.price
    ~p[t] = ~q[t].bid

After:

    input q : { bid: bool, "bid.price": f64, "bid.size": i64, venue: i32 }
    ~o[t] = ~q[t]."bid.price"
    ~p[t] = ~q[t].bid != φ ? { price = ~q[t]."bid.price", size = ~q[t]."bid.size" } : φ

The columns are those of `types.columns`: `bid` is φ where the inner struct is, and then
so are its fields. It always runs: later passes and kernels know no other structs.
"""

from dataclasses import replace
from itertools import count

from tiltpy.ir.cuts import map_cuts
from tiltpy.ir.nodes import (
    At,
    Const,
    Element,
    Exists,
    Expr,
    Field,
    If,
    Let,
    Local,
    MakeStruct,
    Phi,
    Query,
    Reduce,
    TemporalExpr,
)
from tiltpy.ir.reductions import map_parts
from tiltpy.ir.traversal import children, walk, with_children
from tiltpy.types import BOOL, Struct, Type, columns, is_nested

_SMALL = (At, Local, Element)
"""What may stand several times in the place of one."""


def flatten_structs(query: Query) -> Query:
    """The query over structs of scalars."""
    inputs = tuple(replace(one, type=flat(one.type)) for one in query.inputs)
    definitions = tuple(_definition(one) for one in query.definitions)
    reductions = tuple(
        replace(map_parts(one, _expression), type=flat(one.type))
        for one in query.reductions
    )
    return replace(query, inputs=inputs, definitions=definitions, reductions=reductions)


def flat(payload: Type) -> Type:
    """A payload type as a struct of scalars, if it is a struct."""
    return Struct(columns(payload)) if is_nested(payload) else payload


def _definition(definition: TemporalExpr) -> TemporalExpr:
    cuts = map_cuts(definition.cuts, _expression)
    return replace(definition, body=_expression(definition.body), cuts=cuts)


def _expression(expr: Expr) -> Expr:
    return _Flattening(expr).of(expr)


class _Flattening:
    """One expression that is closed: a body, or an element."""

    def __init__(self, whole: Expr) -> None:
        taken = {node.name for node in walk(whole) if isinstance(node, Let)}
        names = (f"struct{n}" for n in count(1))
        self.free = (name for name in names if name not in taken)

    def of(self, expr: Expr) -> Expr:
        match expr:
            case Field(type=Struct()):
                return self.inner(expr)
            case Field(operand=Field() as inner) if isinstance(inner.type, Struct):
                column = _column(inner, expr.name)
                whole = self.of(inner.operand)
                return Field(whole, column, expr.type, expr.span)
            case Exists(operand=Field(type=Struct()) as inner):
                return Exists(self.presence(inner), BOOL, expr.span)
            case MakeStruct() if is_nested(expr.type):
                return self.literal(expr)
            case Reduce():
                element = _expression(expr.element)
                return replace(expr, element=element, type=flat(expr.type))
            case Phi() | At() | Local() | Element():
                return replace(expr, type=flat(expr.type))
            case _:
                new = tuple(self.of(child) for child in children(expr))
                return with_children(expr, new)

    def presence(self, expr: Field) -> Expr:
        """The column that is φ where a struct in a struct is."""
        return Field(self.of(expr.operand), expr.name, BOOL, expr.span)

    def inner(self, expr: Field) -> Expr:
        """A struct in a struct, as a value of its own."""
        if not isinstance(expr.operand, _SMALL):
            name, operand = next(self.free), expr.operand
            local = Local(name, operand.type, operand.span)
            body = self.inner(replace(expr, operand=local))
            return Let(name, self.of(operand), body, expr.span)
        assert isinstance(expr.type, Struct)
        whole = self.of(expr.operand)
        fields = tuple(
            Field(whole, _column(expr, name), of, expr.span)
            for name, of in expr.type.fields
        )
        made = MakeStruct(fields, expr.type, expr.span)
        there = Exists(self.presence(expr), BOOL, expr.span)
        return If(there, made, Phi(expr.type, expr.span), expr.span)

    def literal(self, expr: MakeStruct) -> Expr:
        """A struct literal with struct fields: a column for each of theirs."""
        bindings: list[tuple[str, Expr]] = []
        fields: list[Expr] = []
        for value in expr.fields:
            if not isinstance(value.type, Struct):
                fields.append(self.of(value))
                continue
            if isinstance(value, MakeStruct):
                fields.append(Const(True, BOOL, value.span))
                fields += [self.of(each) for each in value.fields]
                continue
            if isinstance(value, Field) and isinstance(value.operand, _SMALL):
                fields.append(self.presence(value))
                parts = value.type.fields
                fields += [self.of(Field(value, n, t, value.span)) for n, t in parts]
                continue
            name = next(self.free)
            bindings.append((name, self.of(value)))
            local = Local(name, value.type, value.span)
            there = Exists(local, BOOL, value.span)
            yes, phi = Const(True, BOOL, value.span), Phi(BOOL, value.span)
            fields.append(If(there, yes, phi, value.span))
            fields += [Field(local, n, t, value.span) for n, t in value.type.fields]
        kind = flat(expr.type)
        assert isinstance(kind, Struct)
        made: Expr = MakeStruct(tuple(fields), kind, expr.span)
        for name, value in reversed(bindings):
            made = Let(name, value, made, expr.span)
        return made


def _column(inner: Field, name: str) -> str:
    """The column of a field of a struct in a struct."""
    whole, part = inner.operand.type, inner.type
    assert isinstance(whole, Struct)
    assert isinstance(part, Struct)
    names = [column for column, _ in columns(whole)]
    place = [field for field, _ in part.fields].index(name)
    return names[names.index(inner.name) + 1 + place]
