"""A query to a vector kernel, which computes `LANES` neighbouring grid points at once.

For inputs with a sampling grid, or with rows so short that they are written over the
ticks (`densify`). There are no cursors and no search: every reference is a fixed number
of cells away. Values stay in registers (`history`), and windows are combined from their
neighbours (`windows`, `doubling_windows`, `block_windows`) or from panes (`pane_loop`,
`pane_ring`). Several loops of a query take turns over a tile of time that stays in the
cache, so that an input is read once and an output written once; columns that do not
depend on one another are distributed over loops (`loops.distribute`).
"""

from collections.abc import Iterator

from tiltpy.abi.signature import (
    LANES,
    AlignedRange,
    Loop,
    Read,
    RowCount,
    Signature,
)
from tiltpy.abi.slots import SlotKind
from tiltpy.emit.axes import whole_vectors
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.cell_arrays import ALIGNED, Bitmap, CellArrays
from tiltpy.emit.references import fields_read
from tiltpy.emit.row_access import ObjectRows, input_rows
from tiltpy.ir.nodes import TemporalExpr, Window
from tiltpy.ir.reductions import block_ticks
from tiltpy.loops.build import add, greatest, i64, least, lt, mul, sub
from tiltpy.loops.distribute import distribute
from tiltpy.loops.nodes import Bin, For, LExpr, LoopKernel, While
from tiltpy.lowering.lowered import LoweredKernel
from tiltpy.lowering.vector.cell_values import Outcome
from tiltpy.lowering.vector.densify import DensifiedInput
from tiltpy.lowering.vector.loop import LaneLoop
from tiltpy.lowering.vector.outputs import Output
from tiltpy.lowering.vector.pane_loop import PaneLoop
from tiltpy.lowering.vector.scans import LaneScans
from tiltpy.lowering.vector.tile_buffers import TileBuffer
from tiltpy.plan.vector_plan import VectorPlan
from tiltpy.plan.vector_stages import Stage
from tiltpy.types import I64, Struct


def lower_vector(plan: VectorPlan) -> LoweredKernel:
    """Lower a plan to its kernel."""
    return _VectorKernel(plan).lower()


class _VectorKernel:
    """The one kernel of a query, put together loop by loop."""

    def __init__(self, plan: VectorPlan) -> None:
        self.plan = plan
        self.builder = KernelBuilder(
            plan.geometry.layouts, plan.query.reductions, plan.costs
        )
        self.builder.fields = fields_read(plan.query.definitions)
        self.block = Block(self.builder)
        self.starts = self.block.inner()
        self.geometry = plan.geometry
        self.tile = plan.tile
        self.warm = plan.warm_up
        self.low = self.builder.number(SlotKind.LOW, "")
        self.high = self.builder.number(SlotKind.HIGH, "")
        self.at = self.builder.fresh("at")
        self.ticks = self.builder.fresh("ticks")
        self.begin: LExpr = i64(-self.warm)
        self.builder.block_ticks = block_ticks(plan.query.unit)
        self.stored: dict[str, CellArrays] = {}
        self.rows: dict[str, ObjectRows] = {}
        self.densified: list[DensifiedInput] = []
        self.tile_buffers: list[TileBuffer] = []
        self.outputs: dict[str, Output] = {}
        self.lowered: list[LaneLoop | PaneLoop] = []
        self.scans: dict[str, LaneScans] = {}

    def lower(self) -> LoweredKernel:
        """Lower all loops to a kernel."""
        for name in self.geometry.inputs:
            self._bind(name)
        self.begin = self._find_begin()
        body = self.block.inner()
        for densified_input in self.densified:
            densified_input.fill(body, self.at, self.ticks)
        loops = []
        for stage in self.plan.stages:
            loops += self._stage(body, stage)
        for tile_buffer in self.tile_buffers:
            tile_buffer.keep(body, self.ticks)
        for scans, definition in self._list_scans():
            scans.take_over(self.starts, definition)
        self._tiles(body)
        for scans, definition in self._list_scans():
            scans.leave(self.block, definition)
        for name in self.plan.query.outputs:
            self.outputs[name].finish(self.block)
        return self._finish(loops)

    # Objects

    def _bind(self, name: str) -> None:
        """Bind an input as cells: where it lies, or densified."""
        rows = input_rows(self.builder, self.block, name, self.plan.query.type_of(name))
        if self.geometry.sampled(name):
            self.stored[name] = self._sampled(rows)
            self.rows[name] = rows
            return
        assert self.tile is not None, "rows are densified tile by tile"
        back, ahead = self.plan.halo(name)
        densified_input = DensifiedInput.of(
            self.builder, rows, self.tile, whole_vectors(back), whole_vectors(ahead)
        )
        densified_input.start(self.starts, i64(-self.warm))
        self.densified.append(densified_input)
        self.stored[name] = densified_input.cells

    def _sampled(self, rows: ObjectRows) -> CellArrays:
        """Bind a sampled input; row 0 is any number of cells before `LOW`."""
        flags = tuple(
            None if bitmap is None else Bitmap(*bitmap) for bitmap in rows.validity
        )
        struct = isinstance(rows.type, Struct)
        ticks = sub(self.low, rows.start)
        first = self.block.name("first", Bin("//", ticks, rows.period, I64))
        start = add(rows.start, Bin("*", first, rows.period, I64))
        slow = rows.name in self.geometry.slow_inputs
        rest = self.block.name("rest", sub(self.low, start)) if slow else ALIGNED
        return CellArrays(
            rows.name,
            rows.type,
            self.geometry.axes[rows.name],
            rows.values,
            flags if struct else (None,),
            None if struct else flags[0],
            None,
            first,
            self.block.name("start", start),
            rest,
            rows.count if rows.name in self.plan.guarded_inputs else None,
        )

    def _find_begin(self) -> LExpr:
        """Find the first tick of the loops, counted from `LOW`, a whole unit before it.

        Before the first rows of inputs that start empty there is nothing to warm up by.
        """
        empty = [self.stored[name] for name in sorted(self.plan.empty_starts)]
        if not empty:
            return i64(-self.warm)
        periods = (mul(cells.offset, i64(cells.axis.period)) for cells in empty)
        rows = (sub(i64(0), ticks) for ticks in periods)
        first = sub(least(*rows), i64(self.plan.short_warm_up))
        unit = i64(self.plan.unit)
        begin = Bin("*", Bin("//", first, unit, I64), unit, I64)
        return self.block.name("begin", greatest(begin, i64(-self.warm)))

    def _capacity(self, period: int) -> tuple[RowCount, int]:
        """Count the cells of a tile; without tiles, by multiples of the time range.

        A tile is whole vectors of every loop. A time range is not: the last vector of
        the coarsest loop reads behind its end.
        """
        if self.tile is not None:
            return (), self.tile // period
        stages = (stage for stage in self.plan.stages if not stage.panes)
        vector = LANES * max((stage.precision for stage in stages), default=0)
        constant = (self.warm + self.plan.lag + vector) // period + LANES
        return (("", self.geometry.multiple // period),), constant

    # Loops

    def _stage(self, body: Block, stage: Stage) -> list[Loop]:
        first = body.name("first", _cells(self.at, stage.precision))
        count = body.name("cells", _cells(self.ticks, stage.precision))
        loop = self._loop(stage)
        cell = self.builder.fresh("cell")
        tile, inner = body.inner(), body.inner()
        loop.enter(tile, first)
        loops = []
        for definition in stage.definitions:
            name = definition.name
            outcome = loop.define(inner, cell, definition)
            if name in self.plan.query.outputs:
                lanes = not stage.panes
                output = Output(self.builder, definition, outcome, lanes=lanes)
                behind = inner.name("place", sub(cell, i64(self.plan.lags[name])))
                output.store(inner, behind)
                output.start(self.starts, self.plan.outputs)
                self.outputs[name] = output
                loops.append(self._describe(definition, loop, outcome))
            if self.plan.is_materialised(name):
                tile_buffer = self._tile_buffer(definition, outcome)
                tile_buffer.store(inner, cell, outcome, lanes=not stage.panes)
                tile_buffer.move(body, first)
        loop.start(self.starts, self.begin)
        loop.advance(inner)
        step = 1 if stage.panes else LANES
        body.add(*tile.statements)
        end = body.name("end", add(first, count))
        whole = For(cell, first, end, inner.body(), step)
        body.add(*distribute(whole, self.plan.costs.carried_vectors))
        return loops

    def _loop(self, stage: Stage) -> LaneLoop | PaneLoop:
        loop: LaneLoop | PaneLoop
        if stage.panes:
            loop = PaneLoop(self.plan, self.builder, self.stored, self.low)
        else:
            rows = self.rows
            loop = LaneLoop(self.plan, self.builder, self.stored, rows, self.low)
            for definition in stage.definitions:
                self.scans[definition.name] = loop.scans
        self.lowered.append(loop)
        return loop

    def _list_scans(self) -> Iterator[tuple[LaneScans, TemporalExpr]]:
        """Yield the definitions with windows that fold on, in order of the query."""
        for definition in self.plan.query.definitions:
            if self.geometry.folds[definition.name]:
                yield self.scans[definition.name], definition

    def _tile_buffer(self, definition: TemporalExpr, outcome: Outcome) -> TileBuffer:
        back, _ = self.plan.halo(definition.name)
        precision = definition.tdom.precision
        history = whole_vectors(back)
        size = self._capacity(precision)
        tile_buffer = TileBuffer.of(self.builder, definition, outcome, history, size)
        tile_buffer.start(self.starts)
        self.tile_buffers.append(tile_buffer)
        self.stored[definition.name] = tile_buffer.stored
        return tile_buffer

    def _tiles(self, body: Block) -> None:
        """Append the loops, tile by tile; without tiles over the whole time range."""
        block, length = self.block, sub(self.high, self.low)
        end = block.name("end", add(length, i64(self.plan.lag)))
        block.add(*self.starts.statements)
        block.set(self.at, self.begin)
        if self.tile is None:
            block.set(self.ticks, sub(end, self.at))
            block.add(*body.statements)
            return
        step = block.inner()
        step.set(self.ticks, least(sub(end, self.at), i64(self.tile)))
        step.add(*body.statements)
        step.set(self.at, add(self.at, self.ticks))
        block.add(While(lt(self.at, end), step.body()))

    # The signature

    def _describe(
        self, definition: TemporalExpr, loop: LaneLoop | PaneLoop, outcome: Outcome
    ) -> Loop:
        return Loop(
            definition.name,
            definition.tdom,
            definition.type,
            loop.shape(),
            (),
            (),
            every_cell=True,
            implicit_times=outcome.full,
            structures=loop.structures(),
        )

    def _finish(self, loops: list[Loop]) -> LoweredKernel:
        builder = self.builder
        arrays = tuple(builder.arrays.values())
        kernel = LoopKernel(builder.slot_numbers(), arrays, self.block.body())
        reads = tuple(self._read(name) for name in self.geometry.inputs)
        multiple, around = self.geometry.multiple, self.warm + self.plan.lag
        aligned_range = AlignedRange(
            multiple,
            self.geometry.low % multiple,
            self._step(),
            reads,
            around,
            self.geometry.finest,
        )
        outputs = self.plan.query.outputs
        order = {loop.name: loop for loop in loops}
        signature = Signature(
            tuple(builder.slots),
            tuple(order[name] for name in outputs),
            tuple(builder.scratch),
            outputs,
            aligned_range,
            states=tuple(builder.states),
        )
        return LoweredKernel(kernel, signature)

    def _step(self) -> int:
        """The ticks from one time at which a range may begin to the next.

        Blocks in which floats are added up have whole vectors. One grid has vectors
        that are soon there, and loads of them are then aligned.
        """
        unit = self.plan.unit
        has_blocks = any(loop.has_blocks for loop in self.lowered)
        aligned = unit == LANES * self.geometry.finest
        return unit if has_blocks or aligned else self.geometry.multiple

    def _read(self, name: str) -> Read:
        """The range that the loops touch, vectors that go too far included.

        The last vector of a loop over lanes may have one cell that is wanted; a loop
        over panes goes cell by cell.
        """
        back, ahead = self.geometry.reach(name)
        stages = self.plan.stages
        in_lanes = (
            stage.precision
            for stage in stages
            if any(name in self.geometry.objects(d) for d in stage.definitions)
            and (not stage.panes or len(stages) == 1)
        )
        vector = LANES * max(in_lanes, default=0)
        if name in self.geometry.slow_inputs:  # not a cell more than readers see
            first, last = self.geometry.offsets(name)
            low = first - self.warm - self.plan.lag - 1
            return Read(name, low, last + self.plan.lag + vector, vector)
        period = self.geometry.axes[name].period
        further = 5 * LANES * period + vector
        if self.geometry.sampled(name):
            back = self._lookback(name)
        low = -self.warm - back - 2 * period
        high = self.plan.lag + ahead + further
        spare = further if self.geometry.sampled(name) else 0
        if name not in self.plan.guarded_inputs:
            return Read(name, low, high, spare)
        starts_empty = name in self.plan.empty_starts
        early = self.warm - self.plan.short_warm_up if starts_empty else 0
        late = high - self._lookahead(name)
        return Read(name, low, high, spare, early=early, late=late)

    def _lookahead(self, name: str) -> int:
        """The ticks behind a time range up to which there must be rows of an input."""
        period = self.geometry.axes[name].period
        newest = max(
            seen.newest.plus
            for reader in self.plan.query.definitions
            for source, seen in self.geometry.ranges(reader)
            if source == name
        )
        shifted = (self.geometry.low - self.geometry.axes[name].phase) % period != 0
        return self.plan.lag + (newest + shifted) * period

    def _lookback(self, name: str) -> int:
        """The ticks before the first cells that loops read of a sampled input.

        Long windows that slide are made of what loops read one after the other, from
        before the time range on.
        """
        longest, stage_of = self.plan.costs.longest_tree, self.plan.stage_of

        def slides(reader: TemporalExpr, window: Window) -> bool:
            seen = self.geometry.window(reader, window)
            regular = seen.newest.is_regular and not stage_of[reader.name].panes
            return regular and seen.cells > longest

        read = min(loop.oldest(name) for loop in self.lowered)
        oldest = read * self.geometry.axes[name].period
        reach = self.geometry.reach(name, unless=slides)[0]
        return max(-oldest, reach + self._lag_of_readers(name))

    def _lag_of_readers(self, name: str) -> int:
        """The ticks for which readers of an input lag behind their loops' counters."""
        return max(
            self.plan.lags[reader.name] * reader.tdom.precision
            for reader in self.plan.query.definitions
            if name in self.geometry.objects(reader)
        )


def _cells(ticks: LExpr, precision: int) -> LExpr:
    return Bin("//", ticks, i64(precision), I64) if precision != 1 else ticks
