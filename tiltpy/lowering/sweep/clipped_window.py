"""Windows with clipped events, for user-defined reductions that see bounds.

Whenever the window moves, its oldest and its newest event have other bounds; those
between keep theirs. So the inner events slide by two stacks, and at each visit the two
clipped ones are combined with them.
"""

from tiltpy.aggregates.aggregate import State, name_state
from tiltpy.aggregates.user_defined import bounded_aggregate, code_of
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import element_of
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, Reduce, UserReduction
from tiltpy.loops.build import conj, greatest, i64, le, lt, sub
from tiltpy.loops.nodes import LExpr
from tiltpy.lowering.sweep.fifo_window import SlidingWindow
from tiltpy.lowering.sweep.ranking import Rankings
from tiltpy.lowering.sweep.row_bounds import RowBounds


class ClippedWindow:
    """The reductions that see bounds over a window of disjoint rows.

    `outer` follows the rows that the window touches, `inner` those that lie in it.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        bounds: RowBounds,
        outer: SlidingWindow,
        *,
        leaps: bool,
        rankings: Rankings,
    ) -> None:
        self.outer = outer
        self.rows = outer.rows
        self.inner = SlidingWindow(
            builder,
            bounds,
            self.rows,
            outer.window,
            steps=False,
            leaps=leaps,
            rankings=rankings,
            low=outer.low,
            whole_rows=True,
        )

    def reduce(self, reduction: UserReduction, node: Reduce) -> None:
        """Add a reduction over the window."""
        aggregate = bounded_aggregate(reduction, self._bounds)
        self.inner.track(node.element).add(aggregate)

    def _bounds(self, row: LExpr) -> tuple[LExpr, LExpr]:
        return self.rows.start_at(row), self.rows.end_at(row)

    def start(self, block: Block) -> None:
        """Start before the loop."""
        self.inner.start(block)

    def advance(self, block: Block, now: LExpr) -> None:
        """Move to the loop's time, after the outer window."""
        self.inner.advance(block, now)

    def value(self, block: Block, reduction: UserReduction, node: Reduce) -> LoopValue:
        """The value of a reduction over the window as it is now."""
        window, inner = self.outer.window_rows(), self.inner
        aggregate = bounded_aggregate(reduction, self._bounds)
        track = inner.track(node.element)
        middle = track.state(block, aggregate, inner.lo.row, inner.base)
        newest = block.name("newest", greatest(sub(window.stop, i64(1)), i64(0)))
        occupied = block.name("some", lt(window.first, window.stop))
        # The oldest row starts before the window; the newest, another, ends after it.
        clips_oldest = conj(occupied, lt(window.first, inner.lo.row))
        clips_newest = conj(
            occupied, le(inner.hi.row, newest), le(inner.lo.row, newest)
        )
        first = self._lift_row(
            block, reduction, node.element, window.first, clips_oldest
        )
        last = self._lift_row(block, reduction, node.element, newest, clips_newest)
        state = name_state(block, "m", aggregate.combine(block, first, middle))
        state = name_state(block, "m", aggregate.combine(block, state, last))
        return code_of(reduction).finish(block, state)

    def _lift_row(
        self,
        block: Block,
        reduction: UserReduction,
        element: Expr,
        row: LExpr,
        clips: LExpr,
    ) -> State:
        """The state of a row that an edge clips, if it does."""
        readable = block.name("row", self.rows.clamp(row))
        value = element_of(block, self.rows, readable, element)
        start, end = self.outer.window_rows().clip(readable)
        clipped = block.name("start", start), block.name("end", end)
        code = code_of(reduction)
        state = code.accumulate(block, code.initial(block), value, clipped)
        return name_state(block, "m", (conj(clips, value.valid), *state))
