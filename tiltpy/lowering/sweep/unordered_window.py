"""Windows over overlapping events, which are evicted in any order.

Where long events overlap short ones, the oldest does not leave first. The rows of the
window are leaves of a binary tree in order of start; each node has the combined states
of its leaves and the least of their ends. A row is inserted or evicted in logarithmic
time, and the root has the window's state.
"""

from tiltpy.aggregates.aggregate import Aggregate, State, lift_where
from tiltpy.aggregates.built_in import COUNT
from tiltpy.aggregates.finalize import finish
from tiltpy.aggregates.user_defined import Slide, slide_of
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import element_of, row_value
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Expr, Reduce, UserReduction, Window
from tiltpy.loops.build import (
    FALSE,
    INF,
    TRUE,
    add,
    disj,
    i64,
    le,
    least,
    load,
    lt,
    mul,
    select,
    sub,
)
from tiltpy.loops.nodes import Array, Bin, LExpr, Store, Var, While
from tiltpy.lowering.sweep.low_edge import LowEdge
from tiltpy.lowering.sweep.order_statistics import WholeWindow
from tiltpy.lowering.sweep.ranking import Rankings
from tiltpy.lowering.sweep.recomputed_window import ClipWatch, WindowRows, recompute
from tiltpy.lowering.sweep.window_elements import aggregate_of
from tiltpy.ops import WHOLE_WINDOW
from tiltpy.types import BOOL, I64, Scalar

_ONE, _TWO = i64(1), i64(2)


class UnorderedWindow:
    """A window over rows whose ends are in no order."""

    def __init__(
        self,
        builder: KernelBuilder,
        rows: ObjectRows,
        window: Window,
        low: LowEdge,
        *,
        rankings: Rankings,
    ) -> None:
        self.builder = builder
        self.rankings = rankings
        self.rows = rows
        self.window = window
        self.label = f"{rows.name}.tree"
        self.next = builder.fresh(f"{self.label}.next")
        self.leaves = builder.fresh(f"{self.label}.leaves")
        self.ends = self._array("ends", I64)
        self.states: dict[tuple[Expr, Aggregate], tuple[Array, ...]] = {}
        self.changed: dict[Expr, Var] = {}
        self.wholes: dict[Expr, WholeWindow] = {}
        self.low = low
        self.clips = ClipWatch(window, low)
        self.oldest: Var | None = None
        self.now: LExpr = i64(0)

    def _array(self, name: str, scalar: Scalar) -> Array:
        # At least two nodes a leaf, and leaves rounded up to a power of two.
        return self.builder.temporary(
            f"{self.label}.{name}", scalar, ((self.rows.name, 4),), 4
        )

    def reduce(self, node: Reduce) -> None:
        """Add a reduction over the window."""
        if self._recomputing_reduction(node) is not None:
            self._follow_oldest()
            return
        if node.reduction not in WHOLE_WINDOW:
            for aggregate in (COUNT, aggregate_of(self.builder, node)):
                self._add(node.element, aggregate)
            return
        if node.element not in self.wholes:
            ranking = self.rankings.of(self.rows, node.element)
            self.wholes[node.element] = WholeWindow(self.builder, ranking)
        self.wholes[node.element].reduce(node)

    def _recomputing_reduction(self, node: Reduce) -> UserReduction | None:
        """The user-defined reduction that recomputes the window, if it is one."""
        reduction = self.builder.user_reductions.get(node.reduction)
        if reduction is None:
            return None
        slide = slide_of(reduction, in_order=False, disjoint=False)
        return reduction if slide is Slide.RECOMPUTE else None

    def _follow_oldest(self) -> None:
        """Follow the oldest row, before which all have left, by a variable."""
        if self.oldest is None:
            self.oldest = self.builder.fresh(f"{self.label}.oldest")

    def _window_rows(self) -> WindowRows:
        """The rows from the oldest on, which include those in the window now."""
        assert self.oldest is not None
        low = self.low.at(self.now)
        high = add(self.now, i64(self.window.end))
        return WindowRows(self.rows, self.oldest, self.next, low, high, mixed=True)

    def _add(self, element: Expr, aggregate: Aggregate) -> None:
        if (element, aggregate) not in self.states:
            self.states[element, aggregate] = tuple(
                self._array(aggregate.name, scalar) for scalar in aggregate.types
            )

    def cut(self, element: Expr, *, bounds: bool) -> LExpr:
        """Whether other snapshots contribute than at the visit before.

        With `bounds`: or one is clipped elsewhere than at the grid point before.
        """
        if bounds:
            self._follow_oldest()
            clipped = self.clips.watch(self.builder, self.rows, element)
            return disj(clipped, self.cut(element, bounds=False))
        if element not in self.changed:
            self.changed[element] = self.builder.fresh(f"{self.label}.changed", BOOL)
            self._add(element, COUNT)
        return self.changed[element]

    def start(self, block: Block) -> None:
        """Clear a tree with a leaf for every row, and one more that stays empty.

        Its identity makes a sum of -0.0 the +0.0 that it is in all other loops.
        """
        for whole in self.wholes.values():
            whole.start(block)
        block.set(self.next, i64(0))
        if self.oldest is not None:
            block.set(self.oldest, i64(0))
        block.set(self.leaves, _ONE)
        grow = block.inner()
        grow.set(self.leaves, mul(self.leaves, _TWO))
        block.add(While(le(self.leaves, self.rows.count), grow.body()))
        node = self.builder.fresh(f"{self.label}.node")
        block.set(node, i64(0))
        clear = block.inner()
        self._clear(clear, node)
        clear.set(node, add(node, _ONE))
        block.add(While(lt(node, mul(self.leaves, _TWO)), clear.body()))

    def _clear(self, block: Block, node: LExpr) -> None:
        block.add(Store(self.ends, node, INF))
        for (_, aggregate), arrays in self.states.items():
            for array, value in zip(arrays, aggregate.identity, strict=True):
                block.add(Store(array, node, value))

    def advance(self, block: Block, now: LExpr) -> None:
        """Move to the loop's time."""
        low = block.name("low", self.low.at(now))
        high = block.name("high", add(now, i64(self.window.end)))
        for changed in self.changed.values():
            block.set(changed, FALSE)
        evictions = block.inner()
        self._evict(evictions, low)
        block.add(While(le(load(self.ends, _ONE), low), evictions.body()))
        arrivals = block.inner()
        insertion = arrivals.inner()
        self._insert(insertion)
        stays = lt(low, self.rows.end_at(self.next))
        arrivals.when(stays, insertion)
        arrivals.set(self.next, add(self.next, _ONE))
        block.add(While(lt(self.rows.start_or_never(self.next), high), arrivals.body()))
        self.now = now
        if self.oldest is not None:
            passing = block.inner()
            passing.set(self.oldest, add(self.oldest, _ONE))
            # Stops at the latest at the row past the last, which never ends.
            ended = le(self.rows.end_or_never(self.oldest), low)
            block.add(While(ended, passing.body()))
            self.clips.advance(block, now, self._window_rows())

    def _evict(self, block: Block, low: LExpr) -> None:
        """Follow the least end down to its leaf and clear it."""
        node = self.builder.fresh(f"{self.label}.leaf")
        block.set(node, _ONE)
        down = block.inner()
        left = mul(node, _TWO)
        stay = le(load(self.ends, left), low)
        down.set(node, select(stay, left, add(left, _ONE)))
        block.add(While(lt(node, self.leaves), down.body()))
        for element, changed in self.changed.items():
            (counts,) = self.states[element, COUNT]
            contributed = lt(i64(0), load(counts, node))
            block.set(changed, Bin("||", changed, contributed, BOOL))
        for whole in self.wholes.values():
            whole.evict(block, block.name("row", sub(node, self.leaves)))
        self._clear(block, node)
        self._update(block, node)

    def _insert(self, block: Block) -> None:
        leaf = block.name(f"{self.label}.leaf", add(self.next, self.leaves))
        block.add(Store(self.ends, leaf, self.rows.end_at(self.next)))
        elements = dict.fromkeys(element for element, _ in self.states)
        for element in elements:
            value = element_of(block, self.rows, self.next, element)
            inner = block.inner()
            for (other, aggregate), arrays in self.states.items():
                if other == element:
                    state = lift_where(inner, aggregate, value, TRUE, self.next)
                    self._store(inner, arrays, leaf, state)
            if element in self.changed:
                inner.set(self.changed[element], TRUE)
            block.when(value.valid, inner)
        for whole in self.wholes.values():
            whole.insert(block, self.next)
        self._update(block, leaf)

    def _store(
        self, block: Block, arrays: tuple[Array, ...], node: LExpr, state: State
    ) -> None:
        for array, value in zip(arrays, state, strict=True):
            block.add(Store(array, node, value))

    def _update(self, block: Block, leaf: LExpr) -> None:
        """Combine again from a leaf up to the root."""
        node = self.builder.fresh(f"{self.label}.up")
        block.set(node, leaf)
        up = block.inner()
        up.set(node, Bin("//", node, _TWO, I64))
        left = up.name("left", mul(node, _TWO))
        right = add(left, _ONE)
        up.add(
            Store(self.ends, node, least(load(self.ends, left), load(self.ends, right)))
        )
        for (_, aggregate), arrays in self.states.items():
            a = tuple(up.name("a", load(array, left)) for array in arrays)
            b = tuple(up.name("b", load(array, right)) for array in arrays)
            self._store(up, arrays, node, aggregate.combine(up, a, b))
        block.add(While(lt(_ONE, node), up.body()))

    def changes(self) -> list[LExpr]:
        """The first times of the loop at which the window has other rows."""
        coming = sub(self.rows.start_or_never(self.next), i64(self.window.end - 1))
        leaving = self.low.due(load(self.ends, _ONE))
        return [coming, leaving, *self.clips.changes]

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The value of a reduction over the window as it is now."""
        if node.reduction in WHOLE_WINDOW:
            return self.wholes[node.element].value(block, node)
        reduction = self._recomputing_reduction(node)
        if reduction is not None:
            return recompute(block, reduction, node.element, self._window_rows())
        aggregate = aggregate_of(self.builder, node)
        state = tuple(
            block.name("w", load(array, _ONE))
            for array in self.states[node.element, aggregate]
        )
        (counts,) = self.states[node.element, COUNT]
        count = block.name("count", load(counts, _ONE))
        if node.reduction not in ("first", "last"):
            return finish(block, node, state, count)
        occupied = block.name("some", lt(i64(0), count))
        return row_value(block, self.rows, node, state[0], occupied)
