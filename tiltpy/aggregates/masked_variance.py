"""Variances of a few cells of which some have no snapshot of their own.

States of varying counts are merged with a division for each two of them. Of a few cells
it costs less to go through all, in each lane: what a snapshot differs from a value in
their midst is summed, and its square. The nearer that is to the mean the less is lost
where the sums are subtracted. For an `f32` it is the mean, so far as it is known in
single precision; for others, in doubles, a value of the window itself: that is never so
far off that more is lost than the digits of the count, and equal values differ by 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tiltpy.abi import LANES
from tiltpy.emit.builder import Assembly, Block
from tiltpy.emit.floats import minus, over, plus, times
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Reduce
from tiltpy.loops.build import (
    TRUE,
    conj,
    convert,
    disj,
    f64,
    i64,
    le,
    lt,
    select,
)
from tiltpy.loops.nodes import CallFn, CountTrue, LExpr, Num, Splat
from tiltpy.types import BOOL, F32, F64, I64, Scalar

Values = Sequence[tuple[LExpr, LExpr]]
"""The values that a window may have, oldest first, and in which lanes it has them."""


@dataclass(frozen=True, slots=True)
class MaskedSpread:
    """A variance over the window of each lane."""

    assembly: Assembly
    node: Reduce
    values: Values

    def value(
        self, block: Block, count: LExpr, total: LExpr | None = None
    ) -> LoopValue:
        """What it is where so many snapshots contribute; `total`: their sum in `f32`.

        In single precision, if a sum is given, as long as nothing can get lost.
        """
        node = self.node
        assert isinstance(node.type, Scalar)
        if total is None:
            found = self._in_doubles(block, count)
        else:
            found = self._in_singles(block, count, total)
        enough = lt(Num(node.ddof, count.type), count)
        return LoopValue(node.type, block.name("w", found), block.name("some", enough))

    def _in_singles(self, block: Block, count: LExpr, total: LExpr) -> LExpr:
        """From differences to the mean, which all values being equal may just miss.

        By 9 roundings at most: then what is left is below 2^-17 of the squares for as
        many equal values as there may be, and above 2^-14.5 of them for all others.
        Where squares leave the range of `f32`, vectors are computed again in doubles:
        those of zeros, too, which cannot be told from squares that are too small.
        """
        number = block.name("n", convert(count, F32))
        share = block.name("share", over(Num(1.0, F32), number))
        mean = block.name("mean", times(total, share))
        apart, squares = self._sums(block, mean)
        rest = block.name("rest", minus(squares, times(apart, times(apart, share))))
        least = times(squares, Num(2.0**-15, F32))
        rest = block.name("rest", select(lt(least, rest), rest, Num(0.0, F32)))
        variance = block.name("variance", self._mean(rest, number, share))
        found = self.assembly.fresh("spread", F32)
        block.set(found, self._root(variance))
        some = disj(
            le(Num(2.0**-90, F32), variance),
            le(Num(2.0**-30, F32), CallFn("abs", (mean,), F32)),
        )
        safe = block.name("safe", conj(le(squares, Num(2.0**100, F32)), some))
        again = block.inner()
        again.set(found, self._in_doubles(again, count))
        unsafe = lt(CountTrue(Splat(safe, BOOL), I64), i64(LANES))
        block.when(block.name("unsafe", unsafe), again)
        return found

    def _in_doubles(self, block: Block, count: LExpr) -> LExpr:
        """From differences to a value of the window itself."""
        pivot, certain = self.values[0]
        for value, here in self.values[1:]:
            if certain != TRUE:
                pivot = block.name("pivot", select(here, value, pivot))
        pivot = block.name("pivot", convert(pivot, F64))
        total, squares = self._sums(block, pivot)
        number = block.name("n", convert(count, F64))
        share = block.name("share", self._share(block, number, count))
        rest = block.name("rest", minus(squares, times(total, times(total, share))))
        rest = select(lt(rest, f64(0.0)), f64(0.0), rest)
        if self.node.element.type == F64:
            finite = CallFn("is_finite", (squares,), BOOL)
            rest = select(finite, rest, plus(squares, self._lost(block)))
        assert isinstance(self.node.type, Scalar)
        variance = block.name("variance", self._mean(rest, number, share))
        return convert(self._root(variance), self.node.type)

    def _root(self, variance: LExpr) -> LExpr:
        """What was asked for: the variance or its root, of the same precision."""
        if self.node.reduction == "var":
            return variance
        return CallFn("sqrt", (variance,), variance.type)

    def _sums(self, block: Block, center: LExpr) -> tuple[LExpr, LExpr]:
        """Of the differences to a value, and of their squares."""
        kind = center.type
        zero = Num(0.0, kind)
        total: LExpr = Splat(zero, kind)
        squares = total
        for value, here in self.values:
            wide = block.name("x", convert(value, kind))
            apart = block.name("d", select(here, minus(wide, center), zero))
            total = block.name("total", plus(total, apart))
            squares = block.name(
                "squares", CallFn("fma", (apart, apart, squares), kind)
            )
        return total, squares

    def _lost(self, block: Block) -> LExpr:
        """NaN where an `f64` is infinite or NaN: huge ones have infinite squares."""
        lost: LExpr = Splat(f64(0.0), F64)
        for value, here in self.values:
            off = select(here, minus(value, value), f64(0.0))
            lost = block.name("lost", plus(lost, off))
        return lost

    def _mean(self, rest: LExpr, number: LExpr, share: LExpr) -> LExpr:
        """What squares come to on the average."""
        if self.node.ddof == 0:
            return times(rest, share)
        return over(rest, minus(number, Num(float(self.node.ddof), number.type)))

    def _share(self, block: Block, number: LExpr, count: LExpr) -> LExpr:
        """The reciprocal of the count; for an `f32` a step of Newton's does."""
        if self.node.type != F32:
            return over(f64(1.0), number)
        short = over(Num(1.0, F32), convert(count, F32))
        guess = block.name("guess", convert(short, F64))
        off = CallFn("fma", (minus(f64(0.0), number), guess, f64(1.0)), F64)
        return CallFn("fma", (guess, off, guess), F64)


def in_lanes(value: LoopValue) -> LExpr:
    """A scalar for each lane, even if it is a constant."""
    scalar = value.scalar
    return Splat(scalar, scalar.type) if isinstance(scalar, Num) else scalar
