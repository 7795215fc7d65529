"""Row map: a loop that visits every row of one input, without any search.

It computes an object that depends on one input at the same time only and is strict in
it: one row in, at most one snapshot out. If no result is φ its times are the rows' and
only values are written; otherwise snapshots are packed. Of a distinct object times are
those of rows, too: it is marked with which of them snapshots begin.
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
from tiltpy.lowering.sweep.row_joins import RowJoins
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
        if self.definition.distinct:
            return self._join(block, out, first, last)
        row = self.builder.fresh("row")
        body = block.inner()
        value = self._value(body, row, self.rows.value(row, self.rows.exists(row)))
        self.implicit = value.valid == TRUE
        if self.implicit:
            write_value(body, out, sub(row, first), value)
            block.add(For(row, first, last, body.body()))
            count = self.builder.fresh(f"{name}.count")
            block.set(count, sub(last, first))
            return count
        store = StreamStore(self.builder, name, out.arrays())
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

    def _join(self, block: Block, out: OutputArrays, first: LExpr, last: LExpr) -> Var:
        """Join rows that touch and have identical values."""
        self.implicit = True
        store = StreamStore(self.builder, out.name, out.payload_arrays())
        store.start(block, sub(last, first))
        joins = RowJoins(self.builder, out, self.rows, first, store)
        joins.start(block)
        row, lanes, single = self.builder.fresh("row"), block.inner(), block.inner()
        cells_of(self.rows).prefetch(lanes, row)
        joins.append_vector(lanes, row, self._values(lanes, row))
        store.flush(lanes)
        single_rows = Bin("%", sub(last, first), i64(LANES), I64)
        whole = block.name("whole", sub(last, single_rows))
        block.add(For(row, first, whole, lanes.body(), LANES))
        joins.narrow(block)
        payload = self.rows.value(row, self.rows.exists(row))
        joins.append_row(single, row, self._value(single, row, payload))
        block.add(For(row, whole, last, single.body()))
        return store.finish(block)

    def _value(self, block: Block, row: LExpr, payload: LoopValue) -> LoopValue:
        """Evaluate the body for a row or a vector of rows with a payload."""

        def leaf(node: Reading) -> LoopValue:
            if isinstance(node, EventBound):
                return self.rows.bound(node, row, payload.valid)
            return payload

        value = lower_expr(block, leaf, self.definition.body)
        return unsign_zeros(block, value) if self.definition.distinct else value

    def _pack(self, block: Block, out: OutputArrays, count: Var, row: Var) -> None:
        """Pack the snapshots of a vector of rows, not the first."""
        start, end = self.rows.wide_start(row), self.rows.wide_end(row)
        cells_of(self.rows).prefetch(block, row)
        self.rows.prefetch_times(block, row)
        value = self._values(block, row)
        columns = out.columns(start, end, value)
        pack_snapshots(block, out, count, columns, value.valid)

    def _values(self, block: Block, row: Var) -> LoopValue:
        """Evaluate the body for a vector of rows."""
        payload = cells_of(self.rows).value(block, CellIndex(row))
        return self._value(block, add(row, Lane(I64)), payload)

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
            linear=True,
        )
