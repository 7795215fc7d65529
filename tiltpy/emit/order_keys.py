"""Keys: numbers that order like values and are equal for equal values."""

from collections.abc import Callable, Sequence

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.values import LoopValue
from tiltpy.loops.build import TRUE, add, conj, convert, eq, i64, lt, select, sub
from tiltpy.loops.nodes import Bin, CallFn, LExpr, Num, Var, While
from tiltpy.types import I32, I64, U64, Scalar, int_range

_FACTOR = Num(0x9E3779B97F4A7C15, U64)
"""2^64 over the golden ratio: spreads keys that follow one another (Knuth)."""
_HALF = Num(1 << 32, U64)


def order_key(value: LExpr, scalar: Scalar) -> LExpr:
    """A number that orders like a value and is equal for equal values.

    All NaNs are equal and the greatest, both zeros are equal.
    """
    if not scalar.is_float and scalar.kind != "int":
        return convert(value, U64)
    signed = convert(signed_key(value), I64)
    least_value, greatest_value = int_range(I64)
    if scalar.bits < I64.bits:
        return convert(add(signed, i64(1 << (scalar.bits - 1))), U64)
    below = convert(Bin("+", signed, i64(least_value), I64), U64)  # which wraps
    above = Bin("+", convert(signed, U64), Num(greatest_value + 1, U64), U64)
    return select(lt(signed, i64(0)), below, above)


def key_type(scalar: Scalar) -> Scalar:
    """The type of the signed key of a number: integers are their own."""
    if not scalar.is_float:
        return scalar
    return I32 if scalar.bits == I32.bits else I64


def signed_key(value: LExpr) -> LExpr:
    """A number as an integer that orders like it; both zeros are equal, NaNs last."""
    if not value.type.is_float:
        return value
    kind = key_type(value.type)
    bits: LExpr = CallFn("max_key", (value,), kind)
    return select(eq(bits, Num(-1, kind)), Num(0, kind), bits)


def number_of_key(key: LExpr, scalar: Scalar) -> LExpr:
    """The number of a signed key, with +0 for both zeros."""
    return CallFn("from_key", (key,), scalar) if scalar.is_float else key


def value_of_key(key: LExpr, scalar: Scalar) -> LExpr:
    """The integer of a key (see `order_key`)."""
    if scalar.kind != "int":
        return convert(key, scalar)
    least_value, _ = int_range(I64)
    if scalar.bits < I64.bits:
        return convert(sub(convert(key, I64), i64(1 << (scalar.bits - 1))), scalar)
    half = Num(1 << 63, U64)
    above = convert(Bin("-", key, half, U64), I64)
    below = Bin("+", convert(key, I64), i64(least_value), I64)
    return select(lt(key, half), below, above)


def hash_entry(keys: Sequence[LExpr], size: LExpr) -> LExpr:
    """The entry of a table, of less than 2^32, at which to look for some keys."""
    mixed: LExpr = Num(0, U64)
    for key in keys:
        mixed = Bin("*", Bin("+", mixed, key, U64), _FACTOR, U64)
    high = Bin("//", mixed, _HALF, U64)
    at = Bin("//", Bin("*", high, convert(size, U64), U64), _HALF, U64)
    return convert(at, I64)


def probe(
    builder: KernelBuilder,
    block: Block,
    keys: Sequence[LExpr],
    size: LExpr,
    is_other: Callable[[LExpr], LExpr],
) -> Var:
    """Look for some keys in a hash table: linear probing from their first entry on.

    Entries that are taken by other keys, as `is_other` tells, are passed. A table has
    free entries.
    """
    entry = builder.fresh("entry")
    block.set(entry, hash_entry(keys, size))
    following = block.inner()
    after = following.name("after", add(entry, i64(1)))
    following.set(entry, select(lt(after, size), after, i64(0)))
    block.add(While(is_other(entry), following.body()))
    return entry


def equality_keys(values: Sequence[LoopValue]) -> tuple[list[LExpr], LExpr]:
    """Numbers that are equal for equal values, and whether any value equals all these.

    φ and NaN equal nothing.
    """
    keys = [order_key(value.scalar, value.scalar.type) for value in values]
    equal = (
        eq(value.scalar, value.scalar) if value.scalar.type.is_float else TRUE
        for value in values
    )
    return keys, conj(*(value.valid for value in values), *equal)
