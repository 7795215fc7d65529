"""Windows folded anew at each visit: a distance beside a limit, over unordered ends.

Where events end in any order, those that a distance leaves out are anywhere among the
last rows, or those since a restart. All of them are visited at each visit of the loop.
"""

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import element_of
from tiltpy.emit.row_access import ObjectRows
from tiltpy.ir.nodes import LastRows, Window
from tiltpy.loops.build import (
    FALSE,
    INF,
    add,
    conj,
    convert,
    disj,
    greatest,
    i64,
    le,
    least,
    lt,
    ne,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import For, LExpr, Var, While
from tiltpy.lowering.sweep.ranking import Rankings
from tiltpy.lowering.sweep.restart import LeavesRestart, Restart
from tiltpy.lowering.sweep.row_bounds import RowBounds
from tiltpy.lowering.sweep.running_window import RunningWindow
from tiltpy.types import I64


class RefoldedWindow(LeavesRestart, RunningWindow):
    """The rows from `lo` up to `hi` that end after `low`."""

    def __init__(
        self,
        builder: KernelBuilder,
        bounds: RowBounds,
        rows: ObjectRows,
        window: Window,
        restart: Restart | None,
        *,
        rankings: Rankings,
    ) -> None:
        super().__init__(builder, bounds, rows, window, restart, rankings=rankings)
        self.low = builder.fresh(f"{rows.name}.low")
        self.size = builder.fresh(f"{rows.name}.size")
        self.next_end = builder.fresh(f"{rows.name}.ends")

    def _resume(self, block: Block) -> None:
        """Take over the last restart."""
        if self.restart is not None:
            self.restart.take_over(block)

    def start(self, block: Block) -> None:
        """Start before the loop, before the first row."""
        super().start(block)
        block.set(self.low, INF)
        block.set(self.size, i64(0))
        block.set(self.next_end, INF)

    def advance(self, block: Block, now: LExpr) -> None:
        """Move to the loop's time."""
        for track in self.tracks.values():
            if track.changed is not None:
                block.set(track.changed, FALSE)
        first, stop, low_before = (
            self._copy(block, position) for position in (self.lo, self.hi.row, self.low)
        )
        near = add(now, i64(self.window.start))
        if self.restart is None:
            block.set(self.low, near)
        else:
            self.restart.advance(block, now)
            come = self.restart.has_come()
            low = near if self.window.by_row else greatest(near, self.restart.at)
            block.set(self.low, select(come, low, INF))
        arriving = block.inner()
        exists = convert(self.rows.exists(self.hi.row), I64)
        arriving.set(self.size, add(self.size, exists))
        self.hi.run(block, now, arriving, to_row=self.own_row)
        self._move_first(block, near)
        self._compare(block, first, stop, low_before)
        self._fold(block)
        self.now = now

    def _copy(self, block: Block, position: Var) -> Var:
        """A variable with what another one is now."""
        copy = self.builder.fresh(f"{position.name}.before")
        block.set(copy, position)
        return copy

    def _move_first(self, block: Block, oldest: LExpr) -> None:
        """Move past the rows that never come back."""
        passing = block.inner()
        row = self.rows.clamp(self.lo)
        gone = convert(self.rows.exists(row), I64)
        passing.set(self.size, sub(self.size, gone))
        passing.set(self.lo, add(self.lo, i64(1)))
        leaves = le(self.rows.end_at(row), oldest)
        if isinstance(self.window.limit, LastRows):
            leaves = disj(leaves, lt(i64(self.window.limit.count), self.size))
        if self.restart is not None and self.window.by_row:
            holds = self.restart.holds(self.rows, row, self.restart.at)
            leaves = disj(leaves, negate(holds))
        more = lt(self.lo, self.hi.row)
        block.add(While(conj(more, leaves), passing.body()))

    def _compare(self, block: Block, first: Var, stop: Var, low: Var) -> None:
        """Mark the rows that have come or left since the visit before."""
        inner = block.inner()
        row = self.builder.fresh(f"{self.rows.name}.compared")
        end = inner.name("end", self.rows.end_at(row))
        was = inner.name("was", conj(lt(row, stop), lt(low, end)))
        stays = inner.name("is", conj(le(self.lo, row), lt(self.low, end)))
        turns = inner.name("turns", ne(was, stays))
        for element, track in self.tracks.items():
            if track.changed is not None:
                value = element_of(inner, self.rows, row, element)
                changed = disj(track.changed, conj(turns, value.valid))
                inner.set(track.changed, changed)
        for whole in self.wholes.values():
            whole.evict(inner, row, inner.name("gone", conj(was, negate(stays))))
            whole.insert(inner, row, inner.name("come", conj(negate(was), stays)))
        block.add(For(row, first, self.hi.row, inner.body()))

    def _fold(self, block: Block) -> None:
        """Fold the rows that are in the window, and find which one ends next."""
        self.states.reset(block)
        block.set(self.next_end, INF)
        inner = block.inner()
        row = self.builder.fresh(f"{self.rows.name}.folded")
        end = inner.name("end", self.rows.end_at(row))
        inside = inner.name("in", lt(self.low, end))
        for track in self.tracks.values():
            track.insert(inner, row, inside, marks=False)
        ends = select(inside, end, INF)
        inner.set(self.next_end, least(self.next_end, ends))
        block.add(For(row, self.lo, self.hi.row, inner.body()))

    def changes(self) -> list[LExpr]:
        """The first times of the loop at which the window has other rows."""
        leaving = sub(self.next_end, i64(self.window.start))
        leaves = select(lt(self.next_end, INF), leaving, INF)
        return [leaves, *super().changes()]
