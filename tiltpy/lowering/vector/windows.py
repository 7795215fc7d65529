"""Windows of the objects that a loop over lanes sees, one for each lane's cell.

Those that move on with the cells are made of their neighbours' (`folds`). Those whose
cells are a few finer ones are gathered, each lane its own.
"""

from dataclasses import replace
from functools import partial

from tiltpy.abi.signature import LANES
from tiltpy.aggregates.aggregate import Aggregate, State, lift_where, name_state
from tiltpy.aggregates.built_in import (
    EXISTS,
    aggregate_for,
    narrow_aggregate,
    short_count,
    value_aggregate,
)
from tiltpy.aggregates.central_moments import (
    MOST_ABOUT_LAST,
    ORDERS,
    SHORT_VARIANCE,
    about_last,
    moments_about,
    uses_masked_variance,
)
from tiltpy.aggregates.finalize import OCCUPIED, finish_cells
from tiltpy.aggregates.masked_variance import MaskedVariance, Values, in_lanes
from tiltpy.aggregates.user_defined import bounded_aggregate
from tiltpy.emit.builder import Block
from tiltpy.emit.cell_arrays import CellIndex
from tiltpy.emit.references import reductions
from tiltpy.emit.values import Leaf, LoopValue, numbers_of, with_numbers
from tiltpy.ir.nodes import Expr, Reduce, TemporalExpr
from tiltpy.ir.reductions import picked_bound
from tiltpy.ir.traversal import sees_more
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import TRUE, add, conj, i64, sub
from tiltpy.loops.nodes import LExpr, Num, Splat
from tiltpy.lowering.vector.carried_values import CarriedValues
from tiltpy.lowering.vector.counted_windows import CountedWindows
from tiltpy.lowering.vector.doubling_windows import WindowFold
from tiltpy.lowering.vector.lane_fill import Side
from tiltpy.lowering.vector.operands import LaneView
from tiltpy.lowering.vector.pivots import Pivots
from tiltpy.lowering.vector.presence import Presence
from tiltpy.lowering.vector.quantiles import lower_order
from tiltpy.lowering.vector.short_variance import (
    is_short_variance,
    lower_short_variance,
)
from tiltpy.ops import WHOLE_WINDOW
from tiltpy.plan.cell_geometry import WindowCells
from tiltpy.types import F32, F64, Scalar


@dataclass(frozen=True, slots=True)
class StoredCells:
    """The cells of an input's windows, of which a loop takes in those at `anchor`."""

    view: LaneView
    name: str
    element: Expr
    aggregate: Aggregate
    anchor: int

    def _index(self, block: Block, ago: LExpr) -> CellIndex:
        now = add(self.view.cell, i64(self.anchor))
        return CellIndex(block.name("base", sub(now, ago)))

    def lift(self, block: Block, ago: LExpr) -> State:
        """The states of the vector of cells that was taken in so many cells ago."""
        index = self._index(block, ago)
        value = self.view.element(block, self.name, self.element, index)
        return self.lift_inside(block, value, index)

    def lift_inside(self, block: Block, value: LoopValue, index: CellIndex) -> State:
        """The states of a vector of cells; of those that do not exist, the identity."""
        aggregate, cells = self.aggregate, self.view.stored[self.name]
        at = cells.at(index)
        at = replace(at, base=block.name("at", at.base))
        state = tuple(block.builder.fresh("lifted", kind) for kind in aggregate.types)
        wholly, partly = block.inner(), block.inner()
        lifted = aggregate.lift(wholly, i64(0), value)
        for var, number in zip(state, lifted, strict=True):
            wholly.set(var, Splat(number, var.type))
        inside = partly.name("inside", cells.inside(at))
        lifted = lift_where(partly, aggregate, value, inside, i64(0))
        for var, number in zip(state, lifted, strict=True):
            partly.set(var, number)
        block.either(cells.is_inside(at), wholly, partly)
        return state

    def prefetch(self, block: Block, ago: int) -> None:
        """Prefetch the vector so many cells ago."""
        now = add(self.view.cell, i64(self.anchor))
        self.view.stored[self.name].prefetch_lines(block, now, -ago)


class LaneWindows:
    """All windows of a loop; those of one element share what they are made of."""

    def __init__(self, view: LaneView, leaf: Leaf) -> None:
        self.view = view
        self.counted = CountedWindows(view, leaf)
        self.carried = CarriedValues(view)
        self.presence = Presence(view)
        self.pivots: list[Pivots] = []
        self.folds: dict[tuple[str, Expr, Aggregate], WindowFold] = {}
        self.ends: dict[tuple[str, Expr], tuple[int, int]] = {}

    @property
    def has_blocks(self) -> bool:
        """Test whether states of some windows depend on where blocks begin."""
        folds = self.folds.values()
        return any(blocks.rounds for fold in folds for blocks in fold.blocks)

    def start(self, block: Block, vector: LExpr) -> None:
        """Set the variables before the loop, whose first round has a `vector`."""
        self.counted.start(block)
        self.carried.start(block)
        self.presence.start(block)
        for pivots in self.pivots:
            pivots.start(block)
        for fold in self.folds.values():
            fold.start(block, vector)

    def advance(self, block: Block) -> None:
        """End a round of the loop."""
        self.presence.advance(block)
        for fold in self.folds.values():
            fold.advance(block)

    def reduce(self, node: Reduce) -> LoopValue:
        """Lower a reduction over the window of each lane."""
        seen = self.view.plan.geometry.window(self.view.reader, node.window)
        if sees_more(node):
            newest = self.view.after(seen.newest)
            return self.counted.count_matches(node, newest, seen.cells)
        if seen.newest.is_regular:
            return self._sliding(node, seen)
        return self._gather(node, seen)

    # Windows that move on with the cells

    def _sliding(self, node: Reduce, seen: WindowCells) -> LoopValue:
        view, name, element = self.view, node.window.object, node.element
        certain = view.certain(name, element)
        newest, cells = view.after(seen.newest), seen.cells
        if node.reduction in ("first", "last"):
            value = view.trial(name, element)
            if value.valid == TRUE:
                at = view.after(seen.oldest) if node.reduction == "first" else newest
                return view.element(view.block, name, element, at)
            side: Side = "last" if node.reduction == "last" else "first"
            if self._is_carried(name, side):
                return self.carried.window(side, name, element, newest, cells)
            scalars = (number.type for number in numbers_of(value))
            aggregate = value_aggregate(node.reduction, *scalars)
            state = self._window(node, aggregate, newest, cells, certain=False)
            return with_numbers(value, state[0], state[1:])
        if node.reduction == "nunique":
            return self.counted.count_different(node, newest, cells)
        if node.reduction in WHOLE_WINDOW:
            return lower_order(view, node, newest, cells)
        if node.reduction == "count":
            count = self._count(node, newest, cells, certain=certain)
            return finish_cells(
                view.block, node, (), count, certain=certain, cells=cells
            )
        if certain and is_short_variance(view, node, cells):
            moments = self._window(node, SHORT_VARIANCE, newest, cells, certain=True)
            return lower_short_variance(view, node, moments, newest, cells)
        masked = self._most_masked(node)
        if not certain and uses_masked_variance(node, cells, masked):
            count = self._count(node, newest, cells, certain=False)
            values = self._values(node, newest, cells)
            total = None
            if element.type == F32:
                aggregate = narrow_aggregate("sum", F32, view.builder.user_reductions)
                (total,) = self._window(node, aggregate, newest, cells, certain=False)
            spread = MaskedVariance(view.builder, node, values)
            return spread.value(view.block, count, total)
        user_reductions = view.builder.user_reductions
        if node.bounds:
            reduction = user_reductions[node.reduction]
            bound = picked_bound(reduction)
            side = "last" if bound == "end" else "first"
            if bound is not None and not certain and self._is_carried(name, side):
                return self.carried.window(side, name, element, newest, cells, bound)
            aggregate = bounded_aggregate(reduction, partial(self._bounds, name))
        else:
            aggregate = narrow_aggregate(node.reduction, element.type, user_reductions)
        if not certain and self._combines_about(node, cells):
            about = about_last(self._counts(node).types[0])
            state = self._window(node, about, newest, cells, certain=False)
            moments = name_state(view.block, "w", moments_about(state))
            return finish_cells(
                view.block, node, moments, moments[0], certain=False, cells=cells
            )
        state = self._window(node, aggregate, newest, cells, certain=certain)
        counted = node.reduction not in user_reductions
        if not certain and node.reduction in OCCUPIED:
            result = finish_cells(
                view.block, node, state, i64(1), certain=False, cells=cells
            )
            return replace(result, valid=self._exists(node, newest, cells))
        count = self._count(node, newest, cells, certain=certain or not counted)
        if node.type == F32 and state[0].type == F64:
            # Beside a fold of doubles a division of all lanes takes no time of its own.
            count = Splat(count, count.type)
        return finish_cells(
            view.block, node, state, count, certain=certain, cells=cells
        )

    def _is_carried(self, name: str, side: Side) -> bool:
        """Decide whether a value is carried: a first one from memory that is ahead."""
        geometry = self.view.plan.geometry
        ahead = geometry.sampled(name) and name not in geometry.slow_inputs
        return side == "last" or ahead

    def _combines_about(self, node: Reduce, cells: int) -> bool:
        """Decide whether a variance is of deviations from a window's last value."""
        if ORDERS.get(node.reduction) != 2:
            return False
        assert isinstance(node.element.type, Scalar)
        single = node.element.type == F32
        return cells <= MOST_ABOUT_LAST[F32 if single else F64]

    def _most_masked(self, node: Reduce) -> int:
        """The most cells whose variance is made of their values.

        Doubles take twice as many vectors. To combine states costs half as much where
        no snapshot is longer than a cell.
        """
        most = self.view.builder.costs.masked_variance_cells
        if node.element.type != F32:
            most //= 2
        if self.view.source(node.window.object).always_begins:
            most //= 2
        return most

    def _bounds(self, name: str, start: LExpr) -> tuple[LExpr, LExpr]:
        """The bounds of the snapshots in cells, of which each has one of its own."""
        period = self.view.plan.geometry.axes[name].period
        return start, add(start, i64(period))

    def _count(self, node: Reduce, newest: int, cells: int, *, certain: bool) -> LExpr:
        """Count the snapshots that contribute."""
        if certain:
            return self.view.count_inside(node.window.object, newest, cells)
        counts = self._counts(node)
        (count,) = self._window(node, counts, newest, cells, certain=False)
        return count

    def _counts(self, node: Reduce) -> Aggregate:
        """The counts of all windows of an element."""
        readers = self._readers(node.window.object, node.element)
        return short_count(max(seen.cells for _, seen in readers))

    def _exists(self, node: Reduce, newest: int, cells: int) -> LExpr:
        """Test whether any snapshot contributes."""
        if cells > LANES:
            window = node.window.object, node.element
            return self.presence.window(*window, newest, cells)
        (exists,) = self._window(node, EXISTS, newest, cells, certain=False)
        return exists

    def _values(self, node: Reduce, newest: int, cells: int) -> Values:
        """Load the values of a window; its first cell has what began before it."""
        view, name = self.view, node.window.object
        oldest = newest - cells + 1
        values = []
        for cell in range(oldest, newest + 1):
            value = view.element(view.block, name, node.element, cell)
            here = value.valid
            if cell > oldest and not view.source(name).always_begins:
                here = conj(here, view.beginning(name, cell))
            named = view.block.name("x", in_lanes(value)), view.block.name("in", here)
            values.append(named)
        return values

    def _window(
        self,
        node: Reduce,
        aggregate: Aggregate,
        newest: int,
        cells: int,
        *,
        certain: bool,
    ) -> State:
        """Combine the state of a window; its first cell has what began before it."""
        view, name, element = self.view, node.window.object, node.element
        fold = self._fold(name, element, aggregate, certain=certain)
        _, anchor = self._ends(name, element)
        back = anchor - newest
        if not self._has_edge(name, aggregate):
            _, state = fold.window(view.block, cells, back)
            return state
        oldest = newest - cells + 1
        first = view.element(view.block, name, element, oldest)
        state = lift_where(view.block, aggregate, first, first.valid, i64(0))
        if cells == 1:
            return state
        wider, rest = fold.window(view.block, cells - 1, back)
        if wider != aggregate:
            state = aggregate.widen(state)
        merged = wider.combine(view.block, state, rest)
        return tuple(view.block.name("w", component) for component in merged)

    def _fold(
        self, name: str, element: Expr, aggregate: Aggregate, *, certain: bool
    ) -> WindowFold:
        """Make what all windows of an element are combined from.

        Its cells are taken in as early as the furthest window of the loop needs them.
        """
        key = name, element, aggregate
        if key not in self.folds:
            view = self.view
            first, anchor = self._ends(name, element)
            label = f"{name}.{aggregate.name}"
            lengths = {seen.cells for _, seen in self._readers(name, element)}
            if self._has_edge(name, aggregate):
                lengths = {cells - 1 for cells in lengths}
            back = anchor - first
            source = None
            if view.starts_empty(name):
                source = StoredCells(view, name, element, aggregate, anchor)
            fold = WindowFold(
                view.builder, label, aggregate, certain, lengths, back, source
            )
            value = view.element(view.block, name, element, anchor)
            if isinstance(value.value, Num):  # a number in a state is a count
                value = replace(value, value=Splat(value.value, value.value.type))
            contributes = value.valid
            if self._has_edge(name, aggregate):
                contributes = conj(value.valid, view.beginning(name, anchor))
            start = view.starts(name, anchor)
            if aggregate.name == "about":
                pivots = Pivots(view.block, name, value.scalar.type)
                self.pivots.append(pivots)
                lifted = pivots.lift(view.block, aggregate, value, contributes)
            elif source is None:
                lifted = lift_where(view.block, aggregate, value, contributes, start)
            else:
                index = view.index_after(name, anchor)
                lifted = source.lift_inside(view.block, value, index)
            fold.lift(view.block, lifted)
            self.folds[key] = fold
        return self.folds[key]

    def _has_edge(self, name: str, aggregate: Aggregate) -> bool:
        """Decide whether the oldest cell of a window is a case apart.

        What it holds may have begun before, and each snapshot is to be taken in once.
        """
        return not (aggregate.idempotent or self.view.source(name).always_begins)

    def _ends(self, name: str, element: Expr) -> tuple[int, int]:
        """The first and last of the cells after the counter's at which windows end."""
        if (name, element) not in self.ends:
            ends = [
                seen.newest.plus - self.view.plan.lags[reader.name]
                for reader, seen in self._readers(name, element)
            ]
            self.ends[name, element] = min(ends), max(ends)
        return self.ends[name, element]

    def _readers(
        self, name: str, element: Expr
    ) -> list[tuple[TemporalExpr, WindowCells]]:
        """Find who in the loop looks at windows of an element, and what each sees."""
        plan = self.view.plan
        return [
            (reader, plan.geometry.window(reader, node.window))
            for reader in plan.stage_of[self.view.reader.name].definitions
            for node in reductions(reader)
            if (node.window.object, node.element) == (name, element)
        ]

    # Short windows of finer cells

    def _gather(self, node: Reduce, seen: WindowCells) -> LoopValue:
        """Combine a whole window in each lane, which gathers its cells."""
        view, name, element = self.view, node.window.object, node.element
        assert seen.newest.is_strided, f"windows of ~{name} have one number of cells"
        assert view.certain(name, element), f"~{name} has a value in every cell"
        if node.reduction in ("first", "last"):
            step = seen.oldest if node.reduction == "first" else seen.newest
            return view.element(view.block, name, element, view.index(name, step))
        if node.reduction == "count":
            return LoopValue(node.type, i64(seen.cells), TRUE)
        aggregate = aggregate_for(
            node.reduction, element.type, view.builder.user_reductions
        )
        state: State | None = None
        for cell in range(seen.cells):
            at = view.index(name, seen.oldest.further(cell))
            value = view.element(view.block, name, element, at)
            lifted = lift_where(view.block, aggregate, value, TRUE, i64(0))
            if state is not None:
                lifted = aggregate.join(view.block, state, lifted, certain=True)
            state = tuple(view.block.name("w", component) for component in lifted)
        assert state is not None
        count = i64(seen.cells)
        return finish_cells(
            view.block, node, state, count, certain=True, cells=seen.cells
        )
