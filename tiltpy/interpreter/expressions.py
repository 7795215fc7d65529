"""Evaluation of an expression at a time: its value, or None where it is φ."""

from collections.abc import Mapping
from typing import assert_never

from tiltpy import string_predicates as patterns
from tiltpy.interpreter import scalars as numbers
from tiltpy.interpreter.dates import date_component
from tiltpy.interpreter.objects import (
    EvaluationScope,
    Event,
    EventObject,
    Meaning,
    Value,
)
from tiltpy.interpreter.scalars import Atom, Number
from tiltpy.interpreter.strings import call_string
from tiltpy.interpreter.windows import number_of, reduce_window, string_of
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
    Reduce,
    StringCall,
    Time,
    Unary,
)
from tiltpy.ir.temporal_types import is_temporal
from tiltpy.ops import StringTest
from tiltpy.types import Struct


def evaluate_expression(
    meaning: Meaning, expr: Expr, scope: EvaluationScope
) -> Value | None:
    """Evaluate an expression at a time; None where it is φ."""
    match expr:
        case At(row=True):
            row = _row(meaning, expr, scope)
            return None if row is None else row.value
        case At():
            return meaning.objects[expr.object].at(scope.time + expr.offset)
        case Binary():
            return _evaluate_binary(meaning, expr, scope)
        case Const():
            if isinstance(expr.value, str):
                return expr.value
            return numbers.fit(expr.value, expr.type)
        case Element():
            return scope.element
        case ElementStart():
            return scope.element_start
        case Field():
            struct = evaluate_expression(meaning, expr.operand, scope)
            return _fields(struct)[expr.name] if struct is not None else None
        case Reduce():
            return reduce_window(meaning, expr, scope)
        case If():
            condition = evaluate_expression(meaning, expr.condition, scope)
            if condition is None:
                return None
            return evaluate_expression(
                meaning, expr.then if condition else expr.otherwise, scope
            )
        case Exists():
            return evaluate_expression(meaning, expr.operand, scope) is not None
        case Let():
            value = evaluate_expression(meaning, expr.value, scope)
            return evaluate_expression(meaning, expr.body, scope.bind(expr.name, value))
        case Local():
            return scope.names[expr.name]
        case MakeStruct():
            return {
                name: evaluate_expression(meaning, each, scope)
                for (name, _), each in zip(expr.type.fields, expr.fields, strict=True)
            }
        case Phi():
            return None
        case Time():
            return scope.time + expr.offset
        case EventBound():
            source = meaning.objects[expr.object]
            if expr.row:
                row = _row(meaning, expr, scope)
                bounds = None if row is None else row.bounds
            else:
                bounds = source.bounds_at(scope.time + expr.offset)
            if bounds is None:
                return None
            return bounds[0] if expr.which == "start" else bounds[1]
        case In():
            value = evaluate_expression(meaning, expr.operand, scope)
            if value is None:
                return None
            options = (
                evaluate_expression(meaning, each, scope) for each in expr.options
            )
            return any(value == option for option in options)
        case MatchString():
            operand = evaluate_expression(meaning, expr.operand, scope)
            if operand is None:
                return None
            return _matches(expr.test, string_of(operand), expr.pattern)
        case StringCall():
            values = [
                evaluate_expression(meaning, each, scope) for each in expr.operands
            ]
            strings = [string_of(value) for value in values if value is not None]
            return call_string(expr, strings) if len(strings) == len(values) else None
        case DateComponent():
            time = evaluate_expression(meaning, expr.operand, scope)
            if time is None:
                return None
            return date_component(
                expr.component, int(number_of(time)), expr.zone, expr.unit
            )
        case Unary() | Cast() | Call():
            return _evaluate_strict(meaning, expr, scope)
        case _:
            assert_never(expr)


def _row(
    meaning: Meaning, expr: At | EventBound, scope: EvaluationScope
) -> Event | None:
    """Find the row of an object at which the expression stands."""
    rows = meaning.objects[expr.object]
    assert isinstance(rows, EventObject)
    assert scope.row is not None
    return rows.row(scope.row)


def _evaluate_strict(
    meaning: Meaning, expr: Unary | Cast | Call, scope: EvaluationScope
) -> Number | None:
    """Evaluate an operation that is φ where an operand is."""
    operands = expr.arguments if isinstance(expr, Call) else (expr.operand,)
    values = [_evaluate_scalar(meaning, each, scope) for each in operands]
    present = [number_of(value) for value in values if value is not None]
    if len(present) < len(values):
        return None
    match expr:
        case Unary(op="!"):
            return not present[0]
        case Unary():
            return numbers.fit(-present[0], expr.type)
        case Cast():
            return numbers.cast(present[0], expr.type)
        case Call():
            return numbers.call(expr.function, present, expr.type)


def _evaluate_binary(
    meaning: Meaning, expr: Binary, scope: EvaluationScope
) -> Number | None:
    left = _evaluate_scalar(meaning, expr.left, scope)
    right = _evaluate_scalar(meaning, expr.right, scope)
    if expr.op in ("&&", "||"):
        decisive = expr.op == "||"
        if left is decisive or right is decisive:
            return decisive
        return None if left is None or right is None else not decisive
    if left is None or right is None:
        return None
    if isinstance(left, str):
        return numbers.compare_strings(expr.op, left, string_of(right))
    first, second = number_of(left), number_of(right)
    sides = expr.left.type, expr.right.type
    if any(is_temporal(side) for side in sides):
        number = next((s for s in sides if not is_temporal(s)), None)
        assert not isinstance(number, Struct)
        return numbers.temporal(expr.op, first, second, expr.type, number)
    return numbers.binary(expr.op, first, second, expr.type)


def _evaluate_scalar(
    meaning: Meaning, expr: Expr, scope: EvaluationScope
) -> Atom | None:
    value = evaluate_expression(meaning, expr, scope)
    assert not isinstance(value, dict), "a struct where a scalar is expected"
    return value


def _matches(test: StringTest, string: str, pattern: str) -> bool:
    match test:
        case "starts_with":
            return string.startswith(pattern)
        case "ends_with":
            return string.endswith(pattern)
        case "contains":
            return pattern in string
        case "matches":
            return patterns.match_string(test, string, pattern)
        case _:
            assert_never(test)


def _fields(value: Value) -> Mapping[str, Value | None]:
    assert isinstance(value, dict), "a scalar where a struct is expected"
    return value
