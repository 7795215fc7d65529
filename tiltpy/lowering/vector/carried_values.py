"""First and last values of windows of lanes, over cells of which some are empty.

The nearest value before a vector, or behind it, is carried on with its cell. A vector
without an empty cell is its own result; in others empty lanes are filled (`lane_fill`).
So the length of windows costs no time.
"""

from dataclasses import replace

from tiltpy.abi.signature import LANES
from tiltpy.aggregates.aggregate import State
from tiltpy.emit.builder import Block
from tiltpy.emit.cell_arrays import CellIndex
from tiltpy.emit.references import reductions
from tiltpy.emit.values import LoopValue, numbers_of, with_numbers
from tiltpy.ir.nodes import Expr
from tiltpy.ir.reductions import Bound
from tiltpy.ir.traversal import sees_more
from tiltpy.loops.build import (
    TRUE,
    add,
    conj,
    convert,
    eq,
    greatest,
    i64,
    le,
    least,
    lt,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import (
    Bin,
    Extract,
    Lane,
    LExpr,
    Num,
    Splat,
    Var,
    While,
)
from tiltpy.lowering.vector.lane_fill import NEVER, LaneFill, Side, all_true
from tiltpy.lowering.vector.operands import LaneView
from tiltpy.types import BOOL, I8, I64


class CarriedValue:
    """The `last` value of an element in windows, or the `first`, and its cell.

    `after` is how many cells after the counter's the end of the first lane's window is,
    from which on it is looked for. `carried` are the numbers of the nearest value
    beyond a vector, in `cell`; of a first one, cells up to `seen` have been looked at.
    Without `numbers` only the cell is looked for.
    """

    def __init__(
        self,
        view: LaneView,
        side: Side,
        name: str,
        element: Expr,
        after: int,
        *,
        numbers: bool,
    ) -> None:
        self.view = view
        self.side = side
        self.name = name
        self.element = element
        self.after = after
        self.has_numbers = numbers
        self.value = view.element(view.block, name, element, after)
        fresh, types = view.builder.fresh, self._numbers(self.value)
        self.carried = tuple(fresh(f"{name}.{side}", n.type) for n in types)
        self.lanes = LaneFill(side, self.carried)
        self.cell = fresh(f"{name}.{side}.cell")
        self.seen = fresh(f"{name}.{side}.seen")
        self.nearest = fresh(f"{name}.{side}.nearest")
        self.exists = fresh("exists", BOOL)
        self.first: LExpr = i64(0)
        self.at: Var

    def _numbers(self, value: LoopValue) -> State:
        """The numbers of a value that are looked for, none of them a constant."""
        return _in_lanes(value) if self.has_numbers else ()

    def start(self, block: Block) -> None:
        """Set the variables before the loop."""
        self.lanes.start(block)
        block.set(self.cell, NEVER)
        if self.side == "first":
            block.set(self.seen, NEVER)

    def window(self, block: Block, cells: int) -> LoopValue:
        """The results of windows of so many cells, for a round of the loop.

        Without numbers they are those of the cells themselves.
        """
        self.first = first = block.name("cell", add(self.view.cell, i64(self.after)))
        numbers, exists = self._numbers(self.value), self.exists
        results = tuple(self.view.builder.fresh(self.side, n.type) for n in numbers)
        whole, partly = block.inner(), block.inner()
        for result, number in zip(results, numbers, strict=True):
            whole.set(result, number)
        whole.set(exists, Splat(TRUE, BOOL))
        if self.side == "first":
            self._look_ahead(partly, first, cells)
        self.at = at = self.lanes.fill(partly, self.value.valid, numbers, results)
        self._see_existence(partly, at, exists, first, cells)
        whole.set(at, Lane(I8))
        whole.set(self.nearest, first)  # of no lane
        partly.set(self.nearest, self.cell)
        if self.side == "last":
            whole.set(self.cell, add(first, i64(LANES - 1)))
            self._carry(partly, at, first)
        block.either(all_true(block, self.value.valid), whole, partly)
        if self.side == "last":
            self.lanes.carry(block, results)
        if not self.has_numbers:
            return replace(self.value, valid=exists)
        return with_numbers(self.value, exists, results)

    def find_bound(self, block: Block, bound: Bound) -> LoopValue:
        """Find when the snapshots of the results, each of a cell, start or end."""
        beyond = sub(self.nearest, self.first)
        is_beyond = eq(self.at, self.lanes.beyond)
        cells = block.name("cells", select(is_beyond, beyond, convert(self.at, I64)))
        first = add(self.first, i64(int(bound == "end")))
        times = self.view.starts_of(self.name, first, cells)
        return LoopValue(I64, block.name(bound, times), self.exists)

    def _see_existence(
        self, block: Block, at: Var, exists: Var, first: LExpr, cells: int
    ) -> None:
        """See in which lanes the value, of the lane `at`, is in the window."""
        away = sub(self.cell, first)
        if self.side == "last":
            reach = add(away, i64(cells))
            distance = Bin("-", Lane(I8), at, I8)
        else:
            is_behind = le(i64(LANES), away)
            reach = select(is_behind, sub(away, i64(cells)), i64(LANES))
            distance = Bin("-", at, Lane(I8), I8)
        bound = convert(greatest(least(reach, i64(LANES)), i64(-1)), I8)
        beyond = block.name("beyond", eq(at, self.lanes.beyond))
        near = TRUE if cells >= LANES else lt(distance, Num(cells, I8))
        reached = lt(Lane(I8), bound) if self.side == "last" else lt(bound, Lane(I8))
        block.set(exists, select(beyond, reached, near))

    def _carry(self, block: Block, at: Var, first: LExpr) -> None:
        """Carry the cell of the last lane's value, if that is of this vector."""
        last = block.name("lane", convert(Extract(at, LANES - 1, I8), I64))
        here = add(first, last)
        block.set(self.cell, select(lt(last, i64(0)), self.cell, here))

    def _look_ahead(self, block: Block, first: LExpr, cells: int) -> None:
        """Look behind a vector whose last lane is empty, until the window ends.

        No vector is looked at twice.
        """
        behind = block.name("behind", add(first, i64(LANES)))
        ahead, each = block.inner(), block.inner()
        ahead.set(self.seen, greatest(self.seen, behind))
        at_seen = CellIndex(self.seen)
        value = self.view.element(each, self.name, self.element, at_seen)
        numbers = self._numbers(value)
        results = tuple(self.view.builder.fresh("ahead", n.type) for n in numbers)
        next_at = self.lanes.fill(each, value.valid, numbers, results)
        lane = each.name("lane", convert(Extract(next_at, 0, I8), I64))
        found = each.inner()
        found.set(self.cell, add(self.seen, lane))
        for carried, result in zip(self.carried, results, strict=True):
            found.set(carried, Extract(result, 0, carried.type))
        each.when(lt(lane, i64(LANES)), found)
        each.set(self.seen, add(self.seen, i64(LANES)))
        not_yet = lt(self.cell, behind)
        in_window = lt(self.seen, add(behind, i64(cells - 1)))
        ahead.add(While(conj(not_yet, in_window), each.body()))
        is_empty = negate(Extract(self.value.valid, LANES - 1, BOOL))
        block.when(conj(is_empty, not_yet), ahead)


def _in_lanes(value: LoopValue) -> State:
    """The numbers of a value, none of them a constant."""
    return tuple(
        Splat(number, number.type) if isinstance(number, Num) else number
        for number in numbers_of(value)
    )


class CarriedValues:
    """Those of a loop; equal windows share theirs."""

    def __init__(self, view: LaneView) -> None:
        self.view = view
        self.values: dict[tuple[object, ...], CarriedValue] = {}
        self.results: dict[tuple[object, ...], LoopValue] = {}

    def start(self, block: Block) -> None:
        """Set the variables before the loop."""
        for value in self.values.values():
            value.start(block)

    def window(
        self,
        side: Side,
        name: str,
        element: Expr,
        newest: int,
        cells: int,
        bound: Bound | None = None,
    ) -> LoopValue:
        """The values of windows, the first of which ends so many cells on."""
        where = side, name, newest, cells
        key = *where, element, bound
        if key in self.results:
            return self.results[key]
        if bound is None:
            self._look_for(where, element, numbers=True)
        else:
            value = self._beside(where, element)
            value = value or self._look_for(where, element, numbers=False)
            self.results[key] = value.find_bound(self.view.block, bound)
        return self.results[key]

    def _look_for(
        self, where: tuple[Side, str, int, int], element: Expr, *, numbers: bool
    ) -> CarriedValue:
        side, name, newest, cells = where
        after = newest if side == "last" else newest - cells + 1
        value = CarriedValue(self.view, side, name, element, after, numbers=numbers)
        self.values[*where, element, numbers] = value
        result = value.window(self.view.block, cells)
        if numbers:
            self.results[*where, element, None] = result
        return value

    def _beside(
        self, where: tuple[Side, str, int, int], element: Expr
    ) -> CarriedValue | None:
        """Find what is looked for, or will be, in the same cells as an element."""
        view, (side, name, newest, cells) = self.view, where
        after = newest if side == "last" else newest - cells + 1
        valid = view.element(view.block, name, element, after).valid
        for node in reductions(view.reader):
            seen = view.plan.geometry.window(view.reader, node.window)
            there = name, newest, cells
            if node.reduction != side or sees_more(node):
                continue
            if there != (node.window.object, view.after(seen.newest), seen.cells):
                continue
            if view.element(view.block, name, node.element, after).valid == valid:
                self.window(side, name, node.element, newest, cells)
        for (*at, _, _), value in self.values.items():
            if tuple(at) == where and value.value.valid == valid:
                return value
        return None
