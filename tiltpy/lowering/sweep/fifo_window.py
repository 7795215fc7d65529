"""Sliding windows over rows that are evicted in the order of their insertion.

The rows from the bound `lo` up to `hi` are in the window. Those before `middle` are on
the front of the two stacks, whose oldest row is `base`. When `lo` passes `middle`, all
rows of the window move to the front in one backward pass. Exact sums of rows are the
differences of prefix sums.

How floats are added up does not depend on where a loop began: the back has the rows of
one block of time, and none at all once the first row of that block has left.

Where the loop steps, the bounds move with it and a row is inserted without a branch.
Where it skips times, `lo` moves first, so that only rows that stay are inserted: a
tumbling window combines each of its rows once.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import replace

from tiltpy.aggregates.built_in import COUNT
from tiltpy.aggregates.finalize import finish
from tiltpy.aggregates.user_defined import Slide, slide_of
from tiltpy.aggregates.window_elements import OF_ANY, Track, aggregate_of
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import row_value
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, Reduce, Window
from tiltpy.loops.build import (
    FALSE,
    INF,
    TRUE,
    add,
    conj,
    convert,
    disj,
    eq,
    greatest,
    i64,
    le,
    lt,
    select,
    sub,
)
from tiltpy.loops.nodes import LExpr, Var, While
from tiltpy.lowering.sweep.limited_bound import LimitedBound
from tiltpy.lowering.sweep.low_edge import LowEdge
from tiltpy.lowering.sweep.order_statistics import WholeWindow
from tiltpy.lowering.sweep.ranking import Rankings
from tiltpy.lowering.sweep.recomputed_window import ClipWatch, WindowRows, recompute
from tiltpy.lowering.sweep.restart import Restart
from tiltpy.lowering.sweep.row_bounds import RowBound, RowBounds
from tiltpy.lowering.sweep.window_blocks import WindowBlocks
from tiltpy.ops import WHOLE_WINDOW
from tiltpy.plan.strategies.value_cursors import most_rows
from tiltpy.types import I64


class SlidingWindow:
    """A window over rows that leave in order, as its distance says.

    `steps`: the loop moves its bounds. `leaps`: evicted rows may be passed several at
    once. `whole_rows`: only rows that lie inside as a whole are in it. `has_cursors`:
    these find its quantiles. While it is `occupied` it is known to have rows.
    """

    restart: Restart | None = None
    """A time at which it starts anew, besides its distance (see `LimitedWindow`)."""

    def __init__(
        self,
        builder: KernelBuilder,
        bounds: RowBounds,
        rows: ObjectRows,
        window: Window,
        *,
        steps: bool,
        leaps: bool,
        rankings: Rankings,
        low: LowEdge,
        whole_rows: bool = False,
        has_cursors: bool = False,
    ) -> None:
        self.builder = builder
        self.rankings = rankings
        self.rows = rows
        self.window = window
        self.steps = steps
        self.leaps = leaps
        self.has_cursors = has_cursors
        self.tracks: dict[Expr, Track] = {}
        self.wholes: dict[Expr, WholeWindow] = {}
        self.low = low
        self.clips = ClipWatch(window, low)
        self.now: LExpr = i64(0)
        self.own_row: LExpr | None = None
        self.occupied = False
        self.lo: RowBound | LimitedBound
        self.lo, self.hi = self._make_bounds(bounds, whole_rows=whole_rows)
        self.middle = builder.fresh(f"{rows.name}.middle")
        self.base = builder.fresh(f"{rows.name}.base")
        self.block_end = builder.fresh(f"{rows.name}.block")

    def _make_bounds(
        self, bounds: RowBounds, *, whole_rows: bool
    ) -> "tuple[RowBound | LimitedBound, RowBound]":
        """Make the bounds of the rows that are in the window."""
        rows, begin, end = self.rows, self.low.offset, self.window.end
        bound = bounds.shared_bound if self.steps else bounds.new_bound
        if whole_rows:
            return bound(rows, "start", begin - 1), bound(rows, "end", end)
        return bound(rows, "end", begin), bound(rows, "start", end - 1)

    @property
    def blocks(self) -> WindowBlocks | None:
        """The blocks at which its stacks are flipped, if it adds up floats."""
        window = self.window
        fixed = window.is_fixed and not window.by_row and self.low.cells is None
        if not fixed or not any(track.rounds for track in self._stacks()):
            return None
        return WindowBlocks(self.rows, window.end - window.start, self.block_end)

    def reduce(self, node: Reduce) -> None:
        """Add a reduction over the window."""
        if node.reduction not in WHOLE_WINDOW:
            self.track(node.element).reduce(node)
            return
        if node.element not in self.wholes:
            self.wholes[node.element] = WholeWindow(
                self.builder,
                self.rankings,
                self.rows,
                node.element,
                most=most_rows(self.window) if self.has_cursors else None,
            )
        self.wholes[node.element].reduce(node)

    def track(self, element: Expr) -> Track:
        """The track of an element."""
        if element not in self.tracks:
            self.tracks[element] = Track(self.builder, self.rows, element)
        return self.tracks[element]

    def _stacks(self) -> list[Track]:
        return [track for track in self.tracks.values() if track.running]

    def _sums(self) -> list[Track]:
        return [track for track in self.tracks.values() if track.sums]

    def _row_tracks(self) -> list[Track | WholeWindow]:
        """The tracks and structures that see each row."""
        tracks = self.tracks.values()
        known = [t for t in tracks if t.running or t.sums or t.sees_evictions]
        return [*known, *self.wholes.values()]

    def start(self, block: Block) -> None:
        """Start before the loop: the first visit fills the stacks."""
        if self._stacks():
            block.set(self.middle, i64(-1))
            block.set(self.base, i64(0))
        for track in self._stacks():
            track.reset(block)
        if self.blocks is not None:
            self.blocks.start(block)
            if self.steps:
                self._restore(block, self.blocks)
        if not self.steps:
            for bound in (self.lo, self.hi):
                bound.start(block)
        for track in self.tracks.values():
            track.begin(block, self.lo.row, self.hi.row)
        for track in self._sums():
            track.start_sums(block, self.lo.row)
            self._fill(block, track.add_up)
        for whole in self.wholes.values():
            whole.start(block)
            self._fill(block, whole.insert)

    def _restore(self, block: Block, blocks: WindowBlocks) -> None:
        """Insert the rows that the bounds enclose as if the loop had come from afar."""
        restore, back = block.inner(), block.inner()
        restore.set(blocks.end, blocks.end_at(sub(self.hi.row, i64(1))))
        first = self.builder.fresh(f"{self.rows.name}.of.block")
        restore.set(first, self.hi.row)
        back.set(first, sub(first, i64(1)))
        earlier = conj(lt(self.lo.row, first), blocks.has(first))
        restore.add(While(earlier, back.body()))
        begun = conj(eq(first, self.lo.row), blocks.has(first))
        restore.set(first, select(begun, self.hi.row, first))
        self._flip(restore, first)
        row = self.builder.fresh(f"{self.rows.name}.there")
        insertion = restore.inner()
        for track in self._stacks():
            track.append(insertion, row)
        self._visit(restore, row, first, insertion)
        block.when(lt(self.lo.row, self.hi.row), restore)

    def _flip_before(
        self, block: Block, now: LExpr, stop: LExpr, newest: LExpr
    ) -> None:
        """Flip the rows before `stop` if the front is empty, or if a block is over.

        It is if the `newest` row, which stands at `stop` if it is new, begins another.
        """
        blocks = self.blocks
        if blocks is None:
            self._flip_due(block, stop)
            return
        rarely = block.inner()
        begins = rarely.name("begins", blocks.begins(newest))
        rarely.set(self.block_end, select(begins, blocks.end_at(newest), blocks.end))
        self._flip_due(rarely, stop, conj(begins, lt(self.middle, stop)))
        # The time is at hand, and most rows begin no block. No row of the block leaves
        # before it is over, so neither is the front empty before.
        over = le(self.block_end, add(now, i64(self.window.end - 1)))
        block.when(over, rarely, rarely=True)

    def _flip_due(self, block: Block, stop: LExpr, due: LExpr = FALSE) -> None:
        """Flip the rows before `stop` if the front is empty, or if it is `due`."""
        if self._stacks():
            flip = block.inner()
            self._flip(flip, stop)
            block.when(disj(lt(self.middle, self.lo.row), due), flip)

    def _fill(self, block: Block, insert: Callable[[Block, LExpr], None]) -> None:
        """Insert the rows that a loop which steps has already moved `hi` past."""
        if self.steps:
            row = self.builder.fresh(f"{self.rows.name}.there")
            inner = block.inner()
            insert(inner, row)
            self._visit(block, row, self.lo.row, inner)

    def _visit(self, block: Block, row: Var, first: LExpr, inner: Block) -> None:
        """Do something for each row from `first` to the right bound.

        One row depends on the one before: no vector has them, so the loop is not one of
        those for which a kernel goes through all of LLVM's passes.
        """
        block.set(row, first)
        inner.set(row, add(row, i64(1)))
        block.add(While(lt(row, self.hi.row), inner.body()))

    def _distance_bound(self) -> RowBound:
        """The left bound, which the window's distance alone limits."""
        assert isinstance(self.lo, RowBound)
        return self.lo

    def without_checks(self) -> "SlidingWindow":
        """Return a copy for visits at which its bounds stay inside the rows."""
        window = copy(self)
        lo = self._distance_bound()
        window.lo = replace(lo, rows=replace(lo.rows, in_bounds=True))
        window.hi = replace(self.hi, rows=replace(self.hi.rows, in_bounds=True))
        return window

    def newest_row(self) -> LExpr:
        """The newest row that was inserted; some readable row if none was."""
        row = sub(self.hi.row, i64(1))
        return row if self.hi.rows.in_bounds else greatest(row, i64(0))

    def jump(self, block: Block, row: LExpr) -> None:
        """Restart as an empty window before a row."""
        for bound in (self.lo, self.hi):
            bound.set(block, row)
        if self._stacks():
            block.set(self.middle, i64(-1))
        if self.blocks is not None:
            self.blocks.start(block)
        for track in self._stacks():
            track.reset(block)
        for track in self._sums():
            track.put_sums(block, row)

    def advance(self, block: Block, now: LExpr) -> None:
        """Move to the loop's time."""
        for track in self.tracks.values():
            if track.changed is not None:
                block.set(track.changed, FALSE)
        if self.steps:
            self._step(block, now)
        else:
            self._run(block, now)
        self.now = now
        self.clips.advance(block, now, self.window_rows())

    def window_rows(self) -> WindowRows:
        """The rows that are in the window now."""
        low = self.low.at(self.now)
        high = add(self.now, i64(self.window.end))
        return WindowRows(self.rows, self.lo.row, self.hi.row, low, high, mixed=False)

    def _step(self, block: Block, now: LExpr) -> None:
        """Evict a row and insert a row, as the bounds have moved by one at most."""
        oldest = block.name("gone", greatest(sub(self.lo.row, i64(1)), i64(0)))
        newest = block.name("new", self.newest_row())
        moved = self._distance_bound().moved
        for track in self._row_tracks():
            track.evict(block, oldest, moved)
        old = sub(self.hi.row, select(self.hi.moved, i64(1), i64(0)))
        self._flip_before(block, now, old, newest)
        for track in self._row_tracks():
            track.insert(block, newest, self.hi.moved)

    def _run(self, block: Block, now: LExpr) -> None:
        """Move `lo`, then insert the rows that `hi` passes and that stay."""
        self._pass(block, now)
        behind, insertions = block.inner(), block.inner()
        self.hi.set(behind, self.lo.row)
        for sums in self._sums():
            sums.put_sums(behind, self.lo.row)
        block.when(lt(self.hi.row, self.lo.row), behind)
        if self.blocks is None:
            self._flip_due(block, self.hi.row)
        else:
            self._flip_before(insertions, now, self.hi.row, self.hi.row)
        for track in self._row_tracks():
            track.insert(insertions, self.hi.row)
        self.hi.run(block, now, insertions, to_row=self.own_row)
        if self.blocks is not None:
            # Where the loop skipped times, rows of one block may have come and left.
            left = conj(lt(self.middle, self.hi.row), self.blocks.has(self.lo.row))
            self._flip_due(block, self.hi.row, left)

    def take(self, block: Block, now: LExpr, row: LExpr) -> None:
        """Move to a time at which only this row, the next one, is inserted."""
        self.occupied = True
        evicting = any(track.sees_evictions for track in self.tracks.values())
        if evicting or self.wholes:
            self._pass(block, now)
        else:
            self._distance_bound().catch_up(block, now, block.costs.caught_up_rows)
        self._flip_before(block, now, row, row)
        for track in self._row_tracks():
            track.insert(block, row)
        block.set(self.hi.row, add(row, i64(1)))
        self.now = now

    def show_newest(self, block: Block, now: LExpr, row: LExpr | None) -> None:
        """Move `hi`, and `lo` to the newest row, or past it if the window is empty.

        Where the window ends just before an event, that is its `row`.
        """
        if row is None:
            self.hi.catch_up(block, now, block.costs.leap_rows)
        else:
            block.set(self.hi.row, row)
        newest = sub(self.hi.row, i64(1))
        end = self.rows.end_at(greatest(newest, i64(0)))
        stays = conj(lt(add(now, i64(self.window.start)), end), lt(i64(0), self.hi.row))
        block.set(self.lo.row, select(stays, newest, self.hi.row))
        self.now = now

    def show_next(self, block: Block, now: LExpr, row: LExpr | None) -> None:
        """Move `lo`, and `hi` past the first row, or to it if the window is empty.

        Where the window begins just after an event, that is the `row` before.
        """
        if row is None:
            self._distance_bound().catch_up(block, now, block.costs.caught_up_rows)
        else:
            block.set(self.lo.row, add(row, i64(1)))
        start = self.rows.start_at(self.lo.row)
        begun = lt(start, add(now, i64(self.window.end)))
        block.set(self.hi.row, add(self.lo.row, convert(begun, I64)))
        self.now = now

    def settle(self, block: Block) -> None:
        """Restore the bounds after visits that moved them other than by `advance`."""
        self._distance_bound().set(block, self.lo.row)
        self.hi.set(block, self.hi.row)

    def _pass(self, block: Block, now: LExpr) -> None:
        """Move `lo`, and evict the rows it passes from the tracks that need it."""
        passing = block.inner()
        changing = [t for t in self.tracks.values() if t.sees_evictions]
        observers: list[Track | WholeWindow] = [*changing, *self.wholes.values()]
        for track in observers:
            track.evict(passing, self.lo.row, lt(self.lo.row, self.hi.row))
        lo, until = self._distance_bound(), self.low.follow(now)
        if self.leaps and not observers:
            lo.leap(block, until, block.costs.leap_rows)
        lo.run(block, until, passing, idle=not observers)

    def _flip(self, block: Block, stop: LExpr) -> None:
        """Move all rows before `stop` to the front: combine suffixes, newest first."""
        row = self.builder.fresh(f"{self.rows.name}.flip")
        block.set(self.middle, stop)
        block.set(self.base, self.lo.row)
        block.set(row, stop)
        for track in self._stacks():
            track.reset(block)
            track.put(block, sub(stop, self.base))
        inner = block.inner()
        inner.set(row, sub(row, i64(1)))
        for track in self._stacks():
            track.stack(inner, row, sub(row, self.base))
        block.add(While(lt(self.lo.row, row), inner.body()))
        for track in self._stacks():
            track.reset(block)

    def changes(self) -> list[LExpr]:
        """The first times of the loop at which the window has other rows."""
        leaving = self.lo.due if self.low.cells is None else INF
        return [leaving, self.hi.due, *self.clips.changes]

    def cut(self, element: Expr, *, bounds: bool) -> LExpr:
        """Test whether other snapshots contribute than at the visit before.

        With `bounds`: or one is clipped elsewhere than at the grid point before.
        """
        changed = self.track(element).mark()
        if not bounds:
            return changed
        return disj(changed, self.clips.watch(self.builder, self.rows, element))

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The value of a reduction over the window as it is now."""
        if node.reduction in WHOLE_WINDOW:
            return self.wholes[node.element].value(block, node)
        track = self.track(node.element)
        reduction = self.builder.user_reductions.get(node.reduction)
        if reduction is not None:
            slide = slide_of(reduction, disjoint=self.rows.disjoint)
            if slide is Slide.EVICT:
                return track.evictable[reduction.name].value(block)
            if slide is Slide.RECOMPUTE:
                return recompute(block, reduction, node.element, self.window_rows())
        size = sub(self.hi.row, self.lo.row)
        if not track.filtered and node.reduction == "count":
            return LoopValue(node.type, size, TRUE)
        if not track.filtered and node.reduction in ("first", "last"):
            first = node.reduction == "first"
            row = self.lo.row if first else sub(self.hi.row, i64(1))
            occupied = lt(self.lo.row, self.hi.row)
            return row_value(block, self.rows, node, row, occupied)
        edges = self.lo.row, self.base
        state = track.state(block, aggregate_of(self.builder, node), *edges)
        count = track.state(block, COUNT, *edges)[0] if track.filtered else size
        if node.reduction in ("first", "last"):
            occupied = block.name("some", lt(i64(0), count))
            return row_value(block, self.rows, node, state[0], occupied)
        result = finish(block, node, state, count)
        if self.occupied and not track.filtered and node.reduction in OF_ANY:
            return replace(result, valid=TRUE)
        return result
