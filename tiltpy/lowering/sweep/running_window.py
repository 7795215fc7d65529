"""Windows that fold on: all the past, or since a restart.

No row leaves such a window but at a restart, where it is folded anew from the rows that
stay. So one running state serves every reduction, those without `merge` too, and each
row is folded once, or twice where it overlaps a restart.
"""

from copy import copy
from dataclasses import replace

from tiltpy.abi.signature import NO_STRING
from tiltpy.aggregates.built_in import COUNT
from tiltpy.aggregates.running_states import RunningStates
from tiltpy.aggregates.window_elements import Track
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import element_of
from tiltpy.emit.lasting_states import LastingStates
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, Reduce, Window
from tiltpy.loops.build import (
    FALSE,
    TRUE,
    add,
    conj,
    convert,
    disj,
    i64,
    lt,
    ne,
    negate,
    select,
    sub,
)
from tiltpy.loops.nodes import For, LExpr, Num, Var, While
from tiltpy.lowering.sweep.order_statistics import WholeWindow
from tiltpy.lowering.sweep.ranking import Rankings
from tiltpy.lowering.sweep.restart import Restart
from tiltpy.lowering.sweep.row_bounds import RowBounds
from tiltpy.ops import WHOLE_WINDOW
from tiltpy.types import ENDLESS, I64, STRING


class RunningWindow:
    """A window that no row leaves but at a `restart`, if it has one.

    Its rows are from `lo` up to `hi`; of rows that end in any order some in between may
    have left. If it is `occupied` it is known to have rows, and its states meet their
    invariants.
    """

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
        self.builder = builder
        self.rankings = rankings
        self.rows = rows
        self.window = window
        self.restart = restart
        self.states = RunningStates(builder, rows)
        self.wholes: dict[Expr, WholeWindow] = {}
        self.lo = builder.fresh(f"{rows.name}.since")
        self.hi = bounds.new_bound(rows, "start", window.end - 1)
        self.now: LExpr = i64(0)
        self.own_row: LExpr | None = None
        self.occupied = False
        self.reached = builder.fresh(f"{rows.name}.reached")
        self.lasting = LastingStates(builder, rows.name)

    @property
    def keeps_states(self) -> bool:
        """Return whether its states are all that a later call needs of rows before.

        Structures of all values are not.
        """
        return not self.wholes

    @property
    def tracks(self) -> dict[Expr, Track]:
        """The tracks of its elements."""
        return self.states.tracks

    def _variables(self) -> list[Var]:
        """The variables that the next call takes over, in an order of the query."""
        restart = () if self.restart is None else self.restart.variables
        states = self.states.variables()
        return [self.reached, self.states.block_end, *restart, *states]

    def reduce(self, node: Reduce) -> None:
        """Add a reduction over the window."""
        if node.reduction not in WHOLE_WINDOW:
            self.track(node.element).reduce(node)
            return
        if node.element not in self.wholes:
            self.wholes[node.element] = WholeWindow(
                self.builder, self.rankings, self.rows, node.element
            )
        self.wholes[node.element].reduce(node)

    def track(self, element: Expr) -> Track:
        """The track of an element."""
        return self.states.track(element)

    def cut(self, element: Expr, *, bounds: bool) -> LExpr:
        """Return whether other snapshots contribute than at the visit before."""
        assert not bounds, "the edges of a window that folds on cut no events"
        track = self.track(element)
        if self.restart is not None:
            track.add(COUNT)  # tells whether any row has left
        return track.mark()

    def start(self, block: Block) -> None:
        """Start before the loop, before the first row."""
        block.set(self.lo, i64(0))
        self.hi.start(block)
        if self.restart is not None:
            self.restart.start(block)
        self.states.reset(block)
        for whole in self.wholes.values():
            whole.start(block)
        block.set(self.reached, i64(-ENDLESS))
        if self.keeps_states:
            self._resume(block)

    def _resume(self, block: Block) -> None:
        """Take over what a call before has left, and pass over its rows."""
        self.lasting.add(self._variables())
        behind = block.inner()
        self.hi.run(behind, sub(self.reached, i64(self.window.end)))
        if self.restart is not None:
            self.restart.resume(behind, self.reached)
            behind.set(self.lo, i64(0))
        for state, has_any, identity in self.states.ordered_codes():
            behind.set(state, select(has_any, state, identity))
        self.lasting.take_over(block, behind)

    def finish(self, block: Block, last: LExpr) -> None:
        """Move to the loop's last time, and leave what the next call takes over."""
        if self.keeps_states:
            behind = block.inner()
            self.hi.set(behind, self.hi.row)
            self.advance(behind, last)
            behind.set(self.reached, add(last, i64(self.window.end)))
            for state, has_any, _ in self.states.ordered_codes():
                behind.set(state, select(has_any, state, Num(NO_STRING, STRING)))
            self.lasting.leave(block, behind)

    def advance(self, block: Block, now: LExpr) -> None:
        """Move to the loop's time."""
        for track in self.tracks.values():
            if track.changed is not None:
                block.set(track.changed, FALSE)
        if self.restart is not None:
            self.restart.advance(block, now)
            anew = block.inner()
            self._restart(anew)
            block.when(self.restart.moved, anew)
        insertions = block.inner()
        self._insert(insertions, self.hi.row)
        self.hi.run(block, now, insertions, to_row=self.own_row)
        self.now = now

    def without_checks(self) -> "RunningWindow":
        """A copy for visits at which its bound stays inside the rows."""
        window = copy(self)
        window.hi = replace(self.hi, rows=replace(self.hi.rows, in_bounds=True))
        return window

    def meets_invariants(self) -> LExpr:
        """Return whether its states meet their invariants, as `take` expects."""
        if self.restart is not None:
            return TRUE
        return self.states.meets_invariants()

    def take(self, block: Block, now: LExpr, row: LExpr) -> None:
        """Move to a time at which only this row, the next one, is inserted."""
        self.occupied = self.restart is None
        self._insert(block, row)
        block.set(self.hi.row, add(row, i64(1)))
        self.now = now

    def take_since(self, block: Block, now: LExpr, row: LExpr) -> None:
        """Move to the event that is this row, the next one; a restart may come before.

        All rows before it have left then.
        """
        assert self.restart is not None, "it takes in all rows"
        self.restart.advance(block, now)
        block.when(self.restart.moved, self._begin(block, row))
        self.take(block, now, row)

    def _begin(self, block: Block, row: LExpr) -> Block:
        """Begin anew with a row."""
        anew = block.inner()
        self.states.reset(anew)
        anew.set(self.lo, row)
        return anew

    def pace(self, block: Block, now: LExpr, row: LExpr, restart: LExpr | None) -> None:
        """Take a row in, that of the event; a row that starts with it may restart.

        All rows before it have left then.
        """
        if self.restart is not None and restart is not None:
            block.when(self.restart.pace(block, restart), self._begin(block, row))
        self.take(block, now, row)

    def settle(self, block: Block) -> None:
        """Restore the bounds after visits that moved them other than by `advance`."""
        self.hi.set(block, self.hi.row)
        if self.restart is not None:
            self.restart.settle(block)

    def _insert(self, block: Block, row: LExpr) -> None:
        inside: LExpr = TRUE
        if self.restart is not None:
            holds = self.restart.holds(self.rows, row, self.restart.at)
            inside = block.name("in", holds)
        self.states.insert(block, row, inside, invariant=self.occupied)
        for whole in self.wholes.values():
            whole.insert(block, row, inside)

    def _restart(self, block: Block) -> None:
        """Drop the rows that leave at a restart, and fold the others anew."""
        assert self.restart is not None
        leaving = block.inner()
        row = self.builder.fresh(f"{self.rows.name}.leaving")
        at, before = self.restart.at, self.restart.before
        stays = leaving.name("stays", self.restart.holds(self.rows, row, at))
        was = leaving.name("was", self.restart.holds(self.rows, row, before))
        both = leaving.name("both", conj(was, stays))
        come = leaving.name("come", conj(negate(was), stays))  # at the first restart
        marked = [track for track in self.tracks.values() if track.changed is not None]
        remaining = [self.builder.fresh(f"{self.rows.name}.stay") for _ in marked]
        for track, count in zip(marked, remaining, strict=True):
            assert track.changed is not None
            block.set(count, i64(0))
            value = element_of(leaving, self.rows, row, track.element)
            leaving.set(track.changed, disj(track.changed, conj(come, value.valid)))
            stayed = convert(conj(both, value.valid), I64)
            leaving.set(count, add(count, stayed))
        for whole in self.wholes.values():
            whole.evict(leaving, row, leaving.name("gone", conj(was, negate(stays))))
            whole.insert(leaving, row, come)
        block.add(For(row, self.lo, self.hi.row, leaving.body()))
        for track, count in zip(marked, remaining, strict=True):
            assert track.changed is not None
            # Rows that have left memory were in the window, too.
            left = ne(count, track.count())
            block.set(track.changed, disj(track.changed, left))
        passing = block.inner()
        passing.set(self.lo, add(self.lo, i64(1)))
        oldest = self.rows.clamp(self.lo)
        passed = negate(self.restart.holds(self.rows, oldest, at))
        block.add(While(conj(lt(self.lo, self.hi.row), passed), passing.body()))
        self.states.reset(block)
        again = block.inner()
        stayed = self.builder.fresh(f"{self.rows.name}.stayed")
        inside = again.name("in", self.restart.holds(self.rows, stayed, at))
        self.states.insert(again, stayed, inside, marks=False)
        block.add(For(stayed, self.lo, self.hi.row, again.body()))

    def changes(self) -> list[LExpr]:
        """The first times of the loop at which the window has other rows."""
        restart = [] if self.restart is None else [self.restart.due]
        return [self.hi.due, *restart]

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The value of a reduction over the window as it is now."""
        if node.reduction in WHOLE_WINDOW:
            return self.wholes[node.element].value(block, node)
        return self.states.value(block, node, occupied=self.occupied)
