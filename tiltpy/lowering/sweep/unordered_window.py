"""Windows over overlapping events, which are evicted in any order.

Where long events overlap short ones, the oldest does not leave first. Rows are inserted
in order of their starts and evicted in order of their ends, which are sorted before the
loop: two cursors that only move forward.
"""

from tiltpy.aggregates.finalize import finish
from tiltpy.aggregates.user_defined import Slide, slide_of
from tiltpy.aggregates.window_elements import aggregate_of
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import row_value
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, Reduce, UserReduction, Window
from tiltpy.loops.build import (
    add,
    disj,
    i64,
    le,
    lt,
    sub,
)
from tiltpy.loops.nodes import LExpr, Var, While
from tiltpy.lowering.sweep.alive_states import AliveStates
from tiltpy.lowering.sweep.end_order import EndCursor
from tiltpy.lowering.sweep.low_edge import LowEdge
from tiltpy.lowering.sweep.order_statistics import WholeWindow
from tiltpy.lowering.sweep.ranking import Rankings
from tiltpy.lowering.sweep.recomputed_window import ClipWatch, WindowRows, recompute
from tiltpy.lowering.sweep.state_tree import StateTree
from tiltpy.ops import WHOLE_WINDOW

_ONE, _TWO = i64(1), i64(2)


class UnorderedWindow:
    """A window over rows whose ends are in no order."""

    def __init__(
        self,
        builder: KernelBuilder,
        rows: ObjectRows,
        window: Window,
        low: LowEdge,
        *,
        rankings: Rankings,
    ) -> None:
        self.builder = builder
        self.rankings = rankings
        self.rows = rows
        self.window = window
        self.next = builder.fresh(f"{rows.name}.next")
        self.ending = EndCursor(builder, rankings.by_end(rows))
        self.tree = StateTree(builder, rows)
        self.elements: dict[Expr, AliveStates] = {}
        self.wholes: dict[Expr, WholeWindow] = {}
        self.low = low
        self.clips = ClipWatch(window, low)
        self.oldest: Var | None = None
        self.now: LExpr = i64(0)

    def reduce(self, node: Reduce) -> None:
        """Add a reduction over the window."""
        if self._recomputing_reduction(node) is not None:
            self._follow_oldest()
            return
        if node.reduction not in WHOLE_WINDOW:
            self._states(node.element).add(aggregate_of(self.builder, node))
            return
        if node.element not in self.wholes:
            self.wholes[node.element] = WholeWindow(
                self.builder, self.rankings, self.rows, node.element
            )
        self.wholes[node.element].reduce(node)

    def _recomputing_reduction(self, node: Reduce) -> UserReduction | None:
        """The user-defined reduction that recomputes the window, if it is one."""
        reduction = self.builder.user_reductions.get(node.reduction)
        if reduction is None:
            return None
        slide = slide_of(reduction, in_order=False, disjoint=False)
        return reduction if slide is Slide.RECOMPUTE else None

    def _follow_oldest(self) -> None:
        """Follow the oldest row, before which all have left, by a variable."""
        if self.oldest is None:
            self.oldest = self.builder.fresh(f"{self.rows.name}.oldest")

    def _window_rows(self) -> WindowRows:
        """The rows from the oldest on, which include those in the window now."""
        assert self.oldest is not None
        low = self.low.at(self.now)
        high = add(self.now, i64(self.window.end))
        return WindowRows(self.rows, self.oldest, self.next, low, high, mixed=True)

    def _states(self, element: Expr) -> AliveStates:
        """The states of an element."""
        if element not in self.elements:
            self.elements[element] = AliveStates(self.builder, self.tree, element)
        return self.elements[element]

    def cut(self, element: Expr, *, bounds: bool) -> LExpr:
        """Return whether other snapshots contribute than at the visit before.

        With `bounds`: or one is clipped elsewhere than at the grid point before.
        """
        if bounds:
            self._follow_oldest()
            clipped = self.clips.watch(self.builder, self.rows, element)
            return disj(clipped, self.cut(element, bounds=False))
        return self._states(element).mark()

    def start(self, block: Block) -> None:
        """Start before the loop with an empty window."""
        for whole in self.wholes.values():
            whole.start(block)
        self.ending.start(block)
        block.set(self.next, i64(0))
        if self.oldest is not None:
            block.set(self.oldest, i64(0))
        for states in self.elements.values():
            states.start(block)
        if self.tree.arrays:
            span: LExpr = self.rows.count
            if self.tree.wraps and self.low.cells is None:
                stay = self.window.end - self.low.start
                span = self.ending.order.find_span(block, stay)
            self.tree.start(block, span)

    def advance(self, block: Block, now: LExpr) -> None:
        """Move to the loop's time.

        A row that ends before the window begins may not have been inserted yet: then
        the cursor of ends passes it, and it is never inserted.
        """
        low = block.name("low", self.low.at(now))
        high = block.name("high", add(now, i64(self.window.end)))
        for states in self.elements.values():
            states.settle(block)
        leaving, evictions = block.inner(), block.inner()
        self._evict(evictions, self.ending.row)
        leaving.when(lt(self.ending.row, self.next), evictions)
        self.ending.step(leaving)
        block.add(While(le(self.ending.due, low), leaving.body()))
        arrivals = block.inner()
        insertion = arrivals.inner()
        self._insert(insertion)
        stays = lt(low, self.rows.end_at(self.next))
        arrivals.when(stays, insertion)
        arrivals.set(self.next, add(self.next, i64(1)))
        if self.tree.arrays:
            self.tree.step(arrivals)
        block.add(While(lt(self.rows.start_or_never(self.next), high), arrivals.body()))
        self.now = now
        if self.oldest is not None:
            passing = block.inner()
            passing.set(self.oldest, add(self.oldest, i64(1)))
            # Stops at the latest at the row past the last, which never ends.
            ended = le(self.rows.end_or_never(self.oldest), low)
            block.add(While(ended, passing.body()))
            self.clips.advance(block, now, self._window_rows())

    def _evict(self, block: Block, row: LExpr) -> None:
        ago = sub(self.next, row)
        for states in self.elements.values():
            states.evict(block, row, ago)
        for whole in self.wholes.values():
            whole.evict(block, row)

    def _insert(self, block: Block) -> None:
        for states in self.elements.values():
            states.insert(block, self.next)
        for whole in self.wholes.values():
            whole.insert(block, self.next)

    def changes(self) -> list[LExpr]:
        """The first times of the loop at which the window has other rows."""
        coming = sub(self.rows.start_or_never(self.next), i64(self.window.end - 1))
        leaving = self.low.due(self.ending.due)
        return [coming, leaving, *self.clips.changes]

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The value of a reduction over the window as it is now."""
        if node.reduction in WHOLE_WINDOW:
            return self.wholes[node.element].value(block, node)
        reduction = self._recomputing_reduction(node)
        if reduction is not None:
            return recompute(block, reduction, node.element, self._window_rows())
        states = self.elements[node.element]
        state = states.state(block, aggregate_of(self.builder, node))
        if node.reduction not in ("first", "last"):
            return finish(block, node, state, states.count)
        occupied = block.name("some", lt(i64(0), states.count))
        return row_value(block, self.rows, node, state[0], occupied)
