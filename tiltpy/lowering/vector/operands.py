"""Objects as a loop over lanes sees them: in memory, or computed by the loop itself.

A reference is a number of cells after the loop's counter. A streamed object lags behind
the counter, so that what is ahead of its reader has been computed.
"""

from collections.abc import Mapping
from dataclasses import replace

from tiltpy.abi.signature import LANES
from tiltpy.abi.slots import SlotKind
from tiltpy.emit.axes import CellMap
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.cell_arrays import (
    ALIGNED,
    CellArrays,
    CellIndex,
    cells_at,
    divide_cell,
)
from tiltpy.emit.elements import Names
from tiltpy.emit.values import LoopValue, lower_expr
from tiltpy.ir.nodes import CutPoint, Element, EventBound, Expr, TemporalExpr
from tiltpy.loops.build import TRUE, add, conj, convert, i64, le, mul, select, sub
from tiltpy.loops.nodes import Lane, LExpr, Var
from tiltpy.lowering.vector.history import StreamedObject
from tiltpy.plan.vector_plan import VectorPlan
from tiltpy.types import I64


class LaneView:
    """The objects as the definition under way, the reader, sees them."""

    def __init__(
        self,
        plan: VectorPlan,
        builder: KernelBuilder,
        stored: Mapping[str, CellArrays],
        low: LExpr,
    ) -> None:
        self.plan = plan
        self.builder = builder
        self.stored = stored
        self.low = low
        self.high = builder.number(SlotKind.HIGH, "")
        self.streams: dict[str, StreamedObject] = {}
        self.block = Block(builder)
        self.cell: LExpr = i64(0)
        self.reader: TemporalExpr
        self.lag = 0
        self.fetched: set[str] = set()
        self.oldest: dict[str, int] = {}
        """The cell after the counter's from which on windows read a stored object."""
        self.tile = Block(builder)
        self.first: LExpr = i64(0)
        self.snapshots: dict[tuple[str, int, bool], LoopValue] = {}
        self.divisions: dict[tuple[CellMap, LExpr], tuple[Var, Var]] = {}

    def enter(self, tile: Block, first: LExpr) -> None:
        """Enter a loop over a tile, whose first cell is `first`."""
        self.tile, self.first = tile, first

    def turn_to(self, block: Block, cell: LExpr, reader: TemporalExpr) -> None:
        """Go on with another definition; `cell` counts the first lane's cell."""
        if block is not self.block:
            self.snapshots.clear()
        self.block, self.cell, self.reader = block, cell, reader
        self.lag = self.plan.lags[reader.name]

    def streams_here(self, name: str) -> bool:
        """Decide whether this loop computes an object."""
        return self.plan.is_streamed(self.reader, name)

    def source(self, name: str) -> CellArrays | StreamedObject:
        """An object, wherever it is."""
        return self.streams[name] if self.streams_here(name) else self.stored[name]

    def after(self, step: CellMap) -> int:
        """Count the cells from the counter's to that which a regular reference sees."""
        return step.plus - self.lag

    def index(self, name: str, step: CellMap) -> CellIndex:
        """The indices of the cells of a stored object that a reference sees."""
        earlier, shift = step.earlier(self.lag), self.shift(name)
        index = cells_at(self.cell, earlier, shift, self._divide)
        return index.in_variables(self.block)

    def _divide(self, _: LExpr, step: CellMap, shift: LExpr) -> tuple[LExpr, LExpr]:
        """Divide the loop's cells by counting, as a division a round takes longer."""
        key = step, shift
        if key not in self.divisions:
            quotient, rest = self.builder.fresh("cell"), self.builder.fresh("rest")
            first = divide_cell(self.first, step, shift)
            self.tile.set(quotient, first[0])
            self.tile.set(rest, first[1])
            self.divisions[key] = quotient, rest
        return self.divisions[key]

    def advance(self, block: Block) -> None:
        """End a round of the loop: divide the next vector's cells."""
        for (step, _), (quotient, rest) in self.divisions.items():
            whole, more = divmod(LANES * step.times, step.over)
            ticks = block.name("ticks", add(rest, i64(more)))
            carry = block.name("carry", le(i64(step.over), ticks))
            block.set(rest, select(carry, sub(ticks, i64(step.over)), ticks))
            block.set(quotient, add(add(quotient, i64(whole)), convert(carry, I64)))

    def shift(self, name: str) -> LExpr:
        """Find how far the time range begins behind cell 0 of a stored object."""
        reader = self.plan.geometry.axes[self.reader.name]
        return self.stored[name].shift(self.tile, reader)

    def _back(self, name: str, after: int) -> int:
        """Count the cells since the loop has computed the one `after` the counter's."""
        return -self.plan.lags[name] - after

    def _cells(self, name: str, after: int) -> CellIndex:
        self.oldest[name] = min(after, self.oldest.get(name, after))
        return CellIndex(add(self.cell, i64(after)))

    # Points

    def value(self, name: str, step: CellMap) -> LoopValue:
        """The payload in the cells that a reference sees."""
        if self.streams_here(name):
            assert step.is_regular, "cells of one loop move on together"
            back = self._back(name, self.after(step))
            return self.streams[name].value(self.block, back)
        if self.stays(name, step):
            return self.stored[name].value(self.tile, self.index_in_tile(step))
        at = self.index(name, step)
        if at.contiguous or at.picks:
            self._prefetch(name, at.base)
        return self.stored[name].value(self.block, at)

    def stays(self, name: str, step: CellMap) -> bool:
        """Decide whether a reference sees one cell of an object all over a tile."""
        source, tile = self.stored[name], self.plan.tile
        seen = step.earlier(self.lag)
        whole = seen.times == 1 and seen.over % LANES == 0 and seen.plus == 0
        return whole and source.axis.period == tile and source.rest == ALIGNED

    def index_in_tile(self, step: CellMap) -> CellIndex:
        """The index of that cell."""
        index = cells_at(self.first, step.earlier(self.lag))
        return replace(index, base=self.tile.name("base", index.base))

    def bound(self, node: EventBound) -> LoopValue:
        """`start` or `end` of a row of a sampled input."""
        source = self.stored[node.object]
        assert source.start is not None, f"~{node.object} is sampled"
        point = CutPoint(node.object, node.offset)
        at = self.index(node.object, self.plan.geometry.point(self.reader, point))
        period, alive = i64(source.axis.period), source.presence(self.block, at)
        first, lanes = at.base, Lane(I64) if at.lanes is None else at.lanes
        if at.steps or at.single:
            first, lanes = at.cell(), i64(0)
        cell = add(first, i64(int(node.which == "end")))
        time = self.block.name("time", add(source.start, mul(cell, period)))
        if lanes != i64(0):
            time = add(time, mul(lanes, period))
        return LoopValue(node.type, time, alive)

    def _prefetch(self, name: str, cell: LExpr) -> None:
        """Ask for what a loop over an input, now at a cell, will come to.

        Where another loop has read the tile already, that is the next one.
        """
        source = self.stored[name]
        if source.start is not None and name not in self.fetched:
            self.fetched.add(name)
            again = self.plan.reads_before(self.reader, name) and self.plan.tile
            ahead = again // source.axis.period if again else 0
            source.prefetch(self.block, cell, ahead)

    def start(self, name: str, after: int) -> LExpr:
        """The time at which the cell after the counter's begins."""
        return self._start(name, add(self.cell, i64(after)))

    def _start(self, name: str, cell: LExpr) -> LExpr:
        geometry = self.plan.geometry
        axis = geometry.axes[name]
        earlier = (geometry.low - axis.phase) % axis.period
        ticks = mul(cell, i64(axis.period))
        return add(self.low, sub(ticks, i64(earlier)))

    def starts(self, name: str, after: int) -> LExpr:
        """The times at which it and those after it begin."""
        return self.starts_of(name, add(self.cell, i64(after)))

    def starts_of(self, name: str, cell: LExpr, cells: LExpr | None = None) -> LExpr:
        """The times at which a cell, counted as the counter does, and others begin.

        Or those of other `cells` than the ones behind it, as far as they are from it.
        """
        period = self.plan.geometry.axes[name].period
        return add(self._start(name, cell), mul(cells or Lane(I64), i64(period)))

    def row(self, name: str, after: int) -> LExpr:
        """The row of a sampled input that is the cell after the counter's."""
        base = self._cells(name, after).base
        self._prefetch(name, base)
        return self.block.name("row", add(base, self.stored[name].offset))

    def read_stream(self, name: str, after: int) -> LoopValue:
        """Read a vector of cells of an object that the loop computes."""
        return self.streams[name].value(self.block, self._back(name, after))

    # Elements of windows

    def element(
        self,
        block: Block,
        name: str,
        element: Expr,
        at: int | CellIndex,
        names: Names | None = None,
    ) -> LoopValue:
        """The element of the snapshots in a vector of cells.

        `at`: how many cells after the counter's they are, or where in memory. `names`
        are the constants of the fold (see `FoldedElement`).
        """
        if isinstance(at, CellIndex):
            snapshot = self.stored[name].value(block, at)
        else:
            snapshot = self._snapshots(block, name, at)

        def leaf(node: object) -> LoopValue:
            assert isinstance(node, Element)
            return snapshot

        value = lower_expr(block, leaf, element, names)
        valid = block.name("in", conj(snapshot.valid, value.valid))
        return LoopValue(value.type, value.value, valid, value.fields)

    def _snapshots(self, block: Block, name: str, after: int) -> LoopValue:
        """The payload in a vector of cells after the counter's, read once a round."""
        key = name, after, self.streams_here(name)
        if block is self.block and key in self.snapshots:
            return self.snapshots[key]
        if self.streams_here(name):
            snapshot = self.streams[name].value(block, self._back(name, after))
        else:
            base = block.name("base", self._cells(name, after).base)
            snapshot = self.stored[name].value(block, CellIndex(base))
            self._prefetch(name, base)
        if block is self.block:
            self.snapshots[key] = snapshot
        return snapshot

    def certain(self, name: str, element: Expr) -> bool:
        """Decide whether each cell has a snapshot of its own that contributes."""
        source = self.source(name)
        if not (source.complete and source.always_begins):
            return False
        return self.trial(name, element).valid == TRUE

    def trial(self, name: str, element: Expr) -> LoopValue:
        """Lower an element on trial, for what is the same in all cells."""
        computed = -self.plan.lags[name] if self.streams_here(name) else 0
        return self.element(Block(self.builder), name, element, computed)

    # Cells before the first row and behind the last

    def starts_empty(self, name: str) -> bool:
        """Decide whether windows may hold cells before the first row of an object."""
        return name in self.plan.empty_starts

    def index_after(self, name: str, after: int) -> CellIndex:
        """The indices of cells of a stored object, so many after the counter's."""
        return self._cells(name, after)

    def count_inside(self, name: str, after: int, cells: int) -> LExpr:
        """Count the cells that exist of windows; they end after the counter's."""
        if not self.starts_empty(name):
            return i64(cells)
        where = self._cells(name, after)
        return self.stored[name].count_inside(self.block, where, cells)

    # Snapshots

    def beginning(self, name: str, after: int) -> LExpr:
        """In which cells after the counter's a snapshot begins."""
        if self.streams_here(name):
            return self.streams[name].beginning(self.block, self._back(name, after))
        return self.stored[name].beginning(self.block, self._cells(name, after))

    def changes(self, name: str, after: int) -> LExpr:
        """In which of them another snapshot or gap is than in the one before."""
        if self.streams_here(name):
            return self.streams[name].change(self.block, self._back(name, after))
        return self.stored[name].change(self.block, self._cells(name, after))
