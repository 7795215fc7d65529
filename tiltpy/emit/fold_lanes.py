"""Folds of the lanes of a vector to one value."""

from collections.abc import Callable

from tiltpy.abi.signature import LANES
from tiltpy.emit.builder import Block
from tiltpy.loops.nodes import Earlier, Extract, LExpr, Var


def fold_lanes(
    block: Block, lanes: Var, combine: Callable[[LExpr, LExpr], LExpr]
) -> LExpr:
    """Combine all lanes, in any order: halves of them, and halves of these."""
    folded: LExpr = lanes
    by = LANES
    while by > 1:
        by //= 2
        turned = Earlier(folded, folded, by, lanes.type)
        folded = block.name("turned", combine(turned, folded))
    return block.name("folded", Extract(folded, 0, lanes.type))
