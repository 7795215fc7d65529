"""A binary tree of the states of a window, which rows enter and leave in any order.

Its leaves are the rows in order of start; each node combines its children, and the root
has the state of the window. A row changes the nodes above its leaf. Among integers that
ends where a node stays as it is: a row that is not the greatest of its neighbours
changes no maximum beyond them.

Where floats change all nodes up to the root, the leaves are a ring, so long that no two
rows that are in the window at once need the same one. Else, and where only adjacent
rows may be combined, each has a leaf of its own.
"""

from collections.abc import Mapping
from typing import NamedTuple

from tiltpy.aggregates.aggregate import Aggregate, State, name_state
from tiltpy.aggregates.window_elements import assign_state
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.row_access import ObjectRows
from tiltpy.ir.nodes import Expr
from tiltpy.loops.build import add, conj, eq, i64, le, load, lt, mul, select, sub
from tiltpy.loops.nodes import Array, Bin, LExpr, Store, Var, While
from tiltpy.types import I64

_ONE, _TWO = i64(1), i64(2)


class TreeState(NamedTuple):
    """The aggregate of an element whose states are in the tree."""

    element: Expr
    aggregate: Aggregate

    @property
    def rounds(self) -> bool:
        """Test whether its state has floats."""
        return any(scalar.is_float for scalar in self.aggregate.types)


class StateTree:
    """The states of a window whose aggregates evict nothing."""

    def __init__(self, builder: KernelBuilder, rows: ObjectRows) -> None:
        self.builder = builder
        self.rows = rows
        self.label = f"{rows.name}.tree"
        self.leaves = builder.fresh(f"{self.label}.leaves")
        self.at = builder.fresh(f"{self.label}.at")
        """The place of the next row in the ring."""
        self.arrays: dict[TreeState, tuple[Array, ...]] = {}

    def add(self, state: TreeState) -> None:
        """Add the states of an aggregate, once."""
        if state in self.arrays:
            return
        # At least two nodes a leaf, and leaves rounded up to a power of two.
        room, aggregate = ((self.rows.name, 4),), state.aggregate
        self.arrays[state] = tuple(
            self.builder.temporary(f"{self.label}.{aggregate.name}", scalar, room, 4)
            for scalar in aggregate.types
        )

    @property
    def wraps(self) -> bool:
        """Test whether a ring pays: rows may be combined in any order, to the root."""
        ordered = any(state.aggregate.ordered for state in self.arrays)
        return not ordered and any(state.rounds for state in self.arrays)

    def start(self, block: Block, span: LExpr) -> None:
        """Clear a tree with a leaf for `span` rows, and one more that stays empty.

        Its identity makes a sum of -0.0 the +0.0 that it is in all other loops.
        """
        block.set(self.at, i64(0))
        block.set(self.leaves, _ONE)
        grow = block.inner()
        grow.set(self.leaves, mul(self.leaves, _TWO))
        block.add(While(le(self.leaves, span), grow.body()))
        node = self.builder.fresh(f"{self.label}.node")
        block.set(node, i64(0))
        clear = block.inner()
        for state, arrays in self.arrays.items():
            _store(clear, arrays, node, state.aggregate.identity)
        clear.set(node, add(node, _ONE))
        block.add(While(lt(node, mul(self.leaves, _TWO)), clear.body()))

    def step(self, block: Block) -> None:
        """Move to the place of the row that follows."""
        after = block.name("after", add(self.at, _ONE))
        block.set(self.at, select(lt(after, self.leaves), after, i64(0)))

    def put(self, block: Block, ago: LExpr, values: Mapping[TreeState, State]) -> None:
        """Put states into the leaf of a row: those of the row, or identities.

        It came so many rows before the next one.
        """
        place = block.name("place", sub(self.at, ago))
        turned = select(lt(place, i64(0)), self.leaves, i64(0))
        leaf = block.name(f"{self.label}.leaf", add(add(place, self.leaves), turned))
        for state, value in values.items():
            _store(block, self.arrays[state], leaf, value)
        for rounds in (False, True):
            changing = [state for state in values if state.rounds is rounds]
            if changing:
                self._update(block, leaf, changing)

    def _update(self, block: Block, leaf: LExpr, changing: list[TreeState]) -> None:
        """Combine again from a leaf up to the root, or to where nothing changes."""
        node = self.builder.fresh(f"{self.label}.up")
        block.set(node, leaf)
        carried = {state: self._carry(block, leaf, state) for state in changing}
        up = block.inner()
        above = up.name("above", Bin("//", node, _TWO, I64))
        left = up.name("left", mul(above, _TWO))
        is_left = up.name("is_left", eq(left, node))
        beside = up.name("beside", select(is_left, add(left, _ONE), left))
        up.set(node, above)
        same: list[LExpr] = []
        for state, child in carried.items():
            arrays = self.arrays[state]
            other = tuple(up.name("b", load(array, beside)) for array in arrays)
            pairs = list(zip(child, other, strict=True))
            older = name_state(up, "o", tuple(select(is_left, a, b) for a, b in pairs))
            newer = name_state(up, "n", tuple(select(is_left, b, a) for a, b in pairs))
            new = name_state(up, "ab", state.aggregate.combine(up, older, newer))
            if not state.rounds:
                old = (up.name("old", load(array, node)) for array in arrays)
                same += [eq(*pair) for pair in zip(old, new, strict=True)]
            _store(up, arrays, node, new)
            assign_state(up, child, new)
        if same:
            up.set(node, select(conj(*same), _ONE, node))
        block.add(While(lt(_ONE, node), up.body()))

    def _carry(self, block: Block, leaf: LExpr, state: TreeState) -> tuple[Var, ...]:
        """Hold the state of a node in variables: memory would be slower."""
        held = []
        for array in self.arrays[state]:
            var = self.builder.fresh(f"{self.label}.carried", array.type)
            block.set(var, load(array, leaf))
            held.append(var)
        return tuple(held)

    def root(self, block: Block, state: TreeState) -> State:
        """The state of the whole window."""
        arrays = self.arrays[state]
        return tuple(block.name("w", load(array, _ONE)) for array in arrays)


def _store(block: Block, arrays: tuple[Array, ...], node: LExpr, state: State) -> None:
    for array, value in zip(arrays, state, strict=True):
        block.add(Store(array, node, value))
