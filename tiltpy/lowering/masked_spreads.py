"""Variances of a few cells of which some have no snapshot of their own.

States of varying counts are merged with a division for each two of them. Of a few cells
it costs less to go through all, in each lane: what a snapshot differs from one of the
window, the pivot, is summed, and its square. A pivot from the window itself is never so
far off that the difference of the two sums loses more than the digits of the count, and
equal values differ by 0. In doubles no square of an `f32` gets lost.
"""

from dataclasses import dataclass

from tiltpy.ir.nodes import Reduce
from tiltpy.loops.build import TRUE, conj, convert, f64, lt, select
from tiltpy.loops.nodes import CallFn, LExpr, Num, Splat
from tiltpy.lowering.assembly import Block
from tiltpy.lowering.floats import minus, over, plus, times
from tiltpy.lowering.lane_view import LaneView
from tiltpy.lowering.values import Lowered
from tiltpy.types import BOOL, F32, F64, Scalar

_ZERO = f64(0.0)


@dataclass(frozen=True, slots=True)
class MaskedSpread:
    """A variance over the window of each lane, so many cells up to the newest."""

    view: LaneView
    node: Reduce
    newest: int
    cells: int

    def value(self, count: LExpr) -> Lowered:
        """What it is where so many snapshots contribute."""
        block, node = self.view.block, self.node
        assert isinstance(node.type, Scalar)
        total, squares, lost = self._sums(block)
        number = block.name("n", convert(count, F64))
        share = block.name("share", self._share(block, number, count))
        rest = minus(squares, times(total, times(total, share)))
        rest = block.name("rest", rest)
        rest = select(lt(rest, _ZERO), _ZERO, rest)
        if node.element.type == F64:  # of huge values infinite, NaN of infinite ones
            finite = CallFn("is_finite", (squares,), BOOL)
            rest = select(finite, rest, plus(squares, lost))
        free = minus(number, f64(float(node.ddof)))
        variance = times(rest, share) if node.ddof == 0 else over(rest, free)
        found = convert(block.name("variance", variance), node.type)
        if node.reduction == "std":
            found = CallFn("sqrt", (found,), node.type)
        enough = lt(Num(node.ddof, count.type), count)
        return Lowered(node.type, block.name("w", found), block.name("some", enough))

    def _sums(self, block: Block) -> tuple[LExpr, LExpr, LExpr]:
        """Of the differences and their squares; NaN where an `f64` is not finite."""
        values = self._contributing(block)
        pivot, certain = values[0]
        for value, here in values[1:]:
            if certain != TRUE:
                pivot = block.name("pivot", select(here, value, pivot))
        pivot = block.name("pivot", convert(pivot, F64))
        total: LExpr = Splat(_ZERO, F64)
        squares, lost = total, total
        for value, here in values:
            wide = block.name("x", convert(value, F64))
            apart = block.name("d", _where(here, minus(wide, pivot)))
            total = block.name("total", plus(total, apart))
            squares = block.name("squares", CallFn("fma", (apart, apart, squares), F64))
            if self.node.element.type == F64:
                lost = block.name("lost", plus(lost, _where(here, minus(wide, wide))))
        return total, squares, lost

    def _share(self, block: Block, number: LExpr, count: LExpr) -> LExpr:
        """The reciprocal of the count; for an `f32` a step of Newton's does."""
        if self.node.type != F32:
            return over(f64(1.0), number)
        short = over(Num(1.0, F32), convert(count, F32))
        guess = block.name("guess", convert(short, F64))
        off = CallFn("fma", (minus(_ZERO, number), guess, f64(1.0)), F64)
        return CallFn("fma", (guess, off, guess), F64)

    def _contributing(self, block: Block) -> list[tuple[LExpr, LExpr]]:
        """The values, oldest first, and in which lanes they contribute.

        Of what began before the window, its first cell has it.
        """
        view, name, element = self.view, self.node.window.object, self.node.element
        oldest = self.newest - self.cells + 1
        found = []
        for cell in range(oldest, self.newest + 1):
            value = view.element(block, name, element, cell)
            here = value.valid
            if cell > oldest and not view.source(name).always_begins:
                here = conj(here, view.beginning(name, cell))
            scalar = value.scalar
            if isinstance(scalar, Num):
                scalar = Splat(scalar, scalar.type)
            found.append((block.name("x", scalar), block.name("in", here)))
        return found


def _where(here: LExpr, value: LExpr) -> LExpr:
    return value if here == TRUE else select(here, value, _ZERO)
