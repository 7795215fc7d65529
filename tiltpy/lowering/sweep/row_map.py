"""Row map: a loop that visits every row of one input, without any search.

It computes an object that depends on one input at the same time only and is strict in
it: one row in, at most one snapshot out. If no result is φ its times are the rows' and
only values are written; otherwise snapshots are packed.
"""

from tiltpy.abi.signature import LANES, Loop, Read, Shape
from tiltpy.abi.slots import SlotKind
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.cell_arrays import CellIndex, cells_of
from tiltpy.emit.join_snapshots import unsign_zeros
from tiltpy.emit.output_arrays import (
    OutputArrays,
    pack_snapshots,
    write_snapshot,
    write_value,
)
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.stream_stores import StreamStore
from tiltpy.emit.values import LoopValue, Reading, lower_expr
from tiltpy.ir.nodes import (
    EventBound,
    TemporalExpr,
)
from tiltpy.loops.build import TRUE, add, convert, i64, least, sub
from tiltpy.loops.nodes import Bin, For, Lane, LExpr, Var
from tiltpy.lowering.sweep.operands import bound_of
from tiltpy.plan.nodes import RowMap
from tiltpy.types import I64


class RowLoop:
    """A loop over the rows of one input."""

    def __init__(
        self,
        builder: KernelBuilder,
        definition: TemporalExpr,
        objects: dict[str, ObjectRows],
        plan: RowMap,
    ) -> None:
        self.builder = builder
        self.definition = definition
        self.rows = objects[plan.input]
        self.implicit = False

    def lower(self, block: Block, out: OutputArrays) -> Var:
        """Append the loop; return the variable that counts the snapshots written."""
        name = self.definition.name
        first = self.builder.number(SlotKind.FIRST, name)
        last = self.builder.number(SlotKind.LAST, name)
        row = self.builder.fresh("row")
        body = block.inner()
        value = self._value(body, row, self.rows.value(row, self.rows.exists(row)))
        self.implicit = value.valid == TRUE and not self.definition.distinct
        if self.implicit:
            write_value(body, out, sub(row, first), value)
            block.add(For(row, first, last, body.body()))
            count = self.builder.fresh(f"{name}.count")
            block.set(count, sub(last, first))
            return count
        distinct = out if self.definition.distinct else None
        store = StreamStore(self.builder, name, out.arrays(), distinct=distinct)
        store.start(block, sub(last, first))
        staged, count = out.with_arrays(store.staged), store.count
        begin, end = self.rows.start_at(row), self.rows.end_at(row)
        write_snapshot(body, staged, count, value, begin, end)
        body.set(count, add(count, convert(value.valid, I64)))
        # The first row has none before it; after the single rows only vectors are left.
        single_rows = Bin("%", sub(sub(last, first), i64(1)), i64(LANES), I64)
        vectors_from = block.name("alone", add(first, add(single_rows, i64(1))))
        block.add(For(row, first, least(vectors_from, last), body.body()))
        lanes = block.inner()
        self._pack(lanes, staged, count, row)
        store.flush(lanes)
        block.add(For(row, vectors_from, last, lanes.body(), LANES))
        return store.finish(block)

    def _value(self, block: Block, row: LExpr, payload: LoopValue) -> LoopValue:
        """Evaluate the body for a row or a vector of rows with a payload."""

        def leaf(node: Reading) -> LoopValue:
            if isinstance(node, EventBound):
                return bound_of(self.rows, node, row, payload.valid)
            return payload

        value = lower_expr(block, leaf, self.definition.body)
        return unsign_zeros(block, value) if self.definition.distinct else value

    def _pack(self, block: Block, out: OutputArrays, count: Var, row: Var) -> None:
        """Pack the snapshots of a vector of rows, not the first."""
        rows, cells, index = self.rows, cells_of(self.rows), CellIndex(row)
        start, end = rows.wide_start(row), rows.wide_end(row)
        cells.prefetch(block, row)
        rows.prefetch_times(block, row)
        payload = cells.value(block, index)
        value = self._value(block, add(row, Lane(I64)), payload)
        columns = out.columns(start, end, value)
        pack_snapshots(block, out, count, columns, value.valid)

    def describe(self) -> Loop:
        """The loop as the runtime knows it."""
        return Loop(
            self.definition.name,
            self.definition.tdom,
            self.definition.type,
            Shape.ROWS,
            (Read(self.rows.name, -1, 0),),
            ((self.rows.name, 1),),
            every_cell=False,
            implicit_times=self.implicit,
            distinct=self.definition.distinct,
            stamped=self.definition.tdom.rows is not None,
        )
