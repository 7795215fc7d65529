"""A binary tree of the states of a window, which rows enter and leave in any order.

Its leaves are the rows in order of start; each node combines its children, and the root
has the state of the window. A row changes the nodes above its leaf. Among integers that
ends where a node stays as it is: a row that is not the greatest of its neighbours
changes no maximum beyond them.
"""

from collections.abc import Mapping
from typing import NamedTuple

from tiltpy.aggregates.aggregate import Aggregate, State, name_state
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.row_access import ObjectRows
from tiltpy.ir.nodes import Expr
from tiltpy.loops.build import add, conj, eq, i64, le, load, lt, mul, select
from tiltpy.loops.nodes import Array, Bin, LExpr, Store, While
from tiltpy.types import I64

_ONE, _TWO = i64(1), i64(2)


class TreeState(NamedTuple):
    """The aggregate of an element whose states are in the tree."""

    element: Expr
    aggregate: Aggregate

    @property
    def rounds(self) -> bool:
        """Whether it has floats."""
        return any(scalar.is_float for scalar in self.aggregate.types)


class StateTree:
    """The states of a window whose aggregates evict nothing."""

    def __init__(self, builder: KernelBuilder, rows: ObjectRows) -> None:
        self.builder = builder
        self.rows = rows
        self.label = f"{rows.name}.tree"
        self.leaves = builder.fresh(f"{self.label}.leaves")
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

    def start(self, block: Block) -> None:
        """Clear a tree with a leaf for every row, and one more that stays empty.

        Its identity makes a sum of -0.0 the +0.0 that it is in all other loops.
        """
        if not self.arrays:
            return
        block.set(self.leaves, _ONE)
        grow = block.inner()
        grow.set(self.leaves, mul(self.leaves, _TWO))
        block.add(While(le(self.leaves, self.rows.count), grow.body()))
        node = self.builder.fresh(f"{self.label}.node")
        block.set(node, i64(0))
        clear = block.inner()
        for state, arrays in self.arrays.items():
            _store(clear, arrays, node, state.aggregate.identity)
        clear.set(node, add(node, _ONE))
        block.add(While(lt(node, mul(self.leaves, _TWO)), clear.body()))

    def put(self, block: Block, row: LExpr, values: Mapping[TreeState, State]) -> None:
        """Put states into the leaf of a row: those of the row, or identities."""
        leaf = block.name(f"{self.label}.leaf", add(row, self.leaves))
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
        up = block.inner()
        up.set(node, Bin("//", node, _TWO, I64))
        left = up.name("left", mul(node, _TWO))
        right = add(left, _ONE)
        same: list[LExpr] = []
        for state in changing:
            arrays = self.arrays[state]
            a = tuple(up.name("a", load(array, left)) for array in arrays)
            b = tuple(up.name("b", load(array, right)) for array in arrays)
            new = name_state(up, "ab", state.aggregate.combine(up, a, b))
            if not state.rounds:
                old = (up.name("old", load(array, node)) for array in arrays)
                same += [eq(*pair) for pair in zip(old, new, strict=True)]
            _store(up, arrays, node, new)
        if same:
            up.set(node, select(conj(*same), _ONE, node))
        block.add(While(lt(_ONE, node), up.body()))

    def root(self, block: Block, state: TreeState) -> State:
        """The state of the whole window."""
        arrays = self.arrays[state]
        return tuple(block.name("w", load(array, _ONE)) for array in arrays)


def _store(block: Block, arrays: tuple[Array, ...], node: LExpr, state: State) -> None:
    for array, value in zip(arrays, state, strict=True):
        block.add(Store(array, node, value))
