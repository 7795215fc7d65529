"""Objects that are merely looked at: their rows side by side, from bound to bound.

A visit of a sweep looks around: what has begun, what has ended, what comes next. Well
inside the rows of objects without windows there is a shorter one. Wherever one of them
has a bound a snapshot ends, and who has it there moves on. What its bound after the
next one is was read before, ahead of knowing who moves: so no visit waits for memory,
and none has a branch.

An input without which the result is φ moves from row to row: the gaps between them have
no visit. What is looked at in its gaps, too, moves from a row into the gap behind it,
which may have no length. Objects that the kernel has computed mostly have far fewer
rows than its inputs: they stay where they are while these move, up to their own bound.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tiltpy.ir.nodes import CutPoint
from tiltpy.loops.build import (
    TRUE,
    add,
    conj,
    convert,
    eq,
    greatest,
    i64,
    le,
    least,
    lt,
    negate,
    sub,
)
from tiltpy.loops.nodes import LExpr, Prefetch, Select, Var, While
from tiltpy.lowering.assembly import Assembly, Block
from tiltpy.lowering.cursors import ScanCursor, Seen, StepCursor, gapless
from tiltpy.lowering.following import Following
from tiltpy.lowering.rows import AHEAD, Written, write_snapshot
from tiltpy.lowering.skips import strict_points
from tiltpy.types import BOOL, I64

RUN = 64
"""Visits between two looks at how many rows there still are."""
LINE = 8
"""Times in a line of the cache."""


def _either(condition: LExpr, then: LExpr, otherwise: LExpr) -> LExpr:
    return Select(condition, then, otherwise, then.type, even=True)


@dataclass(frozen=True, slots=True)
class Side:
    """A cursor of a merge: its row, where that ends, and where the next one does.

    With `inside` it sees the row if that holds, else the gap before it. All times are
    the loop's: the rows' less the cursor's offset. One that is `slow` has few rows.
    """

    cursor: StepCursor | ScanCursor
    slow: bool
    row: Var
    end: Var
    later: Var
    moves: Var
    inside: Var | None

    @staticmethod
    def of(
        assembly: Assembly, cursor: StepCursor | ScanCursor, *, strict: bool
    ) -> "Side":
        """A cursor's; `strict`: the result is φ in its gaps."""
        rows, fresh = cursor.rows, assembly.fresh
        name = f"{rows.name}.merged"
        slow = rows.name not in assembly.layouts
        gaps = slow or not (strict or gapless(rows))
        return Side(
            cursor,
            slow,
            fresh(name),
            fresh(f"{name}.end"),
            fresh(f"{name}.later"),
            fresh(f"{name}.moves", BOOL),
            fresh(f"{name}.inside", BOOL) if gaps else None,
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

    def following(self, moves: int) -> LExpr:
        """Where the row, or gap, ends that so many moves lead to."""
        if self.inside is None:
            return self._end(add(self.row, i64(moves)))
        row = add(self.row, i64(moves // 2))
        if moves % 2 == 0:
            return _either(self.inside, self._end(row), self._start(row))
        return _either(self.inside, self._start(add(row, i64(1))), self._end(row))

    def seen(self) -> Seen:
        """As the loop sees it."""
        row = self.cursor.rows.clamp(self.row) if self.slow else self.row
        return Seen(TRUE if self.inside is None else self.inside, row, self.end)

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
        return begun if self.slow else conj(begun, self._has(self._before(), RUN + 3))

    def further(self) -> LExpr:
        """Whether it has rows for another run, and those that are read ahead of it."""
        return TRUE if self.slow else self._has(self.row, RUN + 2)

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

    def fetch(self, block: Block, behind: LExpr) -> None:
        """Ask for what will be read: the machine does not over the ends of pages."""
        rows = self.cursor.rows
        times = [rows.ends] if rows.layout.points else [rows.starts, rows.ends]
        for array in (*times, *rows.values):
            if array is not None:
                size = array.type.bits // 8 or 1
                there = add(add(self.row, behind), i64(AHEAD // size))
                block.add(Prefetch(array, there))


class Merge:
    """The short visits of a loop over every tick, between two that are not."""

    def __init__(self, assembly: Assembly, following: Following) -> None:
        self.following = following
        self.done = assembly.fresh("done")
        self.bound = assembly.fresh("bound")
        self.halt = assembly.fresh("halt")
        self.visits = assembly.fresh("visits")
        strict = strict_points(following.definition)
        self.sides: dict[CutPoint, Side] = {}
        for point, cursor in following.cursors.items():
            assert isinstance(cursor, StepCursor | ScanCursor)
            self.sides[point] = Side.of(assembly, cursor, strict=point in strict)
        self.fast = [side for side in self.sides.values() if not side.slow]
        self.slow = [side for side in self.sides.values() if side.slow]

    @staticmethod
    def serves(following: Following) -> bool:
        """Whether all that a loop sees are rows, and each bound of one cuts."""
        inputs = following.assembly.layouts
        return (
            not following.windows
            and following.always_cuts
            and any(point.object in inputs for point in following.cursors)
            and all(
                isinstance(cursor, StepCursor | ScanCursor) and cursor.rows.complete
                for cursor in following.cursors.values()
            )
        )

    def append(
        self, block: Block, out: Written, count: Var, now: Var, last: LExpr
    ) -> None:
        """Visits from `now` on, for as long as all sides are well inside their rows."""
        merge, run = block.inner(), block.inner()
        merge.set(self.done, sub(now, i64(1)))
        for side in self.sides.values():
            side.enter(merge, self.done)
        self._look(merge)
        self._fetch(run)
        self._run(run, out, count, last)
        if self.slow:
            turn = block.inner()
            self._visit(turn, out, count, self.halt, self.sides.values())
            run.when(conj(le(self.halt, self.bound), le(self.halt, last)), turn)
            self._look(run)
        soonest = least(self.bound, self.halt) if self.slow else self.bound
        further = conj(le(soonest, last), *(side.further() for side in self.fast))
        merge.add(While(further, run.body()))
        for side in self.sides.values():
            side.leave(merge, self.done)
        merge.set(now, add(self.done, i64(1)))
        block.when(conj(*(side.ready() for side in self.sides.values())), merge)

    def _fetch(self, block: Block) -> None:
        """Ask for the rows of a later run, line by line."""
        line = block.assembly.fresh("line")
        inner = block.inner()
        for side in self.fast:
            side.fetch(inner, line)
        inner.set(line, add(line, i64(LINE)))
        block.set(line, i64(0))
        block.add(While(lt(line, i64(RUN)), inner.body()))

    def _look(self, block: Block) -> None:
        """The next bounds, of those that move often and of the others."""
        block.set(self.bound, least(*(side.end for side in self.fast)))
        if self.slow:
            block.set(self.halt, least(*(side.end for side in self.slow)))

    def _run(self, block: Block, out: Written, count: Var, last: LExpr) -> None:
        """Some visits before the next bound of those that move rarely."""
        block.set(self.visits, i64(0))
        visit = block.inner()
        self._visit(visit, out, count, self.bound, self.fast)
        visit.set(self.bound, least(*(side.end for side in self.fast)))
        visit.set(self.visits, add(self.visits, i64(1)))
        open_ = lt(self.bound, self.halt) if self.slow else TRUE
        more = conj(lt(self.visits, i64(RUN)), le(self.bound, last), open_)
        block.add(While(more, visit.body()))

    def _visit(
        self,
        block: Block,
        out: Written,
        count: Var,
        bound: LExpr,
        moving: Iterable[Side],
    ) -> None:
        """The snapshot that ends at a bound, at which some sides may move."""
        begins = [one for side in self.fast for one in side.begins()]
        if len(begins) < len(
            self.sides
        ):  # else one that has moved begins there or later
            begins.append(self.done)
        begin = block.name("begin", greatest(*begins))
        seen = {point: side.seen() for point, side in self.sides.items()}
        value = self.following.value(block, seen)
        write_snapshot(block, out, count, value, begin, bound)
        there = value.valid
        if bound == self.halt or not all(side.gapless for side in self.fast):
            there = conj(there, lt(begin, bound))
        block.set(count, add(count, convert(there, I64)))
        block.set(self.done, bound)
        for side in moving:
            side.move(block, bound)
