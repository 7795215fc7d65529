"""Count, mean and central sums of powers: the states of variance, skew and kurtosis."""

from tiltpy.aggregates.aggregate import Aggregate, State
from tiltpy.costs import Costs
from tiltpy.emit.builder import Block
from tiltpy.emit.floats import fused, minus, over, plus, times
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Reduce
from tiltpy.loops.build import convert, eq, f64, is_power_of_two, select
from tiltpy.loops.nodes import Bin, LExpr, Num
from tiltpy.ops import REDUCTIONS
from tiltpy.types import F32, F64, Scalar

ORDERS = {rule.name: rule.moments for rule in REDUCTIONS.values() if rule.moments}
"""The highest power that a reduction needs."""


def is_masked_spread(node: Reduce, cells: int, costs: Costs) -> bool:
    """Decide whether a vector makes a variance of the values of `cells` cells."""
    return node.reduction in ("var", "std") and cells <= costs.masked_variance_cells


def moments_of(order: int, kind: Scalar = F64) -> Aggregate:
    """Count, mean and central sums of powers, merged by Pébay's update formulas.

    Equal values merge without any error, so their variance is exactly 0.
    """

    def lift(_block: Block, _row: LExpr, value: LoopValue) -> State:
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
    return Aggregate(
        f"moments{order}", kinds, zeros, lift, merge, joined=join, counted=True
    )


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


def _lift_spread(_block: Block, _row: LExpr, value: LoopValue) -> State:
    return Num(1.0, F32), value.scalar, _ZERO, _ZERO


def _join_spreads(_block: Block, a: State, b: State) -> State:
    """The counts are constants. What the sums cost, sums and means share."""
    (na, total_a, _, qa), (nb, total_b, _, qb) = a, b
    assert isinstance(na, Num)
    assert isinstance(nb, Num)
    few, many = sorted((float(na.value), float(nb.value)))
    total, n = plus(total_a, total_b), plus(na, nb)
    if is_power_of_two(na) and is_power_of_two(nb):
        # How far the sums are apart, if both were of as many as the larger is.
        apart = _apart(a, b)
        factor = 2.0 * few / (many * (few + many))
    else:
        apart = minus(spread_mean(b), spread_mean(a))
        factor = 2.0 * few * many / (few + many)
    squares = fused(times(apart, Num(factor, F32)), apart, plus(qa, qb))
    if is_power_of_two(n):
        return n, total, _ZERO, squares
    delta = minus(spread_mean(b), spread_mean(a))
    share = Num(float(nb.value) / (few + many), F32)
    return n, total, fused(delta, share, spread_mean(a)), squares


def _apart(a: State, b: State) -> LExpr:
    (na, total_a, *_), (nb, total_b, *_) = a, b
    assert isinstance(na, Num)
    assert isinstance(nb, Num)
    if na.value < nb.value:
        return fused(total_a, Num(-nb.value / na.value, F32), total_b)
    if na.value > nb.value:
        return fused(total_b, Num(-na.value / nb.value, F32), total_a)
    return minus(total_b, total_a)


def spread_mean(state: State) -> LExpr:
    """The mean, which is part of the state where a division of the sum would round."""
    n, total, mean, _ = state
    assert isinstance(n, Num)
    return times(total, Num(1.0 / n.value, F32)) if is_power_of_two(n) else mean


_ZERO = Num(0.0, F32)
SHORT_SPREAD = Aggregate(
    "spread",
    (F32,) * 4,
    (_ZERO,) * 4,
    _lift_spread,
    _join_spreads,
)
"""Count, sum, mean of a few `f32`, neither tiny nor huge, and twice the central sum of
their squares.

A snapshot's own square is 0 even if it is a NaN or infinite: those spread with the
first merge. Equal values merge without any error here, too: sums of powers of two of
them are exact, and others are merged by their means.
"""
