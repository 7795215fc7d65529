"""States of the rows of a window that leave it in any order.

Counts and sums of integers are exact: a row that leaves is evicted from variables. All
other states are in a tree.
"""

from collections.abc import Mapping

from tiltpy.aggregates.aggregate import Aggregate, State, lift_where
from tiltpy.aggregates.built_in import COUNT
from tiltpy.aggregates.window_elements import assign_state, combine_row
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import element_of
from tiltpy.ir.nodes import Expr
from tiltpy.loops.build import FALSE, add, convert, disj, i64, sub
from tiltpy.loops.nodes import LExpr, Var
from tiltpy.lowering.sweep.state_tree import StateTree, TreeState
from tiltpy.types import BOOL, I64


class AliveStates:
    """The states of one element of a window; those in the tree are its leaves."""

    def __init__(self, builder: KernelBuilder, tree: StateTree, element: Expr) -> None:
        self.builder = builder
        self.tree = tree
        self.element = element
        self.count = builder.fresh(f"{tree.rows.name}.alive")
        self.exact: dict[Aggregate, tuple[Var, ...]] = {}
        self.in_tree: list[TreeState] = []
        self.changed: Var | None = None

    def add(self, aggregate: Aggregate) -> None:
        """Add the states of an aggregate, once."""
        if aggregate.evict is None:
            state = TreeState(self.element, aggregate)
            self.tree.add(state)
            if state not in self.in_tree:
                self.in_tree.append(state)
        elif aggregate != COUNT and aggregate not in self.exact:
            label, fresh = f"{self.tree.rows.name}.{aggregate.name}", self.builder.fresh
            self.exact[aggregate] = tuple(fresh(label, t) for t in aggregate.types)

    def mark(self) -> Var:
        """The variable that says whether other snapshots contribute than before."""
        if self.changed is None:
            name = f"{self.tree.rows.name}.changed"
            self.changed = self.builder.fresh(name, BOOL)
        return self.changed

    def start(self, block: Block) -> None:
        """Set the states of no row."""
        block.set(self.count, i64(0))
        for aggregate, state in self.exact.items():
            assign_state(block, state, aggregate.identity)

    def settle(self, block: Block) -> None:
        """Forget the changes of the visit before."""
        if self.changed is not None:
            block.set(self.changed, FALSE)

    def insert(self, block: Block, row: LExpr) -> None:
        """Insert the next row."""
        value = element_of(block, self.tree.rows, row, self.element)
        valid = block.name("come", value.valid)
        block.set(self.count, add(self.count, convert(valid, I64)))
        combine_row(block, self.exact, value, valid, row)
        self._mark(block, valid)
        inner = block.inner()
        lifts = {each: each.aggregate.lift(inner, row, value) for each in self.in_tree}
        self._put(block, inner, i64(0), valid, lifts)

    def evict(self, block: Block, row: LExpr, ago: LExpr) -> None:
        """Evict a row, which came so many rows before the next one."""
        value = element_of(block, self.tree.rows, row, self.element)
        valid = block.name("gone", value.valid)
        block.set(self.count, sub(self.count, convert(valid, I64)))
        for aggregate, state in self.exact.items():
            assert aggregate.evict is not None
            lifted = lift_where(block, aggregate, value, valid, row)
            assign_state(block, state, aggregate.evict(block, state, lifted))
        self._mark(block, valid)
        identities = {each: each.aggregate.identity for each in self.in_tree}
        self._put(block, block.inner(), ago, valid, identities)

    def _mark(self, block: Block, valid: LExpr) -> None:
        if self.changed is not None:
            block.set(self.changed, disj(self.changed, valid))

    def _put(
        self,
        block: Block,
        inner: Block,
        ago: LExpr,
        valid: LExpr,
        states: Mapping[TreeState, State],
    ) -> None:
        """Change the leaf of a row that contributes."""
        if states:
            self.tree.put(inner, ago, states)
            block.when(valid, inner)

    def state(self, block: Block, aggregate: Aggregate) -> State:
        """The state of all rows that are in the window."""
        if aggregate == COUNT:
            return (self.count,)
        if aggregate in self.exact:
            return self.exact[aggregate]
        return self.tree.root(block, TreeState(self.element, aggregate))
