"""Quantiles of short windows in lanes: a sorting network over neighbouring cells.

Each vector of the network has the values of one place in all windows, so that an
exchange is two instructions for `LANES` windows. Where every cell has a value, it is
the fastest way up to some fifty of them; others keep counts (`count_tree`).
"""

from tiltpy.aggregates.quantiles import interpolate, quantile_position, quantile_share
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
from tiltpy.lowering.vector.sorting_network import selecting
from tiltpy.types import BOOL, F64, I32


def lower_order(view: LaneView, node: Reduce, newest: int, cells: int) -> LoopValue:
    """A quantile of the windows of all lanes, the newest of whose cells is given."""
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
    below, part = quantile_position(cells, quantile_share(node))
    above = below + (part > 0)
    for low, high, needs_low, needs_high in selecting(cells, (below, above)):
        one, other = values[low], values[high]
        if needs_low:
            values[low] = block.name("low", _lesser(one, other))
        if needs_high:
            values[high] = block.name("high", _greater(one, other))
    first, second = (
        block.name("value", convert(values[at], F64)) for at in (below, above)
    )
    point = interpolate(block, first, second, f64(part))
    found = select(nan, f64(float("nan")), point)
    return LoopValue(node.type, block.name("q", found), TRUE)


def _lesser(one: LExpr, other: LExpr) -> LExpr:
    """Of floats one instruction, which NaNs and zeros may pass as they like."""
    if one.type.is_float:
        return select(lt(one, other), one, other)
    return least(one, other)


def _greater(one: LExpr, other: LExpr) -> LExpr:
    if one.type.is_float:
        return select(lt(other, one), one, other)
    return greatest(one, other)
