"""Interpolation between two values in order: the last step of a quantile.

`interpreter.order_statistics` does the same, operation by operation.
"""

from math import floor
from typing import assert_never

from tiltpy.emit.builder import Block
from tiltpy.emit.floats import times
from tiltpy.ir.nodes import Reduce
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import (
    conj,
    convert,
    disj,
    eq,
    f64,
    greatest,
    i64,
    least,
    lt,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import Bin, CallFn, LExpr
from tiltpy.types import BOOL, F64, I64


def quantile_share(node: Reduce) -> float:
    """The `q` of a quantile; a median is one."""
    return 0.5 if node.parameter is None else float(node.parameter)


def quantile_position(count: int, share: float) -> tuple[int, float]:
    """The position of a quantile among sorted values, whole and fractional."""
    position = share * (count - 1)
    return floor(position), position - floor(position)


@dataclass(frozen=True, slots=True)
class QuantilePlace:
    """The position of a quantile among sorted values, when their number is known."""

    node: Reduce
    first: LExpr
    fraction: LExpr

    @staticmethod
    def of(block: Block, node: Reduce, size: LExpr) -> "QuantilePlace":
        """Find the position among `size` values; the first one of none."""
        steps = convert(greatest(sub(size, i64(1)), i64(0)), F64)
        position = block.name("place", times(f64(quantile_share(node)), steps))
        below = block.name("below", CallFn("floor", (position,), F64))
        fraction = block.name("part", Bin("-", position, below, F64))
        return QuantilePlace(node, block.name("first", convert(below, I64)), fraction)

    def value(self, block: Block, low: LExpr, high: LExpr) -> LExpr:
        """Interpolate between the values at the position and after it."""
        low, high = (block.name("value", convert(each, F64)) for each in (low, high))
        is_even = eq(Bin("%", self.first, i64(2), I64), i64(0))
        return between(block, self.node, low, high, self.fraction, is_even)


def between(
    block: Block,
    node: Reduce,
    low: LExpr,
    high: LExpr,
    fraction: LExpr,
    is_even: LExpr,
) -> LExpr:
    """The quantile between two values, by the method of a reduction.

    `fraction` is 0 at `low`, which is the result there, and `is_even` says whether
    `low` is at an even position. A zero is +0.
    """
    whole, half = eq(fraction, f64(0.0)), eq(fraction, f64(0.5))
    match node.method:
        case "linear":
            return interpolate(block, low, high, fraction)
        case "lower":
            chosen = low
        case "higher":
            chosen = select(whole, low, high)
        case "nearest":
            is_low = disj(lt(fraction, f64(0.5)), conj(half, is_even))
            chosen = select(is_low, low, high)
        case "midpoint":
            middle = interpolate(block, low, high, f64(0.5))
            chosen = select(whole, low, middle)
        case _:
            assert_never(node.method)
    return Bin("+", chosen, f64(0.0), F64)


def interpolate(block: Block, low: LExpr, high: LExpr, fraction: LExpr) -> LExpr:
    """Interpolate between two values, either of which may be infinite.

    `fraction` is 0 at `low`, which is the result there. A zero is +0.
    """
    spread = block.name("spread", Bin("-", high, low, F64))
    line = Bin("+", low, times(spread, fraction), F64)
    rest = Bin("-", f64(1.0), fraction, F64)
    mean = Bin("+", times(low, rest), times(high, fraction), F64)
    middle = eq(fraction, f64(0.5))
    plain = conj(negate(middle), CallFn("is_finite", (spread,), BOOL))
    point = least(greatest(select(plain, line, mean), low), high)
    return Bin("+", select(eq(fraction, f64(0.0)), low, point), f64(0.0), F64)
