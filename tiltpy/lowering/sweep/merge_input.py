"""Inputs of a merge scan: cursors that move from row to row, or into gaps.

The bound after the next is loaded before it is known whether the input moves.
"""

from collections.abc import Iterable

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import (
    TRUE,
    add,
    conj,
    convert,
    eq,
    i64,
    le,
    lt,
    mul,
    negate,
    sub,
)
from tiltpy.loops.nodes import LExpr, Select, Var
from tiltpy.lowering.sweep.cursors import PointRead, ScanCursor, StepCursor, gapless
from tiltpy.plan.nodes import MergeSource
from tiltpy.types import BOOL, I64

MOST_PASSED = 16
"""Rows of others for each row of an input, beyond which no merge pays off."""


def _pick(condition: LExpr, then: LExpr, otherwise: LExpr) -> LExpr:
    return Select(condition, then, otherwise, then.type, even=True)


@dataclass(frozen=True, slots=True)
class MergeInput:
    """A cursor of a merge: its `row`, and the next two bounds, `end` and `later`.

    With `inside`, which says whether it is in the row or in the gap before it, gaps
    have visits. All times are the loop's: the rows' less the cursor's offset. A `slow`
    input has few rows. A run has at least `room` rows ahead.
    """

    cursor: StepCursor | ScanCursor
    slow: bool
    row: Var
    end: Var
    later: Var
    moves: Var
    inside: Var | None
    room: int

    @staticmethod
    def of(
        builder: KernelBuilder,
        cursor: StepCursor | ScanCursor,
        room: int,
        source: MergeSource,
    ) -> "MergeInput":
        """The input of a source, whose runs have `room` rows ahead."""
        rows, fresh = cursor.rows, builder.fresh
        name = f"{rows.name}.merged"
        return MergeInput(
            cursor,
            source.computed,
            fresh(name),
            fresh(f"{name}.end"),
            fresh(f"{name}.later"),
            fresh(f"{name}.moves", BOOL),
            fresh(f"{name}.inside", BOOL) if source.visits_gaps else None,
            room,
        )

    @property
    def gapless(self) -> bool:
        """Return whether there is a row at every time."""
        return gapless(self.cursor.rows)

    def _start(self, row: LExpr) -> LExpr:
        rows = self.cursor.rows
        start = rows.start_or_never(row) if self.slow else rows.start_at(row)
        return sub(start, i64(self.cursor.offset))

    def _end(self, row: LExpr) -> LExpr:
        rows = self.cursor.rows
        end = rows.end_or_never(row) if self.slow else rows.end_at(row)
        return sub(end, i64(self.cursor.offset))

    def end_after(self, rows: int) -> LExpr:
        """The end of the row that is `rows` later."""
        return self._end(add(self.row, i64(rows)))

    def bound_after(self, moves: int) -> LExpr:
        """The end of the row or gap after so many moves."""
        if self.inside is None:
            return self._end(add(self.row, i64(moves)))
        row = add(self.row, i64(moves // 2))
        if moves % 2 == 0:
            return _pick(self.inside, self._end(row), self._start(row))
        return _pick(self.inside, self._start(add(row, i64(1))), self._end(row))

    def read(self) -> PointRead:
        """Read its row, as a cursor does."""
        row = self.cursor.rows.clamp(self.row) if self.slow else self.row
        return PointRead(TRUE if self.inside is None else self.inside, row, self.end)

    def begins(self) -> tuple[LExpr, ...]:
        """The start of its row, if gaps have no visits and end there unseen."""
        if self.gapless or self.inside is not None:
            return ()
        return (self._start(self.row),)

    def _before(self) -> LExpr:
        """The cursor's row at the last visit."""
        cursor = self.cursor
        return cursor.ended.row if isinstance(cursor, StepCursor) else cursor.row

    def _has(self, row: LExpr, rows: int) -> LExpr:
        """Return whether there are so many rows after one."""
        return lt(row, sub(self.cursor.rows.last, i64(rows - 1)))

    def ready(self) -> LExpr:
        """Return whether it has begun, if it is gapless, and has rows for a run."""
        begun = self.cursor.exists if self.gapless else TRUE
        if self.slow:
            return begun
        return conj(begun, self._has(self._before(), self.room + 1))

    def keeps_up(self, others: Iterable["MergeInput"]) -> tuple[LExpr, ...]:
        """Return whether the others have not many more rows, if its gaps end unseen.

        Their rows in its gaps have no results, and are jumped over without a merge.
        """
        if self.gapless or self.inside is not None:
            return ()
        most = mul(self.rows_ahead(), i64(MOST_PASSED))
        others = (each for each in others if each is not self)
        return tuple(le(each.rows_ahead(), most) for each in others)

    def rows_ahead(self) -> LExpr:
        """Return how many rows are behind that of the last visit."""
        return sub(self.cursor.rows.last, self._before())

    def continues(self) -> LExpr:
        """Return whether it has rows for another run and for what that loads ahead."""
        return TRUE if self.slow else self._has(self.row, self.room)

    def latest(self, rows: int) -> LExpr:
        """The end of the row `rows` later, an upper bound on as many visits."""
        return self._end(self.cursor.rows.clamp(add(self.row, i64(rows))))

    def enter(self, block: Block, done: LExpr) -> None:
        """Start at the cursor's row of the visit before, which is `done` up to a time.

        That is no later than the end of the cursor's row.
        """
        block.set(self.row, self._before())
        ended = le(self._end(self.row), done)
        block.set(self.row, add(self.row, convert(ended, I64)))
        if self.inside is not None:
            block.set(self.inside, le(self._start(self.row), done))
        block.set(self.end, self.bound_after(0))
        block.set(self.later, self.bound_after(1))

    def refresh(self, block: Block, moved: LExpr) -> None:
        """Load its bounds again if its row has `moved` by vectors."""
        if self.inside is not None:
            block.set(self.inside, conj(self.inside, negate(moved)))
        block.set(self.end, self.bound_after(0))
        block.set(self.later, self.bound_after(1))

    def move(self, block: Block, bound: LExpr) -> None:
        """Move if it ends at the bound."""
        block.set(self.moves, eq(self.end, bound))
        block.set(self.end, _pick(self.moves, self.later, self.end))
        block.set(self.later, _pick(self.moves, self.bound_after(2), self.later))
        step: LExpr = self.moves
        if self.inside is not None:
            step = conj(self.moves, self.inside)
        block.set(self.row, add(self.row, convert(step, I64)))
        if self.inside is not None:
            turned = _pick(self.moves, negate(self.inside), self.inside)
            block.set(self.inside, turned)

    def leave(self, block: Block, done: LExpr) -> None:
        """Hand its row back to the cursor, for the tick after `done`."""
        cursor = self.cursor
        if isinstance(cursor, ScanCursor):
            block.set(cursor.row, self.row)
            return
        cursor.ended.set(block, self.row)
        if cursor.begun is not None:
            start = cursor.rows.start_or_never(self.row)
            begun = le(sub(start, i64(cursor.offset)), done)
            cursor.begun.set(block, add(self.row, convert(begun, I64)))
