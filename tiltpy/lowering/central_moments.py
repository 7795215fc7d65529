"""Count, mean and central sums of powers: the states of variance, skew and kurtosis."""

from tiltpy.loops.build import convert, eq, f64, select
from tiltpy.loops.nodes import Bin, LExpr, Num
from tiltpy.lowering.assembly import Block
from tiltpy.lowering.floats import minus, over, plus, times
from tiltpy.lowering.states import Kept, State
from tiltpy.lowering.values import Lowered
from tiltpy.types import F32, F64, Scalar

ORDERS = {"var": 2, "std": 2, "skew": 3, "kurtosis": 4}
"""The highest power that a reduction needs."""


def moments_of(order: int, kind: Scalar = F64) -> Kept:
    """Count, mean and central sums of powers, merged by Pébay's update formulas.

    Equal values merge without any error, so their variance is exactly 0.
    """

    def lift(_block: Block, _row: LExpr, value: Lowered) -> State:
        wide = convert(value.scalar, kind)
        spread = Bin("-", wide, wide, kind)  # 0, but NaN for an infinity or a NaN
        return (Num(1.0, kind), wide, *([spread] * (order - 1)))

    def join(_: Block, a: State, b: State) -> State:
        return _merge_moments(a, b, order)

    nothing = Num(0.0, kind)

    def merge(block: Block, a: State, b: State) -> State:
        no_a, no_b = eq(a[0], nothing), eq(b[0], nothing)
        return tuple(
            select(no_a, right, select(no_b, left, both))
            for left, right, both in zip(a, b, join(block, a, b), strict=True)
        )

    kinds, zeros = (kind,) * (order + 1), (nothing,) * (order + 1)
    return Kept(f"moments{order}", kinds, zeros, lift, merge, joined=join)


def _merge_moments(a: State, b: State, order: int) -> State:
    """The counts may be constants, which then cost nothing."""
    (na, ma, *sa), (nb, mb, *sb) = a, b
    n = plus(na, nb)
    delta = minus(mb, ma)
    share = over(Num(1.0, n.type), n)
    step = times(delta, times(nb, share))
    cross = times(delta, delta, times(na, nb, share))
    merged = [n, plus(ma, step), plus(sa[0], sb[0], cross)]
    if order >= 3:
        part = times(delta, share)
        twist = minus(times(na, sb[0]), times(nb, sa[0]))
        third = plus(times(cross, part, minus(na, nb)), times(f64(3.0), part, twist))
        merged.append(plus(sa[1], sb[1], third))
    if order >= 4:
        shape = plus(minus(times(na, na), times(na, nb)), times(nb, nb))
        spread = plus(times(na, na, sb[0]), times(nb, nb, sa[0]))
        twist = minus(times(na, sb[1]), times(nb, sa[1]))
        fourth = plus(
            times(cross, part, part, shape),
            times(f64(6.0), part, part, spread),
            times(f64(4.0), part, twist),
        )
        merged.append(plus(sa[2], sb[2], fourth))
    return tuple(merged)


NARROW_MOMENTS = moments_of(2, F32)
"""Of a few `f32` that are neither tiny nor huge."""
