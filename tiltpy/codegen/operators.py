"""LLVM instructions for each operator and function: tables for the regular ones.

What traps or is undefined in LLVM is guarded here: division by zero and of the least
integer by -1, casts of NaN and out-of-range floats.
"""

from llvmlite import ir

from tiltpy.ops import BinaryOp
from tiltpy.types import BOOL, Scalar, int_range

LLVM_TYPES: dict[str, ir.Type] = {
    "bool": ir.IntType(1),
    "f32": ir.FloatType(),
    "f64": ir.DoubleType(),
    **{f"{sign}{n}": ir.IntType(n) for sign in "iu" for n in (8, 16, 32, 64)},
}

_INTEGER = {"+": "add", "-": "sub", "*": "mul"}
_FLOAT = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_COMPARISON = ("==", "!=", "<", "<=", ">", ">=")


def memory_type(scalar: Scalar) -> ir.Type:
    """The type in memory: a bool is a byte."""
    return ir.IntType(8) if scalar == BOOL else LLVM_TYPES[scalar.name]


def emit_binary(
    builder: ir.IRBuilder, op: BinaryOp, scalar: Scalar, a: ir.Value, b: ir.Value
) -> ir.Value:
    """An operator on two values of one type."""
    if op in _COMPARISON:
        if scalar.is_float:
            unordered = op == "!="
            compare = builder.fcmp_unordered if unordered else builder.fcmp_ordered
            return compare(op, a, b)
        if scalar.kind == "int":
            return builder.icmp_signed(op, a, b)
        return builder.icmp_unsigned(op, a, b)
    if op == "&&":
        return builder.and_(a, b)
    if op == "||":
        return builder.or_(a, b)
    if op in ("//", "%"):
        if scalar.is_float:
            return _float_floor(builder, op, a, b)
        return _integer_floor(builder, op, scalar, a, b)
    name = _FLOAT[op] if scalar.is_float else _INTEGER[op]
    return getattr(builder, name)(a, b)


def _integer_floor(
    builder: ir.IRBuilder, op: str, scalar: Scalar, a: ir.Value, b: ir.Value
) -> ir.Value:
    """Python's `//` and `%`; by zero it is 0, the least integer by -1 wraps."""
    kind = a.type
    zero, one = kind(0), kind(1)
    is_zero = builder.icmp_unsigned("==", b, zero)
    if scalar.kind == "uint":
        divisor = builder.select(is_zero, one, b)
        result = (builder.udiv if op == "//" else builder.urem)(a, divisor)
        return builder.select(is_zero, zero, result)
    is_minus = builder.icmp_signed("==", b, kind(-1))
    divisor = builder.select(builder.or_(is_zero, is_minus), one, b)
    quotient, remainder = builder.sdiv(a, divisor), builder.srem(a, divisor)
    wrong = builder.and_(
        builder.icmp_signed("!=", remainder, zero),
        builder.icmp_signed("<", builder.xor(remainder, divisor), zero),
    )
    if op == "//":
        floored = builder.sub(quotient, builder.zext(wrong, kind))
        minus = builder.sub(zero, a)
    else:
        floored = builder.select(wrong, builder.add(remainder, divisor), remainder)
        minus = zero
    return builder.select(is_zero, zero, builder.select(is_minus, minus, floored))


def _float_floor(builder: ir.IRBuilder, op: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """Floor division of floats: of `a - (a mod b)`, rounded as Python does.

    Single precision goes through double, as Python's own would.
    """
    kind = a.type
    if isinstance(kind, ir.FloatType):
        wide = (builder.fpext(value, ir.DoubleType()) for value in (a, b))
        return builder.fptrunc(_float_floor(builder, op, *wide), kind)
    zero, one, half = kind(0.0), kind(1.0), kind(0.5)
    remainder = builder.frem(a, b)
    nonzero = builder.fcmp_unordered("!=", remainder, zero)
    wrong = builder.and_(
        nonzero,
        builder.xor(
            builder.fcmp_ordered("<", b, zero),
            builder.fcmp_ordered("<", remainder, zero),
        ),
    )
    if op == "%":
        moved = builder.select(wrong, builder.fadd(remainder, b), remainder)
        signed_zero = _intrinsic(builder, "llvm.copysign", [zero, b], kind)
        return builder.select(nonzero, moved, signed_zero)
    quotient = builder.fdiv(builder.fsub(a, remainder), b)
    quotient = builder.select(wrong, builder.fsub(quotient, one), quotient)
    floored = _intrinsic(builder, "llvm.floor", [quotient], kind)
    low = builder.fcmp_ordered(">", builder.fsub(quotient, floored), half)
    floored = builder.select(low, builder.fadd(floored, one), floored)
    ratio = builder.fdiv(a, b)
    signed_zero = _intrinsic(builder, "llvm.copysign", [zero, ratio], kind)
    is_zero = builder.fcmp_ordered("==", quotient, zero)
    result = builder.select(is_zero, signed_zero, floored)
    return builder.select(builder.fcmp_ordered("==", b, zero), ratio, result)


def emit_convert(
    builder: ir.IRBuilder, value: ir.Value, old: Scalar, new: Scalar
) -> ir.Value:
    """A saturating cast."""
    kind = LLVM_TYPES[new.name]
    if old == new:
        return value
    if new == BOOL:
        zero = value.type(0.0 if old.is_float else 0)
        if old.is_float:
            return builder.fcmp_unordered("!=", value, zero)
        return builder.icmp_unsigned("!=", value, zero)
    if old == BOOL:
        convert = builder.uitofp if new.is_float else builder.zext
        return convert(value, kind)
    if new.is_float:
        if old.is_float:
            widen = new.bits > old.bits
            return (builder.fpext if widen else builder.fptrunc)(value, kind)
        return (builder.sitofp if old.kind == "int" else builder.uitofp)(value, kind)
    if old.is_float:
        name = "llvm.fptosi.sat" if new.kind == "int" else "llvm.fptoui.sat"
        suffix = f"i{new.bits}.{_suffix(value.type)}"
        return _call(builder, f"{name}.{suffix}", [value], kind)
    return _saturate(builder, value, old, new)


def _saturate(
    builder: ir.IRBuilder, value: ir.Value, old: Scalar, new: Scalar
) -> ir.Value:
    """An integer as another integer type, clamped to its range."""
    (old_low, old_high), (low, high) = int_range(old), int_range(new)
    compare = builder.icmp_signed if old.kind == "int" else builder.icmp_unsigned
    if old_low < low:
        bound = value.type(low)
        value = builder.select(compare("<", value, bound), bound, value)
    if old_high > high:
        bound = value.type(high)
        value = builder.select(compare(">", value, bound), bound, value)
    kind = LLVM_TYPES[new.name]
    if new.bits < old.bits:
        return builder.trunc(value, kind)
    if new.bits > old.bits:
        return (builder.sext if old.kind == "int" else builder.zext)(value, kind)
    return value


_INTRINSICS = {
    "sqrt": "llvm.sqrt",
    "floor": "llvm.floor",
    "ceil": "llvm.ceil",
    "trunc": "llvm.trunc",
    "round": "llvm.rint",
}


def emit_call(
    builder: ir.IRBuilder, name: str, args: list[ir.Value], old: Scalar, new: Scalar
) -> ir.Value:
    """A math function, or one of the loop IR's own."""
    kind = args[0].type
    if name in ("max_key", "min_key"):
        return _order_key(builder, args[0], largest=name == "max_key")
    if name == "from_key":
        return _from_key(builder, args[0], LLVM_TYPES[new.name])
    if name in _INTRINSICS:
        return _intrinsic(builder, _INTRINSICS[name], args, kind)
    if name in ("abs", "sign", "min", "max"):
        return (_float_same if old.is_float else _integer_same)(
            builder, name, args, old
        )
    if name.startswith("is_"):
        return _classify(builder, name, args[0])
    symbol = _LIBM.get(name, name) + ("f" if old.bits == 32 else "")
    return _call(builder, symbol, args, kind)


_LIBM = {"asin": "asin", "acos": "acos", "atan": "atan"}


def _float_same(
    builder: ir.IRBuilder, name: str, args: list[ir.Value], _: Scalar
) -> ir.Value:
    kind = args[0].type
    if name == "abs":
        return _intrinsic(builder, "llvm.fabs", args, kind)
    if name in ("min", "max"):
        return _intrinsic(builder, f"llvm.{name}imum", args, kind)
    unit = _intrinsic(builder, "llvm.copysign", [kind(1.0), args[0]], kind)
    nonzero = builder.fcmp_ordered("!=", args[0], kind(0.0))
    return builder.select(nonzero, unit, args[0])


def _integer_same(
    builder: ir.IRBuilder, name: str, args: list[ir.Value], scalar: Scalar
) -> ir.Value:
    kind = args[0].type
    signed = scalar.kind == "int"
    if name in ("min", "max"):
        prefix = "s" if signed else "u"
        return _intrinsic(builder, f"llvm.{prefix}{name}", args, kind)
    negative = (
        builder.icmp_signed("<", args[0], kind(0)) if signed else ir.IntType(1)(0)
    )
    if name == "abs":
        return builder.select(negative, builder.sub(kind(0), args[0]), args[0])
    positive = builder.zext(builder.icmp_unsigned("!=", args[0], kind(0)), kind)
    return builder.select(negative, kind(-1), positive)


def _classify(builder: ir.IRBuilder, name: str, value: ir.Value) -> ir.Value:
    if name == "is_nan":
        return builder.fcmp_unordered("uno", value, value)
    size = _intrinsic(builder, "llvm.fabs", [value], value.type)
    infinity = value.type(float("inf"))
    op = "==" if name == "is_inf" else "<"
    return builder.fcmp_ordered(op, size, infinity)


def _order_key(builder: ir.IRBuilder, value: ir.Value, *, largest: bool) -> ir.Value:
    """A float's bits, flipped so that signed integers order as the floats do."""
    bits = 32 if isinstance(value.type, ir.FloatType) else 64
    kind = ir.IntType(bits)
    pattern = builder.bitcast(value, kind)
    sign = builder.ashr(pattern, kind(bits - 1))
    key = builder.xor(pattern, builder.and_(sign, kind((1 << (bits - 1)) - 1)))
    nan = builder.fcmp_unordered("uno", value, value)
    extreme = kind((1 << (bits - 1)) - 1 if largest else 1 << (bits - 1))
    return builder.select(nan, extreme, key)


def _from_key(builder: ir.IRBuilder, key: ir.Value, kind: ir.Type) -> ir.Value:
    bits = key.type.width
    sign = builder.ashr(key, key.type(bits - 1))
    mask = builder.and_(sign, key.type((1 << (bits - 1)) - 1))
    return builder.bitcast(builder.xor(key, mask), kind)


def _suffix(kind: ir.Type) -> str:
    if isinstance(kind, ir.IntType):
        return f"i{kind.width}"
    return "f32" if isinstance(kind, ir.FloatType) else "f64"


def _intrinsic(
    builder: ir.IRBuilder, name: str, args: list[ir.Value], kind: ir.Type
) -> ir.Value:
    return _call(builder, f"{name}.{_suffix(args[0].type)}", args, kind)


def _call(
    builder: ir.IRBuilder, symbol: str, args: list[ir.Value], kind: ir.Type
) -> ir.Value:
    module = builder.module
    function = module.globals.get(symbol)
    if function is None:
        signature = ir.FunctionType(kind, [a.type for a in args])
        function = ir.Function(module, signature, symbol)
    return builder.call(function, args)
