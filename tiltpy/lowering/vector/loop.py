"""The loop over cells that move on together, sixteen at a time: map and stencil."""

from collections.abc import Mapping

from tiltpy.abi.signature import LANES, Shape
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.cell_arrays import CellArrays
from tiltpy.emit.join_snapshots import unsign_zeros
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue, Reading, lower_expr
from tiltpy.ir.nodes import (
    At,
    CutPoint,
    EventBound,
    Reduce,
    TemporalExpr,
    Time,
)
from tiltpy.loops.build import TRUE, add, i64, mul, sub
from tiltpy.loops.nodes import Bin, Lane, LExpr, Var
from tiltpy.lowering.vector.cell_values import Outcome
from tiltpy.lowering.vector.cuts import LaneCuts
from tiltpy.lowering.vector.history import History, StreamedObject
from tiltpy.lowering.vector.operands import LaneView
from tiltpy.lowering.vector.scans import LaneScans
from tiltpy.lowering.vector.windows import LaneWindows
from tiltpy.plan.vector_plan import VectorPlan
from tiltpy.types import I64


class LaneLoop:
    """A loop over lanes: its objects, their windows and histories."""

    def __init__(
        self,
        plan: VectorPlan,
        builder: KernelBuilder,
        stored: Mapping[str, CellArrays],
        rows: Mapping[str, ObjectRows],
        low: LExpr,
    ) -> None:
        self.plan = plan
        self.builder = builder
        self.low = low
        self.view = LaneView(plan, builder, stored, low)
        self.windows = LaneWindows(self.view, self._leaf)
        self.scans = LaneScans(self.view, rows)
        self.cuts = LaneCuts(self.view, self._leaf)
        self.has_windows = False

    @property
    def has_blocks(self) -> bool:
        """Test whether states of some windows depend on where blocks begin."""
        return self.windows.has_blocks

    def shape(self) -> Shape:
        """The shape of the loop: a stencil if it has looked at neighbours."""
        past = any(history.past for history in self._histories())
        looks = self.has_windows or self.cuts.histories or past
        return Shape.STENCIL if looks else Shape.MAP

    def structures(self) -> tuple[str, ...]:
        """The structures of its windows, as `explain` prints them."""
        return self.windows.counted.structures()

    def oldest(self, name: str) -> int:
        """The cell after the counter's from which on windows read a stored object."""
        return self.view.oldest.get(name, 0)

    def _histories(self) -> list[History]:
        streams = self.view.streams.values()
        return [history for stream in streams for history in stream.histories]

    def enter(self, tile: Block, first: LExpr) -> None:
        """Enter the loop over a tile, whose first cell is `first`."""
        self.view.enter(tile, first)

    def start(self, block: Block, begin: LExpr) -> None:
        """Set the variables before the first tile, which begins a tick after `LOW`."""
        for history in self._histories():
            history.start(block)
        self.cuts.start(block)
        vector = self._first_vector(block, begin) if self.has_blocks else i64(0)
        self.windows.start(block, vector)

    def _first_vector(self, block: Block, begin: LExpr) -> LExpr:
        """The number of the loop's first vector, counted from the epoch on."""
        geometry = self.plan.geometry
        ticks = i64(self.view.reader.tdom.precision * LANES)
        first = sub(add(self.low, begin), i64(geometry.low % geometry.multiple))
        return block.name("vector", Bin("//", first, ticks, I64))

    def advance(self, block: Block) -> None:
        """End a round of the loop."""
        for history in self._histories():
            history.advance(block)
        self.cuts.advance(block)
        self.windows.advance(block)
        self.view.advance(block)

    def define(self, block: Block, cell: Var, definition: TemporalExpr) -> Outcome:
        """Append what computes an object; `cell` counts the first lane's cell."""
        self.view.turn_to(block, cell, definition)
        value = lower_expr(block, self._leaf, definition.body, lanes=True)
        if definition.distinct:
            value = unsign_zeros(block, value)
        value = _name_value(block, value)
        begins, cuts = self.cuts.begins(definition, value)
        stream = self._stream(definition)
        stream.set(block, value, begins)
        self.view.streams[definition.name] = stream
        return Outcome(value, begins, cuts)

    def _stream(self, definition: TemporalExpr) -> StreamedObject:
        """The object for those that the loop computes next."""
        name, lags = definition.name, self.plan.lags
        deepest = max(
            (
                lags[reader.name] - lags[name] - seen.oldest.plus
                for reader in self.plan.stage_of[name].definitions
                for source, seen in self.plan.geometry.ranges(reader)
                if source == name
            ),
            default=0,
        )
        before = 1  # a cut compares with the cell before
        return StreamedObject(self.builder, name, definition.type, deepest + before)

    def _leaf(self, node: Reading) -> LoopValue:
        match node:
            case At(object=name, offset=offset):
                step = self.plan.geometry.point(
                    self.view.reader, CutPoint(name, offset)
                )
                return self.view.value(name, step)
            case Time(offset=offset):
                return LoopValue(node.type, self._time(offset), TRUE)
            case EventBound():
                return self.view.bound(node)
            case Reduce():
                self.has_windows = True
                if node.window.folds_on:
                    return self.scans.value(node)
                return self.windows.reduce(node)
            case _:
                raise AssertionError("an element outside of a window")

    def _time(self, offset: int) -> LExpr:
        """The grid points of the reader's cells, `offset` ticks on."""
        view, precision = self.view, self.view.reader.tdom.precision
        ticks = mul(add(view.cell, i64(1 - view.lag)), i64(precision))
        first = view.block.name("time", add(add(self.low, ticks), i64(offset)))
        return add(first, mul(Lane(I64), i64(precision)))


def _name_value(block: Block, value: LoopValue) -> LoopValue:
    """Assign a value to variables."""
    if value.fields:
        fields = tuple(_name_value(block, field) for field in value.fields)
        return LoopValue(value.type, None, block.name("ok", value.valid), fields)
    named = block.name("v", value.scalar)
    return LoopValue(value.type, named, block.name("ok", value.valid))
