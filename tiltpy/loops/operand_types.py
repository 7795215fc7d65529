"""Typing rules of the expressions of the loop IR, given their operands.

Nothing is converted implicitly: every rule is an equality, as in LLVM.
"""

from struct import error, pack
from typing import assert_never

from tiltpy.abi.signature import LANES
from tiltpy.loops.nodes import (
    Bin,
    CallFn,
    Convert,
    CountTrue,
    Earlier,
    Extract,
    Fill,
    FromLanes,
    Lane,
    Lanes,
    LastTrue,
    LExpr,
    Load,
    Not,
    Num,
    Pick,
    Select,
    Splat,
    Var,
    Wide,
)
from tiltpy.ops import ARITHMETIC, FUNCTIONS, LOGICAL
from tiltpy.types import BOOL, F32, F64, I32, I64, SCALARS, STRING, Scalar, int_range

KEYS = {F32: I32, F64: I64}
"""The integers that order as floats do (`max_key`)."""


def scalar_fault(scalar: Scalar) -> str | None:
    """Say why machine code has no such type, if it has none."""
    if SCALARS.get(scalar.name) == scalar or scalar == STRING:
        return None
    return f"a value is a bool, a number or the code of a string: {scalar}"


def type_fault(expr: LExpr) -> str | None:
    """Say which typing rule a node breaks, given the types of its operands."""
    match expr:
        case Var():
            return None  # `verify` knows its type
        case Num():
            return _constant_fault(expr)
        case Bin():
            return _operator_fault(expr)
        case Load(array=array) | Wide(array=array):
            return _expect("an entry is of its array's type", expr.type, array.type)
        case Select(condition=condition, then=then, otherwise=otherwise):
            return (
                _expect("a condition is a bool", condition.type, BOOL)
                or _expect("both choices have one type", otherwise.type, then.type)
                or _expect("a choice has its operands' type", expr.type, then.type)
            )
        case Not(operand=operand):
            return _expect("a negation is of a bool", operand.type, BOOL) or _expect(
                "a negation is a bool", expr.type, BOOL
            )
        case Convert():
            return scalar_fault(expr.type)
        case CallFn():
            return _call_fault(expr)
        case Lane() | Lanes():
            return _lanes_fault(expr)
        case Splat(operand=operand) | Extract(operand=operand):
            return _expect("lanes have one type", expr.type, operand.type) or (
                _lane_fault(expr) if isinstance(expr, Extract) else None
            )
        case Earlier() | Pick():
            return _shuffle_fault(expr)
        case Fill(operand=operand, valid=valid, beyond=beyond):
            return (
                _expect("lanes have one type", expr.type, operand.type)
                or _expect("lanes have one type", beyond.type, operand.type)
                or _expect("lanes are valid by a bool", valid.type, BOOL)
            )
        case FromLanes(values=values):
            if len(values) != LANES:
                return f"there is a scalar for each lane: {len(values)}"
            faults = (_expect("lanes have one type", expr.type, v.type) for v in values)
            return next(filter(None, faults), None)
        case CountTrue(operand=operand):
            return _expect("lanes are counted of a bool", operand.type, BOOL) or (
                _expect("a number of lanes is an i64", expr.type, I64)
            )
        case LastTrue(operand=operand):
            return _expect("a lane is found of a bool", operand.type, BOOL) or (
                _expect("the number of a lane is an i64", expr.type, I64)
            )
        case _:
            assert_never(expr)


def _expect(rule: str, scalar: Scalar, expected: Scalar) -> str | None:
    if scalar is expected or scalar == expected:
        return None
    return f"{rule}: {scalar}, not {expected}"


def _constant_fault(constant: Num) -> str | None:
    value, scalar = constant.value, constant.type
    if isinstance(value, bool) or scalar == BOOL:
        fits = isinstance(value, bool) and scalar == BOOL
    elif scalar.is_float:
        fits = _fits_float(value, scalar)
    else:
        low, high = int_range(scalar)
        fits = isinstance(value, int) and low <= value <= high
    if not fits:
        return f"a constant is a value of its type: {value!r} as {scalar}"
    return scalar_fault(scalar)


def _fits_float(value: float, scalar: Scalar) -> bool:
    try:
        pack("<f" if scalar == F32 else "<d", value)
    except (OverflowError, error):
        return False
    return True


def _operator_fault(expr: Bin) -> str | None:
    op, operand = expr.op, expr.left.type
    fault = _expect("operands have one type", expr.right.type, operand)
    if fault is not None:
        return fault
    if op in LOGICAL:
        return _expect("&& and || are of bools", operand, BOOL) or _expect(
            "&& and || give a bool", expr.type, BOOL
        )
    if op in ARITHMETIC:
        if not operand.is_number or (op == "/" and not operand.is_float):
            return f"arithmetic is of numbers, and / of floats: {op} of {operand}"
        return _expect("arithmetic gives its operands' type", expr.type, operand)
    return _expect("a comparison is a bool", expr.type, BOOL)


def _call_fault(call: CallFn) -> str | None:
    name = call.function
    function = FUNCTIONS.get(name)
    arity = _LOOP_FUNCTIONS.get(name) if function is None else function.arity
    if arity is None:
        return f"a function is one of ops.FUNCTIONS or of the loop IR: {name}"
    if len(call.arguments) != arity:
        return f"{name} takes {arity} arguments: {len(call.arguments)}"
    operand = call.arguments[0].type
    for argument in call.arguments[1:]:
        fault = _expect("arguments have one type", argument.type, operand)
        if fault is not None:
            return fault
    if name == "from_key":
        fault = None if call.type in KEYS else f"from_key gives a float: {call.type}"
        return fault or _expect("a key has its float's width", operand, KEYS[call.type])
    if function is not None and function.result == "same":
        if not (operand.is_number or (operand == STRING and name in ("min", "max"))):
            return f"{name} takes numbers: {operand}"
        return _expect(f"{name} gives its arguments' type", call.type, operand)
    if not operand.is_float:
        return f"{name} takes floats: {operand}"
    if name in ("max_key", "min_key"):
        return _expect("a key has its float's width", call.type, KEYS[operand])
    expected = BOOL if function is not None and function.result == "bool" else operand
    return _expect(f"{name} gives {expected}", call.type, expected)


_LOOP_FUNCTIONS = {"max_key": 1, "min_key": 1, "from_key": 1}


def _lanes_fault(expr: Lane | Lanes) -> str | None:
    if not expr.type.is_integer:
        return f"numbers of lanes are integers: {expr.type}"
    if isinstance(expr, Lanes):
        low, high = int_range(expr.type)
        if len(expr.values) != LANES:
            return f"there is a constant for each lane: {len(expr.values)}"
        if not all(low <= value <= high for value in expr.values):
            return f"a constant is a value of its type: {expr.values} as {expr.type}"
    return scalar_fault(expr.type)


def _lane_fault(expr: Extract) -> str | None:
    if 0 <= expr.lane < LANES:
        return None
    return f"a lane is one of {LANES}: {expr.lane}"


def _shuffle_fault(expr: Earlier | Pick) -> str | None:
    if isinstance(expr, Earlier):
        sides = expr.now, expr.before
        if not 0 < expr.by < LANES:
            return f"lanes move by 1 to {LANES - 1}: {expr.by}"
    else:
        sides = expr.first, expr.second
        if len(expr.order) != LANES:
            return f"there is a lane to pick for each lane: {len(expr.order)}"
        if not all(0 <= lane < 2 * LANES for lane in expr.order):
            return f"a lane that is picked is one of {2 * LANES}: {expr.order}"
    return _expect("lanes have one type", sides[1].type, sides[0].type) or _expect(
        "lanes have one type", expr.type, sides[0].type
    )
