"""Sliding windows whose first row a number of rows, or a restart, limits.

The right bound moves first: which rows leave depends on those that come.

A restart that is the origin of last rows comes between rows, and none before it comes
back. The states are then those of a window before its first row, so that floats are
added up as if no other rows had been there.
"""

from copy import copy
from dataclasses import replace

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.row_access import ObjectRows
from tiltpy.ir.nodes import LastRows, Window
from tiltpy.loops.build import TRUE, add, conj, greatest, i64, lt
from tiltpy.loops.nodes import For, LExpr, Var, While
from tiltpy.lowering.sweep.fifo_window import SlidingWindow
from tiltpy.lowering.sweep.limited_bound import LimitedBound
from tiltpy.lowering.sweep.low_edge import LowEdge
from tiltpy.lowering.sweep.ranking import Rankings
from tiltpy.lowering.sweep.restart import LeavesRestart, Restart
from tiltpy.lowering.sweep.row_bounds import RowBound, RowBounds


class LimitedWindow(LeavesRestart, SlidingWindow):
    """A window of its last rows, or since its `restart`, that leave in order.

    Last rows are those since the `origin`, if they have one.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        bounds: RowBounds,
        rows: ObjectRows,
        window: Window,
        *,
        leaps: bool,
        rankings: Rankings,
        low: LowEdge,
        has_cursors: bool,
        restart: Restart | None,
        origin: Restart | None,
    ) -> None:
        self.restart = restart
        self.origin = origin
        super().__init__(
            builder,
            bounds,
            rows,
            window,
            steps=False,
            leaps=leaps,
            rankings=rankings,
            low=low,
            has_cursors=has_cursors,
        )

    def _make_bounds(
        self, bounds: RowBounds, *, whole_rows: bool
    ) -> tuple[LimitedBound, RowBound]:
        """Make the bounds of the rows that are in the window."""
        assert not whole_rows, "bounds of rows are seen in windows of a length"
        window = self.window
        hi = bounds.new_bound(self.rows, "start", window.end - 1)
        limit = window.limit
        count = limit.count if isinstance(limit, LastRows) else None
        lo = LimitedBound(self.builder, window, hi, count=count, restart=self.restart)
        return lo, hi

    @property
    def _limit(self) -> LimitedBound:
        assert isinstance(self.lo, LimitedBound)
        return self.lo

    def without_checks(self) -> "LimitedWindow":
        """Return a copy for visits at which its right bound stays inside the rows."""
        window = copy(self)
        window.hi = replace(self.hi, rows=replace(self.hi.rows, in_bounds=True))
        return window

    def start(self, block: Block) -> None:
        """Start before the loop, at no origin."""
        if self.origin is not None:
            self.origin.start(block)
        super().start(block)

    def _run(self, block: Block, now: LExpr) -> None:
        """Insert the rows that `hi` passes, then move `lo`, which these move."""
        if self.origin is not None:
            self._pass_origin(block, self.origin, now)
        insertions = block.inner()
        until = self._limit.find_limit(block, now)
        for track in self.tracks.values():
            track.insert(insertions, self.hi.row, marks=False)
        for whole in self.wholes.values():
            whole.insert(insertions, self.hi.row)
        arrived = self.builder.fresh(f"{self.rows.name}.arrived")
        block.set(arrived, self.hi.row)
        self.hi.run(block, until, insertions, to_row=self.own_row)
        self._evict(block, now, arrived)
        self._flip_due(block, self.hi.row)

    def _pass_origin(self, block: Block, origin: Restart, now: LExpr) -> None:
        """Empty the window if an origin has come, and pass over the rows before it."""
        origin.advance(block, now)
        anew = block.inner()
        first = self.builder.fresh(f"{self.rows.name}.origin")
        anew.set(first, self.hi.row)
        passing = anew.inner()
        passing.set(first, add(first, i64(1)))
        start = self.rows.start_at(self.rows.clamp(first))
        before = conj(lt(first, self.rows.count), lt(start, origin.at))
        anew.add(While(before, passing.body()))
        self._empty(anew, first)
        block.when(origin.moved, anew)

    def _empty(self, block: Block, row: LExpr) -> None:
        """Begin anew before a row."""
        gone = self.builder.fresh(f"{self.rows.name}.gone")
        evicting = block.inner()
        for whole in self.wholes.values():
            whole.evict(evicting, gone)
        if self.wholes:
            block.add(For(gone, self.lo.row, self.hi.row, evicting.body()))
        for track in self.tracks.values():
            if track.changed is not None:
                block.set(track.changed, TRUE)
            for evictable in track.evictable.values():
                evictable.reset(block)
        self.jump(block, row)

    def take_since(self, block: Block, now: LExpr, row: LExpr) -> None:
        """Move to the event that is this row, the next one; an origin may come before.

        All rows before it have left then.
        """
        assert self.origin is not None, "it takes in all rows"
        self.origin.advance(block, now)
        anew = block.inner()
        self._empty(anew, row)
        block.when(self.origin.moved, anew)
        self.take(block, now, row)

    def take(self, block: Block, now: LExpr, row: LExpr) -> None:
        """Insert a row, and evict the one that it puts out of the window."""
        self.occupied = True
        block.set(self.hi.row, row)
        for track in self.tracks.values():
            track.insert(block, row, marks=False)
        for whole in self.wholes.values():
            whole.insert(block, row)
        arrived = self.builder.fresh(f"{self.rows.name}.arrived")
        block.set(arrived, row)
        block.set(self.hi.row, add(row, i64(1)))
        self._evict(block, now, arrived)
        self._flip_due(block, self.hi.row)
        self.now = now

    def _evict(self, block: Block, now: LExpr, arrived: Var) -> None:
        """Move `lo` and evict the rows it passes.

        Those from `arrived` on have come at this visit: only if they stay are they
        changes.
        """
        passing, staying = block.inner(), block.inner()
        seen_before = lt(self.lo.row, arrived)
        for track in self.tracks.values():
            if track.sees_evictions:
                track.evict(passing, self.lo.row, TRUE, seen_before)
        for whole in self.wholes.values():
            whole.evict(passing, self.lo.row)
        self.lo.run(block, now, passing)
        row = self.builder.fresh(f"{self.rows.name}.new")
        for track in self.tracks.values():
            track.mark_row(staying, row)
        if staying.statements:
            first = block.name("first", greatest(arrived, self.lo.row))
            self._visit(block, row, first, staying)

    def settle(self, block: Block) -> None:
        """Restore the right bound after visits that did not `advance` it."""
        self.hi.set(block, self.hi.row)
        if self.origin is not None:
            self.origin.settle(block)

    def changes(self) -> list[LExpr]:
        """The first times of the loop at which the window has other rows."""
        leaving, _, *clips = super().changes()
        origin = [] if self.origin is None else [self.origin.due]
        return [leaving, self._limit.arrival, *clips, *origin]
