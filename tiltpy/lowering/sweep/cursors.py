"""Cursors: the point references `~x[t + d]` of a sweep loop.

A cursor moves forward only. `advance` finds whether there is a snapshot at the time,
which row it is, and until when, in the loop's time, nothing changes.
"""

from copy import copy
from dataclasses import replace
from typing import Protocol

from tiltpy.abi.layouts import TimeLayout
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.row_access import ObjectRows
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import (
    FALSE,
    INF,
    TRUE,
    add,
    conj,
    convert,
    disj,
    eq,
    greatest,
    i64,
    le,
    least,
    load,
    lt,
    ne,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import Bin, LExpr, Store, While
from tiltpy.lowering.sweep.far_rows import jump
from tiltpy.lowering.sweep.row_bounds import RowBound, RowBounds
from tiltpy.types import BOOL, I64


def gapless(rows: ObjectRows) -> bool:
    """Return whether snapshots are gapless from the first row to the last."""
    regular = rows.layout.time in (TimeLayout.SAMPLED, TimeLayout.CONTIGUOUS)
    return regular and rows.complete


@dataclass(frozen=True, slots=True)
class PointRead:
    """The read of a cursor: `row` is readable even where no snapshot exists.

    `change` is the first time of the loop at which it may read something else. `wide`:
    lanes read successive rows, from `row` on.
    """

    exists: LExpr
    row: LExpr
    change: LExpr
    wide: bool = False


class Cursor(Protocol):
    """A point reference that follows the loop."""

    rows: ObjectRows

    def start(self, block: Block) -> None:
        """Put it before the rows, ahead of the loop."""

    def advance(self, block: Block, now: LExpr) -> PointRead:
        """Move it to a later time of the loop."""

    def cut(self, block: Block) -> LExpr:
        """Return whether it reads another snapshot or gap than at the visit before."""


class StepCursor:
    """A cursor over disjoint rows without nulls, in a loop that steps.

    `ended` and `begun` count the rows that have ended and begun; gapless rows need only
    the time at which the first begins.
    """

    def __init__(
        self, builder: KernelBuilder, bounds: RowBounds, rows: ObjectRows, offset: int
    ) -> None:
        label = f"{rows.name}.at"
        self.rows = rows
        self.offset = offset
        self.ended = bounds.shared_bound(rows, "end", offset - 1)
        self.begun: RowBound | None = None
        if not gapless(rows):
            self.begun = bounds.shared_bound(rows, "start", offset - 1)
        self.begin = builder.fresh(f"{label}.begin")
        self.exists = builder.fresh(f"{label}.exists", BOOL)
        self.existed = builder.fresh(f"{label}.existed", BOOL)

    def start(self, block: Block) -> None:
        """Read when gapless rows begin."""
        if self.begun is None:
            begin = sub(self.rows.start_or_never(i64(0)), i64(self.offset - 1))
            block.set(self.begin, begin)
            block.set(self.existed, FALSE)

    def without_checks(self) -> "StepCursor":
        """A copy for visits at which its bounds stay inside the rows."""
        cursor = copy(self)
        cursor.rows = replace(self.rows, in_bounds=True)
        return cursor

    def advance(self, block: Block, now: LExpr) -> PointRead:
        """Read the row after those that have ended, if it has begun."""
        rows, row = self.rows, self.ended.row
        if self.begun is None:
            begun = block.name("begun", le(self.begin, now))
            block.set(self.exists, conj(begun, lt(row, rows.count)))
            change = select(begun, self.ended.due, self.begin)
        else:
            block.set(self.exists, lt(row, self.begun.row))
            change = least(self.ended.due, self.begun.due)
        return PointRead(self.exists, block.name("row", rows.clamp(row)), change)

    def cut(self, block: Block) -> LExpr:
        """Test whether it reads another row, or another side of a snapshot's start."""
        if self.begun is not None:
            return disj(self.ended.moved, self.begun.moved)
        moved = block.name("moved", ne(self.exists, self.existed))
        block.set(self.existed, self.exists)
        return disj(self.ended.moved, moved)


class ScanCursor:
    """A cursor over rows at the first that ends at or after the time.

    They are disjoint, or points: of those that share a stamp it is at the last. It
    passes `leaps` rows without a branch before it looks for more, and `jumps` to one
    that is far.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        rows: ObjectRows,
        offset: int,
        *,
        leaps: int,
        jumps: bool,
    ) -> None:
        label = f"{rows.name}.at"
        self.leaps = leaps
        self.jumps = jumps
        self.rows = rows
        self.offset = offset
        self.row = builder.fresh(label)
        self.end = builder.fresh(f"{label}.end")
        self.exists = builder.fresh(f"{label}.exists", BOOL)
        self.row_before = builder.fresh(f"{label}.before")
        self.existed = builder.fresh(f"{label}.existed", BOOL)

    def start(self, block: Block) -> None:
        """Put it at the first row."""
        block.set(self.row, i64(0))
        block.set(self.row_before, i64(-1))
        block.set(self.existed, FALSE)

    def seek(self, block: Block, now: LExpr) -> None:
        """Move to the row that holds a time by halving: the loop begins there."""
        stop = block.builder.fresh(f"{self.rows.name}.stop")
        time = block.name("at", add(now, i64(self.offset)))
        block.set(stop, self.rows.count)
        inner, behind, before = block.inner(), block.inner(), block.inner()
        middle = inner.name("middle", Bin("//", add(self.row, stop), i64(2), I64))
        behind.set(self.row, add(middle, i64(1)))
        before.set(stop, middle)
        inner.either(lt(self.rows.end_at(middle), time), behind, before)
        block.add(While(lt(self.row, stop), inner.body()))

    def advance(self, block: Block, now: LExpr) -> PointRead:
        """Move to the row that holds the time, or to the next one after it."""
        rows = self.rows
        time = block.name("at", add(now, i64(self.offset)))
        self._leap(block, time)
        head, inner = block.inner(), block.inner()
        head.set(self.end, rows.end_or_never(self.row))
        passing = lt(self.end, time)
        if not rows.complete:
            null = negate(rows.exists(rows.clamp(self.row)))
            passing = conj(lt(self.row, rows.count), disj(passing, null))
        inner.set(self.row, add(self.row, i64(1)))
        if self.jumps:
            jump(inner, rows, self.row, lambda row: lt(rows.end_at(row), time))
        block.add(While(passing, inner.body(), head.body()))
        if not rows.disjoint:
            self._pass_tied(block)
        start = block.name("start", self._start())
        if self.leaps and gapless(rows):
            begun = lt(rows.start_or_never(i64(0)), time)
            block.set(self.exists, conj(begun, lt(self.row, rows.count)))
        else:
            block.set(self.exists, lt(start, time))
        until = select(self.exists, self.end, start)
        row = block.name("row", rows.clamp(self.row))
        return PointRead(self.exists, row, sub(until, i64(self.offset - 1)))

    def _leap(self, block: Block, time: LExpr) -> None:
        """Pass the rows that end before a time, some of them, without a branch.

        Near the last row some that were passed before are passed again.
        """
        if not self.leaps:
            return
        rows = self.rows
        near = greatest(sub(rows.count, i64(self.leaps)), i64(0))
        base = block.name("from", least(self.row, near))
        passed: LExpr = base
        for k in range(self.leaps):
            end = rows.end_at(add(base, least(rows.last, i64(k))))
            passed = add(passed, convert(lt(end, time), I64))
        block.set(self.row, least(passed, rows.count))

    def _pass_tied(self, block: Block) -> None:
        """Pass the rows that another one with their stamp follows."""
        following, inner = add(self.row, i64(1)), block.inner()
        inner.set(self.row, following)
        end = self.rows.end_at(self.rows.clamp(following))
        tied = conj(lt(following, self.rows.count), eq(end, self.end))
        block.add(While(tied, inner.body()))

    def _start(self) -> LExpr:
        if self.rows.layout.points:
            return sub(self.end, i64(1))  # infinity less one is as late
        return self.rows.start_or_never(self.row)

    def read_row(self, block: Block) -> PointRead:
        """Read its row once the loop has skipped to a time within it."""
        row = block.name("row", self.rows.clamp(self.row))
        block.set(self.exists, TRUE)
        return PointRead(TRUE, row, sub(self.end, i64(self.offset - 1)))

    def cut(self, block: Block) -> LExpr:
        """Test whether it reads another row, or another side of a snapshot's start."""
        moved = disj(ne(self.row, self.row_before), ne(self.exists, self.existed))
        changed = block.name("moved", moved)
        block.set(self.row_before, self.row)
        block.set(self.existed, self.exists)
        return changed


class StackCursor:
    """A cursor over overlapping rows: a stack of started rows, the latest on top.

    Ended rows are popped when they come to the top. Every push and pop changes the top
    at some tick in between, so that their number identifies the snapshot.
    """

    def __init__(self, builder: KernelBuilder, rows: ObjectRows, offset: int) -> None:
        label = f"{rows.name}.at"
        self.rows = rows
        self.offset = offset
        self.next = builder.fresh(f"{label}.next")
        self.depth = builder.fresh(f"{label}.depth")
        self.changes = builder.fresh(f"{label}.changes")
        self.changes_before = builder.fresh(f"{label}.before")
        self.stack = builder.temporary(f"{label}.stack", I64, ((rows.name, 1),), 1)

    def start(self, block: Block) -> None:
        """Empty the stack."""
        for var in (self.next, self.depth, self.changes):
            block.set(var, i64(0))
        block.set(self.changes_before, i64(-1))

    def _top(self) -> LExpr:
        empty = lt(self.depth, i64(1))
        top = select(empty, i64(0), sub(self.depth, i64(1)))
        return select(empty, i64(0), load(self.stack, top))

    def advance(self, block: Block, now: LExpr) -> PointRead:
        """Push the rows that have started, pop those that have ended."""
        rows = self.rows
        time = block.name("at", add(now, i64(self.offset)))
        block.add(self._push(block, time), self._pop(block, time))
        occupied = block.name("some", lt(i64(0), self.depth))
        top = block.name("top", self._top())
        end = select(occupied, rows.end_at(top), INF)
        until = least(end, rows.start_or_never(self.next))
        return PointRead(occupied, top, sub(until, i64(self.offset - 1)))

    def _push(self, block: Block, time: LExpr) -> While:
        from_here = block.inner()
        started = block.inner()
        started.add(Store(self.stack, self.depth, self.next))
        self._count(started, i64(1))
        exists = self.rows.exists(self.next)
        from_here.when(exists, started)
        from_here.set(self.next, add(self.next, i64(1)))
        return While(lt(self.rows.start_or_never(self.next), time), from_here.body())

    def _pop(self, block: Block, time: LExpr) -> While:
        inner = block.inner()
        self._count(inner, i64(-1))
        ended = lt(self.rows.end_at(self._top()), time)
        return While(conj(lt(i64(0), self.depth), ended), inner.body())

    def _count(self, block: Block, step: LExpr) -> None:
        block.set(self.depth, add(self.depth, step))
        block.set(self.changes, add(self.changes, i64(1)))

    def cut(self, block: Block) -> LExpr:
        """Return whether another event is on top, or the same one anew."""
        changed = block.name("moved", ne(self.changes, self.changes_before))
        block.set(self.changes_before, self.changes)
        return changed
