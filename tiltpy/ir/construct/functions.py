"""Typed constructors of what asks of or changes one value: functions, casts, `in`.

Operands may still be untyped, and a broken rule is a `QueryError`, as in
`operators.py`.
"""

from collections.abc import Sequence
from functools import partial
from math import isnan, trunc

from tiltpy.errors import QueryError, collect_errors
from tiltpy.ir.construct.operators import (
    float_of,
    is_bare_phi,
    require_number,
    require_own_number,
)
from tiltpy.ir.construct.strings import read_number
from tiltpy.ir.construct.ticks import ticks_cast
from tiltpy.ir.construct.widening import (
    adapt,
    common_type,
    convert_constant,
    finish,
    is_untyped,
    to_f32,
)
from tiltpy.ir.nodes import Call, Cast, Const, DateComponent, Expr, In, MatchString
from tiltpy.ir.temporal_types import (
    as_time,
    beside_times,
    function_takes,
    is_temporal,
)
from tiltpy.messages import article
from tiltpy.ops import FUNCTIONS, Component, StringTest
from tiltpy.source import Span
from tiltpy.string_predicates import find_pattern_fault
from tiltpy.types import (
    BOOL,
    F32,
    F64,
    I64,
    PHI,
    STRING,
    TIME,
    Scalar,
    Unit,
    int_range,
)
from tiltpy.zones import find_zone_fault


def call(function: str, arguments: Sequence[Expr], span: Span) -> Expr:
    """Call a math function of `ops.FUNCTIONS`, with as many arguments as it takes."""
    rule = FUNCTIONS[function]
    if rule.arity == 2:
        arguments = beside_times(*arguments)
    collect_errors(
        partial(require_own_number, argument, f"{function}()") for argument in arguments
    )
    scalar = common_type(arguments, span)
    if function_takes(rule, scalar):
        return Call(function, tuple(adapt(a, scalar) for a in arguments), scalar, span)
    for argument in arguments:
        require_number(scalar, argument, f"{function}()")
    if rule.result != "same" and not scalar.is_float:
        scalar = float_of(scalar)
    if rule.result == "bool" and is_untyped(scalar):
        scalar = F64
    adapted = tuple(adapt(argument, scalar) for argument in arguments)
    return Call(function, adapted, BOOL if rule.result == "bool" else scalar, span)


def cast(operand: Expr, target: Scalar, span: Span) -> Expr:
    """Make `target(operand)`; a literal or φ takes the type itself."""
    if operand.type == PHI:
        return adapt(operand, target)
    if operand.type == STRING and target.is_number:
        return read_number(operand, target, span)
    if STRING in (operand.type, target) and operand.type != target:
        raise _no_cast(operand, target, span)
    if target.is_temporal or is_temporal(operand.type):
        return ticks_cast(operand, target, span)
    if isinstance(operand, Const) and is_untyped(operand.type):
        return Const(_saturate(operand.number, target), target, span)
    operand = finish(operand, "the operand")
    scalar = common_type([operand], span)
    return operand if scalar == target else Cast(operand, target, span)


def _no_cast(operand: Expr, target: Scalar, span: Span) -> QueryError:
    """Make the error that strings are read as numbers only, and never written."""
    operand_type = "a number" if is_untyped(operand.type) else str(operand.type)
    hint = "cast the column before it comes in"
    if target == BOOL:
        hint = 'write a comparison, like ... == "true"'
    if isinstance(operand, Const) and target == STRING:
        hint = f'write it in quotes, like "{operand.value}"'
    return QueryError("E0201", f"no cast from {operand_type} to {target}", span, hint)


def _saturate(value: float, target: Scalar) -> bool | int | float:
    if target == BOOL:
        return value != 0
    if target.is_float:
        return to_f32(value) if target == F32 else float(value)
    low, high = int_range(target)
    if isnan(value):
        return 0
    return trunc(min(max(value, low), high))


def is_in(operand: Expr, options: Sequence[Expr], span: Span) -> Expr:
    """Make `operand in (options)`, of constants that widen with it to one type."""
    constants = []
    for option in options:
        if is_bare_phi(option):
            hint = "write x == φ || x in (...)"
            raise QueryError("E0201", "nothing equals φ", option.span, hint)
        if not isinstance(option, Const):
            hint = "literals and parameters; for others write x == ... || x == ..."
            raise QueryError("E0116", "a constant was expected", option.span, hint)
        constants.append(option)
    scalar = common_type([operand, *constants], span)
    if is_untyped(scalar):
        return is_in(finish(adapt(operand, scalar), "the operand"), options, span)
    distinct = dict.fromkeys(convert_constant(c, scalar) for c in constants)
    return In(adapt(operand, scalar), tuple(distinct), BOOL, span)


def match_string(test: StringTest, operand: Expr, pattern: Expr, span: Span) -> Expr:
    """Make `test(operand, pattern)`, such as `starts_with(s, "p")`."""
    if operand.type == PHI:
        operand = adapt(operand, STRING)
    for argument in (operand, pattern):
        if argument.type != STRING:
            message = f"{test}() takes strings, not {argument.type}"
            hint = f'like {test}(~x[t].name, "view")'
            raise QueryError("E0201", message, argument.span, hint)
    if not isinstance(pattern, Const):
        message = f"what {test}() looks for is a constant"
        raise QueryError("E0116", message, pattern.span, "a literal or a parameter")
    looked_for = str(pattern.value)
    fault = find_pattern_fault(looked_for) if test == "matches" else None
    if fault is not None:
        message = f"this regular expression does not compile: {fault}"
        hint = "the syntax is RE2's; contains(s, ...) looks for a plain text"
        raise QueryError("E0208", message, pattern.span, hint)
    return MatchString(test, operand, looked_for, BOOL, span)


def date_component(
    component: Component,
    operand: Expr,
    zone: Expr | None,
    unit: Unit | None,
    span: Span,
) -> Expr:
    """Make `component(operand, zone)`, such as `hour(t, "Europe/Berlin")`."""
    operand = as_time(operand)
    if operand.type == PHI:
        operand = adapt(operand, TIME)
    if operand.type != TIME:
        hint = f"like {component}(t); time(...) makes a time of ticks"
        message = f"{component}() takes a time, not {operand.type}"
        raise QueryError("E0201", message, operand.span, hint)
    if unit is None:
        message = f"{component}() needs to know how long a tick is"
        raise QueryError("E0110", message, span, "write `unit s` at the top")
    name = "" if zone is None else read_zone(zone)
    return DateComponent(component, operand, name, unit, I64, span)


def read_zone(zone: Expr) -> str:
    """Read the name of a time zone: a literal or a parameter."""
    if zone.type != STRING:
        message = f"the name of a time zone was expected, not {article(zone.type)}"
        hint = 'like "Europe/Berlin"'
        raise QueryError("E0201", message, zone.span, hint)
    if not isinstance(zone, Const):
        hint = "write a literal or a parameter"
        raise QueryError("E0116", "a time zone must be a constant", zone.span, hint)
    name = str(zone.value)
    fault = find_zone_fault(name)
    if fault is not None:
        raise QueryError("E0209", f'unknown time zone "{name}"', zone.span, fault)
    return name
