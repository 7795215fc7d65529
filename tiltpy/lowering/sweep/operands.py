"""Operands of a sweep loop: cursors, windows, and what cuts the object."""

from collections.abc import Mapping
from typing import assert_never

from tiltpy.abi import Read, TimeLayout
from tiltpy.aggregates.user_defined import Slide, slide_of
from tiltpy.emit.builder import Assembly, Block
from tiltpy.emit.references import reductions
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import Leaf, LoopValue, lower_expr
from tiltpy.ir.cuts import leaf_cuts
from tiltpy.ir.nodes import (
    At,
    Cut,
    CutInlined,
    CutPoint,
    CutTime,
    CutWindow,
    Element,
    EventBound,
    Expr,
    Reduce,
    TemporalExpr,
    Time,
    UserReduction,
    Window,
)
from tiltpy.loops.build import FALSE, INF, TRUE, add, conj, disj, i64, lt
from tiltpy.loops.nodes import Lane, LExpr, Var
from tiltpy.lowering.sweep.clipped_window import ClippedWindow
from tiltpy.lowering.sweep.cursors import (
    Cursor,
    PointRead,
    ScanCursor,
    StackCursor,
    StepCursor,
)
from tiltpy.lowering.sweep.fifo_window import SlidingWindow
from tiltpy.lowering.sweep.ranking import Rankings
from tiltpy.lowering.sweep.row_bounds import RowBounds
from tiltpy.lowering.sweep.tumbling_rows import TumblingWindow
from tiltpy.lowering.sweep.unordered_window import UnorderedWindow
from tiltpy.plan.nodes import CursorPlan, Operands, WindowPlan
from tiltpy.types import BOOL, I64

Points = dict[CutPoint, PointRead]
Windows = Mapping[Window, SlidingWindow | UnorderedWindow | TumblingWindow]


class SweepOperands:
    """The references of one object, brought along by its loop.

    `plan` says how each is followed.
    """

    def __init__(
        self,
        assembly: Assembly,
        definition: TemporalExpr,
        objects: dict[str, ObjectRows],
        now: Var,
        rankings: Rankings,
        plan: Operands,
    ) -> None:
        self.assembly = assembly
        self.definition = definition
        self.objects = objects
        self.now = now
        self.rankings = rankings
        self.plan = plan
        self.every_tick = definition.tdom.precision == 1
        self.edges = RowBounds(assembly)
        self.cursors = {p: self._cursor(p, how) for p, how in plan.points}
        self.windows = {w: self._window(w, how) for w, how in plan.windows}
        self.edged: dict[Window, ClippedWindow] = {}
        for node in reductions(definition):
            self._reduce(node)
        self.points: Points = {}
        self.flags: list[Var] = []
        if not plan.always_cuts:
            for cut in leaf_cuts(definition.cuts):
                if isinstance(cut, CutWindow):
                    self.windows[cut.window].cut(cut.element, bounds=cut.bounds)
        elif plan.one_tick not in definition.cuts:
            for one in definition.cuts:
                if isinstance(one, CutWindow):
                    slide = self.windows[one.window]
                    assert isinstance(slide, SlidingWindow)
                    slide.track(one.element)

    def _cursor(self, point: CutPoint, how: CursorPlan) -> Cursor:
        rows = self.objects[point.object]
        match how:
            case CursorPlan.STACK:
                return StackCursor(self.assembly, rows, point.offset)
            case CursorPlan.STEP:
                return StepCursor(self.assembly, self.edges, rows, point.offset)
            case CursorPlan.SCAN:
                return ScanCursor(self.assembly, rows, point.offset)
            case _:
                assert_never(how)

    def _window(
        self, window: Window, how: WindowPlan
    ) -> SlidingWindow | UnorderedWindow | TumblingWindow:
        rows = self.objects[window.object]
        precision = self.definition.tdom.precision
        match how:
            case WindowPlan.TUMBLING_FOLD:
                return TumblingWindow(self.assembly, rows, window)
            case WindowPlan.UNORDERED:
                return UnorderedWindow(
                    self.assembly, rows, window, precision, rankings=self.rankings
                )
            case WindowPlan.TWO_STACK:
                return SlidingWindow(
                    self.assembly,
                    self.edges,
                    rows,
                    window,
                    steps=self.plan.stepped and rows.disjoint,
                    leaps=self.every_tick,
                    rankings=self.rankings,
                    precision=precision,
                )
            case _:
                assert_never(how)

    def _reduce(self, node: Reduce) -> None:
        slide, own = self.windows[node.window], self._edged(node)
        if own is None:
            slide.reduce(node)
            return
        if node.window not in self.edged:
            assert isinstance(slide, SlidingWindow)
            self.edged[node.window] = ClippedWindow(
                self.assembly,
                self.edges,
                slide,
                leaps=self.every_tick,
                rankings=self.rankings,
                precision=self.definition.tdom.precision,
            )
        self.edged[node.window].reduce(own, node)

    def _edged(self, node: Reduce) -> UserReduction | None:
        """The user-defined reduction of a window whose edges cut, if it is one."""
        own = self.assembly.own.get(node.reduction)
        disjoint = self.objects[node.window.object].disjoint
        if own is None or slide_of(own, disjoint=disjoint) is not Slide.CLIP:
            return None
        return own

    def cut_windows(self) -> tuple[Read, ...]:
        """The windows whose edges cut rows, which those of one tick are not.

        A snapshot may begin there at times at which no row starts or ends.
        """
        windows = (
            cut.window
            for cut in leaf_cuts(self.definition.cuts)
            if isinstance(cut, CutWindow)
            and cut.bounds
            and not self.objects[cut.window.object].layout.points
        )
        return tuple(
            Read(window.object, window.start, window.end)
            for window in dict.fromkeys(windows)
        )

    def start(self, block: Block, first: LExpr) -> None:
        """Before the loop."""
        for flag in self.flags:
            block.set(flag, FALSE)
        self.edges.start(block, first)
        for cursor in self.cursors.values():
            cursor.start(block)
        for slide in (*self.windows.values(), *self.edged.values()):
            slide.start(block)

    def advance(self, block: Block, settled: Points) -> list[LExpr]:
        """Bring every reference up to date, but for those that are.

        Returns the times at which they may see something else.
        """
        self.edges.step(block, self.now)
        self.points = {
            point: settled.get(point) or cursor.advance(block, self.now)
            for point, cursor in self.cursors.items()
        }
        changes = [seen.change for seen in self.points.values()]
        for slide in self.windows.values():
            slide.advance(block, self.now)
            changes.extend(slide.changes())
        for edged in self.edged.values():
            edged.advance(block, self.now)
        return list(dict.fromkeys(changes))

    def value(
        self,
        block: Block,
        points: Mapping[CutPoint, PointRead] | None = None,
        windows: Windows | None = None,
    ) -> LoopValue:
        """The object's value at the current visit, or where it sees others."""
        leaf = self._leaf(block, points, windows)
        return lower_expr(block, leaf, self.definition.body)

    def _leaf(
        self,
        block: Block,
        points: Mapping[CutPoint, PointRead] | None = None,
        windows: Windows | None = None,
    ) -> Leaf:
        seen = self.points if points is None else points
        held = self.windows if windows is None else windows

        def leaf(node: At | EventBound | Reduce | Time | Element) -> LoopValue:
            match node:
                case At(object=name, offset=offset):
                    at, rows = seen[CutPoint(name, offset)], self.objects[name]
                    if at.wide:
                        return rows.wide_value(block, at.row, at.exists)
                    return rows.value(at.row, at.exists)
                case EventBound(object=name, offset=offset):
                    at = seen[CutPoint(name, offset)]
                    row = add(at.row, Lane(I64)) if at.wide else at.row
                    return bound_of(self.objects[name], node, row, at.exists)
                case Time(offset=offset):
                    return LoopValue(node.type, add(self.now, i64(offset)), TRUE)
                case Reduce():
                    own = self._edged(node)
                    if own is not None:
                        return self.edged[node.window].value(block, own, node)
                    return held[node.window].value(block, node)
                case Element():
                    raise AssertionError("an element outside of a window")
                case _:
                    assert_never(node)

        return leaf

    def cut(self, block: Block) -> LExpr:
        """Whether the object is cut between the visit before and this one."""
        moved = {point: cursor.cut(block) for point, cursor in self.cursors.items()}
        return disj(*(self._cuts(block, moved, cut) for cut in self.definition.cuts))

    def _cuts(self, block: Block, moved: dict[CutPoint, LExpr], cut: Cut) -> LExpr:
        match cut:
            case CutPoint():
                return moved[cut]
            case CutWindow(window=window, element=element, bounds=bounds):
                return self.windows[window].cut(element, bounds=bounds)
            case CutTime():
                return TRUE
            case CutInlined(value=value, cuts=cuts):
                inner = disj(*(self._cuts(block, moved, one) for one in cuts))
                return self._unless_gap(block, value, inner)
            case _:
                assert_never(cut)

    def _unless_gap(self, block: Block, value: Expr, inner: LExpr) -> LExpr:
        """An inlined object that is φ at both visits is one gap, whatever it reads."""
        before = self.assembly.fresh("was", BOOL)
        self.flags.append(before)
        now = block.name("is", lower_expr(block, self._leaf(block), value).valid)
        changed = block.name("cut", conj(inner, disj(now, before)))
        block.set(before, now)
        return changed

    def structures(self) -> tuple[str, ...]:
        """What is kept of windows as a whole."""
        return tuple(
            f"~{whole.ranking.rows.name}: {whole.describe()}"
            for window in self.windows.values()
            if not isinstance(window, TumblingWindow)
            for whole in window.wholes.values()
        )

    def anew(self) -> tuple[Read, ...]:
        """The windows that reductions of the query's own fold anew at each visit."""
        found = {}
        for node in reductions(self.definition):
            own = self.assembly.own.get(node.reduction)
            rows = self.objects[node.window.object]
            if own is None:
                continue
            way = slide_of(own, in_order=rows.layout.fifo, disjoint=rows.disjoint)
            if way is Slide.RECOMPUTE:
                found[node.window] = Read(rows.name, node.window.start, node.window.end)
        return tuple(found.values())

    def reads(self) -> tuple[Read, ...]:
        """What the loop reads of each object."""
        points = (Read(p.object, p.offset - 1, p.offset) for p in self.cursors)
        windows = (Read(w.object, w.start, w.end) for w in self.windows)
        return (*points, *windows)


def bound_of(
    rows: ObjectRows, node: EventBound, row: LExpr, exists: LExpr
) -> LoopValue:
    """`start(~x[t])` or `end(~x[t])` of the row that the reference sees.

    The end of a row that holds without end is φ.
    """
    if node.which == "start":
        return LoopValue(node.type, rows.start_at(row), exists)
    end = rows.end_at(row)
    if rows.layout.time is TimeLayout.SAMPLED:
        return LoopValue(node.type, end, exists)
    return LoopValue(node.type, end, conj(exists, lt(end, INF)))
