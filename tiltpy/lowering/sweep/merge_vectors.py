"""The rows of the only object of a merge that moves often: `LANES` of them at once.

Until something else moves nothing but these rows makes snapshots: each row is one, and
if the loop looks at gaps, too, so is the gap before it. A gap of no length, and one
that a visit has left behind already, begins where it ends, and is not kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tiltpy.abi import LANES
from tiltpy.emit.builder import Block
from tiltpy.emit.output_arrays import OutputArrays, pack_snapshots
from tiltpy.emit.row_access import ObjectRows
from tiltpy.ir.nodes import CutPoint
from tiltpy.loops.build import FALSE, TRUE, conj, greatest, i64, lt, sub
from tiltpy.loops.nodes import LExpr, Pick, Splat, Var
from tiltpy.lowering.sweep.cursors import PointRead
from tiltpy.lowering.sweep.merge_input import MergeInput
from tiltpy.lowering.sweep.operands import SweepOperands

HALF = LANES // 2


@dataclass(frozen=True, slots=True)
class MergeVectors:
    """What the rows from `row` on make that a point sees, and the others do not move.

    Times are the loop's. With `gaps` the gaps before them are looked at.
    """

    following: SweepOperands
    point: CutPoint
    rows: ObjectRows
    row: Var
    gaps: bool

    @staticmethod
    def of(
        following: SweepOperands, point: CutPoint, side: MergeInput
    ) -> "MergeVectors":
        """What a side's rows make."""
        rows, gaps = side.cursor.rows, side.inside is not None
        return MergeVectors(following, point, rows, side.row, gaps)

    def visit(
        self,
        block: Block,
        seen: Mapping[CutPoint, PointRead],
        done: LExpr,
        out: OutputArrays,
        count: Var,
    ) -> None:
        """Write the snapshots, which are done until some time, but for the first row.

        None of the rows has ended by then, and there is one before the first.
        """
        start = self._time(block, "start", self.rows.wide_start(self.row))
        end = self._time(block, "end", self.rows.wide_end(self.row))
        here = PointRead(TRUE, self.row, end, wide=True)
        value = self.following.value(block, {**seen, self.point: here})
        begin = block.name("begin", greatest(start, done))
        rows = out.columns(begin, end, value)
        if not self.gaps:
            pack_snapshots(block, out, count, rows, value.valid)
            return
        some = value.valid
        before = self._time(block, "ended", self.rows.wide_end(sub(self.row, i64(1))))
        none = replace(here, exists=FALSE)
        value = self.following.value(block, {**seen, self.point: none})
        begin = block.name("begin", greatest(before, done))
        gaps = out.columns(begin, start, value)
        open_ = conj(value.valid, lt(begin, start))
        for first in (0, HALF):
            pairs = zip(gaps, rows, strict=True)
            columns = [_in_turns(*pair, first) for pair in pairs]
            there = _in_turns(open_, some, first)
            pack_snapshots(block, out, count, columns, there)

    def _time(self, block: Block, label: str, time: LExpr) -> LExpr:
        return block.name(label, sub(time, i64(self.point.offset)))


def _in_turns(one: LExpr, other: LExpr, first: int) -> LExpr:
    """Half of the lanes of each, one of the first, one of the second, and so on."""
    order = (lane + LANES * k for lane in range(first, first + HALF) for k in (0, 1))
    return Pick(Splat(one, one.type), Splat(other, other.type), tuple(order), one.type)
