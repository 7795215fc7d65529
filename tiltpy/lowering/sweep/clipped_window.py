"""Windows whose edges cut snapshots, merged of what lies inside and of what is cut.

A reduction of the query's own that sees where snapshots start and end sees the oldest
and the newest otherwise each time the window moves on, but those between as they are:
they slide in stacks, and at each visit the two that are cut are merged with them.
"""

from tiltpy.aggregates.aggregate import State
from tiltpy.aggregates.user_defined import (
    bounded_aggregate,
    finish_user_defined,
    lift_cut,
)
from tiltpy.emit.builder import Assembly, Block
from tiltpy.emit.elements import element_of
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, Reduce, UserReduction
from tiltpy.loops.build import conj, greatest, i64, le, lt, sub
from tiltpy.loops.nodes import LExpr
from tiltpy.lowering.sweep.fifo_window import SlidingWindow
from tiltpy.lowering.sweep.ranking import Rankings
from tiltpy.lowering.sweep.row_bounds import RowBounds


class ClippedWindow:
    """The reductions that see bounds over one window of rows without overlap.

    `outer` follows the rows that the window touches; here are those that lie in it.
    """

    def __init__(
        self,
        assembly: Assembly,
        edges: RowBounds,
        outer: SlidingWindow,
        *,
        leaps: bool,
        rankings: Rankings,
        precision: int,
    ) -> None:
        self.outer = outer
        self.rows = outer.rows
        self.inner = SlidingWindow(
            assembly,
            edges,
            outer.rows,
            outer.window,
            steps=False,
            leaps=leaps,
            rankings=rankings,
            precision=precision,
            whole_rows=True,
        )

    def reduce(self, own: UserReduction, node: Reduce) -> None:
        """Have a reduction over the window computed."""
        self.inner.track(node.element).keep(bounded_aggregate(own, self.rows))

    def start(self, block: Block) -> None:
        """Before the loop."""
        self.inner.start(block)

    def advance(self, block: Block, now: LExpr) -> None:
        """Move to the loop's time; the outer window has."""
        self.inner.advance(block, now)

    def value(self, block: Block, own: UserReduction, node: Reduce) -> LoopValue:
        """The value of a reduction over the window as it is now."""
        stretch, inner = self.outer.stretch(), self.inner
        kept = bounded_aggregate(own, self.rows)
        top = block.name("top", sub(inner.lo.row, inner.base))
        middle = inner.track(node.element).state(block, kept, top)
        newest = block.name("newest", greatest(sub(stretch.stop, i64(1)), i64(0)))
        some = block.name("some", lt(stretch.first, stretch.stop))
        # Its oldest row starts before it; the newest ends behind it, and is another.
        cut_low = conj(some, lt(stretch.first, inner.lo.row))
        cut_high = conj(some, le(inner.hi.row, newest), le(inner.lo.row, newest))
        first = self._cut(block, own, node.element, stretch.first, cut_low)
        last = self._cut(block, own, node.element, newest, cut_high)
        merged = kept.merge(block, first, self._named(block, middle))
        merged = kept.merge(block, self._named(block, merged), last)
        return finish_user_defined(block, own, self._named(block, merged))

    def _named(self, block: Block, state: State) -> State:
        return tuple(block.name("m", part) for part in state)

    def _cut(
        self, block: Block, own: UserReduction, element: Expr, row: LExpr, there: LExpr
    ) -> State:
        """The state of a row that an edge cuts; the identity if there is none."""
        readable = block.name("row", self.rows.clamp(row))
        value = element_of(block, self.rows, readable, element)
        start, end = self.outer.stretch().cut(readable)
        bounds = block.name("start", start), block.name("end", end)
        state = lift_cut(block, own, value, bounds, conj(there, value.valid))
        return self._named(block, state)
