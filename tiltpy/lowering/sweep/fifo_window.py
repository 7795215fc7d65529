"""Sliding windows over rows that are evicted in the order of their insertion.

The rows from the bound `lo` up to `hi` are in the window. Those before `middle` are on
the front of the two stacks, whose oldest row is `base`. When `lo` passes `middle`, all
rows of the window move to the front in one backward pass.

How floats are added up does not depend on where a loop began: the back has the rows of
one block of time, and none at all once the first row of that block has left.

Where the loop steps, the bounds move with it and a row is inserted without a branch.
Where it skips times, `lo` moves first, so that only rows that stay are inserted: a
tumbling window combines each of its rows once.
"""

from copy import copy
from dataclasses import replace

from tiltpy.aggregates.built_in import COUNT
from tiltpy.aggregates.finalize import finish
from tiltpy.aggregates.user_defined import Slide, slide_of
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import row_value
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, LastRows, Reduce, Window
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
from tiltpy.loops.nodes import For, LExpr, Var, While
from tiltpy.lowering.sweep.limited_bound import LimitedBound
from tiltpy.lowering.sweep.low_edge import LowEdge
from tiltpy.lowering.sweep.order_statistics import WholeWindow
from tiltpy.lowering.sweep.ranking import Rankings
from tiltpy.lowering.sweep.recomputed_window import ClipWatch, WindowRows, recompute
from tiltpy.lowering.sweep.restart import LeavesRestart, Restart
from tiltpy.lowering.sweep.row_bounds import RowBound, RowBounds
from tiltpy.lowering.sweep.window_blocks import WindowBlocks
from tiltpy.lowering.sweep.window_elements import OF_ANY, Track, aggregate_of
from tiltpy.ops import WHOLE_WINDOW
from tiltpy.types import I64


class SlidingWindow(LeavesRestart):
    """A window over rows that leave in order.

    `steps`: the loop moves its bounds. `leaps`: evicted rows may be passed several at
    once. `whole_rows`: only rows that lie inside as a whole are in it. `sorts`: the
    values of its few rows are kept in order. While it is `occupied` it is known to have
    rows.
    """

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
        sorts: bool = False,
        restart: Restart | None = None,
    ) -> None:
        self.builder = builder
        self.rankings = rankings
        self.rows = rows
        self.window = window
        self.steps = steps
        self.leaps = leaps
        self.sorts = sorts
        self.tracks: dict[Expr, Track] = {}
        self.wholes: dict[Expr, WholeWindow] = {}
        self.low = low
        self.clips = ClipWatch(window, low)
        self.now: LExpr = i64(0)
        self.own_row: LExpr | None = None
        self.restart = restart
        self.occupied = False
        bound = bounds.shared_bound if steps else bounds.new_bound
        self.lo: RowBound | LimitedBound
        if window.limit is not None:
            self.hi = bounds.new_bound(rows, "start", window.end - 1)
            count = None
            if isinstance(window.limit, LastRows):
                count = window.limit.count
            self.lo = LimitedBound(
                builder, window, self.hi, count=count, restart=restart
            )
        elif whole_rows:
            self.lo = bound(rows, "start", low.offset - 1)
            self.hi = bound(rows, "end", window.end)
        else:
            self.lo = bound(rows, "end", low.offset)
            self.hi = bound(rows, "start", window.end - 1)
        self.middle = builder.fresh(f"{rows.name}.middle")
        self.base = builder.fresh(f"{rows.name}.base")
        self.block_end = builder.fresh(f"{rows.name}.block")

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
                self.builder, self.rankings, self.rows, node.element, short=self.sorts
            )
        self.wholes[node.element].reduce(node)

    def track(self, element: Expr) -> Track:
        """The track of an element."""
        if element not in self.tracks:
            self.tracks[element] = Track(self.builder, self.rows, element)
        return self.tracks[element]

    def _stacks(self) -> list[Track]:
        return [track for track in self.tracks.values() if track.running]

    def _row_tracks(self) -> list[Track | WholeWindow]:
        """The tracks and structures that see each row."""
        tracks = self.tracks.values()
        known = [t for t in tracks if t.running or t.sees_evictions]
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
        for whole in self.wholes.values():
            whole.start(block)
            self._fill(block, whole)

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
        restore.add(For(row, first, self.hi.row, insertion.body()))
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
        # The time is at hand, and most rows begin no block.
        over = le(self.block_end, add(now, i64(self.window.end - 1)))
        block.when(disj(lt(self.middle, self.lo.row), over), rarely, rarely=True)

    def _flip_due(self, block: Block, stop: LExpr, due: LExpr = FALSE) -> None:
        """Flip the rows before `stop` if the front is empty, or if it is `due`."""
        if self._stacks():
            flip = block.inner()
            self._flip(flip, stop)
            block.when(disj(lt(self.middle, self.lo.row), due), flip)

    def _fill(self, block: Block, whole: WholeWindow) -> None:
        """Insert the rows that a loop which steps has already moved `hi` past."""
        if self.steps:
            row = self.builder.fresh(f"{self.rows.name}.there")
            inner = block.inner()
            whole.insert(inner, row)
            block.add(For(row, self.lo.row, self.hi.row, inner.body()))

    def _distance_bound(self) -> RowBound:
        """The left bound of a window that its distance alone limits."""
        assert isinstance(self.lo, RowBound)
        return self.lo

    def without_checks(self) -> "SlidingWindow":
        """A copy for visits at which its bounds stay inside the rows."""
        window = copy(self)
        if isinstance(self.lo, RowBound):
            window.lo = replace(self.lo, rows=replace(self.lo.rows, in_bounds=True))
        window.hi = replace(self.hi, rows=replace(self.hi.rows, in_bounds=True))
        return window

    def newest_row(self) -> LExpr:
        """The newest row that was inserted; some readable row if none was."""
        row = sub(self.hi.row, i64(1))
        return row if self.hi.rows.in_bounds else greatest(row, i64(0))

    def jump(self, block: Block, row: LExpr) -> None:
        """Restart as an empty window before a row."""
        for bound in (self._distance_bound(), self.hi):
            bound.set(block, row)
        if self._stacks():
            block.set(self.middle, i64(-1))
        for track in self._stacks():
            track.reset(block)

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
        if isinstance(self.lo, LimitedBound):
            self._run_limited(block, now)
            return
        self._pass(block, now)
        behind, insertions = block.inner(), block.inner()
        self.hi.set(behind, self.lo.row)
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

    def _run_limited(self, block: Block, now: LExpr) -> None:
        """Insert the rows that `hi` passes, then move `lo`, which these move."""
        assert isinstance(self.lo, LimitedBound)
        insertions = block.inner()
        until = self.lo.find_limit(block, now)
        for track in self.tracks.values():
            track.insert(insertions, self.hi.row, marks=False)
        for whole in self.wholes.values():
            whole.insert(insertions, self.hi.row)
        arrived = self.builder.fresh(f"{self.rows.name}.arrived")
        block.set(arrived, self.hi.row)
        self.hi.run(block, until, insertions, to_row=self.own_row)
        self._pass_limited(block, now, arrived)
        self._flip_due(block, self.hi.row)

    def _take_limited(self, block: Block, now: LExpr, row: LExpr) -> None:
        """Insert a row, and evict the one that it puts out of the window."""
        for track in self.tracks.values():
            track.insert(block, row, marks=False)
        for whole in self.wholes.values():
            whole.insert(block, row)
        arrived = self.builder.fresh(f"{self.rows.name}.arrived")
        block.set(arrived, row)
        block.set(self.hi.row, add(row, i64(1)))
        self._pass_limited(block, now, arrived)
        self._flip_due(block, self.hi.row)
        self.now = now

    def _pass_limited(self, block: Block, now: LExpr, arrived: Var) -> None:
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
            block.add(For(row, first, self.hi.row, staying.body()))

    def take(self, block: Block, now: LExpr, row: LExpr) -> None:
        """Move to a time at which only this row, the next one, is inserted."""
        self.occupied = True
        if isinstance(self.lo, LimitedBound):
            block.set(self.hi.row, row)
            self._take_limited(block, now, row)
            return
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
        if isinstance(self.lo, RowBound):
            self.lo.set(block, self.lo.row)
        self.hi.set(block, self.hi.row)

    def _pass(self, block: Block, now: LExpr) -> None:
        """Move `lo`, and evict the rows it passes from the tracks that need it."""
        passing = block.inner()
        changing = [t for t in self.tracks.values() if t.sees_evictions]
        observers: list[Track | WholeWindow] = [*changing, *self.wholes.values()]
        for track in observers:
            track.evict(passing, self.lo.row, lt(self.lo.row, self.hi.row))
        if isinstance(self.lo, RowBound) and self.leaps and not observers:
            self.lo.leap(block, self.low.follow(now), block.costs.leap_rows)
        self.lo.run(block, self.low.follow(now), passing)

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
        coming: LExpr = self.hi.due
        if isinstance(self.lo, LimitedBound):
            coming = self.lo.arrival
        leaving = self.lo.due if self.low.cells is None else INF
        return [leaving, coming, *self.clips.changes]

    def cut(self, element: Expr, *, bounds: bool) -> LExpr:
        """Whether other snapshots contribute than at the visit before.

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
        top = block.name("top", sub(self.lo.row, self.base))
        state = track.state(block, aggregate_of(self.builder, node), top)
        count = track.state(block, COUNT, top)[0] if track.filtered else size
        if node.reduction in ("first", "last"):
            occupied = block.name("some", lt(i64(0), count))
            return row_value(block, self.rows, node, state[0], occupied)
        result = finish(block, node, state, count)
        if self.occupied and not track.filtered and node.reduction in OF_ANY:
            return replace(result, valid=TRUE)
        return result
