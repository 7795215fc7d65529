"""Blocks of time at which a sliding window starts its two stacks anew.

How floats are added up must not depend on where a loop began. So the back has the rows
of one block of time: those that start in `[k*d, (k+1)*d)`, where `d` is the length of
the window. Rows of earlier blocks are on the front. Once the first row of the block has
left the window, all rows are.
"""

from tiltpy.emit.builder import Block
from tiltpy.emit.row_access import ObjectRows
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import NEVER, add, conj, greatest, i64, le, lt, mul, sub
from tiltpy.loops.nodes import Bin, LExpr, Var
from tiltpy.types import I64


@dataclass(frozen=True, slots=True)
class WindowBlocks:
    """Blocks of so many `ticks`; `end` is where that of the newest row ends."""

    rows: ObjectRows
    ticks: int
    end: Var

    def start(self, block: Block) -> None:
        """Start before any row."""
        block.set(self.end, NEVER)

    def begins(self, row: LExpr) -> LExpr:
        """Test whether a row starts behind the block."""
        return le(self.end, self.rows.start_at(row))

    def end_at(self, row: LExpr) -> LExpr:
        """Return the end of the block in which a row starts."""
        number = Bin("//", self.rows.start_at(row), i64(self.ticks), I64)
        return mul(add(number, i64(1)), i64(self.ticks))

    def has(self, row: LExpr) -> LExpr:
        """Test whether a row of this block or a later one stands before `row`."""
        before = greatest(sub(row, i64(1)), i64(0))
        start = self.rows.start_at(before)
        return conj(lt(i64(0), row), le(self.end, add(start, i64(self.ticks))))
