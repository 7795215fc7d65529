"""Variances of a few cells of which some have no snapshot of their own.

Combining states of varying counts takes a division for each pair. Over few cells it
costs less to visit all of them in each lane and to sum the deviations from a pivot and
their squares. The closer the pivot is to the mean the less cancels when the sums are
subtracted. For an `f32` the pivot is the mean in single precision; else, in doubles, a
value of the window, where no more is lost than the digits of the count and equal values
differ by 0.
"""

from collections.abc import Sequence

from tiltpy.abi.signature import LANES
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.floats import minus, over, plus, times
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Reduce
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import TRUE, conj, convert, disj, f64, i64, le, lt, select
from tiltpy.loops.nodes import CallFn, CountTrue, LExpr, Num, Splat
from tiltpy.types import BOOL, F32, F64, I64, Scalar

Values = Sequence[tuple[LExpr, LExpr]]
"""The values that a window may hold, oldest first, each with its mask."""


@dataclass(frozen=True, slots=True)
class MaskedVariance:
    """A variance over the window of each lane."""

    builder: KernelBuilder
    node: Reduce
    values: Values

    def value(
        self, block: Block, count: LExpr, total: LExpr | None = None
    ) -> LoopValue:
        """Compute the variance of `count` snapshots.

        With their `total`, an `f32`, in single precision as long as that is exact.
        """
        node = self.node
        assert isinstance(node.type, Scalar)
        if total is None:
            result = self._in_doubles(block, count)
        else:
            result = self._in_singles(block, count, total)
        enough = lt(Num(node.ddof, count.type), count)
        return LoopValue(node.type, block.name("w", result), block.name("some", enough))

    def _in_singles(self, block: Block, count: LExpr, total: LExpr) -> LExpr:
        """Compute it from deviations from the rounded mean.

        The mean of equal values is off by at most 9 roundings: then the rest is below
        2^-17 of the squares, and above 2^-14.5 of them for values that differ. Vectors
        whose squares leave the range of `f32` are computed again in doubles; zeros,
        too, which cannot be told from squares that are too small.
        """
        number = block.name("n", convert(count, F32))
        share = block.name("share", over(Num(1.0, F32), number))
        mean = block.name("mean", times(total, share))
        apart, squares = self._sums(block, mean)
        rest = block.name("rest", minus(squares, times(apart, times(apart, share))))
        least = times(squares, Num(2.0**-15, F32))
        rest = block.name("rest", select(lt(least, rest), rest, Num(0.0, F32)))
        variance = block.name("variance", self._average(rest, number, share))
        result = self.builder.fresh("spread", F32)
        block.set(result, self._root(variance))
        large_enough = disj(
            le(Num(2.0**-90, F32), variance),
            le(Num(2.0**-30, F32), CallFn("abs", (mean,), F32)),
        )
        safe = block.name("safe", conj(le(squares, Num(2.0**100, F32)), large_enough))
        again = block.inner()
        again.set(result, self._in_doubles(again, count))
        unsafe = lt(CountTrue(Splat(safe, BOOL), I64), i64(LANES))
        block.when(block.name("unsafe", unsafe), again)
        return result

    def _in_doubles(self, block: Block, count: LExpr) -> LExpr:
        """Compute it from deviations from the newest certain value of the window."""
        pivot, certain = self.values[0]
        for value, here in self.values[1:]:
            if certain != TRUE:
                pivot = block.name("pivot", select(here, value, pivot))
        pivot = block.name("pivot", convert(pivot, F64))
        total, squares = self._sums(block, pivot)
        number = block.name("n", convert(count, F64))
        share = block.name("share", self._reciprocal(block, number, count))
        rest = block.name("rest", minus(squares, times(total, times(total, share))))
        rest = select(lt(rest, f64(0.0)), f64(0.0), rest)
        if self.node.element.type == F64:
            finite = CallFn("is_finite", (squares,), BOOL)
            rest = select(finite, rest, plus(squares, self._nonfinite(block)))
        assert isinstance(self.node.type, Scalar)
        variance = block.name("variance", self._average(rest, number, share))
        return convert(self._root(variance), self.node.type)

    def _root(self, variance: LExpr) -> LExpr:
        """The variance or, for `std`, its root in the same precision."""
        if self.node.reduction == "var":
            return variance
        return CallFn("sqrt", (variance,), variance.type)

    def _sums(self, block: Block, center: LExpr) -> tuple[LExpr, LExpr]:
        """The sums of the deviations from a value, and of their squares."""
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

    def _nonfinite(self, block: Block) -> LExpr:
        """NaN where an `f64` is NaN or infinite, else 0: huge ones overflow, too."""
        nonfinite: LExpr = Splat(f64(0.0), F64)
        for value, here in self.values:
            off = select(here, minus(value, value), f64(0.0))
            nonfinite = block.name("lost", plus(nonfinite, off))
        return nonfinite

    def _average(self, rest: LExpr, number: LExpr, share: LExpr) -> LExpr:
        """The sum of squares divided by the degrees of freedom."""
        if self.node.ddof == 0:
            return times(rest, share)
        return over(rest, minus(number, Num(float(self.node.ddof), number.type)))

    def _reciprocal(self, block: Block, number: LExpr, count: LExpr) -> LExpr:
        """The reciprocal of the count; for an `f32` by one step of Newton's method."""
        if self.node.type != F32:
            return over(f64(1.0), number)
        short = over(Num(1.0, F32), convert(count, F32))
        guess = block.name("guess", convert(short, F64))
        off = CallFn("fma", (minus(f64(0.0), number), guess, f64(1.0)), F64)
        return CallFn("fma", (guess, off, guess), F64)


def in_lanes(value: LoopValue) -> LExpr:
    """A scalar as a vector, even if it is a constant."""
    scalar = value.scalar
    return Splat(scalar, scalar.type) if isinstance(scalar, Num) else scalar
