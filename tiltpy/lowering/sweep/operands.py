"""Operands of a sweep loop: cursors, windows, and the cuts of the object."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from tiltpy.aggregates.user_defined import Slide, slide_of
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.join_snapshots import unsign_zeros
from tiltpy.emit.references import present_reductions, reductions
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import Leaf, LoopValue, Reading, lower_expr
from tiltpy.ir.cuts import leaf_cuts
from tiltpy.ir.nodes import (
    At,
    Cut,
    CutPoint,
    CutTime,
    CutWindow,
    Element,
    ElementStart,
    EventBound,
    Expr,
    InlinedCut,
    IntervalSpan,
    Reduce,
    Since,
    TemporalExpr,
    Time,
    UserReduction,
    Window,
)
from tiltpy.ir.traversal import sees_more
from tiltpy.loops.build import FALSE, TRUE, add, conj, disj, i64, sub
from tiltpy.loops.nodes import Lane, LExpr, Var
from tiltpy.lowering.sweep.calendar_cells import CalendarCells
from tiltpy.lowering.sweep.clipped_window import ClippedWindow
from tiltpy.lowering.sweep.cursors import (
    Cursor,
    PointRead,
    ScanCursor,
    StackCursor,
    StepCursor,
)
from tiltpy.lowering.sweep.fifo_window import SlidingWindow
from tiltpy.lowering.sweep.interval_cells import IntervalCells
from tiltpy.lowering.sweep.limited_window import LimitedWindow
from tiltpy.lowering.sweep.look_window import LookWindow, NearestLook
from tiltpy.lowering.sweep.low_edge import LowEdge
from tiltpy.lowering.sweep.present_window import PresentWindow
from tiltpy.lowering.sweep.ranking import Rankings
from tiltpy.lowering.sweep.refolded_window import RefoldedWindow
from tiltpy.lowering.sweep.restart import Restart
from tiltpy.lowering.sweep.row_bounds import RowBounds, own_number
from tiltpy.lowering.sweep.running_window import RunningWindow
from tiltpy.lowering.sweep.tumbling_rows import TumblingWindow
from tiltpy.lowering.sweep.unordered_window import UnorderedWindow
from tiltpy.plan.nodes import CursorPlan, Operands, WindowPlan
from tiltpy.plan.strategies.tumbling_fold import overlaps_before
from tiltpy.types import BOOL, I64

Points = dict[CutPoint, PointRead]
LoopWindow = (
    SlidingWindow
    | UnorderedWindow
    | TumblingWindow
    | RunningWindow
    | LookWindow
    | NearestLook
)
Windows = Mapping[Window, LoopWindow]


class SweepOperands:
    """The references of one object, which its loop keeps up to date as planned."""

    def __init__(
        self,
        builder: KernelBuilder,
        definition: TemporalExpr,
        objects: dict[str, ObjectRows],
        now: Var,
        rankings: Rankings,
        plan: Operands,
    ) -> None:
        self.builder = builder
        self.definition = definition
        self.objects = objects
        self.now = now
        self.rankings = rankings
        self.plan = plan
        self.cells = CalendarCells.of(builder, definition)
        self.intervals = IntervalCells(builder)
        self.every_tick = definition.tdom.precision == 1 and self.cells is None
        one_tick = plan.one_tick
        visited = definition.tdom.rows if one_tick is None else one_tick.object
        self.bounds = RowBounds(builder, visited)
        self.cursors = {p: self._cursor(p, how) for p, how in plan.points}
        self.windows = {w: self._window(w, how) for w, how in plan.windows}
        self.present = {
            (choice.window, choice.element): PresentWindow(
                builder,
                self.bounds,
                objects[choice.window.object],
                choice,
                definition,
                self._restart(choice.window),
            )
            for choice in plan.present
        }
        self.clipped: dict[Window, ClippedWindow] = {}
        for node in reductions(definition):
            self._reduce(node)
        for node in present_reductions(definition):
            self.present[node.window, node.element].reduce(node)
        self.points: Points = {}
        self.flags: list[Var] = []
        if not plan.always_cuts:
            for cut in leaf_cuts(definition.cuts):
                if isinstance(cut, CutWindow):
                    self._cut_window(cut)
        elif (
            definition.tdom.rows is None
            and plan.one_tick not in definition.cuts
            and not definition.distinct
        ):
            for direct in definition.cuts:
                if isinstance(direct, CutWindow):
                    window = self.windows[direct.window]
                    assert isinstance(window, SlidingWindow)
                    window.track(direct.element)

    def _cursor(self, point: CutPoint, plan: CursorPlan) -> Cursor:
        rows = self.objects[point.object]
        match plan:
            case CursorPlan.STACK:
                return StackCursor(self.builder, rows, point.offset)
            case CursorPlan.STEP:
                return StepCursor(self.builder, self.bounds, rows, point.offset)
            case CursorPlan.SCAN:
                over_rows = self.definition.tdom.rows is not None
                leaps = self.builder.costs.cursor_leaps if over_rows else 0
                jumps = self.bounds.jumps_in(rows)
                return ScanCursor(
                    self.builder, rows, point.offset, leaps=leaps, jumps=jumps
                )
            case _:
                assert_never(plan)

    def _window(self, window: Window, plan: WindowPlan) -> LoopWindow:
        rows = self.objects[window.object]
        low = LowEdge(window.start, i64(self.definition.tdom.precision))
        if isinstance(window.cells, IntervalSpan):
            low = self.intervals.low_edge(window.cells)
        elif self.cells is not None:
            low = self.cells.low_edge(window)
        match plan:
            case WindowPlan.TUMBLING_FOLD:
                return TumblingWindow(
                    self.builder,
                    rows,
                    window,
                    low,
                    overlaps=overlaps_before(self.definition, window),
                )
            case WindowPlan.UNORDERED:
                return UnorderedWindow(
                    self.builder, rows, window, low, rankings=self.rankings
                )
            case WindowPlan.RUNNING | WindowPlan.REFOLDED:
                running = plan is WindowPlan.RUNNING
                kind = RunningWindow if running else RefoldedWindow
                return kind(
                    self.builder,
                    self.bounds,
                    rows,
                    window,
                    self._restart(window),
                    rankings=self.rankings,
                )
            case WindowPlan.LOOK:
                if window.look == "nearest":
                    return NearestLook(self.builder, self.bounds, rows, window)
                return LookWindow(
                    self.builder, self.bounds, rows, window, self._origin(window)
                )
            case WindowPlan.FIFO if window.limit is not None:
                restart = self._restart(window)
                return LimitedWindow(
                    self.builder,
                    self.bounds,
                    rows,
                    window,
                    leaps=self.every_tick,
                    rankings=self.rankings,
                    low=low,
                    has_cursors=window in self.plan.cursor_windows,
                    restart=restart,
                    origin=self._origin(window) if restart is None else None,
                )
            case WindowPlan.FIFO:
                return SlidingWindow(
                    self.builder,
                    self.bounds,
                    rows,
                    window,
                    steps=(
                        self.plan.stepped
                        and rows.disjoint
                        and window.is_fixed
                        and not window.by_row
                    ),
                    leaps=self.every_tick,
                    rankings=self.rankings,
                    low=low,
                    has_cursors=window in self.plan.cursor_windows,
                )
            case _:
                assert_never(plan)

    def _restart(self, window: Window) -> Restart | None:
        """The restarts that limit a window, if any do."""
        if not isinstance(window.limit, Since):
            return None
        condition, origin = self.objects[window.limit.object], self._origin(window)
        return Restart(self.builder, self.bounds, condition, window, origin)

    def _origin(self, window: Window) -> Restart | None:
        """The restarts before which a window sees nothing, if there are any.

        They go by time, whatever the window does.
        """
        if window.origin is None:
            return None
        condition, by_time = self.objects[window.origin], replace(window, by_row=False)
        return Restart(self.builder, self.bounds, condition, by_time)

    def _reduce(self, node: Reduce) -> None:
        slide, reduction = self.windows[node.window], self._clipping_reduction(node)
        if reduction is None:
            slide.reduce(node)
            return
        if node.window not in self.clipped:
            assert isinstance(slide, SlidingWindow)
            self.clipped[node.window] = ClippedWindow(
                self.builder,
                self.bounds,
                slide,
                leaps=self.every_tick,
                rankings=self.rankings,
            )
        self.clipped[node.window].reduce(reduction, node)

    def _clipping_reduction(self, node: Reduce) -> UserReduction | None:
        """The user-defined reduction of a clipped window, if it is one."""
        reduction = self.builder.user_reductions.get(node.reduction)
        disjoint = self.objects[node.window.object].disjoint
        if (
            reduction is None
            or slide_of(reduction, disjoint=disjoint) is not Slide.CLIP
        ):
            return None
        return reduction

    def _cut_window(self, cut: CutWindow) -> LExpr:
        if sees_more(cut):
            return self.present[cut.window, cut.element].cut(bounds=cut.bounds)
        return self.windows[cut.window].cut(cut.element, bounds=cut.bounds)

    def start(self, block: Block, first: LExpr) -> None:
        """Start before the loop."""
        for flag in self.flags:
            block.set(flag, FALSE)
        self.bounds.start(block, first)
        for cursor in self.cursors.values():
            cursor.start(block)
        for slide in (*self.windows.values(), *self.clipped.values()):
            slide.start(block)
        for present in self.present.values():
            present.start(block)

    def finish(
        self, block: Block, last: LExpr, rows: tuple[LExpr, LExpr] | None = None
    ) -> None:
        """Leave the states that the next call takes over, behind the loop.

        Of a loop over `rows` they are the last one, and the ticks from the start of a
        row to its stamp.
        """
        for slide in self.lasting_windows():
            time = last
            if slide.window.by_row:
                assert rows is not None
                row, before = rows
                self._end_with(slide, row)
                time = add(sub(last, before), i64(1))  # by start, for the next call
            slide.finish(block, time)

    def _end_with(
        self, slide: SlidingWindow | RunningWindow | PresentWindow, row: LExpr
    ) -> None:
        """End a window by row with a row of the loop."""
        slide.own_row = own_number(self.builder, row, slide.rows)
        if slide.restart is not None:
            restarts = slide.restart.rows
            slide.restart.own_row = own_number(self.builder, row, restarts)

    def lasting_windows(
        self,
    ) -> Iterator[RunningWindow | LimitedWindow | PresentWindow]:
        """Yield the windows that leave states for the next call."""
        lasting = RunningWindow | LimitedWindow | PresentWindow
        for slide in (*self.windows.values(), *self.present.values()):
            if isinstance(slide, lasting) and slide.keeps_states:
                yield slide

    @property
    def keeps_states(self) -> bool:
        """Tell whether the next call goes on from states that a window leaves."""
        return any(self.lasting_windows())

    def advance(self, block: Block, settled: Points) -> list[LExpr]:
        """Bring every reference up to date but the `settled` ones, which are given.

        Return the times at which they may change.
        """
        self.bounds.step(block, self.now)
        self.points = settled | {
            point: cursor.advance(block, self.now)
            for point, cursor in self.cursors.items()
            if point not in settled
        }
        changes = [read.change for read in self.points.values()]
        own = next((read.row for point, read in settled.items() if point.row), None)
        for slide in self.windows.values():
            if slide.window.by_row:
                assert isinstance(slide, SlidingWindow | RunningWindow)
                assert own is not None
                self._end_with(slide, own)
            slide.advance(block, self.now)
            changes.extend(slide.changes())
        for clipped in self.clipped.values():
            clipped.advance(block, self.now)
        leaf = self._leaf(block)
        for present in self.present.values():
            if present.window.by_row:
                assert own is not None
                self._end_with(present, own)
            present.advance(block, self.now, leaf)
            changes.extend(present.changes())
        return list(dict.fromkeys(changes))

    def value(
        self,
        block: Block,
        points: Mapping[CutPoint, PointRead] | None = None,
        windows: Windows | None = None,
        now: LExpr | None = None,
    ) -> LoopValue:
        """The object's value at the visit, or with other points, windows and time."""
        leaf = self._leaf(block, points, windows, now)
        value = lower_expr(block, leaf, self.definition.body)
        return unsign_zeros(block, value) if self.definition.distinct else value

    def holds(self, block: Block, condition: Expr) -> LExpr:
        """Decide whether a condition over the references is true at the visit."""
        value = lower_expr(block, self._leaf(block), condition)
        return conj(value.valid, value.scalar)

    def _leaf(
        self,
        block: Block,
        points: Mapping[CutPoint, PointRead] | None = None,
        windows: Windows | None = None,
        now: LExpr | None = None,
    ) -> Leaf:
        time = self.now if now is None else now
        reads = self.points if points is None else points
        states = self.windows if windows is None else windows

        def leaf(node: Reading) -> LoopValue:
            match node:
                case At(object=name):
                    read, rows = reads[node.point], self.objects[name]
                    if read.wide:
                        return rows.wide_value(block, read.row, read.exists)
                    return rows.value(read.row, read.exists)
                case EventBound(object=name):
                    read = reads[node.point]
                    row = add(read.row, Lane(I64)) if read.wide else read.row
                    return self.objects[name].bound(node, row, read.exists)
                case Time(offset=offset):
                    return LoopValue(node.type, add(time, i64(offset)), TRUE)
                case Reduce():
                    if sees_more(node):
                        fold = self.present[node.window, node.element]
                        return fold.value(block, node)
                    reduction = self._clipping_reduction(node)
                    if reduction is not None:
                        return self.clipped[node.window].value(block, reduction, node)
                    return states[node.window].value(block, node)
                case Element() | ElementStart():
                    raise AssertionError("an element outside of a window")
                case _:
                    assert_never(node)

        return leaf

    def cut(self, block: Block) -> LExpr:
        """Return whether the object is cut between the visit before and this one."""
        moved = {point: cursor.cut(block) for point, cursor in self.cursors.items()}
        return disj(*(self._cuts(block, moved, cut) for cut in self.definition.cuts))

    def _cuts(self, block: Block, moved: dict[CutPoint, LExpr], cut: Cut) -> LExpr:
        match cut:
            case CutPoint():
                return moved[cut]
            case CutWindow():
                return self._cut_window(cut)
            case CutTime():
                return TRUE
            case InlinedCut(value=value, cuts=cuts):
                inner = disj(*(self._cuts(block, moved, cut_) for cut_ in cuts))
                return self._unless_gap(block, value, inner)
            case _:
                assert_never(cut)

    def _unless_gap(self, block: Block, value: Expr, inner: LExpr) -> LExpr:
        """The cut of an inlined object; if it is φ at both visits they are one gap."""
        before = self.builder.fresh("was", BOOL)
        self.flags.append(before)
        now = block.name("is", lower_expr(block, self._leaf(block), value).valid)
        changed = block.name("cut", conj(inner, disj(now, before)))
        block.set(before, now)
        return changed
