"""Count, mean and central sums of powers: the states of variance, skew and kurtosis."""

from functools import lru_cache

from tiltpy.aggregates.aggregate import Aggregate, State
from tiltpy.emit.builder import Block
from tiltpy.emit.floats import fma, minus, over, plus, times
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Reduce
from tiltpy.loops.build import convert, f64, is_power_of_two, lt, select
from tiltpy.loops.nodes import Bin, LExpr, Num
from tiltpy.ops import REDUCTIONS
from tiltpy.types import F32, F64, Scalar

ORDERS = {rule.name: rule.moments for rule in REDUCTIONS.values() if rule.moments}
"""The highest power of deviations that each reduction needs."""


def uses_masked_variance(node: Reduce, cells: int, most: int) -> bool:
    """Decide whether vectors compute the variance of so many cells by a mask."""
    return node.reduction in ("var", "std") and cells <= most


def moments_of(order: int, kind: Scalar = F64) -> Aggregate:
    """Count, mean and central sums of powers, combined by Pébay's update formulas.

    Equal values combine without error, so their variance is exactly 0.
    """

    def lift(_block: Block, _row: LExpr, value: LoopValue) -> State:
        wide = convert(value.scalar, kind)
        spread = Bin("-", wide, wide, kind)  # 0, but NaN for an infinity or a NaN
        return (Num(1.0, kind), wide, *([spread] * (order - 1)))

    def combine_nonempty(_: Block, a: State, b: State) -> State:
        return _combine_moments(a, b, order)

    zero, one = Num(0.0, kind), Num(1.0, kind)

    def combine(block: Block, a: State, b: State) -> State:
        count, *moments = combine_nonempty(block, a, b)
        # Counts are whole. No choice stands between one and the next: they add up.
        no_a, no_b = lt(a[0], one), lt(b[0], one)
        chosen = (
            select(no_a, right, select(no_b, left, both))
            for left, right, both in zip(a[1:], b[1:], moments, strict=True)
        )
        return count, *chosen

    kinds, zeros = (kind,) * (order + 1), (zero,) * (order + 1)
    return Aggregate(
        f"moments{order}",
        kinds,
        zeros,
        lift,
        combine,
        combine_nonempty=combine_nonempty,
        counted=frozenset({0}),
    )


def _combine_about(block: Block, a: State, b: State) -> State:
    (na, pa, sa, qa), (nb, pb, sb, qb) = a, b
    apart = block.name("apart", minus(pa, pb))
    moved = block.name("moved", fma(convert(na, F64), apart, sa))
    squares = fma(apart, plus(moved, sa), plus(qa, qb))
    return plus(na, nb), pb, plus(moved, sb), squares


@lru_cache
def about_last(count: Scalar) -> Aggregate:
    """Count, a pivot, and the sums of deviations from it and of their squares.

    The pivot is the last finite value up to the range's end: its own, if it has any.
    That of an empty range may be any finite number, but is the older one's in the newer
    of two that are combined, so no pivot is looked for. No division combines two of
    them, however many values they are of. About a value of a window of `n` the sum of
    squares is at most `n + 1` times that about the mean: a double has room for that and
    for the digits of singles, in windows of up to 2^16, or for the tolerance of
    doubles, in short ones. Equal values differ by 0. The count has few bits.
    """

    def lift(_block: Block, _row: LExpr, value: LoopValue) -> State:
        wide = convert(value.scalar, F64)
        spread = Bin("-", wide, wide, F64)  # 0, but NaN for an infinity or a NaN
        return Num(1, count), wide, spread, spread

    return Aggregate(
        "about",
        (count, F64, F64, F64),
        (Num(0, count), f64(0.0), f64(0.0), f64(0.0)),
        lift,
        _combine_about,
        ordered=True,
        counted=frozenset({0}),
        from_newer=frozenset({1}),
    )


MOST_ABOUT_LAST = {F32: 1 << 16, F64: 1 << 10}
"""The most cells of a window that are combined so."""


def moments_about(state: State) -> State:
    """The count, mean and sum of squares of values of which `about_last` is known."""
    count, pivot, total, squares = state
    n = convert(count, F64)
    mean = over(total, n)
    return n, plus(pivot, mean), minus(squares, times(total, mean))


def _combine_moments(a: State, b: State, order: int) -> State:
    """Combine states; counts that are constants cost nothing."""
    (na, ma, *sa), (nb, mb, *sb) = a, b
    n = plus(na, nb)
    delta = minus(mb, ma)
    share = over(Num(1.0, n.type), n)
    step = times(delta, times(nb, share))
    cross = times(delta, delta, times(na, nb, share))
    merged = [n, plus(ma, step), plus(sa[0], sb[0], cross)]
    if order >= 3:
        offset = times(delta, share)
        twist = minus(times(na, sb[0]), times(nb, sa[0]))
        third = plus(
            times(cross, offset, minus(na, nb)), times(f64(3.0), offset, twist)
        )
        merged.append(plus(sa[1], sb[1], third))
    if order >= 4:
        shape = plus(minus(times(na, na), times(na, nb)), times(nb, nb))
        spread = plus(times(na, na, sb[0]), times(nb, nb, sa[0]))
        twist = minus(times(na, sb[1]), times(nb, sa[1]))
        fourth = plus(
            times(cross, offset, offset, shape),
            times(f64(6.0), offset, offset, spread),
            times(f64(4.0), offset, twist),
        )
        merged.append(plus(sa[2], sb[2], fourth))
    return tuple(merged)


def _lift_short(_block: Block, _row: LExpr, value: LoopValue) -> State:
    return Num(1.0, F32), value.scalar, _ZERO, _ZERO


def _combine_short(_block: Block, a: State, b: State) -> State:
    """Combine states whose counts are constants; sums and means share the totals."""
    (na, total_a, _, qa), (nb, total_b, _, qb) = a, b
    assert isinstance(na, Num)
    assert isinstance(nb, Num)
    smaller, larger = sorted((float(na.value), float(nb.value)))
    total, n = plus(total_a, total_b), plus(na, nb)
    if is_power_of_two(na) and is_power_of_two(nb):
        # The distance of the sums, scaled to the larger count.
        apart = _apart(a, b)
        factor = 2.0 * smaller / (larger * (smaller + larger))
    else:
        apart = minus(short_mean(b), short_mean(a))
        factor = 2.0 * smaller * larger / (smaller + larger)
    squares = fma(times(apart, Num(factor, F32)), apart, plus(qa, qb))
    if is_power_of_two(n):
        return n, total, _ZERO, squares
    delta = minus(short_mean(b), short_mean(a))
    share = Num(float(nb.value) / (smaller + larger), F32)
    return n, total, fma(delta, share, short_mean(a)), squares


def _apart(a: State, b: State) -> LExpr:
    (na, total_a, *_), (nb, total_b, *_) = a, b
    assert isinstance(na, Num)
    assert isinstance(nb, Num)
    if na.value < nb.value:
        return fma(total_a, Num(-nb.value / na.value, F32), total_b)
    if na.value > nb.value:
        return fma(total_b, Num(-na.value / nb.value, F32), total_a)
    return minus(total_b, total_a)


def short_mean(state: State) -> LExpr:
    """The mean: in the state itself where dividing the sum would round."""
    n, total, mean, _ = state
    assert isinstance(n, Num)
    return times(total, Num(1.0 / n.value, F32)) if is_power_of_two(n) else mean


_ZERO = Num(0.0, F32)
SHORT_VARIANCE = Aggregate(
    "spread",
    (F32,) * 4,
    (_ZERO,) * 4,
    _lift_short,
    _combine_short,
)
"""Count, sum, mean and twice the central sum of squares of a few moderate `f32`.

A single snapshot's square is 0 even if it is NaN or infinite: those spread with the
first combine. Equal values combine without error: sums of powers of two of them are
exact, and others are combined by their means.
"""
