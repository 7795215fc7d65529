"""The loop over cells that each fold many finer ones: a cell at a time, in lanes."""

from collections.abc import Mapping
from dataclasses import replace
from math import gcd

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
from tiltpy.loops.build import (
    TRUE,
    add,
    conj,
    disj,
    i64,
    load,
    lt,
    mul,
    negate,
    sub,
)
from tiltpy.loops.nodes import (
    Array,
    Bin,
    Extract,
    For,
    LExpr,
    Num,
    Store,
    Var,
    While,
)
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
from tiltpy.lowering.reducers import (
    COUNT,
    Kept,
    State,
    finish,
    kept_for,
    moments_of,
)
from tiltpy.lowering.references import reductions
from tiltpy.lowering.stages import Grid, Unfit
from tiltpy.lowering.values import Lowered, lower_expr, zero
from tiltpy.types import BOOL, I64, Scalar

NEVER = -(1 << 62)
"""Earlier than every pane."""
SMALLEST_PANE = 16
"""Cells of a pane of windows that overlap, at least."""
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
        self.before: list[tuple[Var, LExpr]] = []
        self.done: list[Var] = []

    def shape(self) -> Shape:
        """What it is."""
        return Shape.PANES

    def start(self, block: Block) -> None:
        """Before the loop: the pane before the first was empty."""
        for var, _ in self.before:
            block.set(var, zero(var.type))
        for var in self.done:
            block.set(var, i64(NEVER))

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
        stride = self.grid.window(self.reader, window).newest.times
        if pane.cells > stride:
            found = self._hopping(pane, stride, names)
        else:
            found = self._states(self.block, pane, names)
        for kept, state in found.items():
            self.states[window, element, kept] = state

    def _states(self, block: Block, pane: Pane, names: set[str]) -> dict[Kept, State]:
        """What the reductions of a pane need; moments take a second pass."""
        lifts: dict[Kept, Lift] = {}
        for name in sorted(names.difference(_ORDERS, ("count",))):
            kept = _kept(name, pane.element)
            lifts[kept] = lift_with(pane, kept)
        if not pane.certain(block):
            lifts[COUNT] = lift_with(pane, COUNT)
        orders = sorted({_ORDERS[name] for name in names.intersection(_ORDERS)})
        origin: LExpr = i64(0)
        if orders:
            origin = block.name("origin", some_value(block, pane))
            lifts[DEVIATIONS] = deviations_from(pane, origin)
        fetch = pane.source.start is not None
        found = fold(block, pane, lifts, fetch=fetch) if lifts else {}
        count = found[COUNT][0] if COUNT in found else i64(pane.cells)
        for order in orders:
            first = origin, found[DEVIATIONS][0]
            found[moments_of(order)] = moments(block, pane, order, count, first)
        return found

    def _hopping(self, pane: Pane, stride: int, names: set[str]) -> dict[Kept, State]:
        """Windows that overlap, of panes that are folded once.

        A ring has the states of the panes of a window; those that are new at a cell are
        made, then all are merged.
        """
        size = gcd(stride, pane.cells)
        panes = pane.cells // size
        if size < SMALLEST_PANE or not pane.certain(self.block):
            raise Unfit(f"windows of ~{pane.source.name} have no common panes")
        fresh, block = self.assembly.fresh, self.block
        done = fresh("pane")
        self.done.append(done)
        begin = block.name("begin", mul(self.cell, i64(stride // size)))
        end = block.name("end", add(begin, i64(panes)))
        late = block.inner()
        late.set(done, begin)
        block.when(lt(done, begin), late)
        make = block.inner()
        offset = make.name("at", add(pane.base, mul(sub(done, begin), i64(size))))
        found = self._states(make, replace(pane, base=offset, cells=size), names)
        rings = {kept: self._ring(kept, state, panes) for kept, state in found.items()}
        place = make.name("place", Bin("%", done, i64(panes), I64))
        for kept, state in found.items():
            for ring, part in zip(rings[kept], state, strict=True):
                if ring is not None:
                    make.add(Store(ring, place, part))
        make.set(done, add(done, i64(1)))
        block.add(While(lt(done, end), make.body()))
        return {
            kept: self._merged(kept, found[kept], rings[kept], begin, end, panes)
            for kept in found
            if kept != DEVIATIONS
        }

    def _ring(self, kept: Kept, state: State, panes: int) -> tuple[Array | None, ...]:
        """An array for each part of a state that is not the same for all panes."""
        return tuple(
            None
            if isinstance(part, Num)
            else self.assembly.temporary(f"{kept.name}.panes", scalar, (), panes)
            for part, scalar in zip(state, kept.types, strict=True)
        )

    def _merged(
        self,
        kept: Kept,
        one: State,
        rings: tuple[Array | None, ...],
        begin: LExpr,
        end: LExpr,
        panes: int,
    ) -> State:
        """All states in a ring as one, the oldest first."""
        block, fresh = self.block, self.assembly.fresh
        state = tuple(fresh(kept.name, scalar) for scalar in kept.types)
        for var, nothing in zip(state, kept.identity, strict=True):
            block.set(var, nothing)
        at = fresh("pane")
        inner = block.inner()
        place = inner.name("place", Bin("%", at, i64(panes), I64))
        newer = tuple(
            part if ring is None else inner.name("p", load(ring, place))
            for part, ring in zip(one, rings, strict=True)
        )
        merged = [inner.name("m", part) for part in kept.merge(state, newer)]
        for var, part in zip(state, merged, strict=True):
            inner.set(var, part)
        block.add(For(at, begin, end, inner.body()))
        return state

    def _reduce(self, node: Reduce) -> Lowered:
        window, element = node.window, node.element
        count = self._count(window, element)
        if node.reduction == "count":
            return Lowered(node.type, count, TRUE)
        state = self.states[window, element, _kept(node.reduction, element)]
        value, valid = finish(node, state, count)
        pane = self._pane(window, element)
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
        if (window, element, COUNT) not in self.states:  # no reduction needs it
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
    if reduction in _ORDERS:
        return moments_of(_ORDERS[reduction])
    kind = element.type
    return kept_for(reduction, kind if isinstance(kind, Scalar) else BOOL)
