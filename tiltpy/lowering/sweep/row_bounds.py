"""Places in the rows of an object that follow the loop, shared by all who look there.

How many rows have started, or ended, at a fixed distance from the loop's time: of these
numbers points and windows over rows without overlap are made. `~x[t]` is the row after
those that ended before `t`; the rows in a window are those that have started before its
end but for those that ended by its beginning. Each edge says when it is due to move on,
and the loop goes from the earliest of these times to the next.

In a loop that visits each of them an edge moves by one row at most: rows last at least
a tick. So it *steps*, by a comparison. Where times are skipped it *runs*.
"""

from dataclasses import dataclass
from functools import reduce
from typing import Literal

from tiltpy.emit.builder import Assembly, Block
from tiltpy.emit.row_access import ObjectRows
from tiltpy.loops.build import add, convert, i64, le, sub
from tiltpy.loops.nodes import LExpr, Var, While
from tiltpy.types import BOOL, I64

Bound = Literal["start", "end"]


@dataclass(frozen=True, slots=True)
class RowBound:
    """The rows before `row` have a bound at or before `now + offset`.

    `due` is the first time of the loop at which the next one has; `moved` says whether
    the last step was one.
    """

    rows: ObjectRows
    bound: Bound
    offset: int
    row: Var
    due: Var
    moved: Var

    def start(self, block: Block) -> None:
        """Ahead of the first row."""
        self.set(block, i64(0))

    def set(self, block: Block, row: LExpr) -> None:
        """Put it before a row."""
        block.set(self.row, row)
        block.set(self.due, self.due_at(self.row))

    def step(self, block: Block, now: LExpr) -> None:
        """Move on by one row if that is due."""
        block.set(self.moved, le(self.due, now))
        self.set(block, add(self.row, convert(self.moved, I64)))

    def run(self, block: Block, now: LExpr, passing: Block | None = None) -> None:
        """Move on for as long as that is due; `passing` runs before each move."""
        inner = passing or block.inner()
        self.set(inner, add(self.row, i64(1)))
        block.add(While(le(self.due, now), inner.body()))

    def leap(self, block: Block, now: LExpr, rows: int) -> None:
        """Move on by as many rows as are due, up to a few, without a branch."""
        passed = [le(self.due_at(add(self.row, i64(k))), now) for k in range(rows)]
        total: LExpr = self.row
        for one in passed:
            total = add(total, convert(one, I64))
        self.set(block, total)

    def catch_up(self, block: Block, now: LExpr, rows: int) -> None:
        """Move on by all rows that are due, up to a few without a branch.

        `due` stays what it was: where a loop does not look at it, that saves the most.
        """
        until = block.name("until", add(now, i64(self.offset)))
        passed = [le(self._bound(add(self.row, i64(k))), until) for k in range(rows)]
        moves = reduce(add, (convert(one, I64) for one in passed))
        block.set(self.row, add(self.row, moves))
        inner = block.inner()
        inner.set(self.row, add(self.row, i64(1)))
        block.add(While(le(self._bound(self.row), until), inner.body()))

    def due_at(self, row: LExpr) -> LExpr:
        """The first time of the loop at which a row has its bound."""
        return sub(self._bound(row), i64(self.offset))

    def _bound(self, row: LExpr) -> LExpr:
        start = self.bound == "start"
        return self.rows.start_or_never(row) if start else self.rows.end_or_never(row)


class RowBounds:
    """The edges of one loop."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.known: dict[tuple[str, Bound, int], RowBound] = {}

    def own(self, rows: ObjectRows, bound: Bound, offset: int) -> RowBound:
        """An edge that whoever asked for it moves."""
        label = f"{rows.name}.{bound}"
        return RowBound(
            rows,
            bound,
            offset,
            self.assembly.fresh(label),
            self.assembly.fresh(f"{label}.due"),
            self.assembly.fresh(f"{label}.moved", BOOL),
        )

    def shared(self, rows: ObjectRows, bound: Bound, offset: int) -> RowBound:
        """An edge that the loop steps, the same for all who ask."""
        key = rows.name, bound, offset
        if key not in self.known:
            self.known[key] = self.own(rows, bound, offset)
        return self.known[key]

    def start(self, block: Block, first: LExpr) -> None:
        """Before the loop: one tick behind its first time."""
        for edge in self.known.values():
            edge.start(block)
            edge.run(block, sub(first, i64(1)))

    def step(self, block: Block, now: LExpr) -> None:
        """Move those on that are due."""
        for edge in self.known.values():
            edge.step(block, now)
