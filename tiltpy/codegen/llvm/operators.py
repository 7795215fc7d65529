"""LLVM instructions for each operator and function: tables for the regular ones.

`kind` is the LLVM type of the operands, of one lane or of all; every operator works on
both.

What traps or is undefined in LLVM is guarded here: division by zero and of the least
integer by -1, casts of NaN and out-of-range floats.
"""

from math import copysign, isnan

from tiltpy.abi.signature import LANES
from tiltpy.codegen.llvm.instructions import (
    Instructions,
    constant,
    element,
    is_wide,
    like,
    literal,
    number_in,
    suffix,
    type_of,
    wide,
)
from tiltpy.ops import BinaryOp
from tiltpy.types import BOOL, F64, I64, Scalar, int_range

_INTEGER = {"+": "add", "-": "sub", "*": "mul", "&&": "and", "||": "or"}
_FLOAT = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_EQUALITY = {"==": "eq", "!=": "ne"}
_ORDER = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def kind_of(scalar: Scalar, *, in_lanes: bool) -> str:
    """Write the LLVM type of a value, of one lane or of all."""
    return wide(type_of(scalar)) if in_lanes else type_of(scalar)


def emit_binary(
    code: Instructions, op: BinaryOp, scalar: Scalar, kind: str, a: str, b: str
) -> str:
    """Emit an operator on two values of one type."""
    if op in _EQUALITY or op in _ORDER:
        return code.value(f"{_comparison(op, scalar)} {kind} {a}, {b}")
    if op in ("//", "%"):
        if scalar.is_float:
            return _float_floor(code, op, kind, a, b)
        return _integer_floor(code, op, scalar, kind, a, b)
    name = _FLOAT[op] if scalar.is_float else _INTEGER[op]
    return code.value(f"{name} {kind} {a}, {b}")


def _comparison(op: str, scalar: Scalar) -> str:
    if scalar.is_float:
        # Only `!=` holds of a NaN.
        return "fcmp une" if op == "!=" else f"fcmp o{(_EQUALITY | _ORDER)[op]}"
    if op in _EQUALITY:
        return f"icmp {_EQUALITY[op]}"
    return f"icmp {'s' if scalar.kind == 'int' else 'u'}{_ORDER[op]}"


def _integer_floor(
    code: Instructions, op: str, scalar: Scalar, kind: str, a: str, b: str
) -> str:
    """Emit Python's `//` and `%`; by zero it is 0, the least integer by -1 wraps."""
    if b.isdecimal() and int(b).bit_count() == 1:
        return _by_power_of_two(code, op, scalar, kind, a, int(b))
    zero, unit = literal(kind, "0"), literal(kind, "1")
    test = like(kind, "i1")
    is_zero = code.value(f"icmp eq {kind} {b}, {zero}")
    if scalar.kind == "uint":
        divisor = code.select(is_zero, kind, unit, b)
        name = "udiv" if op == "//" else "urem"
        result = code.value(f"{name} {kind} {a}, {divisor}")
        return code.select(is_zero, kind, zero, result)
    is_minus = code.value(f"icmp eq {kind} {b}, {literal(kind, '-1')}")
    special = code.value(f"or {test} {is_zero}, {is_minus}")
    divisor = code.select(special, kind, unit, b)
    remainder = code.value(f"srem {kind} {a}, {divisor}")
    differ = code.value(f"xor {kind} {remainder}, {divisor}")
    negative = code.value(f"icmp slt {kind} {differ}, {zero}")
    inexact = code.value(f"icmp ne {kind} {remainder}, {zero}")
    wrong = code.value(f"and {test} {inexact}, {negative}")
    if op == "//":
        quotient = code.value(f"sdiv {kind} {a}, {divisor}")
        step = code.value(f"zext {test} {wrong} to {kind}")
        floored = code.value(f"sub {kind} {quotient}, {step}")
        by_minus = code.value(f"sub {kind} {zero}, {a}")
    else:
        moved = code.value(f"add {kind} {remainder}, {divisor}")
        floored = code.select(wrong, kind, moved, remainder)
        by_minus = zero
    result = code.select(is_minus, kind, by_minus, floored)
    return code.select(is_zero, kind, zero, result)


def _by_power_of_two(
    code: Instructions, op: str, scalar: Scalar, kind: str, a: str, b: int
) -> str:
    """Emit `//` or `%` by a constant power of two: a shift, or a mask."""
    if op == "%":
        return code.value(f"and {kind} {a}, {b - 1}")
    shift = "ashr" if scalar.kind == "int" else "lshr"
    return code.value(f"{shift} {kind} {a}, {b.bit_length() - 1}")


def _float_floor(code: Instructions, op: str, kind: str, a: str, b: str) -> str:
    """Emit floor division of floats: of `a - (a mod b)`, rounded as Python does.

    Single precision goes through double, as Python's own would.
    """
    if element(kind) == "float":
        double = like(kind, "double")
        widened = (code.value(f"fpext {kind} {value} to {double}") for value in (a, b))
        result = _float_floor(code, op, double, *widened)
        return code.value(f"fptrunc {double} {result} to {kind}")
    zero, unit, half = (literal(kind, text) for text in ("0.0", "1.0", "0.5"))
    test = like(kind, "i1")
    remainder = code.value(f"frem {kind} {a}, {b}")
    inexact = code.value(f"fcmp une {kind} {remainder}, {zero}")
    b_negative = code.value(f"fcmp olt {kind} {b}, {zero}")
    r_negative = code.value(f"fcmp olt {kind} {remainder}, {zero}")
    differ = code.value(f"xor {test} {b_negative}, {r_negative}")
    wrong = code.value(f"and {test} {inexact}, {differ}")
    if op == "%":
        sum_ = code.value(f"fadd {kind} {remainder}, {b}")
        moved = code.select(wrong, kind, sum_, remainder)
        return code.select(inexact, kind, moved, _copysign(code, kind, zero, b))
    exact = code.value(f"fsub {kind} {a}, {remainder}")
    quotient = code.value(f"fdiv {kind} {exact}, {b}")
    less = code.value(f"fsub {kind} {quotient}, {unit}")
    quotient = code.select(wrong, kind, less, quotient)
    floored = _intrinsic(code, "llvm.floor", kind, quotient)
    over = code.value(f"fsub {kind} {quotient}, {floored}")
    low = code.value(f"fcmp ogt {kind} {over}, {half}")
    above = code.value(f"fadd {kind} {floored}, {unit}")
    floored = code.select(low, kind, above, floored)
    ratio = code.value(f"fdiv {kind} {a}, {b}")
    is_zero = code.value(f"fcmp oeq {kind} {quotient}, {zero}")
    signed = _copysign(code, kind, zero, ratio)
    result = code.select(is_zero, kind, signed, floored)
    by_zero = code.value(f"fcmp oeq {kind} {b}, {zero}")
    return code.select(by_zero, kind, ratio, result)


def emit_convert(
    code: Instructions, value: str, old: Scalar, new: Scalar, *, in_lanes: bool
) -> str:
    """Emit a saturating cast."""
    if old == new:
        return value
    source, kind = (kind_of(scalar, in_lanes=in_lanes) for scalar in (old, new))
    if new == BOOL:
        zero = literal(source, constant(0, old))
        compare = "fcmp une" if old.is_float else "icmp ne"
        return code.value(f"{compare} {source} {value}, {zero}")
    if new.is_float:
        if old.is_float:
            name = "fpext" if new.bits > old.bits else "fptrunc"
        elif in_lanes and old == I64 and new == F64 and not code.converts:
            return _to_doubles(code, value)
        else:
            name = "sitofp" if old.kind == "int" else "uitofp"
        return code.value(f"{name} {source} {value} to {kind}")
    if old == BOOL:
        return code.value(f"zext {source} {value} to {kind}")
    if old.is_float:
        name = "llvm.fptosi.sat" if new.kind == "int" else "llvm.fptoui.sat"
        symbol = f"{name}.{suffix(kind)}.{suffix(source)}"
        return code.call(symbol, kind, [source], value)
    return _saturate(code, value, old, new, source, kind)


def _to_doubles(code: Instructions, value: str) -> str:
    """Convert 64-bit integers in lanes to the nearest doubles.

    Without an instruction for it LLVM would convert lane by lane. Each half of an
    integer is the mantissa of a double of its own, of 2^52 or 2^84 more; only the sum
    of both, without those, is rounded.
    """
    lanes, doubles = wide("i64"), wide("double")
    mask, low_exponent = literal(lanes, "4294967295"), literal(lanes, str(0x433 << 52))
    low = code.value(f"and {lanes} {value}, {mask}")
    low = code.value(f"or {lanes} {low}, {low_exponent}")
    low = code.value(f"bitcast {lanes} {low} to {doubles}")
    high = code.value(f"lshr {lanes} {value}, {literal(lanes, '32')}")
    high_exponent = literal(lanes, str((0x453 << 52) + (1 << 31)))  # flips the sign
    high = code.value(f"xor {lanes} {high}, {high_exponent}")
    high = code.value(f"bitcast {lanes} {high} to {doubles}")
    offset = literal(doubles, constant(2.0**84 + 2.0**63 + 2.0**52, F64))
    high = code.value(f"fsub {doubles} {high}, {offset}")
    return code.value(f"fadd {doubles} {high}, {low}")


def _saturate(
    code: Instructions, value: str, old: Scalar, new: Scalar, source: str, kind: str
) -> str:
    """Convert an integer to another integer type, clamped to its range."""
    (old_low, old_high), (low, high) = int_range(old), int_range(new)
    sign = "s" if old.kind == "int" else "u"
    if old_low < low:
        bound = literal(source, str(low))
        value = _intrinsic(code, f"llvm.{sign}max", source, value, bound)
    if old_high > high:
        bound = literal(source, str(high))
        value = _intrinsic(code, f"llvm.{sign}min", source, value, bound)
    if new.bits == old.bits:
        return value
    name = "trunc" if new.bits < old.bits else "sext" if sign == "s" else "zext"
    return code.value(f"{name} {source} {value} to {kind}")


_INTRINSICS = {
    "sqrt": "llvm.sqrt",
    "floor": "llvm.floor",
    "ceil": "llvm.ceil",
    "trunc": "llvm.trunc",
    "round": "llvm.rint",
    "fma": "llvm.fma",
}


def emit_call(
    code: Instructions,
    name: str,
    args: list[str],
    old: Scalar,
    new: Scalar,
    *,
    in_lanes: bool,
) -> str:
    """Emit a function of math or the loop IR; `old` is the arguments' type."""
    kind = kind_of(old, in_lanes=in_lanes)
    if name in ("max_key", "min_key"):
        return _order_key(code, args[0], kind, old.bits, largest=name == "max_key")
    if name == "from_key":
        flipped = _flip(code, args[0], kind, old.bits)
        result = kind_of(new, in_lanes=in_lanes)
        return code.value(f"bitcast {kind} {flipped} to {result}")
    if name in _INTRINSICS:
        return _intrinsic(code, _INTRINSICS[name], kind, *args)
    if name in ("abs", "sign", "min", "max"):
        if old.is_float:
            return _float_function(code, name, kind, args)
        return _integer_function(code, name, old, kind, args)
    if name.startswith("is_"):
        return _classify(code, name, kind, args[0])
    symbol = name + ("f" if old.bits == 32 else "")
    return _library(code, symbol, kind, args)


def _library(code: Instructions, symbol: str, kind: str, args: list[str]) -> str:
    """Call a function of the C library, lane by lane."""
    lane_type = element(kind)
    kinds = [lane_type] * len(args)
    if not is_wide(kind):
        return code.call(symbol, kind, kinds, *args)
    result = "poison"
    for lane in range(LANES):
        operands = [
            code.value(f"extractelement {kind} {argument}, i64 {lane}")
            for argument in args
        ]
        value = code.call(symbol, lane_type, kinds, *operands)
        result = code.value(
            f"insertelement {kind} {result}, {lane_type} {value}, i64 {lane}"
        )
    return result


def _float_function(code: Instructions, name: str, kind: str, args: list[str]) -> str:
    if name == "abs":
        return _intrinsic(code, "llvm.fabs", kind, *args)
    if name in ("min", "max"):
        for bound, value in (args, args[::-1]):
            limit = number_in(bound)
            if limit is not None and not isnan(limit):
                return _limit(code, name, kind, value, bound, limit)
        return _intrinsic(code, f"llvm.{name}imum", kind, *args)
    unit = _copysign(code, kind, literal(kind, "1.0"), args[0])
    nonzero = code.value(f"fcmp one {kind} {args[0]}, {literal(kind, '0.0')}")
    return code.select(nonzero, kind, unit, args[0])


def _limit(
    code: Instructions, name: str, kind: str, value: str, bound: str, limit: float
) -> str:
    """Emit `min` or `max` of a value and a constant that is no NaN.

    A comparison and a choice, which most processors have in one instruction: where both
    are equal, or the value is NaN, it is the value. But if that is the other zero, the
    constant has to be what counts.
    """
    first = 1.0 if name == "max" else -1.0
    either = limit == 0 and copysign(1.0, limit) == first
    op = f"o{'g' if name == 'max' else 'l'}{'e' if either else 't'}"
    beyond = code.value(f"fcmp {op} {kind} {bound}, {value}")
    return code.select(beyond, kind, bound, value)


def _integer_function(
    code: Instructions, name: str, scalar: Scalar, kind: str, args: list[str]
) -> str:
    signed = scalar.kind == "int"
    if name in ("min", "max"):
        return _intrinsic(code, f"llvm.{'s' if signed else 'u'}{name}", kind, *args)
    value, zero, test = args[0], literal(kind, "0"), like(kind, "i1")
    negative = literal(test, "false")
    if signed:
        negative = code.value(f"icmp slt {kind} {value}, {zero}")
    if name == "abs":
        minus = code.value(f"sub {kind} {zero}, {value}")
        return code.select(negative, kind, minus, value)
    nonzero = code.value(f"icmp ne {kind} {value}, {zero}")
    positive = code.value(f"zext {test} {nonzero} to {kind}")
    return code.select(negative, kind, literal(kind, "-1"), positive)


def _classify(code: Instructions, name: str, kind: str, value: str) -> str:
    if name == "is_nan":
        return code.value(f"fcmp uno {kind} {value}, {value}")
    size = _intrinsic(code, "llvm.fabs", kind, value)
    op = "oeq" if name == "is_inf" else "olt"
    infinity = literal(kind, "0x7FF0000000000000")
    return code.value(f"fcmp {op} {kind} {size}, {infinity}")


def _order_key(
    code: Instructions, value: str, source: str, bits: int, *, largest: bool
) -> str:
    """Flip a float's bits so that signed integers order as the floats do."""
    kind = like(source, f"i{bits}")
    pattern = code.value(f"bitcast {source} {value} to {kind}")
    key = _flip(code, pattern, kind, bits)
    nan = code.value(f"fcmp uno {source} {value}, {value}")
    extreme = (1 << (bits - 1)) - 1 if largest else -(1 << (bits - 1))
    return code.select(nan, kind, literal(kind, str(extreme)), key)


def _flip(code: Instructions, pattern: str, kind: str, bits: int) -> str:
    """Invert all bits but the sign where the sign is set."""
    sign = code.value(f"ashr {kind} {pattern}, {literal(kind, str(bits - 1))}")
    low = literal(kind, str((1 << (bits - 1)) - 1))
    mask = code.value(f"and {kind} {sign}, {low}")
    return code.value(f"xor {kind} {pattern}, {mask}")


def _copysign(code: Instructions, kind: str, value: str, sign: str) -> str:
    return _intrinsic(code, "llvm.copysign", kind, value, sign)


def _intrinsic(code: Instructions, name: str, kind: str, *args: str) -> str:
    return code.call(f"{name}.{suffix(kind)}", kind, [kind] * len(args), *args)
