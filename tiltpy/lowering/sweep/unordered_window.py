"""Window references over events that may leave in any order.

Where long events overlap short ones, the oldest does not leave first. The rows in the
window are leaves of a binary tree in order of start; each node holds the merged states
of its leaves and the least of their ends. A row comes or goes in logarithmic time and
the root is the window's state.
"""

from tiltpy.aggregates.aggregate import Aggregate, State, lift_where
from tiltpy.aggregates.built_in import COUNT
from tiltpy.aggregates.finalize import finish
from tiltpy.aggregates.user_defined import Slide, slide_of
from tiltpy.emit.builder import Assembly, Block
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
        assembly: Assembly,
        rows: ObjectRows,
        window: Window,
        precision: int,
        *,
        rankings: Rankings,
    ) -> None:
        self.assembly = assembly
        self.rankings = rankings
        self.rows = rows
        self.window = window
        self.label = f"{rows.name}.tree"
        self.next = assembly.fresh(f"{self.label}.next")
        self.leaves = assembly.fresh(f"{self.label}.leaves")
        self.ends = self._array("ends", I64)
        self.states: dict[tuple[Expr, Aggregate], tuple[Array, ...]] = {}
        self.changed: dict[Expr, Var] = {}
        self.wholes: dict[Expr, WholeWindow] = {}
        self.bounds = ClipWatch(window, precision)
        self.oldest: Var | None = None
        self.now: LExpr = i64(0)

    def _array(self, name: str, scalar: Scalar) -> Array:
        # At least two nodes a leaf, and leaves rounded up to a power of two.
        return self.assembly.temporary(
            f"{self.label}.{name}", scalar, ((self.rows.name, 4),), 4
        )

    def reduce(self, node: Reduce) -> None:
        """Have a reduction over the window computed."""
        if self._anew(node) is not None:
            self._follow_oldest()
            return
        if node.reduction not in WHOLE_WINDOW:
            for kept in (COUNT, aggregate_of(self.assembly, node)):
                self._keep(node.element, kept)
            return
        if node.element not in self.wholes:
            ranking = self.rankings.of(self.rows, node.element)
            self.wholes[node.element] = WholeWindow(self.assembly, ranking)
        self.wholes[node.element].reduce(node)

    def _anew(self, node: Reduce) -> UserReduction | None:
        """A reduction that goes through all rows, if it is one."""
        own = self.assembly.own.get(node.reduction)
        if (
            own is None
            or slide_of(own, in_order=False, disjoint=False) is not Slide.RECOMPUTE
        ):
            return None
        return own

    def _follow_oldest(self) -> Var:
        """Have a place kept before which every row has left."""
        if self.oldest is None:
            self.oldest = self.assembly.fresh(f"{self.label}.oldest")
        return self.oldest

    def _stretch(self) -> WindowRows:
        """The rows among which are those in the window now."""
        assert self.oldest is not None
        low = add(self.now, i64(self.window.start))
        high = add(self.now, i64(self.window.end))
        return WindowRows(self.rows, self.oldest, self.next, low, high, mixed=True)

    def _keep(self, element: Expr, kept: Aggregate) -> None:
        if (element, kept) not in self.states:
            self.states[element, kept] = tuple(
                self._array(kept.name, scalar) for scalar in kept.types
            )

    def cut(self, element: Expr, *, bounds: bool) -> LExpr:
        """Whether other snapshots contribute than at the visit before.

        With `bounds`: or one of them is cut elsewhere than at the grid point before.
        """
        if bounds:
            self._follow_oldest()
            elsewhere = self.bounds.watch(self.assembly, self.rows, element)
            return disj(elsewhere, self.cut(element, bounds=False))
        if element not in self.changed:
            self.changed[element] = self.assembly.fresh(f"{self.label}.changed", BOOL)
            self._keep(element, COUNT)
        return self.changed[element]

    def start(self, block: Block) -> None:
        """An empty tree with a leaf for every row, and one more that stays empty.

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
        node = self.assembly.fresh(f"{self.label}.node")
        block.set(node, i64(0))
        clear = block.inner()
        self._clear(clear, node)
        clear.set(node, add(node, _ONE))
        block.add(While(lt(node, mul(self.leaves, _TWO)), clear.body()))

    def _clear(self, block: Block, node: LExpr) -> None:
        block.add(Store(self.ends, node, INF))
        for (_, kept), arrays in self.states.items():
            for array, value in zip(arrays, kept.identity, strict=True):
                block.add(Store(array, node, value))

    def advance(self, block: Block, now: LExpr) -> None:
        """Move to the loop's time."""
        low = block.name("low", add(now, i64(self.window.start)))
        high = block.name("high", add(now, i64(self.window.end)))
        for changed in self.changed.values():
            block.set(changed, FALSE)
        out = block.inner()
        self._evict(out, low)
        block.add(While(le(load(self.ends, _ONE), low), out.body()))
        come = block.inner()
        enter = come.inner()
        self._enter(enter)
        stays = lt(low, self.rows.end_at(self.next))
        come.when(stays, enter)
        come.set(self.next, add(self.next, _ONE))
        block.add(While(lt(self.rows.start_or_never(self.next), high), come.body()))
        self.now = now
        if self.oldest is not None:
            pass_by = block.inner()
            pass_by.set(self.oldest, add(self.oldest, _ONE))
            # What is left of the rows that have come; a row past the last never ends.
            over = le(self.rows.end_or_never(self.oldest), low)
            block.add(While(over, pass_by.body()))
            self.bounds.advance(block, now, self._stretch())

    def _evict(self, block: Block, low: LExpr) -> None:
        """Follow the least end down to its leaf and empty that."""
        node = self.assembly.fresh(f"{self.label}.leaf")
        block.set(node, _ONE)
        down = block.inner()
        left = mul(node, _TWO)
        stay = le(load(self.ends, left), low)
        down.set(node, select(stay, left, add(left, _ONE)))
        block.add(While(lt(node, self.leaves), down.body()))
        for element, changed in self.changed.items():
            (counts,) = self.states[element, COUNT]
            some = lt(i64(0), load(counts, node))
            block.set(changed, Bin("||", changed, some, BOOL))
        for whole in self.wholes.values():
            whole.leave(block, block.name("row", sub(node, self.leaves)))
        self._clear(block, node)
        self._update(block, node)

    def _enter(self, block: Block) -> None:
        leaf = block.name(f"{self.label}.leaf", add(self.next, self.leaves))
        block.add(Store(self.ends, leaf, self.rows.end_at(self.next)))
        elements = dict.fromkeys(element for element, _ in self.states)
        for element in elements:
            value = element_of(block, self.rows, self.next, element)
            inner = block.inner()
            for (other, kept), arrays in self.states.items():
                if other == element:
                    state = lift_where(inner, kept, value, TRUE, self.next)
                    self._put(inner, arrays, leaf, state)
            if element in self.changed:
                inner.set(self.changed[element], TRUE)
            block.when(value.valid, inner)
        for whole in self.wholes.values():
            whole.enter(block, self.next)
        self._update(block, leaf)

    def _put(
        self, block: Block, arrays: tuple[Array, ...], node: LExpr, state: State
    ) -> None:
        for array, value in zip(arrays, state, strict=True):
            block.add(Store(array, node, value))

    def _update(self, block: Block, leaf: LExpr) -> None:
        """Merge again from a leaf to the root."""
        node = self.assembly.fresh(f"{self.label}.up")
        block.set(node, leaf)
        up = block.inner()
        up.set(node, Bin("//", node, _TWO, I64))
        left = up.name("left", mul(node, _TWO))
        right = add(left, _ONE)
        up.add(
            Store(self.ends, node, least(load(self.ends, left), load(self.ends, right)))
        )
        for (_, kept), arrays in self.states.items():
            a = tuple(up.name("a", load(array, left)) for array in arrays)
            b = tuple(up.name("b", load(array, right)) for array in arrays)
            self._put(up, arrays, node, kept.merge(up, a, b))
        block.add(While(lt(_ONE, node), up.body()))

    def changes(self) -> list[LExpr]:
        """The first times of the loop at which the window holds other rows."""
        coming = sub(self.rows.start_or_never(self.next), i64(self.window.end - 1))
        leaving = sub(load(self.ends, _ONE), i64(self.window.start))
        return [coming, leaving, *self.bounds.changes]

    def value(self, block: Block, node: Reduce) -> LoopValue:
        """The value of a reduction over the window as it is now."""
        if node.reduction in WHOLE_WINDOW:
            return self.wholes[node.element].value(block, node)
        own = self._anew(node)
        if own is not None:
            return recompute(block, own, node.element, self._stretch())
        kept = aggregate_of(self.assembly, node)
        state = tuple(
            block.name("w", load(array, _ONE))
            for array in self.states[node.element, kept]
        )
        (counts,) = self.states[node.element, COUNT]
        count = block.name("count", load(counts, _ONE))
        if node.reduction not in ("first", "last"):
            return finish(block, node, state, count)
        some = block.name("some", lt(i64(0), count))
        return row_value(block, self.rows, node, state[0], some)
