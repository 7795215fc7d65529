"""Represent: payload types of machine code, before any other pass.

Times and durations become `i64` ticks, and what is rounded to ticks says so.

Before:

    ~o[t] = ~m[t].took / 2.0 > 5s ? mean(~m[t-1m : t].took) : φ

After:

    ~o[t] = { ticks = f64(~m[t].took) / 2.0
              whole = is_finite(ticks) ? i64(round(ticks)) : φ
              return whole > 5 ? i64(round(mean(~m[t-60 : t].took))) : φ }

It always runs: no later pass, no kernel and no cache knows the types that only a result
shows. Each `Cast` below is one that `interpreter_numbers.ticks` means.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import assert_never

from tiltpy.ir.cuts import map_cuts
from tiltpy.ir.nodes import (
    At,
    Binary,
    Call,
    Cast,
    Const,
    DateComponent,
    Element,
    ElementStart,
    EventBound,
    Exists,
    Expr,
    Field,
    If,
    In,
    Let,
    Local,
    MakeStruct,
    MatchString,
    Phi,
    Query,
    Reduce,
    StringCall,
    TemporalExpr,
    Time,
    Unary,
)
from tiltpy.ir.reductions import map_clauses
from tiltpy.ir.temporal_types import is_temporal
from tiltpy.ir.traversal import children, walk, with_children
from tiltpy.ops import REDUCTIONS
from tiltpy.types import BOOL, F64, I64, Scalar, Struct, Type


def represent(query: Query) -> Query:
    """Rewrite a query over the types that machine code has."""
    inputs = tuple(replace(each, type=machine_type(each.type)) for each in query.inputs)
    definitions = tuple(_definition(each) for each in query.definitions)
    reductions = tuple(
        replace(map_clauses(each, _expression), type=machine_type(each.type))
        for each in query.reductions
    )
    return replace(query, inputs=inputs, definitions=definitions, reductions=reductions)


def machine_type(payload: Type) -> Type:
    """Map a payload type to that of machine code."""
    if isinstance(payload, Struct):
        return Struct(tuple((name, machine_type(of)) for name, of in payload.fields))
    return _ticks(payload)


def _ticks(scalar: Scalar) -> Scalar:
    return I64 if scalar.is_temporal else scalar


def _definition(definition: TemporalExpr) -> TemporalExpr:
    cuts = map_cuts(definition.cuts, _expression)
    return replace(definition, body=_expression(definition.body), cuts=cuts)


def _expression(expr: Expr) -> Expr:
    return _TickConverter(expr).of(expr)


class _TickConverter:
    """Converts one closed expression, a body or an element, to ticks."""

    def __init__(self, whole: Expr) -> None:
        taken = {node.name for node in walk(whole) if isinstance(node, Let)}
        names: Iterator[str] = (f"ticks{n}" for n in count(1))
        self.free = (name for name in names if name not in taken)

    def of(self, expr: Expr) -> Expr:
        match expr:
            case Reduce():
                return self.reduction(expr)
            case Cast():
                return self.cast(expr)
            case Binary() if is_temporal(expr.left.type) or is_temporal(
                expr.right.type
            ):
                return self.binary(expr)
            case _:
                new = tuple(self.of(child) for child in children(expr))
                return _retype(with_children(expr, new))

    def reduction(self, expr: Reduce) -> Expr:
        rule = REDUCTIONS.get(expr.reduction)
        rounded = rule is not None and rule.durations == "rounded"
        rounded = rounded and is_temporal(expr.type)
        kind = F64 if rounded else machine_type(expr.type)
        new = replace(expr, element=_expression(expr.element), type=kind)
        return _nearest(new) if rounded else new

    def cast(self, expr: Cast) -> Expr:
        source, operand = expr.operand.type, self.of(expr.operand)
        assert isinstance(source, Scalar)
        if expr.type.is_temporal and source.is_float:
            return self.finite(_to(operand, F64))
        return _to(operand, _ticks(expr.type))

    def binary(self, expr: Binary) -> Expr:
        """Convert an operator of ticks: over integers, or floats that are rounded."""
        left, right = self.of(expr.left), self.of(expr.right)
        if expr.type == F64 or F64 in (left.type, right.type):
            both = replace(expr, left=_to(left, F64), right=_to(right, F64), type=F64)
            return both if expr.type == F64 else self.finite(both)
        return replace(expr, left=left, right=right, type=_ticks(expr.type))

    def finite(self, value: Expr) -> Expr:
        """Round to the nearest number of ticks; φ where there is none."""
        name = next(self.free)
        local = Local(name, F64, value.span)
        there = Call("is_finite", (local,), BOOL, value.span)
        chosen = If(there, _nearest(local), Phi(I64, value.span), value.span)
        return Let(name, value, chosen, value.span)


def _nearest(value: Expr) -> Expr:
    return Cast(Call("round", (value,), F64, value.span), I64, value.span)


def _to(operand: Expr, target: Scalar) -> Expr:
    return operand if operand.type == target else Cast(operand, target, operand.span)


def _retype(expr: Expr) -> Expr:
    """Give a node over converted operands its type in machine code."""
    match expr:
        case Let() | If():
            return expr
        case MakeStruct():
            kind = machine_type(expr.type)
            assert isinstance(kind, Struct)
            return replace(expr, type=kind)
        case Phi() | At() | Local() | Element():
            return replace(expr, type=machine_type(expr.type))
        case Field():
            return replace(expr, type=machine_type(expr.type))
        case Const() | Time() | EventBound() | ElementStart():
            return replace(expr, type=_ticks(expr.type))
        case Unary() | Binary() | Call():
            return replace(expr, type=_ticks(expr.type))
        case In():
            options = tuple(replace(o, type=_ticks(o.type)) for o in expr.options)
            return replace(expr, options=options)
        case (
            Exists() | Cast() | Reduce() | MatchString() | StringCall()
            | DateComponent()
        ):  # fmt: skip
            return expr
        case _:
            assert_never(expr)
