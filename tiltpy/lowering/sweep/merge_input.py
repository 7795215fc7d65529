"""A point reference as a merge follows it: from row to row, or into the gaps between.

What its bound after the next one is is read ahead of knowing whether it moves.
"""

from dataclasses import dataclass

from tiltpy.emit.builder import Assembly, Block
from tiltpy.loops.build import TRUE, add, conj, convert, eq, i64, le, lt, negate, sub
from tiltpy.loops.nodes import LExpr, Select, Var
from tiltpy.lowering.sweep.cursors import PointRead, ScanCursor, StepCursor, gapless
from tiltpy.plan.nodes import MergeSource
from tiltpy.types import BOOL, I64


def _either(condition: LExpr, then: LExpr, otherwise: LExpr) -> LExpr:
    return Select(condition, then, otherwise, then.type, even=True)


@dataclass(frozen=True, slots=True)
class MergeInput:
    """A cursor of a merge: its row, where that ends, and where the next one does.

    With `inside` it sees the row if that holds, else the gap before it. All times are
    the loop's: the rows' less the cursor's offset. One that is `slow` has few rows.
    A run has at least `room` rows ahead.
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
        assembly: Assembly,
        cursor: StepCursor | ScanCursor,
        room: int,
        source: MergeSource,
    ) -> "MergeInput":
        """Follow a source with its cursor, which has `room` rows to go in a run."""
        rows, fresh = cursor.rows, assembly.fresh
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
        """Whether there is a row at every time."""
        return gapless(self.cursor.rows)

    def _start(self, row: LExpr) -> LExpr:
        rows = self.cursor.rows
        start = rows.start_or_never(row) if self.slow else rows.start_at(row)
        return sub(start, i64(self.cursor.offset))

    def _end(self, row: LExpr) -> LExpr:
        rows = self.cursor.rows
        end = rows.end_or_never(row) if self.slow else rows.end_at(row)
        return sub(end, i64(self.cursor.offset))

    def ends(self, rows: int) -> LExpr:
        """Where the row ends that so many lead to."""
        return self._end(add(self.row, i64(rows)))

    def following(self, moves: int) -> LExpr:
        """Where the row, or gap, ends that so many moves lead to."""
        if self.inside is None:
            return self._end(add(self.row, i64(moves)))
        row = add(self.row, i64(moves // 2))
        if moves % 2 == 0:
            return _either(self.inside, self._end(row), self._start(row))
        return _either(self.inside, self._start(add(row, i64(1))), self._end(row))

    def seen(self) -> PointRead:
        """As the loop sees it."""
        row = self.cursor.rows.clamp(self.row) if self.slow else self.row
        return PointRead(TRUE if self.inside is None else self.inside, row, self.end)

    def begins(self) -> tuple[LExpr, ...]:
        """Where there is nothing before, if that is not where another one ends."""
        if self.gapless or self.inside is not None:
            return ()
        return (self._start(self.row),)

    def _before(self) -> LExpr:
        """The cursor's row at the last visit."""
        cursor = self.cursor
        return cursor.ended.row if isinstance(cursor, StepCursor) else cursor.row

    def _has(self, row: LExpr, more: int) -> LExpr:
        """Whether there are so many rows behind one."""
        return lt(row, sub(self.cursor.rows.last, i64(more - 1)))

    def ready(self) -> LExpr:
        """Whether it has begun, if nothing else says when, and has some rows to go."""
        begun = self.cursor.exists if self.gapless else TRUE
        if self.slow:
            return begun
        return conj(begun, self._has(self._before(), self.room + 1))

    def further(self) -> LExpr:
        """Whether it has rows for another run, and those that are read ahead of it."""
        return TRUE if self.slow else self._has(self.row, self.room)

    def latest(self, rows: int) -> LExpr:
        """Where the row ends that is so many further on, or the last one.

        A merge gets no further in as many visits.
        """
        return self._end(self.cursor.rows.clamp(add(self.row, i64(rows))))

    def enter(self, block: Block, done: LExpr) -> None:
        """From where the cursor was at the visit before, which is done until some time.

        That was no later than the end of the row at which it was.
        """
        block.set(self.row, self._before())
        ended = le(self._end(self.row), done)
        block.set(self.row, add(self.row, convert(ended, I64)))
        if self.inside is not None:
            block.set(self.inside, le(self._start(self.row), done))
        block.set(self.end, self.following(0))
        block.set(self.later, self.following(1))

    def show(self, block: Block, moved: LExpr) -> None:
        """Look at its bounds again once it has moved from row to row, if it has."""
        if self.inside is not None:
            block.set(self.inside, conj(self.inside, negate(moved)))
        block.set(self.end, self.following(0))
        block.set(self.later, self.following(1))

    def move(self, block: Block, bound: LExpr) -> None:
        """Move on where it ends there."""
        block.set(self.moves, eq(self.end, bound))
        block.set(self.end, _either(self.moves, self.later, self.end))
        block.set(self.later, _either(self.moves, self.following(2), self.later))
        step: LExpr = self.moves
        if self.inside is not None:
            step = conj(self.moves, self.inside)
        block.set(self.row, add(self.row, convert(step, I64)))
        if self.inside is not None:
            turned = _either(self.moves, negate(self.inside), self.inside)
            block.set(self.inside, turned)

    def leave(self, block: Block, done: LExpr) -> None:
        """Put the cursor where it is at the tick after some time."""
        cursor = self.cursor
        if isinstance(cursor, ScanCursor):
            block.set(cursor.row, self.row)
            return
        cursor.ended.set(block, self.row)
        if cursor.begun is not None:
            start = cursor.rows.start_or_never(self.row)
            begun = le(sub(start, i64(cursor.offset)), done)
            cursor.begun.set(block, add(self.row, convert(begun, I64)))
