"""Point references in a sweep: a cursor for each `~x[t + d]`.

A cursor moves forward only. After `advance` it knows whether there is a snapshot at
that time, which row it is, and until when (in the loop's time) nothing changes.
"""

from dataclasses import dataclass
from typing import Protocol

from tiltpy.abi import TimeLayout
from tiltpy.loops.build import (
    FALSE,
    INF,
    TRUE,
    add,
    conj,
    convert,
    disj,
    i64,
    least,
    load,
    lt,
    ne,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import LExpr, Store, While
from tiltpy.lowering.assembly import Assembly, Block
from tiltpy.lowering.rows import ObjectRows
from tiltpy.types import BOOL, I64


@dataclass(frozen=True, slots=True)
class Seen:
    """What a cursor sees: `row` is readable even where there is no snapshot."""

    exists: LExpr
    row: LExpr
    bound: LExpr
    """The last time of the loop at which it sees the same."""


class Cursor(Protocol):
    """A point reference that follows the loop."""

    rows: ObjectRows

    def start(self, block: Block, first: LExpr) -> None:
        """Position it before the loop, for its first time."""

    def advance(self, block: Block, now: LExpr) -> Seen:
        """Move it to a later time of the loop."""

    def cut(self, block: Block) -> LExpr:
        """Whether it sees another snapshot or gap than at the visit before."""


class DisjointCursor:
    """Over rows that do not overlap: the first row that ends at or after the time.

    In a loop over every tick (`single_step`) it never moves by more than one row at a
    time, and does so without a branch.
    """

    def __init__(
        self, assembly: Assembly, rows: ObjectRows, offset: int, *, single_step: bool
    ) -> None:
        label = f"{rows.name}.at"
        self.rows = rows
        self.offset = offset
        self.single_step = single_step and rows.complete
        regular = rows.layout.time in (TimeLayout.SAMPLED, TimeLayout.CONTIGUOUS)
        self.gapless = regular and rows.complete
        self.row = assembly.fresh(label)
        self.begin = assembly.fresh(f"{label}.begin")
        self.end = assembly.fresh(f"{label}.end")
        self.exists = assembly.fresh(f"{label}.exists", BOOL)
        self.row_before = assembly.fresh(f"{label}.before")
        self.existed = assembly.fresh(f"{label}.existed", BOOL)

    def start(self, block: Block, first: LExpr) -> None:
        """Skip the rows that end before the first time."""
        block.set(self.row, i64(0))
        if self.gapless:
            block.set(self.begin, self.rows.start_or_never(self.row))
        block.set(self.row_before, i64(-1))
        block.set(self.existed, FALSE)
        if self.single_step:
            self._skip(block, block.name("at", add(first, i64(self.offset))))

    def _skip(self, block: Block, time: LExpr) -> None:
        head, inner = block.inner(), block.inner()
        head.set(self.end, self.rows.end_or_never(self.row))
        more = lt(self.end, time)
        if not self.rows.complete:
            null = negate(self.rows.exists(self.rows.clamp(self.row)))
            more = conj(lt(self.row, self.rows.count), disj(more, null))
        inner.set(self.row, add(self.row, i64(1)))
        block.add(While(more, inner.body(), head.body()))

    def advance(self, block: Block, now: LExpr) -> Seen:
        """Move on to the row that holds the time, or to the next one after it."""
        rows = self.rows
        time = block.name("at", add(now, i64(self.offset)))
        if self.single_step:
            block.set(self.row, add(self.row, convert(lt(self.end, time), I64)))
            block.set(self.end, rows.end_or_never(self.row))
        else:
            self._skip(block, time)
        if self.gapless:
            begun = lt(self.begin, time)
            block.set(self.exists, conj(begun, lt(self.row, rows.count)))
            until = select(begun, self.end, self.begin)
        else:
            start = block.name("start", rows.start_or_never(self.row))
            block.set(self.exists, lt(start, time))
            until = select(self.exists, self.end, start)
        row = block.name("row", rows.clamp(self.row))
        return Seen(self.exists, row, sub(until, i64(self.offset)))

    def cut(self, block: Block) -> LExpr:
        """Another row, or the other side of a snapshot's start."""
        moved = disj(ne(self.row, self.row_before), ne(self.exists, self.existed))
        changed = block.name("moved", moved)
        block.set(self.row_before, self.row)
        block.set(self.existed, self.exists)
        return changed

    @property
    def strides(self) -> bool:
        """Whether it can look ahead without care (`inside`, `peek`)."""
        return self.single_step and self.gapless

    def inside(self) -> LExpr:
        """Whether it sees a row that is not the last."""
        return conj(self.exists, lt(self.row, self.rows.last))

    def peek(self, block: Block, now: LExpr) -> "Step":
        """Where it would move to from `inside`, for a later time of the loop."""
        passed = lt(self.end, add(now, i64(self.offset)))
        row = block.name("next", add(self.row, convert(passed, I64)))
        end = block.name("end", self.rows.end_at(row))
        return Step(self, Seen(TRUE, row, sub(end, i64(self.offset))), end)


@dataclass(frozen=True, slots=True)
class Step:
    """A move of a cursor that has not been made yet."""

    cursor: DisjointCursor
    seen: Seen
    end: LExpr

    def inside(self) -> LExpr:
        """Whether the cursor would still be inside its rows."""
        return lt(self.seen.row, self.cursor.rows.last)

    def make(self, block: Block) -> None:
        """Move the cursor."""
        block.set(self.cursor.row, self.seen.row)
        block.set(self.cursor.end, self.end)


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

    def start(self, block: Block, first: LExpr) -> None:  # noqa: ARG002
        """An empty stack."""
        for var in (self.next, self.depth, self.changes):
            block.set(var, i64(0))
        block.set(self.changes_before, i64(-1))

    def _top(self) -> LExpr:
        empty = lt(self.depth, i64(1))
        top = select(empty, i64(0), sub(self.depth, i64(1)))
        return select(empty, i64(0), load(self.stack, top))

    def advance(self, block: Block, now: LExpr) -> Seen:
        """Push what has started, pop what has ended."""
        rows = self.rows
        time = block.name("at", add(now, i64(self.offset)))
        block.add(self._push(block, time), self._pop(block, time))
        some = block.name("some", lt(i64(0), self.depth))
        top = block.name("top", self._top())
        end = select(some, rows.end_at(top), INF)
        until = least(end, rows.start_or_never(self.next))
        return Seen(some, top, sub(until, i64(self.offset)))

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


def point_cursor(
    assembly: Assembly, rows: ObjectRows, offset: int, *, single_step: bool
) -> Cursor:
    """The cursor for rows of that layout."""
    if rows.disjoint:
        return DisjointCursor(assembly, rows, offset, single_step=single_step)
    return StackCursor(assembly, rows, offset)
