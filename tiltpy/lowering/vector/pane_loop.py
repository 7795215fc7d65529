"""The loop over cells that each fold many finer ones: a cell at a time, in lanes."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from tiltpy.abi.signature import Shape
from tiltpy.aggregates.aggregate import Aggregate, State
from tiltpy.aggregates.built_in import COUNT, aggregate_for
from tiltpy.aggregates.finalize import finish_cells
from tiltpy.aggregates.pane_fold import Pane
from tiltpy.aggregates.pane_passes import fold_pane
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.cell_arrays import CellArrays, CellIndex, cell_at
from tiltpy.emit.join_snapshots import begins_by_value, unsign_zeros
from tiltpy.emit.references import reductions
from tiltpy.emit.values import LoopValue, Reading, lower_expr, zero
from tiltpy.ir.nodes import (
    At,
    CutPoint,
    CutTime,
    CutWindow,
    Expr,
    InlinedCut,
    Reduce,
    TemporalExpr,
    Time,
    Window,
)
from tiltpy.loops.build import TRUE, add, conj, disj, i64, lt, mul, negate, sub
from tiltpy.loops.nodes import Bin, Extract, LExpr, Var
from tiltpy.lowering.vector.cell_values import Outcome
from tiltpy.lowering.vector.pane_ring import Hop, PaneRing
from tiltpy.plan.cell_geometry import WindowCells
from tiltpy.plan.vector_plan import VectorPlan
from tiltpy.types import BOOL, I64


class PaneLoop:
    """A loop over panes, which its objects fold."""

    def __init__(
        self,
        plan: VectorPlan,
        builder: KernelBuilder,
        stored: Mapping[str, CellArrays],
        low: LExpr,
    ) -> None:
        self.plan = plan
        self.builder = builder
        self.stored = stored
        self.low = low
        self.block = Block(builder)
        self.cell: LExpr = i64(0)
        self.reader: TemporalExpr
        self.states: dict[tuple[Window, Expr, Aggregate], State] = {}
        self.before: list[tuple[Var, LExpr]] = []
        self.rings: dict[tuple[Window, Expr], PaneRing] = {}

    def shape(self) -> Shape:
        """The shape of the loop."""
        return Shape.PANES

    def structures(self) -> tuple[str, ...]:
        """The structures of its windows: there are none."""
        return ()

    def oldest(self, name: str) -> int:
        """The cell after the counter's from which on windows slide: there are none."""
        del name
        return 0

    def enter(self, tile: Block, first: LExpr) -> None:
        """Enter the loop over a tile: nothing is common to its cells."""

    has_blocks = False
    """No state depends on where blocks begin: panes are folded one by one."""

    def start(self, block: Block, begin: LExpr) -> None:
        """Start: the pane before the first was empty."""
        del begin
        for var, _ in self.before:
            block.set(var, zero(var.type))
        for ring in self.rings.values():
            ring.start(block)

    def advance(self, block: Block) -> None:
        """End a round of the loop."""
        for var, count in self.before:
            block.set(var, count)

    def define(self, block: Block, cell: Var, definition: TemporalExpr) -> Outcome:
        """Append what computes an object in the cell that is counted."""
        self.block, self.cell, self.reader = block, cell, definition
        if not self.states:
            self._fold_together()
        value = lower_expr(block, self._leaf, definition.body)
        if definition.distinct:
            value = unsign_zeros(block, value)
            name = definition.name
            return Outcome(value, begins_by_value(block, name, value, self._earlier))
        begins = self._begins(definition, value)
        return Outcome(value, begins)

    def _leaf(self, node: Reading) -> LoopValue:
        match node:
            case At(object=name, offset=offset):
                step = self.plan.geometry.point(self.reader, CutPoint(name, offset))
                stored = self.stored[name]
                axis = self.plan.geometry.axes[self.reader.name]
                at = cell_at(self.cell, step, stored.shift(self.block, axis))
                return stored.value(self.block, at)
            case Time(offset=offset):
                ticks = mul(add(self.cell, i64(1)), i64(self.reader.tdom.precision))
                time = add(add(self.low, ticks), i64(offset))
                return LoopValue(node.type, time, TRUE)
            case Reduce():
                return self._reduce(node)
            case _:
                raise AssertionError(f"{node} beside panes")

    # Windows

    def _pane(self, window: Window, element: Expr) -> Pane:
        seen = self.plan.geometry.window(self.reader, window)
        assert seen.newest.is_strided, "windows have one number of cells"
        base = self.block.name("base", cell_at(self.cell, seen.oldest).base)
        return Pane(self.stored[window.object], element, base, seen.cells)

    def _fold_together(self) -> None:
        """Fold what needs one pass: all reductions of a window, whoever's they are."""
        groups: dict[tuple[Window, Expr], set[str]] = {}
        stage = self.plan.stage_of[self.reader.name]
        for node in (n for each in stage.definitions for n in reductions(each)):
            key = node.window, node.element
            groups.setdefault(key, set()).add(node.reduction)
        for key, names in groups.items():
            self._fold_window(*key, names)

    def _fold_window(self, window: Window, element: Expr, names: set[str]) -> None:
        pane = self._pane(window, element)
        seen = self.plan.geometry.window(self.reader, window)
        if seen.overlaps:
            states = self._hopping(window, pane, seen, names)
        else:
            fetch = all(seen != window for seen, *_ in self.states)
            states = fold_pane(self.block, pane, names, fetch=fetch)
        for aggregate, state in states.items():
            self.states[window, element, aggregate] = state

    def _hopping(
        self, window: Window, pane: Pane, seen: WindowCells, names: set[str]
    ) -> dict[Aggregate, State]:
        """Windows that overlap: of panes which they share."""
        hop = Hop.of(seen.cells, seen.newest.times)
        assert pane.source.begins is None, "panes that are shared share no snapshot"
        geometry, precision = self.plan.geometry, self.reader.tdom.precision
        first = Bin("//", sub(self.low, i64(geometry.low)), i64(precision), I64)
        ring = PaneRing(self.builder, hop, self.block.name("first", first))
        self.rings[window, pane.element] = ring
        fold = partial(fold_pane, names=names)
        return ring.window(self.block, self.cell, pane, fold)

    def _reduce(self, node: Reduce) -> LoopValue:
        window, element = node.window, node.element
        count = self._count(window, element)
        if node.reduction == "count":
            return LoopValue(node.type, count, TRUE)
        aggregate = aggregate_for(
            node.reduction, element.type, self.builder.user_reductions
        )
        state = self.states[window, element, aggregate]
        certain = self._pane(window, element).certain(self.block)
        cells = self.plan.geometry.window(self.reader, window).cells
        result = finish_cells(
            self.block, node, state, count, certain=certain, cells=cells
        )
        if result.fields:
            return result
        return replace(result, value=self.block.name("v", result.scalar))

    def _count(self, window: Window, element: Expr) -> LExpr:
        known = self.states.get((window, element, COUNT))
        if known is not None:
            return known[0]
        return self._pane(window, element).size

    # Where snapshots begin

    def _begins(self, definition: TemporalExpr, value: LoopValue) -> LExpr | None:
        """The mask of beginning snapshots; None: wherever there is a value."""
        cuts = []
        for cut in definition.cuts:
            match cut:
                case CutTime() | CutPoint():  # of one with a snapshot in every cell
                    return None
                case CutWindow(window=window, element=element):
                    cuts.append(self._window_cuts(window, element))
                case InlinedCut():
                    raise AssertionError("an object that was fused in beside panes")
        cut_here = disj(*cuts)
        if cut_here == TRUE:
            return None
        if value.valid == TRUE:
            return self.block.name("cut", cut_here)
        valid = self.block.name("ok", value.valid)
        before = self.builder.fresh("was", BOOL)
        self.before.append((before, valid))
        begins = conj(valid, disj(cut_here, negate(before)))
        return self.block.name("begins", begins)

    def _earlier(self, name: str, value: LExpr) -> LExpr:
        """Return the value of the cell before."""
        before = self.builder.fresh(name, value.type)
        self.before.append((before, self.block.name("now", value)))
        return before

    def _window_cuts(self, window: Window, element: Expr) -> LExpr:
        """Test whether other snapshots contribute than to the pane before."""
        pane = self._pane(window, element)
        if pane.certain(self.block):
            return TRUE
        if (window, element, COUNT) not in self.states:  # no reduction needs it
            self._fold_window(window, element, {"count"})
        count = self._count(window, element)
        before = self.builder.fresh("count.before")
        self.before.append((before, count))
        if (window, element) in self.rings:
            come = self.rings[window, element].entered
            gone = sub(add(before, come), count)
            return self.block.name("some", disj(lt(i64(0), come), lt(i64(0), gone)))
        occupied = self.block.name("some", disj(lt(i64(0), count), lt(i64(0), before)))
        if pane.source.begins is None:
            return occupied
        return conj(occupied, self._differ(pane, count, before))

    def _differ(self, pane: Pane, count: LExpr, before: LExpr) -> LExpr:
        """Test whether both panes hold more than one snapshot that continues."""
        first = CellIndex(pane.base)
        goes_on = pane.value(self.block, first).valid
        begins = pane.source.beginning(self.block, first)
        fresh = Extract(begins, 0, BOOL)
        alone = conj(lt(count, i64(2)), lt(before, i64(2)), Extract(goes_on, 0, BOOL))
        return disj(fresh, lt(i64(1), count), lt(i64(1), before), negate(alone))
