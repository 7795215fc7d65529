"""Windows of the objects that a loop over lanes sees, one for each lane's cell.

Those that move on with the cells are made of their neighbours' (`folds`). Those whose
cells are a few finer ones are gathered, each lane its own.
"""

from dataclasses import replace

from tiltpy.aggregates.aggregate import Aggregate, State, lift_where
from tiltpy.aggregates.built_in import SHORT_COUNT, aggregate_for, narrow_aggregate
from tiltpy.aggregates.central_moments import SHORT_VARIANCE, uses_masked_variance
from tiltpy.aggregates.finalize import finish_cells
from tiltpy.aggregates.masked_variance import MaskedVariance, Values, in_lanes
from tiltpy.emit.builder import Block
from tiltpy.emit.references import reductions
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, Reduce, TemporalExpr
from tiltpy.loops.build import TRUE, conj, i64
from tiltpy.loops.nodes import LExpr, Num, Splat
from tiltpy.lowering.vector.doubling_windows import Fold
from tiltpy.lowering.vector.operands import LaneView
from tiltpy.lowering.vector.quantiles import lower_order
from tiltpy.lowering.vector.short_variance import is_short_spread, lower_short_spread
from tiltpy.ops import WHOLE_WINDOW
from tiltpy.plan.cell_geometry import WindowCells
from tiltpy.types import F32, F64


class LaneWindows:
    """All windows of a loop; those of one element share what they are made of."""

    def __init__(self, view: LaneView) -> None:
        self.view = view
        self.folds: dict[tuple[str, Expr, Aggregate], Fold] = {}
        self.ends: dict[tuple[str, Expr], tuple[int, int]] = {}

    def start(self, block: Block) -> None:
        """Before the loop."""
        for fold in self.folds.values():
            fold.start(block)

    def advance(self, block: Block) -> None:
        """At the end of a round."""
        for fold in self.folds.values():
            fold.advance(block)

    def reduce(self, node: Reduce) -> LoopValue:
        """A reduction over the window of each lane."""
        seen = self.view.plan.geometry.window(self.view.reader, node.window)
        if seen.newest.is_regular:
            return self._sliding(node, seen)
        return self._strided(node, seen)

    # Windows that move on with the cells

    def _sliding(self, node: Reduce, seen: WindowCells) -> LoopValue:
        view, name, element = self.view, node.window.object, node.element
        certain = view.certain(name, element)
        newest, cells = view.after(seen.newest), seen.cells
        if node.reduction in ("first", "last"):
            at = view.after(seen.oldest) if node.reduction == "first" else newest
            found = view.element(view.block, name, element, at)
            assert found.valid == TRUE, f"~{name} has a value in every cell"
            return found
        if node.reduction in WHOLE_WINDOW:
            return lower_order(view, node, newest, cells)
        if node.reduction == "count":
            count = self._count(node, newest, cells, certain=certain)
            return finish_cells(
                view.block, node, (), count, certain=certain, cells=cells
            )
        if certain and is_short_spread(view, node, cells):
            moments = self._window(node, SHORT_VARIANCE, newest, cells, certain=True)
            return lower_short_spread(view, node, moments, newest, cells)
        if not certain and uses_masked_variance(node, cells, view.builder.costs):
            count = self._count(node, newest, cells, certain=False)
            values = self._values(node, newest, cells)
            total = None
            if element.type == F32:
                kept = narrow_aggregate("sum", F32, view.builder.user_reductions)
                (total,) = self._window(node, kept, newest, cells, certain=False)
            spread = MaskedVariance(view.builder, node, values)
            return spread.value(view.block, count, total)
        kept = narrow_aggregate(
            node.reduction, element.type, view.builder.user_reductions
        )
        state = self._window(node, kept, newest, cells, certain=certain)
        count = self._count(node, newest, cells, certain=certain)
        if node.type == F32 and state[0].type == F64:
            # Beside a fold of doubles a division of all lanes takes no time of its own.
            count = Splat(count, count.type)
        return finish_cells(
            view.block, node, state, count, certain=certain, cells=cells
        )

    def _count(self, node: Reduce, newest: int, cells: int, *, certain: bool) -> LExpr:
        """How many snapshots contribute."""
        if certain:
            return i64(cells)
        (count,) = self._window(node, SHORT_COUNT, newest, cells, certain=False)
        return count

    def _values(self, node: Reduce, newest: int, cells: int) -> Values:
        """Those of a window's cells; of what began before it, its first cell has it."""
        view, name = self.view, node.window.object
        oldest = newest - cells + 1
        found = []
        for cell in range(oldest, newest + 1):
            value = view.element(view.block, name, node.element, cell)
            here = value.valid
            if cell > oldest and not view.source(name).always_begins:
                here = conj(here, view.beginning(name, cell))
            named = view.block.name("x", in_lanes(value)), view.block.name("in", here)
            found.append(named)
        return found

    def _window(
        self, node: Reduce, kept: Aggregate, newest: int, cells: int, *, certain: bool
    ) -> State:
        """The state of a window; of what began before it, its first cell has it."""
        view, name, element = self.view, node.window.object, node.element
        fold = self._fold(name, element, kept, certain=certain)
        _, anchor = self._ends(name, element)
        back = anchor - newest
        if view.source(name).always_begins:
            _, state = fold.window(view.block, cells, back)
            return state
        oldest = newest - cells + 1
        first = view.element(view.block, name, element, oldest)
        state = lift_where(view.block, kept, first, first.valid, i64(0))
        if cells == 1:
            return state
        wider, rest = fold.window(view.block, cells - 1, back)
        if wider != kept:
            state = kept.widen(state)
        merged = wider.combine(view.block, state, rest)
        return tuple(view.block.name("w", part) for part in merged)

    def _fold(
        self, name: str, element: Expr, kept: Aggregate, *, certain: bool
    ) -> Fold:
        """What all windows of an element are made of.

        Its cells are taken in as early as the furthest window of the loop needs them.
        """
        key = name, element, kept
        if key not in self.folds:
            view = self.view
            first, anchor = self._ends(name, element)
            label = f"{name}.{kept.name}"
            lengths = {seen.cells for _, seen in self._seen(name, element)}
            if not view.source(name).always_begins:  # the oldest cell is a case apart
                lengths = {cells - 1 for cells in lengths}
            back = anchor - first
            fold = Fold(view.builder, label, kept, certain, lengths, back)
            value = view.element(view.block, name, element, anchor)
            if isinstance(value.value, Num):  # a number in a state is a count
                value = replace(value, value=Splat(value.value, value.value.type))
            contributes = value.valid
            if not view.source(name).always_begins:
                contributes = conj(value.valid, view.beginning(name, anchor))
            lifted = lift_where(view.block, kept, value, contributes, i64(0))
            fold.lift(view.block, lifted)
            self.folds[key] = fold
        return self.folds[key]

    def _ends(self, name: str, element: Expr) -> tuple[int, int]:
        """The first and last of the cells after the counter's at which windows end."""
        if (name, element) not in self.ends:
            found = [
                seen.newest.plus - self.view.plan.lags[reader.name]
                for reader, seen in self._seen(name, element)
            ]
            self.ends[name, element] = min(found), max(found)
        return self.ends[name, element]

    def _seen(self, name: str, element: Expr) -> list[tuple[TemporalExpr, WindowCells]]:
        """Who in the loop looks at windows of an element, and what each sees."""
        plan = self.view.plan
        return [
            (reader, plan.geometry.window(reader, node.window))
            for reader in plan.stage_of[self.view.reader.name].definitions
            for node in reductions(reader)
            if (node.window.object, node.element) == (name, element)
        ]

    # Short windows of finer cells

    def _strided(self, node: Reduce, seen: WindowCells) -> LoopValue:
        """A window in whole: each lane gathers its own cells."""
        view, name, element = self.view, node.window.object, node.element
        assert seen.newest.is_strided, f"windows of ~{name} have one number of cells"
        assert view.certain(name, element), f"~{name} has a value in every cell"
        if node.reduction in ("first", "last"):
            step = seen.oldest if node.reduction == "first" else seen.newest
            return view.element(view.block, name, element, view.place(step))
        if node.reduction == "count":
            return LoopValue(node.type, i64(seen.cells), TRUE)
        kept = aggregate_for(node.reduction, element.type, view.builder.user_reductions)
        state: State | None = None
        for cell in range(seen.cells):
            at = view.place(seen.oldest.further(cell))
            value = view.element(view.block, name, element, at)
            lifted = lift_where(view.block, kept, value, TRUE, i64(0))
            if state is not None:
                lifted = kept.join(view.block, state, lifted, certain=True)
            state = tuple(view.block.name("w", part) for part in lifted)
        assert state is not None
        count = i64(seen.cells)
        return finish_cells(
            view.block, node, state, count, certain=True, cells=seen.cells
        )
