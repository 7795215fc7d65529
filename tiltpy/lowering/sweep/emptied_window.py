"""Windows of the last rows that restarts empty: no row before one comes back.

Such a restart comes between rows. The states are then those of a window before its
first row, so that floats are added up as if no other rows had been there.
"""

from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.row_access import ObjectRows
from tiltpy.ir.nodes import Window
from tiltpy.loops.build import TRUE, add, conj, i64, lt
from tiltpy.loops.nodes import For, LExpr, While
from tiltpy.lowering.sweep.limited_window import LimitedWindow
from tiltpy.lowering.sweep.low_edge import LowEdge
from tiltpy.lowering.sweep.ranking import Rankings
from tiltpy.lowering.sweep.restart import Restart
from tiltpy.lowering.sweep.row_bounds import RowBounds


class EmptiedWindow(LimitedWindow):
    """A window of its last rows since its `origin`."""

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
        sorts: bool,
        origin: Restart,
    ) -> None:
        self.origin = origin
        super().__init__(
            builder,
            bounds,
            rows,
            window,
            leaps=leaps,
            rankings=rankings,
            low=low,
            sorts=sorts,
            restart=None,
        )

    def start(self, block: Block) -> None:
        """Start before the loop."""
        self.origin.start(block)
        super().start(block)

    def _run(self, block: Block, now: LExpr) -> None:
        """Empty the window if it restarts, then insert and evict."""
        self.origin.advance(block, now)
        anew = block.inner()
        first = self.builder.fresh(f"{self.rows.name}.origin")
        anew.set(first, self.hi.row)
        passing = anew.inner()
        passing.set(first, add(first, i64(1)))
        start = self.rows.start_at(self.rows.clamp(first))
        before = conj(lt(first, self.rows.count), lt(start, self.origin.at))
        anew.add(While(before, passing.body()))
        self._empty(anew, first)
        block.when(self.origin.moved, anew)
        super()._run(block, now)

    def take_since(self, block: Block, now: LExpr, row: LExpr) -> None:
        """Move to the event that is this row, the next one; a restart may come before.

        All rows before it have left then.
        """
        self.origin.advance(block, now)
        anew = block.inner()
        self._empty(anew, row)
        block.when(self.origin.moved, anew)
        self.take(block, now, row)

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

    def settle(self, block: Block) -> None:
        """Restore the bounds after visits that did not `advance` them."""
        super().settle(block)
        self.origin.settle(block)

    def changes(self) -> list[LExpr]:
        """The first times of the loop at which the window has other rows."""
        return [*super().changes(), self.origin.due]
