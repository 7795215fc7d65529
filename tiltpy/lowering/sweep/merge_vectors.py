"""Vectors of the rows of the only fast input of a merge scan: `LANES` at once.

Until another input moves each of its rows makes a snapshot, and so does the gap before
it if gaps have visits. An empty gap, or one already visited, begins where it ends and
is not stored.
"""

from collections.abc import Mapping
from dataclasses import replace

from tiltpy.abi.signature import LANES
from tiltpy.emit.builder import Block
from tiltpy.emit.output_arrays import OutputArrays, pack_snapshots
from tiltpy.emit.row_access import ObjectRows
from tiltpy.ir.nodes import CutPoint
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import FALSE, TRUE, conj, greatest, i64, lt, sub
from tiltpy.loops.nodes import LExpr, Pick, Splat, Var
from tiltpy.lowering.sweep.cursors import PointRead
from tiltpy.lowering.sweep.merge_input import MergeInput
from tiltpy.lowering.sweep.operands import SweepOperands

HALF = LANES // 2


@dataclass(frozen=True, slots=True)
class MergeVectors:
    """The visits of vectors of rows of an input, which reads `point`."""

    operands: SweepOperands
    point: CutPoint
    input: MergeInput

    @property
    def rows(self) -> ObjectRows:
        """The rows of the input."""
        return self.input.cursor.rows

    @property
    def gaps(self) -> bool:
        """Return whether the gaps before rows have visits."""
        return self.input.inside is not None

    def visit(
        self,
        block: Block,
        reads: Mapping[CutPoint, PointRead],
        done: LExpr,
        out: OutputArrays,
        count: Var,
    ) -> None:
        """Write the snapshots of the vector at the input's row.

        They are `done` up to a time, by which none of the rows has ended; there is a
        row before the first. `reads` are those of the other points.
        """
        start = self._time(block, "start", self.rows.wide_start(self.input.row))
        end = self._time(block, "end", self.rows.wide_end(self.input.row))
        row = PointRead(TRUE, self.input.row, end, wide=True)
        value = self.operands.value(block, {**reads, self.point: row})
        begin = block.name("begin", greatest(start, done))
        rows = out.columns(begin, end, value)
        if not self.gaps:
            pack_snapshots(block, out, count, rows, value.valid)
            return
        row_exists = value.valid
        previous_end = self._time(
            block, "ended", self.rows.wide_end(sub(self.input.row, i64(1)))
        )
        gap = replace(row, exists=FALSE)
        value = self.operands.value(block, {**reads, self.point: gap})
        begin = block.name("begin", greatest(previous_end, done))
        gaps = out.columns(begin, start, value)
        gap_exists = conj(value.valid, lt(begin, start))
        for half in (0, HALF):
            pairs = zip(gaps, rows, strict=True)
            columns = [_interleave(*pair, half) for pair in pairs]
            there = _interleave(gap_exists, row_exists, half)
            pack_snapshots(block, out, count, columns, there)

    def _time(self, block: Block, label: str, time: LExpr) -> LExpr:
        return block.name(label, sub(time, i64(self.point.offset)))


def _interleave(a: LExpr, b: LExpr, start: int) -> LExpr:
    """Interleave half of the lanes of each, from lane `start` on."""
    order = (lane + LANES * k for lane in range(start, start + HALF) for k in (0, 1))
    return Pick(
        Splat(a, a.type),
        Splat(b, b.type),
        tuple(order),
        a.type,
    )
