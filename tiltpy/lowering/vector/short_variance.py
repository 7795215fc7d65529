"""Variances of a few `f32`: in single precision, as long as nothing can get lost."""

from tiltpy.abi.signature import LANES
from tiltpy.aggregates.aggregate import State
from tiltpy.emit.builder import Block
from tiltpy.emit.cell_arrays import CellIndex
from tiltpy.emit.floats import minus, over, plus, times
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Reduce
from tiltpy.loops.build import TRUE, add, conj, convert, disj, i64, le, lt
from tiltpy.loops.nodes import CallFn, CountTrue, For, LExpr, Num, Splat
from tiltpy.lowering.vector.operands import LaneView
from tiltpy.types import BOOL, F32, F64, I64


def is_short_variance(view: LaneView, node: Reduce, cells: int) -> bool:
    """Decide whether it is the variance of a few `f32` that lie in memory."""
    is_short = max(node.ddof, 1) < cells <= view.builder.costs.longest_tree
    spread = node.reduction in ("var", "std") and node.element.type == F32
    return is_short and spread and not view.streams_here(node.window.object)


def lower_short_variance(
    view: LaneView, node: Reduce, moments: State, newest: int, cells: int
) -> LoopValue:
    """Lower a variance from moments in single precision.

    Squares of values beyond these bounds leave the range of `f32`; such vectors, and
    those with a NaN, are computed again in double precision, to the root. A small
    variance is safe if it is that of large values, which is looked at only where there
    is one.
    """
    block = view.block
    total, squares = moments[1], moments[3]
    share = Num(0.5 / (cells - node.ddof), F32)
    variance = block.name("variance", times(squares, share))
    result = view.builder.fresh("spread", F32)
    is_root = node.reduction == "std"
    block.set(result, CallFn("sqrt", (variance,), F32) if is_root else variance)
    not_large = le(variance, Num(2.0**100, F32))
    usual = conj(le(Num(2.0**-90, F32), variance), not_large)
    small, again = block.inner(), block.inner()
    size = CallFn("abs", (total,), F32)
    safe = disj(usual, conj(le(Num(2.0**-30 * cells, F32), size), not_large))
    again.set(result, _spread_again(view, again, node, newest, cells))
    small.when(_not_all(small, safe), again)
    block.when(_not_all(block, usual), small)
    return LoopValue(node.type, result, TRUE)


def _not_all(block: Block, test: LExpr) -> LExpr:
    """Test whether there is a lane in which a test fails."""
    return block.name("some", lt(CountTrue(Splat(test, BOOL), I64), i64(LANES)))


def _spread_again(
    view: LaneView, block: Block, node: Reduce, newest: int, cells: int
) -> LExpr:
    """Compute the variance or its root by Welford's method, in double precision."""
    fresh = view.builder.fresh
    number, mean, squares = fresh("n"), fresh("mean", F64), fresh("squares", F64)
    for var in (mean, squares):
        block.set(var, Splat(Num(0.0, F64), F64))
    inner = block.inner()
    first = add(view.cell, i64(newest - cells + 1))
    at = CellIndex(inner.name("base", add(first, number)))
    value = view.element(inner, node.window.object, node.element, at)
    wide = inner.name("x", convert(value.scalar, F64))
    delta = inner.name("d", minus(wide, mean))
    count = convert(add(number, i64(1)), F64)
    inner.set(mean, plus(mean, over(delta, count)))
    inner.set(squares, plus(squares, times(delta, minus(wide, mean))))
    block.add(For(number, i64(0), i64(cells), inner.body()))
    free = Num(float(cells - node.ddof), F64)
    spread = over(squares, free)
    if node.reduction == "std":
        spread = CallFn("sqrt", (spread,), F64)
    return block.name("w", convert(spread, F32))
