"""Cuts of objects that a loop over lanes computes: where their snapshots begin."""

from tiltpy.emit.axes import CellMap
from tiltpy.emit.builder import Block
from tiltpy.emit.cell_arrays import cell_at, cells_at
from tiltpy.emit.elements import FoldedElement, Names
from tiltpy.emit.join_snapshots import begins_by_value
from tiltpy.emit.values import Leaf, LoopValue, lower_expr
from tiltpy.ir.nodes import (
    Cut,
    CutPoint,
    CutTime,
    CutWindow,
    Expr,
    InlinedCut,
    TemporalExpr,
    Window,
)
from tiltpy.ir.traversal import sees_more
from tiltpy.loops.build import TRUE, conj, disj, eq, i64, ne, negate
from tiltpy.loops.nodes import Lane, LExpr
from tiltpy.lowering.vector.history import History
from tiltpy.lowering.vector.operands import LaneView
from tiltpy.types import I64


class LaneCuts:
    """The cuts of a loop's objects, and what they have to remember."""

    def __init__(self, view: LaneView, leaf: Leaf) -> None:
        self.view = view
        self.leaf = leaf
        self.histories: list[History] = []

    def start(self, block: Block) -> None:
        """Set the variables before the loop."""
        for history in self.histories:
            history.start(block)

    def advance(self, block: Block) -> None:
        """End a round of the loop."""
        for history in self.histories:
            history.advance(block)

    def begins(
        self, definition: TemporalExpr, value: LoopValue
    ) -> tuple[LExpr | None, LExpr]:
        """The mask of beginning snapshots, None wherever there is a value; its cuts.

        At those a snapshot begins if there is a value, whatever the cell before has.
        """
        if definition.distinct:
            name, block = definition.name, self.view.block
            begins = begins_by_value(block, name, value, self._before)
            return begins, begins
        if any(self._always(cut) for cut in definition.cuts):
            return None, TRUE
        cut = disj(*map(self._cuts, definition.cuts))
        if cut == TRUE:
            return None, TRUE
        block = self.view.block
        cut = block.name("cut", cut)
        if value.valid == TRUE:
            return cut, cut
        before = self._before(f"{definition.name}.was", value.valid)
        begins = conj(value.valid, disj(cut, negate(before)))
        return block.name("begins", begins), cut

    def _before(self, name: str, flags: LExpr) -> LExpr:
        """The flags, or the values, of the cells one earlier."""
        history = History(self.view.builder, name, flags.type)
        history.set(self.view.block, flags)
        self.histories.append(history)
        return history.at(self.view.block, 1)

    def _always(self, cut: Cut) -> bool:
        """Decide whether each cell sees other snapshots than the one before."""
        geometry, reader = self.view.plan.geometry, self.view.reader
        match cut:
            case CutTime():
                return True
            case CutPoint(object=name):
                source, step = self.view.source(name), geometry.point(reader, cut)
                dense = source.complete and source.always_begins
                return dense and step.times >= step.over
            case CutWindow() if sees_more(cut):
                return False
            case CutWindow(window=window, element=element):
                step = geometry.newest(reader, window)
                moves = step.times >= step.over
                return moves and self.view.certain(window.object, element)
            case InlinedCut():
                return False

    def _cuts(self, cut: Cut) -> LExpr:
        match cut:
            case CutTime():
                return TRUE
            case CutPoint(object=name):
                return self._point(
                    name, self.view.plan.geometry.point(self.view.reader, cut)
                )
            case CutWindow(window=window, element=element):
                return self._window(window, element, sees_present=sees_more(cut))
            case InlinedCut(value=value, cuts=cuts):
                return self._inlined_cut(value, cuts)

    def _inlined_cut(self, value: Expr, cuts: tuple[Cut, ...]) -> LExpr:
        """An object that was fused in: its cuts count where it is no gap."""
        block = self.view.block
        inner = disj(*map(self._cuts, cuts))
        now = block.name("is", lower_expr(block, self.leaf, value).valid)
        if now == TRUE:
            return inner
        before = self._before(f"{self.view.reader.name}.inlined", now)
        return block.name("cut", conj(inner, disj(now, before)))

    def _point(self, name: str, step: CellMap) -> LExpr:
        view = self.view
        if step.is_regular:
            return view.changes(name, view.after(step))
        assert step.times <= step.over, f"cells of ~{name} between those that are seen"
        if view.stays(name, step):
            changes = view.stored[name].change(view.tile, view.index_in_tile(step))
            here = view.block.name("moves", conj(eq(view.cell, view.first), changes))
            return view.block.name("cut", conj(here, eq(Lane(I64), i64(0))))
        at = view.index(name, step)
        before = step.earlier(view.lag + 1)
        if at.single:  # only the first lane can be in another cell than the one before
            moves = ne(at.base, cell_at(view.cell, before).base)
            other = conj(eq(Lane(I64), i64(0)), view.block.name("moves", moves))
            changes = view.stored[name].change(view.block, at)
        else:
            earlier = cells_at(view.cell, before, view.shift(name))
            other = at.enters if at.steps else ne(at.cell(), earlier.cell())
            changes = view.stored[name].change(view.block, at, earlier)
        return view.block.name("cut", conj(other, changes))

    def _window(self, window: Window, element: Expr, *, sees_present: bool) -> LExpr:
        """Cut where a snapshot that contributes enters the window, or leaves it.

        One that sees the present does if it would contribute now.
        """
        view, name = self.view, window.object
        present: Names | None = None
        if sees_present:
            folded = FoldedElement.of(element)
            element, present = folded.element, folded.values(view.block, self.leaf)
        step = view.plan.geometry.newest(view.reader, window)
        assert step.is_regular, f"windows of ~{name} move on with its cells"
        newest = view.after(step)
        new = view.element(view.block, name, element, newest, present).valid
        if window.folds_on:
            return view.block.name("cut", conj(new, view.changes(name, newest)))
        oldest = view.after(view.plan.geometry.window(view.reader, window).oldest)
        gone = view.element(view.block, name, element, oldest - 1, present).valid
        if view.source(name).always_begins:  # then each that contributes is another
            return view.block.name("cut", disj(new, gone))
        comes = conj(new, view.changes(name, newest))
        goes = conj(gone, view.changes(name, oldest))
        return view.block.name("cut", disj(comes, goes))
