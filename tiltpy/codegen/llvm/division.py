"""Division of all lanes by one divisor: by its reciprocal, corrected to the last bit.

A division of a vector takes as long as a dozen other operations. With the reciprocal,
the quotient `a * (1/b)` is off by two units in the last place at most; the remainder
`a - q*b` of a fused operation corrects it, once to within a unit and once more to the
correctly rounded quotient (Markstein's theorem), as long as no step under- or
overflows. Vectors in which one could are divided.
"""

from tiltpy.codegen.llvm.instructions import (
    Instructions,
    literal,
    suffix,
    type_of,
    wide,
)
from tiltpy.codegen.llvm.lanes import BITS, Value, to_bits, widen
from tiltpy.types import Scalar

_SAFE = {32: 60, 64: 480}
"""Neither side under- or overflows between 2 to minus this power and to this power."""
_MANTISSA = {32: 23, 64: 52}


def emit_division(code: Instructions, scalar: Scalar, a: str, divisor: Value) -> str:
    """Emit `a / divisor` for a wide `a` and a divisor that is not."""
    narrow, kind = type_of(scalar), wide(type_of(scalar))
    name = f"llvm.fma.{suffix(kind)}"
    reciprocal = code.value(f"fdiv {narrow} 1.0, {divisor.text}")
    b = widen(code, divisor, scalar)
    r = widen(code, Value(reciprocal, wide=False), scalar)
    minus = code.value(f"fneg {kind} {b}")
    first = quotient = code.value(f"fmul {kind} {a}, {r}")
    for _ in range(2):
        rest = code.call(name, kind, [kind] * 3, quotient, minus, a)
        quotient = code.call(name, kind, [kind] * 3, rest, r, quotient)
    # The quotient of a zero is done at once, and loses its sign by a correction.
    nonzero = code.value(f"fcmp une {kind} {a}, {literal(kind, '0.0')}")
    result = code.stack(kind)
    code.do(f"store {kind} {code.select(nonzero, kind, quotient, first)}, ptr {result}")
    lanes = _unsafe(code, scalar, a, in_lanes=True)
    lanes = code.value(f"and {wide('i1')} {lanes}, {nonzero}")
    number = _unsafe(code, scalar, divisor.text, in_lanes=False)
    any_lane = code.value(f"icmp ne {BITS} {to_bits(code, lanes)}, 0")
    divide, done = code.label(), code.label()
    unsafe = code.value(f"or i1 {any_lane}, {number}")
    code.choose(unsafe, divide, done, rarely=True)
    code.begin(divide)
    code.do(f"store {kind} {code.value(f'fdiv {kind} {a}, {b}')}, ptr {result}")
    code.branch(done)
    code.begin(done)
    return code.value(f"load {kind}, ptr {result}")


def _unsafe(code: Instructions, scalar: Scalar, value: str, *, in_lanes: bool) -> str:
    """Test whether a magnitude is close to an end of the type's range."""
    bits = scalar.bits
    kind, number = type_of(scalar), f"i{bits}"
    if in_lanes:
        kind, number = wide(kind), wide(number)
    low = (1 << (bits - 2)) - ((_SAFE[bits] + 1) << _MANTISSA[bits])
    span = 2 * _SAFE[bits] << _MANTISSA[bits]
    pattern = code.value(f"bitcast {kind} {value} to {number}")
    # Twice the pattern is without the sign, and so are both bounds.
    size = code.value(f"add {number} {pattern}, {pattern}")
    above = code.value(f"sub {number} {size}, {literal(number, str(2 * low))}")
    return code.value(f"icmp ugt {number} {above}, {literal(number, str(2 * span))}")
