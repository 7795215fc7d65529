"""Loops of a vector kernel: refused where cells do not tell what a window holds."""

from collections.abc import Iterator
from math import gcd

from tiltpy.emit.elements import FoldedElement
from tiltpy.emit.matches import Match, NoMatch
from tiltpy.emit.references import present_folds, reductions
from tiltpy.ir.nodes import (
    Cut,
    CutPoint,
    CutTime,
    CutWindow,
    EventBound,
    Expr,
    InlinedCut,
    Reduce,
    TemporalExpr,
    Window,
)
from tiltpy.ir.traversal import sees_more, walk
from tiltpy.ops import WHOLE_WINDOW
from tiltpy.plan.cell_facts import CellFacts
from tiltpy.plan.cell_geometry import WindowCells
from tiltpy.plan.loop_cells import LoopCells
from tiltpy.plan.nodes import Refusal, refuse_whole_window
from tiltpy.plan.strategies.lane_scans import refuse_scans
from tiltpy.plan.vector_plan import VectorPlan
from tiltpy.plan.vector_stages import Stage
from tiltpy.types import STRING


def refuse_loops(plan: VectorPlan) -> Refusal | None:
    """Find the first reason, in the order of loops, for which one does not serve."""
    return next(_Loops(plan).refusals(), None)


class _Loops:
    """The loops of a plan, with what is known of the cells that they compute."""

    def __init__(self, plan: VectorPlan) -> None:
        self.plan = plan
        self.geometry = plan.geometry
        self.cells = LoopCells(plan)
        self.read = {
            name for d in plan.query.definitions for name in self.geometry.objects(d)
        }

    def refusals(self) -> Iterator[Refusal]:
        """Find all reasons, stage by stage."""
        yield from refuse_scans(self.plan)
        for stage in self.plan.stages:
            for definition in stage.definitions:
                if self.plan.is_materialised(definition.name):
                    yield from self._tile_order(definition)
            if stage.panes:
                yield from self._pane_folds(stage)
            for definition in stage.definitions:
                if stage.panes:
                    yield from self._panes(definition)
                else:
                    yield from self._lanes(definition)
                if definition.name in self.read:
                    self.cells.compute(definition)

    def _tile_order(self, definition: TemporalExpr) -> Iterator[Refusal]:
        """Refuse other loops that look further ahead than a tile has been computed."""
        name = definition.name
        if any(self.plan.lags.values()):
            yield Refusal(f"~{name} is read by another loop, and lags")
        for reader in self.plan.query.definitions:
            streamed = self.plan.is_streamed(reader, name)
            if not streamed and not self.geometry.sees_only_past(reader, name):
                ahead = f"~{reader.name} looks ahead in ~{name}"
                yield Refusal(f"{ahead}, which another loop computes tile by tile")

    # Loops over lanes

    def _lanes(self, reader: TemporalExpr) -> Iterator[Refusal]:
        yield from self._references(reader, reader.body)
        if not any(self.cells.always_cuts(reader, cut) for cut in reader.cuts):
            for cut in reader.cuts:
                yield from self._lane_cut(reader, cut)

    def _references(self, reader: TemporalExpr, expr: Expr) -> Iterator[Refusal]:
        """Refuse references of an expression, in order of evaluation."""
        for node in walk(expr):
            match node:
                case EventBound(object=name) if not self.geometry.sampled(name):
                    yield Refusal(f"the rows of ~{name} are spread over ticks")
                case Reduce() if sees_more(node):
                    yield from self._lane_matches(reader, node)
                case Reduce() if node.window.folds_on:
                    yield from self._lane_scan(reader, node)
                case Reduce():
                    yield from self._lane_window(reader, node)
                case _:
                    pass

    def _lane_window(self, reader: TemporalExpr, node: Reduce) -> Iterator[Refusal]:
        name = node.window.object
        seen = self.geometry.window(reader, node.window)
        source = self.cells.seen_by(reader, name)
        if node.bounds and not self._sees_whole_cells(reader, node.window):
            yield _refuse_bounds(node)
        if not seen.newest.is_strided:
            yield _refuse_cell_count(node.window)
        elif seen.newest.is_regular:
            if node.reduction == "nunique":
                yield from self._value_counts(node.window, seen, source)
            elif node.reduction in WHOLE_WINDOW and not (
                node.reduction in ("median", "quantile")
                and seen.cells <= self.plan.costs.longest_network
                and source.certain(node.element)
            ):
                yield refuse_whole_window(node)
        elif node.reduction in WHOLE_WINDOW:
            yield refuse_whole_window(node)
        elif not source.certain(node.element):
            yield Refusal(f"a short window of finer ~{name} may have gaps")

    def _lane_scan(self, reader: TemporalExpr, node: Reduce) -> Iterator[Refusal]:
        """Refuse to fold on what is not one row a cell, or what keeps no states."""
        name = node.window.object
        if not self.geometry.newest(reader, node.window).is_regular:
            yield _refuse_cell_count(node.window)
        if node.reduction in WHOLE_WINDOW:
            yield refuse_whole_window(node)
        if node.bounds:
            yield _refuse_bounds(node)
        if node.element.type == STRING:
            yield Refusal(f"states of {node.reduction} of ~{name} are strings")
        if self.cells.seen_by(reader, name).begins is not None:
            yield Refusal(f"snapshots of ~{name} may be longer than a cell")

    def _lane_matches(self, reader: TemporalExpr, node: Reduce) -> Iterator[Refusal]:
        """Refuse what sees the present, but for counts of cells with one key of it."""
        window, name = node.window, node.window.object
        seen = self.geometry.window(reader, window)
        if not (node.reduction == "count" and _matches_one_key(node.element)):
            yield Refusal(f"elements of ~{name} see the present")
        if not seen.newest.is_regular:
            yield _refuse_cell_count(window)
        yield from self._value_counts(window, seen, self.cells.seen_by(reader, name))

    def _value_counts(
        self, window: Window, seen: WindowCells, source: CellFacts
    ) -> Iterator[Refusal]:
        """Refuse to count the values of long windows, or of snapshots of many cells."""
        if source.begins is not None:
            yield Refusal(f"snapshots of ~{window.object} may be longer than a cell")
        if seen.cells > self.plan.costs.longest_counted:
            yield Refusal(f"windows of ~{window.object} are too long to be counted")

    def _sees_whole_cells(self, reader: TemporalExpr, window: Window) -> bool:
        """Decide whether no edge of a window cuts a snapshot; each is a cell."""
        geometry, source = self.geometry, self.cells.seen_by(reader, window.object)
        regular = geometry.window(reader, window).newest.is_regular
        return source.begins is None and regular and geometry.is_aligned(reader, window)

    def _lane_cut(self, reader: TemporalExpr, cut: Cut) -> Iterator[Refusal]:
        match cut:
            case CutPoint(object=name):
                cell = self.geometry.point(reader, cut)
                if not cell.is_regular and cell.times > cell.over:
                    yield Refusal(
                        f"~{name} may have gaps between the cells that are seen"
                    )
            case CutWindow(window=window, bounds=bounds):
                if bounds and not self._sees_whole_cells(reader, window):
                    yield Refusal(f"edges of windows cut snapshots of ~{window.object}")
                if not self.geometry.newest(reader, window).is_regular:
                    yield Refusal(
                        f"a window of ~{window.object} may hold the same twice"
                    )
            case InlinedCut(value=value, cuts=cuts):
                for inner in cuts:
                    yield from self._lane_cut(reader, inner)
                yield from self._references(reader, value)
            case CutTime():
                pass

    # Loops over panes

    def _pane_folds(self, stage: Stage) -> Iterator[Refusal]:
        """Refuse windows that do not fold, or not from panes that they share."""
        reader = stage.definitions[0]
        nodes = [node for each in stage.definitions for node in reductions(each)]
        for node in nodes:
            if node.bounds:
                yield _refuse_bounds(node)
            if node.reduction in WHOLE_WINDOW:
                yield refuse_whole_window(node)
            if node.reduction in ("first", "last"):
                yield Refusal(f"{node.reduction} of a pane")
        for window in dict.fromkeys(n.window for n in nodes):
            seen = self.geometry.window(reader, window)
            if not seen.newest.is_strided:
                yield _refuse_cell_count(window)
            if seen.overlaps and not self._shares_panes(reader, window):
                yield Refusal(f"windows of ~{window.object} have no common panes")

    def _shares_panes(self, reader: TemporalExpr, window: Window) -> bool:
        """Decide whether windows that overlap share panes, and those no snapshot."""
        seen = self.geometry.window(reader, window)
        size = gcd(seen.newest.times, seen.cells)
        source = self.cells.seen_by(reader, window.object)
        return size >= self.plan.costs.smallest_pane and source.begins is None

    def _panes(self, reader: TemporalExpr) -> Iterator[Refusal]:
        for window, _ in present_folds(reader):
            yield Refusal(f"elements of ~{window.object} see the present")
        if any(isinstance(node, EventBound) for node in walk(reader.body)):
            yield Refusal("the bounds of an event beside panes")
        for cut in reader.cuts:
            match cut:
                case CutWindow(window=window, bounds=True):
                    yield Refusal(f"edges of windows cut snapshots of ~{window.object}")
                case CutWindow(window=window, element=element):
                    yield from self._pane_cut(reader, window, element)
                case InlinedCut():
                    yield Refusal("an object that was fused in may be a gap")
                case _ if self.cells.always_cuts(reader, cut):
                    return
                case CutPoint(object=name):
                    yield Refusal(f"~{name} may have gaps beside panes")

    def _pane_cut(
        self, reader: TemporalExpr, window: Window, element: Expr
    ) -> Iterator[Refusal]:
        name = window.object
        seen, source = (
            self.geometry.window(reader, window),
            self.cells.seen_by(reader, name),
        )
        if not seen.newest.is_strided:
            yield _refuse_cell_count(window)
        if source.certain(element):
            return
        if seen.overlaps and not self._shares_panes(reader, window):
            yield Refusal(f"windows of ~{name} overlap and may have gaps")
        if source.begins is not None and seen.cells != seen.newest.times:
            yield Refusal(f"a snapshot of ~{name} may lie between two panes")


def _refuse_bounds(node: Reduce) -> Refusal:
    return Refusal(f"{node.reduction} sees where snapshots start and end")


def _refuse_cell_count(window: Window) -> Refusal:
    return Refusal(f"a window of ~{window.object} has cells of varying number")


def _matches_one_key(element: Expr) -> bool:
    """Decide whether cells contribute by one key that equals the present's."""
    try:
        match = Match.of(FoldedElement.of(element))
    except NoMatch:
        return False
    return match.by_equality and len(match.comparisons) == 1
