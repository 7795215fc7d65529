"""The typing rule of every node: what `verify` checks once a node's scope is known.

Each rule returns the fault it found, or None. Types are final here: all widening is
explicit, so every rule is an equality.
"""

from typing import assert_never

from tiltpy.ir import temporal_types as temporal
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
    UserReduction,
)
from tiltpy.ops import (
    ARITHMETIC,
    COMPARISON,
    FUNCTIONS,
    LOGICAL,
    MOST_TOP,
    REDUCTIONS,
)
from tiltpy.types import (
    BOOL,
    DURATION,
    F32,
    F64,
    I64,
    STRING,
    TIME,
    U64,
    Scalar,
    Struct,
    Type,
    columns,
    int_range,
)


def type_fault(expr: Expr) -> str | None:
    """Describe what is wrong with a node's type, given those of its subexpressions."""
    if not _is_final(expr.type):
        return f"type {expr.type} in a finished query"
    match expr:
        case Const():
            return _const_fault(expr)
        case Phi() | At() | Element() | Local() | Let():
            return None  # their types come from elsewhere; `verify` compares them
        case Time() | EventBound() | ElementStart():
            return None if expr.type == TIME else _expect(expr, "time", expr.type, I64)
        case Unary():
            return _unary_fault(expr)
        case Binary():
            return _binary_fault(expr)
        case If():
            return _expect(expr, "condition", expr.condition.type, BOOL) or _expect(
                expr, "else branch", expr.otherwise.type, expr.then.type
            )
        case Exists():
            return _expect(expr, "result", expr.type, BOOL)
        case Cast():
            return _cast_fault(expr)
        case Call():
            return _call_fault(expr)
        case In():
            return _in_fault(expr)
        case MatchString():
            return _expect(expr, "operand", expr.operand.type, STRING) or _expect(
                expr, "result", expr.type, BOOL
            )
        case StringCall():
            return _string_call_fault(expr)
        case DateComponent():
            ticks = I64 if expr.operand.type == I64 else TIME
            return _expect(expr, "operand", expr.operand.type, ticks) or _expect(
                expr, "result", expr.type, I64
            )
        case MakeStruct():
            return _struct_fault(expr)
        case Field():
            return _field_fault(expr)
        case Reduce():
            return _reduce_fault(expr)
        case _:
            assert_never(expr)


def reduction_type(
    reduction: str, element: Type, parameter: float | None = None
) -> Type | None:
    """Find the result type of a reduction over an element, or None if it has none."""
    rule = REDUCTIONS[reduction]
    if isinstance(element, Struct) and not rule.structs:
        return None
    if rule.result == "i64":
        return I64
    assert isinstance(element, Scalar)
    if element.is_temporal and rule.result not in ("top", "modes"):
        return temporal.reduction_result(rule, element)
    if element == BOOL and not rule.bools:
        return None
    if element == STRING and not rule.strings:
        return None
    match rule.result:
        case "bool":
            return BOOL if element == BOOL else None
        case "keep":
            return element
        case "float":
            return F32 if element == F32 else F64
        case "f64":
            return F64
        case "top":
            assert isinstance(parameter, int)
            return Struct(tuple((f"top{i + 1}", element) for i in range(parameter)))
        case "modes":
            assert isinstance(parameter, int)
            places = (str(i + 1) for i in range(parameter))
            pairs = ((("mode" + i, element), ("count" + i, I64)) for i in places)
            return Struct(tuple(field for pair in pairs for field in pair))
        case "sum":
            if element.is_float:
                return element
            return U64 if element.kind == "uint" else I64
        case _:
            assert_never(rule.result)


def _is_final(type: Type) -> bool:
    return all(s.kind not in ("literal", "phi") for _, s in columns(type))


def _expect(expr: Expr, what: str, actual: Type, expected: Type) -> str | None:
    if actual == expected:
        return None
    return f"{type(expr).__name__}: {what} is {actual}, expected {expected}"


def _cast_fault(expr: Cast) -> str | None:
    actual = expr.operand.type
    if isinstance(actual, Struct):
        return f"Cast: operand is the struct {actual}"
    ticks = actual.is_temporal or expr.type.is_temporal
    if STRING in (actual, expr.type) or (
        ticks and not temporal.castable(actual, expr.type)
    ):
        return f"Cast: from {actual} to {expr.type}"
    return None


def _in_fault(expr: In) -> str | None:
    if not expr.options:
        return "In: no options"
    for option in expr.options:
        fault = _const_fault(option) or _expect(
            expr, "option", option.type, expr.operand.type
        )
        if fault:
            return fault
    return _expect(expr, "result", expr.type, BOOL)


def _string_call_fault(expr: StringCall) -> str | None:
    for operand in expr.operands:
        fault = _expect(expr, "operand", operand.type, STRING)
        if fault:
            return fault
    if expr.function == "number":
        good = expr.type in (I64, U64, F64)
        return None if good else f"StringCall: a number is {expr.type}"
    return _expect(expr, "result", expr.type, I64 if expr.function == "len" else STRING)


def _const_fault(expr: Const) -> str | None:
    value, scalar = expr.value, expr.type
    if scalar == BOOL:
        good = isinstance(value, bool)
    elif scalar.is_integer or scalar.is_temporal:
        low, high = int_range(scalar)
        whole = isinstance(value, int) and not isinstance(value, bool)
        good = whole and low <= int(value) <= high
    else:
        good = isinstance(value, str if scalar == STRING else float)
    return None if good else f"Const: {value!r} is no {scalar}"


def _unary_fault(expr: Unary) -> str | None:
    if expr.op == "!":
        fault = _expect(expr, "operand of !", expr.operand.type, BOOL)
    elif expr.operand.type == DURATION:
        fault = None
    else:
        fault = _numbers(f"Unary {expr.op}", expr.operand.type)
    return fault or _expect(expr, "result", expr.type, expr.operand.type)


def _binary_fault(expr: Binary) -> str | None:
    left, right = expr.left.type, expr.right.type
    name = f"Binary {expr.op}"
    if temporal.is_temporal(left) or temporal.is_temporal(right):
        known = temporal.temporal_result(expr.op, left, right)
        if known is None:
            return f"{name}: operands are {left} and {right}"
        return _expect(expr, "result", expr.type, known)
    if left != right:
        return f"{name}: operands are {left} and {right}, expected one type"
    if isinstance(left, Struct):
        return f"{name}: operands are structs"
    if expr.op in COMPARISON:
        return _expect(expr, "result", expr.type, BOOL)
    if expr.op in LOGICAL:
        fault = _expect(expr, "operand", left, BOOL)
    else:
        assert expr.op in ARITHMETIC
        fault = _numbers(name, left)
        if expr.op == "/" and not left.is_float:
            fault = f"{name}: operands are {left}, expected a float type"
    return fault or _expect(expr, "result", expr.type, left)


def _call_fault(expr: Call) -> str | None:
    rule = FUNCTIONS.get(expr.function)
    if rule is None:
        return f"Call: no function {expr.function}"
    if len(expr.arguments) != rule.arity:
        return f"Call {rule.name}: {len(expr.arguments)} arguments, not {rule.arity}"
    first = expr.arguments[0].type
    if temporal.function_takes(rule, first):
        types = [argument.type for argument in expr.arguments]
        same = types == [first] * len(types)
        fault = None if same else f"Call {rule.name}: arguments are {types}"
        return fault or _expect(expr, f"result of {rule.name}", expr.type, first)
    for argument in expr.arguments:
        fault = _numbers(f"Call {rule.name}", argument.type) or _expect(
            expr, "argument", argument.type, first
        )
        if fault:
            return fault
    assert isinstance(first, Scalar)
    if rule.result != "same" and not first.is_float:
        return f"Call {rule.name}: arguments are {first}, expected a float type"
    result = BOOL if rule.result == "bool" else first
    return _expect(expr, f"result of {rule.name}", expr.type, result)


def _struct_fault(expr: MakeStruct) -> str | None:
    actual = tuple(field.type for field in expr.fields)
    expected = tuple(scalar for _, scalar in expr.type.fields)
    if actual == expected:
        return None
    return f"MakeStruct: fields are {', '.join(map(str, actual))}, not {expr.type}"


def _field_fault(expr: Field) -> str | None:
    operand = expr.operand.type
    actual = operand.field(expr.name) if isinstance(operand, Struct) else None
    if actual is None:
        return f"Field: {operand} has no field {expr.name}"
    return _expect(expr, f"field {expr.name}", expr.type, actual)


def _reduce_fault(expr: Reduce) -> str | None:
    rule = REDUCTIONS.get(expr.reduction)
    if rule is None:
        return f"Reduce: no reduction {expr.reduction}"
    if expr.bounds:
        return f"Reduce: {rule.name} does not see bounds"
    if expr.ddof and not rule.ddof:
        return f"Reduce: {rule.name} takes no ddof"
    if expr.method != "linear" and rule.parameter != "q":
        return f"Reduce: {rule.name} takes no method"
    if not _sound_parameter(rule.parameter, expr.parameter):
        return f"Reduce: {rule.name} with the parameter {expr.parameter!r}"
    if expr.window.look is not None:  # the element of one row, whatever it is
        return _expect(expr, "an as-of look", expr.type, expr.element.type)
    expected = reduction_type(rule.name, expr.element.type, expr.parameter)
    if expected is None:
        return f"Reduce: {rule.name} of {expr.element.type}"
    return _expect(expr, f"result of {rule.name}", expr.type, expected)


def _sound_parameter(kind: str, actual: float | None) -> bool:
    """Tell whether a parameter is of the kind that its reduction takes."""
    match kind:
        case "q":
            return isinstance(actual, float) and 0 <= actual <= 1
        case "n":
            return isinstance(actual, int) and 1 <= actual <= MOST_TOP
        case _:
            return actual is None


def user_reduction_fault(expr: Reduce, reduction: UserReduction) -> str | None:
    """Describe what is wrong with the use of a user-defined reduction."""
    if expr.ddof or expr.parameter is not None:
        return f"Reduce: {reduction.name} takes nothing but its window"
    if expr.bounds != reduction.bounds:
        return f"Reduce: {reduction.name} and its use differ in whether they see bounds"
    return _expect(expr, "element", expr.element.type, reduction.type) or _expect(
        expr, f"result of {reduction.name}", expr.type, reduction.result.type
    )


def _numbers(name: str, actual: Type) -> str | None:
    if isinstance(actual, Scalar) and actual.is_number:
        return None
    return f"{name}: operand is {actual}, expected a number"
