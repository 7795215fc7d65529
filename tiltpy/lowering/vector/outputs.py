"""Writing the outputs of a vector kernel: cells, or the snapshots among them, packed.

Where every cell is a snapshot its value goes to the cell's place. Elsewhere the values
are packed, and a bitmap says in which cells snapshots begin (see `abi.AlignedRange`).
"""

from collections.abc import Iterable

from tiltpy.abi.signature import LANES
from tiltpy.abi.slots import SlotKind
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.stream_stores import StreamStore, pays_streaming
from tiltpy.ir.nodes import TemporalExpr
from tiltpy.loops.build import (
    FALSE,
    TRUE,
    add,
    conj,
    convert,
    eq,
    i64,
    le,
    lt,
    select,
    sub,
)
from tiltpy.loops.nodes import (
    Array,
    Bin,
    CountTrue,
    Lane,
    LExpr,
    Pack,
    Splat,
    Store,
    Var,
    WriteSlot,
)
from tiltpy.lowering.vector.cell_values import Outcome
from tiltpy.plan.definedness import exists_by_windows
from tiltpy.types import BOOL, I32, I64, columns

LINE_BITS = 512
"""Bits of a cache line."""


class Output:
    """The arrays that the loop of an output writes its cells to."""

    def __init__(
        self,
        builder: KernelBuilder,
        definition: TemporalExpr,
        outcome: Outcome,
        *,
        lanes: bool,
    ) -> None:
        self.builder = builder
        self.lanes = lanes
        self.name = name = definition.name
        self.precision = definition.tdom.precision
        self.outcome = outcome
        self.dense = exists_by_windows(definition)
        self.values = tuple(
            builder.array(SlotKind.OUT_VALUES, name, scalar, j, written=True)
            for j, (_, scalar) in enumerate(columns(definition.type))
        )
        self.validity = tuple(
            builder.array(SlotKind.OUT_VALIDITY, name, BOOL, j, written=True)
            if outcome.value.fields and part.valid != TRUE
            else None
            for j, part in enumerate(outcome.parts)
        )
        self.total = builder.fresh(f"{name}.cells")
        self.past = builder.fresh(f"{name}.past", BOOL)
        self.outlet: StreamStore | None = None
        self.masks: dict[SlotKind, Var] = {}
        if outcome.full:
            return
        if lanes:
            self.outlet = StreamStore(builder, name, self._arrays())
            self.count = self.outlet.count
            return
        self.count = builder.fresh(f"{name}.count")
        for kind in (SlotKind.OUT_BEGINS, SlotKind.OUT_COVERED):
            self.masks[kind] = builder.fresh(f"{name}.{kind.value}", BOOL)

    def start(self, block: Block, outputs: Iterable[TemporalExpr]) -> None:
        """Set the variables before the loops, which compute some outputs."""
        low = self.builder.number(SlotKind.LOW, "")
        high = self.builder.number(SlotKind.HIGH, "")
        length = sub(high, low)
        block.set(self.total, Bin("//", length, i64(self.precision), I64))
        if self.outlet is not None:
            self.outlet.start(block, self.total)
        elif self.outcome.full:
            beside = sum(
                _row_bytes(output) * self.precision // output.tdom.precision
                for output in outputs
                if output.name != self.name
            )
            arrays = self._arrays()
            streams = pays_streaming(self.builder, arrays, self.total, beside)
            block.set(self.past, streams)
        else:
            block.set(self.count, i64(0))
        for mask in self.masks.values():
            block.set(mask, Splat(FALSE, BOOL))

    def store(self, block: Block, cell: LExpr) -> None:
        """Write a round's cells, of which `cell` is the first, if they are wanted."""
        inner = block.inner()
        if self.outcome.full:
            self._put(inner, cell)
        elif self.outlet is not None:
            self._pack(inner, cell, self.outlet)
        else:
            self._append(inner, cell)
        block.when(conj(le(i64(0), cell), lt(cell, self.total)), inner)

    def _put(self, block: Block, cell: LExpr) -> None:
        """Every cell to its place: past the caches where there are more than fit.

        Parts of lines of several arrays would leave the write buffers one by one.
        """
        cached, past = block.inner(), block.inner()
        alone = len(self._arrays()) == 1
        for array, value in zip(self._arrays(), self._columns(), strict=True):
            entry = block.name("v", Splat(value, array.type)) if self.lanes else value
            cached.add(Store(array, cell, entry))
            whole = alone or LANES * array.type.bits >= LINE_BITS
            past.add(Store(array, cell, entry, past=whole))
        if self.lanes:
            block.either(self.past, past, cached)
        else:
            block.add(*cached.statements)

    def _arrays(self) -> list[Array]:
        """The arrays but for the bitmaps: the columns, each before its flags."""
        pairs = zip(self.values, self.validity, strict=True)
        return [array for pair in pairs for array in pair if array is not None]

    def _columns(self) -> list[LExpr]:
        """The values for these arrays."""
        pairs = zip(self.outcome.parts, self.validity, strict=True)
        entries = ((p.scalar, None if f is None else p.valid) for p, f in pairs)
        return [value for pair in entries for value in pair if value is not None]

    def _bitmap(self, kind: SlotKind) -> Array:
        return self.builder.array(kind, self.name, BOOL, written=True, bits=True)

    def _begins(self) -> LExpr:
        begins = self.outcome.begins
        return self.outcome.value.valid if begins is None else begins

    def _pack(self, block: Block, cell: LExpr, outlet: StreamStore) -> None:
        if self.dense:
            whole, some = block.inner(), block.inner()
            self._put_whole(whole, cell, outlet)
            self._select(some, cell, outlet)
            block.either(self._is_whole(block, cell), whole, some)
        else:
            self._select(block, cell, outlet)
        outlet.flush(block)

    def _is_whole(self, block: Block, cell: LExpr) -> LExpr:
        """Test whether each cell of a round has a value, and begins a snapshot."""
        conditions = [le(add(cell, i64(LANES)), self.total)]
        for lanes in (self.outcome.cuts, self.outcome.value.valid):
            if lanes != TRUE:
                count = block.name("count", CountTrue(Splat(lanes, BOOL), I64))
                conditions.append(le(i64(LANES), count))
        return conj(*conditions)

    def _put_whole(self, block: Block, cell: LExpr, outlet: StreamStore) -> None:
        kinds = [SlotKind.OUT_BEGINS]
        if self.outcome.begins is not None:
            kinds.append(SlotKind.OUT_COVERED)
        for kind in kinds:
            block.add(Store(self._bitmap(kind), cell, Splat(TRUE, BOOL)))
        for array, value in zip(outlet.staged, self._columns(), strict=True):
            block.add(Store(array, self.count, Splat(value, array.type)))
        block.set(self.count, add(self.count, i64(LANES)))

    def _select(self, block: Block, cell: LExpr, outlet: StreamStore) -> None:
        """Pack the cells of a round in which snapshots begin."""
        bits = {SlotKind.OUT_BEGINS: self._begins()}
        if self.outcome.begins is not None:
            bits[SlotKind.OUT_COVERED] = self.outcome.value.valid
        left = block.name("left", sub(self.total, cell))
        inside = lt(Lane(I32), convert(left, I32))
        last = block.inner()
        masks = {}
        for kind, lanes in bits.items():
            masks[kind] = mask = self.builder.fresh("mask", BOOL)
            block.set(mask, Splat(lanes, BOOL))
            last.set(mask, conj(mask, inside))
        block.when(lt(left, i64(LANES)), last, rarely=True)
        for kind, mask in masks.items():
            block.add(Store(self._bitmap(kind), cell, mask))
        mask = masks[SlotKind.OUT_BEGINS]
        for array, value in zip(outlet.staged, self._columns(), strict=True):
            block.add(Pack(array, self.count, value, mask))
        block.set(self.count, add(self.count, CountTrue(mask, I64)))

    def _append(self, block: Block, cell: LExpr) -> None:
        """Append one cell; masks collect the bits of its vector."""
        begins = block.name("begins", self._begins())
        self._bit(block, cell, SlotKind.OUT_BEGINS, begins)
        if self.outcome.begins is not None:
            self._bit(block, cell, SlotKind.OUT_COVERED, self.outcome.value.valid)
        for array, value in zip(self._arrays(), self._columns(), strict=True):
            block.add(Store(array, self.count, value))
        block.set(self.count, add(self.count, convert(begins, I64)))

    def _bit(self, block: Block, cell: LExpr, kind: SlotKind, value: LExpr) -> None:
        mask = self.masks[kind]
        lane = block.name("lane", Bin("%", cell, i64(LANES), I64))
        earlier = select(eq(lane, i64(0)), FALSE, mask)
        block.set(mask, select(eq(Lane(I64), lane), value, earlier))
        block.add(Store(self._bitmap(kind), sub(cell, lane), mask))

    def finish(self, block: Block) -> None:
        """Write what is left, and the count, after the loops."""
        if self.outlet is not None:
            count = self.outlet.finish(block)
        else:
            count = self.total if self.outcome.full else self.count
        slot = self.builder.slot(SlotKind.OUT_COUNT, self.name)
        block.add(WriteSlot(slot, count))


def _row_bytes(output: TemporalExpr) -> int:
    """Count the bytes of a row's values."""
    return sum(scalar.entry_bytes for _, scalar in columns(output.type))
