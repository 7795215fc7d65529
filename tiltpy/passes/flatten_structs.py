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
from tiltpy.ir.reductions import map_clauses
from tiltpy.ir.traversal import children, walk, with_children
from tiltpy.types import BOOL, Struct, Type, columns, is_nested

_SMALL = (At, Local, Element)
"""Expressions that may be repeated freely."""


def flatten_structs(query: Query) -> Query:
    """Rewrite a query over structs of scalars."""
    inputs = tuple(replace(each, type=flatten_type(each.type)) for each in query.inputs)
    definitions = tuple(_definition(each) for each in query.definitions)
    reductions = tuple(
        replace(map_clauses(each, _expression), type=flatten_type(each.type))
        for each in query.reductions
    )
    return replace(query, inputs=inputs, definitions=definitions, reductions=reductions)


def flatten_type(payload: Type) -> Type:
    """Flatten a payload type to a struct of scalars, if it is a struct."""
    return Struct(columns(payload)) if is_nested(payload) else payload


def _definition(definition: TemporalExpr) -> TemporalExpr:
    cuts = map_cuts(definition.cuts, _expression)
    return replace(definition, body=_expression(definition.body), cuts=cuts)


def _expression(expr: Expr) -> Expr:
    return _StructFlattener(expr).of(expr)


class _StructFlattener:
    """Flattens the structs of one closed expression: a body, or an element."""

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
                return replace(expr, element=element, type=flatten_type(expr.type))
            case Phi() | At() | Local() | Element():
                return replace(expr, type=flatten_type(expr.type))
            case _:
                new = tuple(self.of(child) for child in children(expr))
                return with_children(expr, new)

    def presence(self, expr: Field) -> Expr:
        """Read the column that is φ where a struct in a struct is."""
        return Field(self.of(expr.operand), expr.name, BOOL, expr.span)

    def inner(self, expr: Field) -> Expr:
        """Make a value of a struct in a struct."""
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
        """Flatten a struct literal with struct fields: a column for each of theirs."""
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
        kind = flatten_type(expr.type)
        assert isinstance(kind, Struct)
        made: Expr = MakeStruct(tuple(fields), kind, expr.span)
        for name, value in reversed(bindings):
            made = Let(name, value, made, expr.span)
        return made


def _column(inner: Field, name: str) -> str:
    """Name the column of a field of a struct in a struct."""
    outer_type, inner_type = inner.operand.type, inner.type
    assert isinstance(outer_type, Struct)
    assert isinstance(inner_type, Struct)
    names = [column for column, _ in columns(outer_type)]
    position = [field for field, _ in inner_type.fields].index(name)
    return names[names.index(inner.name) + 1 + position]
