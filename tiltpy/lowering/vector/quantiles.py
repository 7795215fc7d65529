"""Quantiles of short windows in lanes: a sorting network over neighbouring cells.

Each vector of the network has the values of one place in all windows, so that an
exchange is two instructions for `LANES` windows. Where every cell has a value, it is
the fastest way up to some fifty of them; others keep counts (`count_tree`).
"""

from tiltpy.aggregates.quantiles import between, quantile_position, quantile_share
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Reduce
from tiltpy.loops.build import (
    FALSE,
    TRUE,
    convert,
    disj,
    f64,
    greatest,
    least,
    lt,
    select,
)
from tiltpy.loops.nodes import CallFn, LExpr
from tiltpy.lowering.vector.operands import LaneView
from tiltpy.lowering.vector.sorting_network import select_exchanges
from tiltpy.types import BOOL, F64, I32


def lower_order(view: LaneView, node: Reduce, newest: int, cells: int) -> LoopValue:
    """Lower a quantile of the windows of all lanes, which end at cell `newest`."""
    name, element = node.window.object, node.element
    assert view.certain(name, element), f"~{name} has a value in every cell"
    block = view.block
    values: list[LExpr] = []
    nan: LExpr = FALSE
    for back in range(cells):
        value = view.element(block, name, element, newest - back).scalar
        if value.type == BOOL:
            value = convert(value, I32)
        values.append(block.name("value", value))
        if value.type.is_float:
            nan = block.name("nan", disj(nan, CallFn("is_nan", (values[-1],), BOOL)))
    below, fraction = quantile_position(cells, quantile_share(node))
    above = below + (fraction > 0)
    for low, high, needs_low, needs_high in select_exchanges(cells, (below, above)):
        left, right = values[low], values[high]
        if needs_low:
            values[low] = block.name("low", _lesser(left, right))
        if needs_high:
            values[high] = block.name("high", _greater(left, right))
    first, second = (
        block.name("value", convert(values[at], F64)) for at in (below, above)
    )
    is_even = TRUE if below % 2 == 0 else FALSE
    point = between(block, node, first, second, f64(fraction), is_even)
    quantile = select(nan, f64(float("nan")), point)
    return LoopValue(node.type, block.name("q", quantile), TRUE)


def _lesser(left: LExpr, right: LExpr) -> LExpr:
    """The lesser; of floats by one instruction, whatever NaNs and zeros do."""
    if left.type.is_float:
        return select(lt(left, right), left, right)
    return least(left, right)


def _greater(left: LExpr, right: LExpr) -> LExpr:
    if left.type.is_float:
        return select(lt(right, left), left, right)
    return greatest(left, right)
