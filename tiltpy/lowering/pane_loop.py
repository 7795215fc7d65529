"""The loop over cells that each fold many finer ones: a cell at a time, in lanes."""

from collections.abc import Mapping

from tiltpy.abi import Shape
from tiltpy.ir.nodes import (
    At,
    CutPoint,
    CutTime,
    CutWindow,
    Element,
    EventBound,
    Expr,
    Reduce,
    TemporalExpr,
    Time,
    Window,
)
from tiltpy.loops.build import TRUE, add, conj, disj, i64, lt, mul, negate
from tiltpy.loops.nodes import Extract, LExpr, Var
from tiltpy.lowering.assembly import Assembly, Block
from tiltpy.lowering.objects import Place, Stored, single
from tiltpy.lowering.outcomes import Outcome
from tiltpy.lowering.panes import (
    DEVIATIONS,
    Lift,
    Pane,
    deviations_from,
    fold,
    lift_with,
    moments,
    some_value,
)
from tiltpy.lowering.reducers import COUNT, Kept, State, finish, kept_for
from tiltpy.lowering.references import reductions
from tiltpy.lowering.stages import Grid, Unfit
from tiltpy.lowering.values import Lowered, lower_expr, zero
from tiltpy.types import BOOL, Scalar

_ORDERS = {"var": 2, "std": 2, "skew": 3, "kurtosis": 4}


class PaneLoop:
    """One loop and the panes that its objects fold."""

    def __init__(
        self,
        grid: Grid,
        assembly: Assembly,
        stored: Mapping[str, Stored],
        low: LExpr,
    ) -> None:
        self.grid = grid
        self.assembly = assembly
        self.stored = stored
        self.low = low
        self.block = Block(assembly)
        self.cell: LExpr = i64(0)
        self.reader: TemporalExpr
        self.states: dict[tuple[Window, Expr, Kept], State] = {}
        self.origins: dict[tuple[Window, Expr], LExpr] = {}
        self.before: list[tuple[Var, LExpr]] = []

    def shape(self) -> Shape:
        """What it is."""
        return Shape.PANES

    def start(self, block: Block) -> None:
        """Before the loop: the pane before the first was empty."""
        for var, _ in self.before:
            block.set(var, zero(var.type))

    def advance(self, block: Block) -> None:
        """At the end of a round."""
        for var, count in self.before:
            block.set(var, count)

    def define(self, block: Block, cell: Var, definition: TemporalExpr) -> Outcome:
        """Append what computes an object in the cell that is counted."""
        self.block, self.cell, self.reader = block, cell, definition
        if not self.states:
            self._fold_together()
        value = lower_expr(block, self._leaf, definition.body)
        begins = self._begins(definition, value)
        return Outcome(value, begins)

    def _leaf(self, node: At | EventBound | Reduce | Time | Element) -> Lowered:
        match node:
            case At(object=name, offset=offset):
                step = self.grid.point(self.reader, CutPoint(name, offset))
                return self.stored[name].value(self.block, single(self.cell, step))
            case Time(offset=offset):
                ticks = mul(add(self.cell, i64(1)), i64(self.reader.tdom.precision))
                time = add(add(self.low, ticks), i64(offset))
                return Lowered(node.type, time, TRUE)
            case Reduce():
                return self._reduce(node)
            case _:
                raise Unfit("the bounds of an event beside panes")

    # Windows

    def _pane(self, window: Window, element: Expr) -> Pane:
        seen = self.grid.window(self.reader, window)
        if not seen.newest.strided:
            raise Unfit(f"a window of ~{window.object} has cells of varying number")
        base = self.block.name("base", single(self.cell, seen.oldest).base)
        return Pane(self.stored[window.object], element, base, seen.cells)

    def _fold_together(self) -> None:
        """Fold what needs one pass: all reductions of a window, whoever's they are."""
        groups: dict[tuple[Window, Expr], set[str]] = {}
        stage = self.grid.stage_of[self.reader.name]
        for node in (n for each in stage.definitions for n in reductions(each)):
            if node.reduction in ("first", "last"):
                raise Unfit(f"{node.reduction} of a pane")
            key = node.window, node.element
            groups.setdefault(key, set()).add(node.reduction)
        for key, names in groups.items():
            self._fold_window(*key, names)

    def _fold_window(self, window: Window, element: Expr, names: set[str]) -> None:
        pane = self._pane(window, element)
        lifts: dict[Kept, Lift] = {}
        for name in sorted(names.difference(_ORDERS, ("count",))):
            kept = _kept(name, element)
            lifts[kept] = lift_with(pane, kept)
        if not pane.certain(self.block):
            lifts[COUNT] = lift_with(pane, COUNT)
        if names.intersection(_ORDERS):
            origin = self.block.name("origin", some_value(self.block, pane))
            self.origins[window, element] = origin
            lifts[DEVIATIONS] = deviations_from(pane, origin)
        known = self.states
        lifts = {k: v for k, v in lifts.items() if (window, element, k) not in known}
        if lifts:
            fetch = pane.source.start is not None
            found = fold(self.block, pane, lifts, fetch=fetch)
            for kept, state in found.items():
                known[window, element, kept] = state

    def _reduce(self, node: Reduce) -> Lowered:
        window, element = node.window, node.element
        count = self._count(window, element)
        if node.reduction == "count":
            return Lowered(node.type, count, TRUE)
        pane = self._pane(window, element)
        kept = _kept(node.reduction, element)
        key = window, element, kept
        if key not in self.states:
            order = _ORDERS[node.reduction]
            (sum_,) = self.states[window, element, DEVIATIONS]
            first = self.origins[window, element], sum_
            self.states[key] = moments(self.block, pane, order, count, first)
        value, valid = finish(node, self.states[key], count)
        if pane.certain(self.block):
            valid = TRUE if node.ddof < pane.cells else lt(i64(1), i64(0))
        return Lowered(node.type, self.block.name("v", value), valid)

    def _count(self, window: Window, element: Expr) -> LExpr:
        known = self.states.get((window, element, COUNT))
        if known is not None:
            return known[0]
        return i64(self._pane(window, element).cells)

    # Where snapshots begin

    def _begins(self, definition: TemporalExpr, value: Lowered) -> LExpr | None:
        """Where one begins; None: wherever there is a value."""
        cuts = []
        for cut in definition.cuts:
            match cut:
                case CutTime():
                    return None
                case CutPoint(object=name):
                    step = self.grid.point(self.reader, cut)
                    source = self.stored[name]
                    regular = source.complete and source.always_begins
                    if regular and step.times >= step.over:
                        return None
                    raise Unfit(f"~{name} may have gaps beside panes")
                case CutWindow(window=window, element=element):
                    cuts.append(self._window_cuts(window, element))
                case _:
                    raise Unfit("an object that was fused in may be a gap")
        cut_here = disj(*cuts)
        if cut_here == TRUE:
            return None
        if value.valid == TRUE:
            return self.block.name("cut", cut_here)
        valid = self.block.name("ok", value.valid)
        before = self.assembly.fresh("was", BOOL)
        self.before.append((before, valid))
        begins = conj(valid, disj(cut_here, negate(before)))
        return self.block.name("begins", begins)

    def _window_cuts(self, window: Window, element: Expr) -> LExpr:
        """Whether other snapshots contribute than to the pane before."""
        pane = self._pane(window, element)
        if pane.certain(self.block):
            return TRUE
        seen = self.grid.window(self.reader, window)
        if seen.cells > seen.newest.times:
            raise Unfit(f"windows of ~{window.object} overlap and may have gaps")
        self._fold_window(window, element, {"count"})
        count = self._count(window, element)
        before = self.assembly.fresh("count.before")
        self.before.append((before, count))
        some = self.block.name("some", disj(lt(i64(0), count), lt(i64(0), before)))
        if pane.source.begins is None:
            return some
        if seen.cells != seen.newest.times:
            raise Unfit(f"a snapshot of ~{window.object} may lie between two panes")
        return conj(some, self._differ(pane, count, before))

    def _differ(self, pane: Pane, count: LExpr, before: LExpr) -> LExpr:
        """Unless one snapshot is all that both panes have."""
        first = Place(pane.base)
        goes_on = pane.value(self.block, first).valid
        begins = pane.source.beginning(self.block, first)
        fresh = Extract(begins, 0, BOOL)
        alone = conj(lt(count, i64(2)), lt(before, i64(2)), Extract(goes_on, 0, BOOL))
        return disj(fresh, lt(i64(1), count), lt(i64(1), before), negate(alone))


def _kept(reduction: str, element: Expr) -> Kept:
    kind = element.type
    return kept_for(reduction, kind if isinstance(kind, Scalar) else BOOL)
