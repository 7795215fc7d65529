"""Window references in a loop whose rows leave in the order in which they came.

The rows between two edges are in the window: those before `lo` have left, those before
`hi` have come. The rows before `middle` are at the front of the stacks, the front's
oldest at `base`. When `lo` passes `middle`, all rows in the window move to the front in
one backward pass.

Where the loop steps, the edges move with it and a row comes without a branch. Where it
skips times, rows that have left are passed first, so that only those that stay are
merged: a tumbling window merges each of its rows once.
"""

from copy import copy
from dataclasses import replace

from tiltpy.aggregates.built_in import COUNT
from tiltpy.aggregates.finalize import finish
from tiltpy.aggregates.user_defined import Slide, slide_of
from tiltpy.emit.builder import Assembly, Block
from tiltpy.emit.elements import row_value
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, Reduce, Window
from tiltpy.loops.build import (
    FALSE,
    TRUE,
    add,
    conj,
    disj,
    greatest,
    i64,
    lt,
    select,
    sub,
)
from tiltpy.loops.nodes import For, LExpr, While
from tiltpy.lowering.sweep.order_statistics import WholeWindow
from tiltpy.lowering.sweep.ranking import Rankings
from tiltpy.lowering.sweep.recomputed_window import ClipWatch, WindowRows, recompute
from tiltpy.lowering.sweep.row_bounds import RowBounds
from tiltpy.lowering.sweep.window_elements import Track, aggregate_of
from tiltpy.ops import REDUCTIONS, WHOLE_WINDOW

OF_ANY = frozenset(rule.name for rule in REDUCTIONS.values() if rule.never_null)
"""Reductions that have a value wherever there is a row."""


class SlidingWindow:
    """A window over rows that leave in order. `steps`: the loop moves its edges.

    With `whole_rows` it has the rows alone that lie inside of it as a whole. While it
    is `occupied` it surely has rows.
    """

    def __init__(
        self,
        assembly: Assembly,
        edges: RowBounds,
        rows: ObjectRows,
        window: Window,
        *,
        steps: bool,
        leaps: bool,
        rankings: Rankings,
        precision: int,
        whole_rows: bool = False,
    ) -> None:
        self.assembly = assembly
        self.rankings = rankings
        self.rows = rows
        self.window = window
        self.steps = steps
        self.leaps = leaps
        self.tracks: dict[Expr, Track] = {}
        self.wholes: dict[Expr, WholeWindow] = {}
        self.asked: set[str] = set()
        self.bounds = ClipWatch(window, precision)
        self.now: LExpr = i64(0)
        self.occupied = False
        edge = edges.shared if steps else edges.own
        if whole_rows:
            self.lo = edges.own(rows, "start", window.start - 1)
            self.hi = edges.own(rows, "end", window.end)
        else:
            self.lo = edge(rows, "end", window.start)
            self.hi = edge(rows, "start", window.end - 1)
        self.middle = assembly.fresh(f"{rows.name}.middle")
        self.base = assembly.fresh(f"{rows.name}.base")

    def reduce(self, node: Reduce) -> None:
        """Have a reduction over the window computed."""
        self.asked.add(node.reduction)
        if node.reduction not in WHOLE_WINDOW:
            self.track(node.element).reduce(node)
            return
        if node.element not in self.wholes:
            ranking = self.rankings.of(self.rows, node.element)
            self.wholes[node.element] = WholeWindow(self.assembly, ranking)
        self.wholes[node.element].reduce(node)

    def track(self, element: Expr) -> Track:
        """The track of an element."""
        if element not in self.tracks:
            self.tracks[element] = Track(self.assembly, self.rows, element)
        return self.tracks[element]

    def _stacked(self) -> list[Track]:
        return [track for track in self.tracks.values() if track.running]

    def _followed(self) -> list[Track | WholeWindow]:
        """What must know of each row."""
        tracks = self.tracks.values()
        known = [t for t in tracks if t.running or t.sees_leave]
        return [*known, *self.wholes.values()]

    def start(self, block: Block) -> None:
        """Before the loop: the first visit fills the stacks."""
        if self._stacked():
            block.set(self.middle, i64(-1))
            block.set(self.base, i64(0))
        for track in self._stacked():
            track.reset(block)
        if not self.steps:
            for edge in (self.lo, self.hi):
                edge.start(block)
        for track in self.tracks.values():
            track.begin(block, self.lo.row, self.hi.row)
        for whole in self.wholes.values():
            whole.start(block)
            self._fill(block, whole)

    def _fill(self, block: Block, whole: WholeWindow) -> None:
        """The rows between the edges, where a loop that steps has moved these."""
        if self.steps:
            row = self.assembly.fresh(f"{self.rows.name}.there")
            each = block.inner()
            whole.enter(each, row)
            block.add(For(row, self.lo.row, self.hi.row, each.body()))

    def within(self) -> "SlidingWindow":
        """The same where its edges stay inside the rows, and a row has come."""
        window = copy(self)
        window.lo = replace(self.lo, rows=replace(self.lo.rows, within=True))
        window.hi = replace(self.hi, rows=replace(self.hi.rows, within=True))
        return window

    def newest_row(self) -> LExpr:
        """The last row that has come, if any has: it may be read in any case."""
        row = sub(self.hi.row, i64(1))
        return row if self.hi.rows.within else greatest(row, i64(0))

    def jump(self, block: Block, row: LExpr) -> None:
        """Go on from a row before which all have left, having followed none of them."""
        for edge in (self.lo, self.hi):
            edge.set(block, row)
        if self._stacked():
            block.set(self.middle, i64(-1))
        for track in self._stacked():
            track.reset(block)

    def advance(self, block: Block, now: LExpr) -> None:
        """Move to the loop's time."""
        for track in self.tracks.values():
            if track.changed is not None:
                block.set(track.changed, FALSE)
        if self.steps:
            self._step(block)
        else:
            self._run(block, now)
        self.now = now
        self.bounds.advance(block, now, self.stretch())

    def stretch(self) -> WindowRows:
        """The rows that are in the window now."""
        low = add(self.now, i64(self.window.start))
        high = add(self.now, i64(self.window.end))
        return WindowRows(self.rows, self.lo.row, self.hi.row, low, high, mixed=False)

    def _step(self, block: Block) -> None:
        """The edges have moved by a row at most: one leaves, one comes."""
        zero, one = i64(0), i64(1)
        gone = block.name("gone", greatest(sub(self.lo.row, one), zero))
        come = block.name("new", self.newest_row())
        for track in self._followed():
            track.leave(block, gone, self.lo.moved)
        if self._stacked():
            flip = block.inner()
            old = sub(self.hi.row, select(self.hi.moved, one, zero))
            self._flip(flip, flip.name("old", old))
            block.when(lt(self.middle, self.lo.row), flip)
        for track in self._followed():
            track.enter(block, come, self.hi.moved)

    def _run(self, block: Block, now: LExpr) -> None:
        """Pass the rows that have left, then merge those that come and stay."""
        self._pass(block, now)
        behind, flip, come = block.inner(), block.inner(), block.inner()
        self.hi.set(behind, self.lo.row)
        block.when(lt(self.hi.row, self.lo.row), behind)
        if self._stacked():
            self._flip(flip, self.hi.row)
            block.when(lt(self.middle, self.lo.row), flip)
        for track in self._followed():
            track.enter(come, self.hi.row)
        self.hi.run(block, now, come)

    def take(self, block: Block, now: LExpr, row: LExpr) -> None:
        """Move to a time at which just this row comes, the next one, and stays."""
        self.occupied = True
        if any(track.sees_leave for track in self.tracks.values()):
            self._pass(block, now)
        else:
            self.lo.catch_up(block, now, block.costs.caught_up_rows)
        if self._stacked():
            flip = block.inner()
            self._flip(flip, row)
            block.when(lt(self.middle, self.lo.row), flip)
        for track in self._followed():
            track.enter(block, row)
        block.set(self.hi.row, add(row, i64(1)))
        self.now = now

    @property
    def newest_alone(self) -> bool:
        """Whether of its rows the last one alone matters."""
        return self.asked == {"last"} and not self._followed()

    def show_newest(self, block: Block, now: LExpr) -> None:
        """Move the upper edge, and the lower one before its last row, or behind."""
        self.hi.catch_up(block, now, block.costs.leap_rows)
        newest = sub(self.hi.row, i64(1))
        end = self.rows.end_at(greatest(newest, i64(0)))
        stays = conj(lt(add(now, i64(self.window.start)), end), lt(i64(0), self.hi.row))
        block.set(self.lo.row, select(stays, newest, self.hi.row))
        self.now = now

    def settle(self, block: Block) -> None:
        """Behind visits that moved its edges in another way than `advance`."""
        for edge in (self.lo, self.hi):
            edge.set(block, edge.row)

    def _pass(self, block: Block, now: LExpr) -> None:
        """Move the lower edge; note whether rows leave that had come."""
        leave = block.inner()
        changing = [t for t in self.tracks.values() if t.sees_leave]
        noted: list[Track | WholeWindow] = [*changing, *self.wholes.values()]
        for track in noted:
            track.leave(leave, self.lo.row, lt(self.lo.row, self.hi.row))
        if self.leaps and not noted:
            self.lo.leap(block, now, block.costs.leap_rows)
        self.lo.run(block, now, leave)

    def _flip(self, block: Block, stop: LExpr) -> None:
        """Move all rows before `stop` to the front: merge suffixes, newest first."""
        row = self.assembly.fresh(f"{self.rows.name}.flip")
        block.set(self.middle, stop)
        block.set(self.base, self.lo.row)
        block.set(row, stop)
        for track in self._stacked():
            track.reset(block)
            track.put(block, sub(stop, self.base))
        inner = block.inner()
        inner.set(row, sub(row, i64(1)))
        for track in self._stacked():
            track.stack(inner, row, sub(row, self.base))
        block.add(While(lt(self.lo.row, row), inner.body()))
        for track in self._stacked():
            track.reset(block)

    def changes(self) -> list[LExpr]:
        """The first times of the loop at which the window holds other rows."""
        return [self.lo.due, self.hi.due, *self.bounds.changes]

    def cut(self, element: Expr, *, bounds: bool) -> LExpr:
        """Whether other snapshots contribute than at the visit before.

        With `bounds`: or one of them is cut elsewhere than at the grid point before.
        """
        changed = self.track(element).mark()
        if not bounds:
            return changed
        return disj(changed, self.bounds.watch(self.assembly, self.rows, element))

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The value of a reduction over the window as it is now."""
        if node.reduction in WHOLE_WINDOW:
            return self.wholes[node.element].value(block, node)
        track = self.track(node.element)
        own = self.assembly.own.get(node.reduction)
        if own is not None and slide_of(own) is Slide.EVICT:
            return track.taken[own.name].value(block)
        if (
            own is not None
            and slide_of(own, disjoint=self.rows.disjoint) is Slide.RECOMPUTE
        ):
            return recompute(block, own, node.element, self.stretch())
        held = sub(self.hi.row, self.lo.row)
        if not track.filtered and node.reduction == "count":
            return LoopValue(node.type, held, TRUE)
        if not track.filtered and node.reduction in ("first", "last"):
            first = node.reduction == "first"
            row = self.lo.row if first else sub(self.hi.row, i64(1))
            some = lt(self.lo.row, self.hi.row)
            return row_value(block, self.rows, node, row, some)
        top = block.name("top", sub(self.lo.row, self.base))
        state = track.state(block, aggregate_of(self.assembly, node), top)
        count = track.state(block, COUNT, top)[0] if track.filtered else held
        if node.reduction in ("first", "last"):
            some = block.name("some", lt(i64(0), count))
            return row_value(block, self.rows, node, state[0], some)
        found = finish(block, node, state, count)
        if self.occupied and not track.filtered and node.reduction in OF_ANY:
            return replace(found, valid=TRUE)
        return found
