"""Existence of values in windows of lanes, over cells of which some are empty.

Windows longer than a vector nearly always reach the last value before it: then no lane
is looked at. So it costs less than to count.
"""

from tiltpy.abi.signature import LANES
from tiltpy.emit.builder import Block
from tiltpy.ir.nodes import Expr
from tiltpy.loops.build import (
    FALSE,
    TRUE,
    add,
    convert,
    disj,
    greatest,
    i64,
    le,
    least,
    lt,
    select,
    sub,
)
from tiltpy.loops.nodes import Earlier, Lane, LastTrue, LExpr, Splat
from tiltpy.lowering.vector.lane_fill import NEVER
from tiltpy.lowering.vector.operands import LaneView
from tiltpy.types import BOOL, I8, I64


class _LastValue:
    """The last cell before a round in which an element has a value, if any.

    `after` is how many cells after the counter's the first lane's cell is.
    """

    def __init__(self, view: LaneView, name: str, element: Expr, after: int) -> None:
        self.view = view
        block = view.block
        self.valid = view.element(block, name, element, after).valid
        self.first = block.name("cell", add(view.cell, i64(after)))
        self.cell = view.builder.fresh(f"{name}.present")
        self.results: dict[int, LExpr] = {}

    def window(self, block: Block, cells: int) -> LExpr:
        """The mask of windows of so many cells, more than a vector, with a value."""
        exists = self.view.builder.fresh("exists", BOOL)
        reach = block.name("reach", add(sub(self.cell, self.first), i64(cells)))
        all_lanes, some = block.inner(), block.inner()
        all_lanes.set(exists, Splat(TRUE, BOOL))
        seen = self.valid
        for by in (1, 2, 4, 8):
            before = Earlier(seen, Splat(FALSE, BOOL), by, BOOL)
            seen = some.name("seen", disj(seen, before))
        reached = convert(greatest(least(reach, i64(LANES)), i64(-1)), I8)
        some.set(exists, disj(seen, lt(Lane(I8), some.name("reached", reached))))
        block.either(le(i64(LANES), reach), all_lanes, some)
        return exists

    def start(self, block: Block) -> None:
        """Set the variable before the loop."""
        block.set(self.cell, NEVER)

    def advance(self, block: Block) -> None:
        """End a round of the loop."""
        last = block.name("last", LastTrue(Splat(self.valid, BOOL), I64))
        here = add(self.first, last)
        block.set(self.cell, select(lt(last, i64(0)), self.cell, here))


class Presence:
    """That of all windows of a loop; those that end together share theirs."""

    def __init__(self, view: LaneView) -> None:
        self.view = view
        self.last_values: dict[tuple[str, Expr, int], _LastValue] = {}

    def start(self, block: Block) -> None:
        """Set the variables before the loop."""
        for value in self.last_values.values():
            value.start(block)

    def advance(self, block: Block) -> None:
        """End a round of the loop."""
        for value in self.last_values.values():
            value.advance(block)

    def window(self, name: str, element: Expr, newest: int, cells: int) -> LExpr:
        """The mask of windows with a value; the first ends so many cells on."""
        key = name, element, newest
        if key not in self.last_values:
            self.last_values[key] = _LastValue(self.view, name, element, newest)
        results = self.last_values[key].results
        if cells not in results:
            value = self.last_values[key]
            results[cells] = value.window(self.view.block, cells)
        return results[cells]
