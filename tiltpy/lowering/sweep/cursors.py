"""Point references in a sweep: a cursor for each `~x[t + d]`.

A cursor moves forward only. After `advance` it knows whether there is a snapshot at
that time, which row it is, and until when (in the loop's time) nothing changes.
"""

from copy import copy
from dataclasses import dataclass, replace
from typing import Protocol

from tiltpy.abi import TimeLayout
from tiltpy.emit.builder import Assembly, Block
from tiltpy.emit.row_access import ObjectRows
from tiltpy.loops.build import (
    FALSE,
    INF,
    TRUE,
    add,
    conj,
    disj,
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
from tiltpy.loops.nodes import LExpr, Store, While
from tiltpy.lowering.sweep.row_bounds import RowBounds
from tiltpy.types import BOOL, I64


def gapless(rows: ObjectRows) -> bool:
    """Whether there is a snapshot at every time from the first row to the last."""
    regular = rows.layout.time in (TimeLayout.SAMPLED, TimeLayout.CONTIGUOUS)
    return regular and rows.complete


@dataclass(frozen=True, slots=True)
class PointRead:
    """What a cursor sees: `row` is readable even where there is no snapshot."""

    exists: LExpr
    row: LExpr
    change: LExpr
    """The first time of the loop at which it may see something else."""
    wide: bool = False
    """Whether it sees one row after the other in the lanes, `row` in the first."""


class Cursor(Protocol):
    """A point reference that follows the loop."""

    rows: ObjectRows

    def start(self, block: Block) -> None:
        """Position it before the loop."""

    def advance(self, block: Block, now: LExpr) -> PointRead:
        """Move it to a later time of the loop."""

    def cut(self, block: Block) -> LExpr:
        """Whether it sees another snapshot or gap than at the visit before."""


class StepCursor:
    """Over rows without overlap or nulls, in a loop that steps from edge to edge."""

    def __init__(
        self, assembly: Assembly, edges: RowBounds, rows: ObjectRows, offset: int
    ) -> None:
        label = f"{rows.name}.at"
        self.rows = rows
        self.offset = offset
        self.ended = edges.shared(rows, "end", offset - 1)
        early = None if gapless(rows) else edges.shared(rows, "start", offset - 1)
        self.begun = early
        self.begin = assembly.fresh(f"{label}.begin")
        self.exists = assembly.fresh(f"{label}.exists", BOOL)
        self.existed = assembly.fresh(f"{label}.existed", BOOL)

    def start(self, block: Block) -> None:
        """Rows without gaps begin once."""
        if self.begun is None:
            begin = sub(self.rows.start_or_never(i64(0)), i64(self.offset - 1))
            block.set(self.begin, begin)
            block.set(self.existed, FALSE)

    def within(self) -> "StepCursor":
        """The same where its edges are known to stay inside the rows."""
        cursor = copy(self)
        cursor.rows = replace(self.rows, within=True)
        return cursor

    def advance(self, block: Block, now: LExpr) -> PointRead:
        """The row after those that have ended, if it has begun."""
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
        """Another row, or the other side of a snapshot's start."""
        if self.begun is not None:
            return disj(self.ended.moved, self.begun.moved)
        moved = block.name("moved", ne(self.exists, self.existed))
        block.set(self.existed, self.exists)
        return disj(self.ended.moved, moved)


class ScanCursor:
    """Over rows without overlap: the first that ends at or after the time."""

    def __init__(self, assembly: Assembly, rows: ObjectRows, offset: int) -> None:
        label = f"{rows.name}.at"
        self.rows = rows
        self.offset = offset
        self.row = assembly.fresh(label)
        self.end = assembly.fresh(f"{label}.end")
        self.exists = assembly.fresh(f"{label}.exists", BOOL)
        self.row_before = assembly.fresh(f"{label}.before")
        self.existed = assembly.fresh(f"{label}.existed", BOOL)

    def start(self, block: Block) -> None:
        """At the first row."""
        block.set(self.row, i64(0))
        block.set(self.row_before, i64(-1))
        block.set(self.existed, FALSE)

    def advance(self, block: Block, now: LExpr) -> PointRead:
        """Move on to the row that holds the time, or to the next one after it."""
        rows = self.rows
        time = block.name("at", add(now, i64(self.offset)))
        head, inner = block.inner(), block.inner()
        head.set(self.end, rows.end_or_never(self.row))
        more = lt(self.end, time)
        if not rows.complete:
            null = negate(rows.exists(rows.clamp(self.row)))
            more = conj(lt(self.row, rows.count), disj(more, null))
        inner.set(self.row, add(self.row, i64(1)))
        block.add(While(more, inner.body(), head.body()))
        start = block.name("start", self._start())
        block.set(self.exists, lt(start, time))
        until = select(self.exists, self.end, start)
        row = block.name("row", rows.clamp(self.row))
        return PointRead(self.exists, row, sub(until, i64(self.offset - 1)))

    def _start(self) -> LExpr:
        if self.rows.layout.points:
            return sub(self.end, i64(1))  # infinity less one is as far
        return self.rows.start_or_never(self.row)

    def settled(self, block: Block) -> PointRead:
        """What it sees once the loop has gone on to the row it is at."""
        row = block.name("row", self.rows.clamp(self.row))
        block.set(self.exists, TRUE)
        return PointRead(TRUE, row, sub(self.end, i64(self.offset - 1)))

    def cut(self, block: Block) -> LExpr:
        """Another row, or the other side of a snapshot's start."""
        moved = disj(ne(self.row, self.row_before), ne(self.exists, self.existed))
        changed = block.name("moved", moved)
        block.set(self.row_before, self.row)
        block.set(self.existed, self.exists)
        return changed


class StackCursor:
    """Over rows that may overlap: a stack of those that have started, the last on top.

    Ended rows are popped when they come to the top. Every push and pop changes what is
    on top at some tick in between, so their number identifies the snapshot seen.
    """

    def __init__(self, assembly: Assembly, rows: ObjectRows, offset: int) -> None:
        label = f"{rows.name}.at"
        self.rows = rows
        self.offset = offset
        self.next = assembly.fresh(f"{label}.next")
        self.depth = assembly.fresh(f"{label}.depth")
        self.changes = assembly.fresh(f"{label}.changes")
        self.changes_before = assembly.fresh(f"{label}.before")
        self.stack = assembly.temporary(f"{label}.stack", I64, ((rows.name, 1),), 1)

    def start(self, block: Block) -> None:
        """An empty stack."""
        for var in (self.next, self.depth, self.changes):
            block.set(var, i64(0))
        block.set(self.changes_before, i64(-1))

    def _top(self) -> LExpr:
        empty = lt(self.depth, i64(1))
        top = select(empty, i64(0), sub(self.depth, i64(1)))
        return select(empty, i64(0), load(self.stack, top))

    def advance(self, block: Block, now: LExpr) -> PointRead:
        """Push what has started, pop what has ended."""
        rows = self.rows
        time = block.name("at", add(now, i64(self.offset)))
        block.add(self._push(block, time), self._pop(block, time))
        some = block.name("some", lt(i64(0), self.depth))
        top = block.name("top", self._top())
        end = select(some, rows.end_at(top), INF)
        until = least(end, rows.start_or_never(self.next))
        return PointRead(some, top, sub(until, i64(self.offset - 1)))

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
        """Another event on top, or another stretch of the same one."""
        changed = block.name("moved", ne(self.changes, self.changes_before))
        block.set(self.changes_before, self.changes)
        return changed
