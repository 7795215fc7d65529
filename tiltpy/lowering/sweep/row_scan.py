"""Row scan: a loop that visits every row of one input, and reads others at its stamp.

It computes an object that is defined over rows. The stamps never go back, so cursors
and windows follow them as in a sweep; rows of one stamp see the same of all other
objects. Each row is written with its own lifetime. If no result is φ the times are the
rows' and only values are written.
"""

from dataclasses import replace

from tiltpy.abi.signature import Loop, Read, Shape
from tiltpy.abi.slots import SlotKind
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.output_arrays import OutputArrays, write_snapshot, write_value
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import CutPoint, TemporalExpr
from tiltpy.loops.build import INF, NEVER, TRUE, add, conj, convert, i64, lt, sub
from tiltpy.loops.nodes import Bin, For, LExpr, Var
from tiltpy.lowering.sweep.cursors import PointRead, ScanCursor
from tiltpy.lowering.sweep.operand_reads import OperandReads
from tiltpy.lowering.sweep.operands import SweepOperands
from tiltpy.lowering.sweep.ranking import Rankings
from tiltpy.plan.nodes import RowScan
from tiltpy.types import I64


class _Half:
    """The operands of a loop that goes through all rows, or through half of them."""

    def __init__(
        self,
        builder: KernelBuilder,
        definition: TemporalExpr,
        objects: dict[str, ObjectRows],
        rankings: Rankings,
        plan: RowScan,
    ) -> None:
        self.now = builder.fresh("now")
        self.operands = SweepOperands(
            builder, definition, objects, self.now, rankings, plan.operands
        )

    def seek(self, block: Block, stamp: LExpr, exists: LExpr) -> None:
        """Move the cursors to the stamp of the first row, if that exists."""
        inner = block.inner()
        inner.set(self.now, stamp)
        for cursor in self.operands.cursors.values():
            assert isinstance(cursor, ScanCursor)
            cursor.seek(inner, self.now)
        block.when(exists, inner)


class RowScanLoop:
    """A loop over the rows of one input, with operands that follow their stamps."""

    def __init__(
        self,
        builder: KernelBuilder,
        definition: TemporalExpr,
        objects: dict[str, ObjectRows],
        rankings: Rankings,
        plan: RowScan,
        *,
        is_read: bool,
    ) -> None:
        self.builder = builder
        self.definition = definition
        self.rows = objects[plan.input]
        self.is_read = is_read
        self.implicit = False
        self.halves = [
            _Half(builder, definition, objects, rankings, plan)
            for _ in range(1 + plan.in_halves)
        ]
        self.operands = self.halves[0].operands

    def lower(self, block: Block, out: OutputArrays) -> Var:
        """Append the loop; return the variable that counts the rows written."""
        name = self.definition.name
        first = self.builder.number(SlotKind.FIRST, name)
        last = self.builder.number(SlotKind.LAST, name)
        count = self.builder.fresh(f"{name}.count")
        row = self.builder.fresh("row")
        body = block.inner()
        if len(self.halves) == 1:
            self._visit(body, self.halves[0], row, first, out, count)
            self.halves[0].operands.start(block, i64(0))
            block.set(count, sub(last, first) if self.implicit else i64(0))
            block.add(For(row, first, last, body.body()))
            if self.operands.keeps_states:
                self._finish(block, sub(last, i64(1)))
            return count
        block.set(count, sub(last, first))
        # Of an odd number the row in the middle is computed twice.
        half = Bin("//", add(count, i64(1)), i64(2), I64)
        middle = block.name("middle", sub(last, half))
        for half_rows, begin in zip(self.halves, (first, middle), strict=True):
            half_rows.operands.start(block, i64(0))
            half_rows.seek(block, self._stamp(begin), lt(begin, last))
        for half_rows, begin in zip(self.halves, (first, middle), strict=True):
            here = body.name("row", add(row, begin))
            self._visit(body, half_rows, here, first, out, count)
        assert self.implicit, "each row has a place"
        block.add(For(row, i64(0), sub(last, middle), body.body()))
        return count

    def _finish(self, block: Block, row: LExpr) -> None:
        """Leave the states of the last time that is owned, if any is."""
        reached = self.builder.number(SlotKind.REACHED, self.definition.name)
        behind = block.inner()
        now = self.halves[0].now
        behind.set(now, reached)
        before = self.builder.number(SlotKind.BEFORE, self.rows.name)
        self.operands.finish(behind, now, (row, before))
        block.when(lt(NEVER, reached), behind)

    def _stamp(self, row: LExpr) -> LExpr:
        if self.definition.tdom.at_ends:
            return self.rows.end_at(row)
        before = self.builder.number(SlotKind.BEFORE, self.rows.name)
        return add(self.rows.start_at(row), before)

    def _visit(
        self,
        block: Block,
        half: "_Half",
        row: LExpr,
        first: LExpr,
        out: OutputArrays,
        count: Var,
    ) -> None:
        """Evaluate the object for a row, and write it."""
        block.set(half.now, self._stamp(row))
        half.operands.intervals.advance(block, self.rows, row)
        value, exists = self._value(block, half.operands, row)
        self.implicit = exists == TRUE and not self.is_read
        if self.implicit:
            write_value(block, out, sub(row, first), value)
            return
        begin, end = self.rows.start_at(row), self.rows.end_at(row)
        write_snapshot(block, out, count, value, begin, end)
        block.set(count, add(count, convert(exists, I64)))

    def _value(
        self, block: Block, operands: SweepOperands, row: LExpr
    ) -> tuple[LoopValue, LExpr]:
        """Evaluate the object for a row, and tell whether it has one for it."""
        there = self.rows.exists(row)
        own = CutPoint(self.rows.name, 0, row=True)
        operands.advance(block, {own: PointRead(there, row, INF)})
        value = operands.value(block)
        aligned = self.definition.tdom.nulls and self.is_read
        valid = block.name("ok", conj(value.valid, there) if aligned else value.valid)
        if not self.definition.tdom.nulls:
            return replace(value, valid=valid), conj(there, valid)
        fields = tuple(
            replace(field, valid=conj(valid, field.valid)) for field in value.fields
        )
        # Windows by row read it, for which its rows are those of the input.
        return replace(value, valid=valid, fields=fields), TRUE if aligned else there

    def describe(self) -> Loop:
        """The loop as the runtime knows it."""
        own = Read(self.rows.name, -1, 0)
        reads = OperandReads(self.operands)
        return Loop(
            self.definition.name,
            self.definition.tdom,
            self.definition.type,
            Shape.ROWS,
            (own, *reads.ranges(), *reads.further_ranges()),
            ((self.rows.name, 1),),
            every_cell=False,
            implicit_times=self.implicit,
            structures=reads.structures(),
            strict=(own,),
            recomputed=reads.recomputed_windows(),
            resumes=reads.resumes,
            keeps_states=self.operands.keeps_states,
            stamped=True,
            linear=self.operands.plan.linear,
        )
