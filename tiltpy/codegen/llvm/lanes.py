"""Values of one lane and of all: widening, and moving lanes within vectors."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tiltpy.abi.signature import LANES
from tiltpy.codegen.llvm.instructions import Instructions, literal, type_of, wide
from tiltpy.codegen.llvm.lane_tables import shuffle_order
from tiltpy.types import BOOL, U16, Scalar

BITS = f"i{LANES}"
"""A bit for each lane."""
_BITS_TYPE = U16
"""The integers that have as many bits."""


class Value(NamedTuple):
    """A value in a register: its name, and whether it is wide."""

    text: str
    wide: bool


def widen(code: Instructions, value: Value, scalar: Scalar) -> str:
    """Broadcast a value to all lanes, unless it is wide already."""
    if value.wide:
        return value.text
    kind = type_of(scalar)
    vector = wide(kind)
    if not value.text.startswith("%"):
        return literal(vector, value.text)
    first = code.value(f"insertelement {vector} poison, {kind} {value.text}, i64 0")
    order = f"<{LANES} x i32> zeroinitializer"
    return code.value(f"shufflevector {vector} {first}, {vector} poison, {order}")


def widen_together(
    code: Instructions, operands: Sequence[tuple[Value, Scalar]]
) -> tuple[list[str], bool]:
    """Broadcast all operands if any is wide; and tell whether it is."""
    in_lanes = any(value.wide for value, _ in operands)
    if not in_lanes:
        return [value.text for value, _ in operands], False
    return [widen(code, value, scalar) for value, scalar in operands], True


def constant_lanes(values: Iterable[int], scalar: Scalar) -> Value:
    """Write a vector with a constant for each lane."""
    kind = type_of(scalar)
    return Value(f"<{', '.join(f'{kind} {value}' for value in values)}>", wide=True)


def to_bits(code: Instructions, text: str) -> str:
    """Convert wide bools to bits, unless these are known."""
    return code.bits.get(text) or code.value(f"bitcast {wide('i1')} {text} to {BITS}")


def from_bits(code: Instructions, bits: str) -> str:
    """Convert bits to wide bools.

    Where they are no masks, LLVM would move each bit by itself.
    """
    if code.masks:
        return code.value(f"bitcast {BITS} {bits} to {wide('i1')}")
    kind = wide(BITS)
    copies = widen(code, Value(bits, wide=False), _BITS_TYPE)
    own = constant_lanes((1 << lane for lane in range(LANES)), _BITS_TYPE).text
    kept = code.value(f"and {kind} {copies}, {own}")
    text = code.value(f"icmp eq {kind} {kept}, {own}")
    code.bits[text] = bits
    code.made_of_bits.add(text)
    return text


def combine_masks(code: Instructions, op: str, left: str, right: str) -> str:
    """Emit `and`, `or` or `xor` of wide bools, and of their bits if some are known."""
    kind, sides = wide("i1"), (left, right)
    lanes = f"{op} {kind} {left}, {right}"
    if not any(side in code.bits for side in sides):
        return code.value(lanes)
    one, other = (to_bits(code, side) for side in sides)
    bits = code.value(f"{op} {BITS} {one}, {other}")
    return _emit_both(code, sides, lanes, bits)


def _emit_both(code: Instructions, sides: Sequence[str], lanes: str, bits: str) -> str:
    """Emit a wide bool whose bits are known, of `sides` by an instruction `lanes`.

    If all they have is bits, so has it. LLVM removes the form that is not used.
    """
    if all(side in code.made_of_bits or not side.startswith("%") for side in sides):
        return from_bits(code, bits)
    text = code.value(lanes)
    code.bits[text] = bits
    return text


def count_true(code: Instructions, text: str) -> Value:
    """Count the lanes in which a wide bool is true."""
    count = code.call(f"llvm.ctpop.{BITS}", BITS, [BITS], to_bits(code, text))
    return Value(code.value(f"zext {BITS} {count} to i64"), wide=False)


def last_true(code: Instructions, text: str) -> Value:
    """Find the last lane in which a wide bool is true; -1 if there is none."""
    bits = code.value(f"zext {BITS} {to_bits(code, text)} to i64")
    above = code.call("llvm.ctlz.i64", "i64", ["i64", "i1"], bits, "false")
    return Value(code.value(f"sub i64 63, {above}"), wide=False)


def earlier(
    code: Instructions, scalar: Scalar, before: str, now: str, by: int
) -> Value:
    """Shift lanes: those `by` lanes back in the sequence of `before`, then `now`."""
    order, sides = range(LANES - by, 2 * LANES - by), (before, now)
    if scalar != BOOL or not (code.masks or code.bits.keys() & set(sides)):
        return shuffle(code, scalar, before, now, order)
    bits = _earlier_bits(code, before, now, by)
    if code.masks:  # which have no shuffles
        return Value(from_bits(code, bits), wide=True)
    lanes = _shuffle_lanes(wide("i1"), before, now, order)
    return Value(_emit_both(code, sides, lanes, bits), wide=True)


def _earlier_bits(code: Instructions, before: str, now: str, by: int) -> str:
    """Shift bools as the bits of a number."""
    late = code.value(f"shl {BITS} {to_bits(code, now)}, {by}")
    early = code.value(f"lshr {BITS} {to_bits(code, before)}, {LANES - by}")
    return code.value(f"or {BITS} {late}, {early}")


def shuffle(
    code: Instructions, scalar: Scalar, first: str, second: str, order: Iterable[int]
) -> Value:
    """Select the lanes numbered by `order` from `first`, then `second`."""
    lanes = _shuffle_lanes(wide(type_of(scalar)), first, second, order)
    return Value(code.value(lanes), wide=True)


def _shuffle_lanes(kind: str, first: str, second: str, order: Iterable[int]) -> str:
    lanes = shuffle_order([*order])
    return f"shufflevector {kind} {first}, {kind} {second}, {lanes}"
