"""What lies between two values in order: the last step of a quantile.

The interpreter does the same (`interpreter_orders`), operation by operation.
"""

from math import floor

from tiltpy.emit.builder import Block
from tiltpy.ir.nodes import Reduce
from tiltpy.loops.build import conj, eq, f64, greatest, least, negate, select
from tiltpy.loops.nodes import Bin, CallFn, LExpr
from tiltpy.types import BOOL, F64


def share_of(node: Reduce) -> float:
    """The `q` of a quantile; a median is one."""
    return 0.5 if node.parameter is None else float(node.parameter)


def place_among(count: int, share: float) -> tuple[int, float]:
    """The place of a quantile among some values: a whole part, and the rest."""
    place = share * (count - 1)
    return floor(place), place - floor(place)


def between(block: Block, low: LExpr, high: LExpr, part: LExpr) -> LExpr:
    """A point on the line from one value to the other, both of which may be infinite.

    `part` is 0 at the lower one, which is the result there. A zero is +0.
    """
    spread = block.name("spread", Bin("-", high, low, F64))
    line = Bin("+", low, times(spread, part), F64)
    rest = Bin("-", f64(1.0), part, F64)
    mean = Bin("+", times(low, rest), times(high, part), F64)
    middle = eq(part, f64(0.5))
    plain = conj(negate(middle), CallFn("is_finite", (spread,), BOOL))
    point = least(greatest(select(plain, line, mean), low), high)
    return Bin("+", select(eq(part, f64(0.0)), low, point), f64(0.0), F64)


def times(left: LExpr, right: LExpr) -> LExpr:
    """A product of doubles."""
    return Bin("*", left, right, F64)
