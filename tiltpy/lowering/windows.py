"""The elements of windows, and the states of the reductions over them.

The states of the rows in a window are in two stacks: those at the front have the merged
states of their suffixes in an array, the others one running state. Every row is merged
at most twice, whatever the window's size, and what has left leaves no trace.
"""

from dataclasses import replace

from tiltpy.ir.nodes import At, Call, Element, EventBound, Expr, Reduce, Time
from tiltpy.ir.traversal import walk
from tiltpy.loops.build import (
    TRUE,
    conj,
    disj,
    i64,
    load,
    select,
)
from tiltpy.loops.nodes import Array, LExpr, Store, Var
from tiltpy.lowering.assembly import Assembly, Block
from tiltpy.lowering.reducers import COUNT, kept_for
from tiltpy.lowering.rows import ObjectRows
from tiltpy.lowering.states import Kept, State, lift_where
from tiltpy.lowering.values import Lowered, lower_expr
from tiltpy.types import BOOL


def element_of(block: Block, rows: ObjectRows, row: LExpr, element: Expr) -> Lowered:
    """A window's element at an existing row; invalid where it does not contribute.

    A null row never does, even if the element does not look at it.
    """
    exists = rows.exists(row)

    def leaf(node: At | EventBound | Reduce | Time | Element) -> Lowered:
        assert isinstance(node, Element), "an element reads its snapshot alone"
        return rows.value(row, exists)

    value = lower_expr(block, leaf, element)
    return replace(value, valid=conj(exists, value.valid))


class Track:
    """One element of a window: the states of the reductions over it."""

    def __init__(self, assembly: Assembly, rows: ObjectRows, element: Expr) -> None:
        self.assembly = assembly
        self.rows = rows
        self.element = element
        trial = element_of(Block(assembly), rows, i64(0), element)
        self.filtered = trial.valid != TRUE
        self.running: dict[Kept, tuple[Var, ...]] = {}
        self.front: dict[Kept, tuple[Array, ...]] = {}
        self.changed: Var | None = None

    def reduce(self, node: Reduce) -> None:
        """Have what a reduction needs kept, and the count where rows can be φ."""
        if self.filtered:
            self.keep(COUNT)
        if self.filtered or node.reduction not in ("count", "first", "last"):
            self.keep(kept_of(node))

    def keep(self, kept: Kept) -> None:
        """Have a state kept."""
        if kept in self.running:
            return
        label = f"{self.rows.name}.{kept.name}"
        self.running[kept] = tuple(self.assembly.fresh(label, t) for t in kept.types)
        self.front[kept] = tuple(
            self.assembly.temporary(f"{label}.front", t, ((self.rows.name, 1),), 1)
            for t in kept.types
        )

    def mark(self) -> Var:
        """Have it noted whether the contributing snapshots change."""
        if self.changed is None:
            self.changed = self.assembly.fresh(f"{self.rows.name}.changed", BOOL)
        return self.changed

    def reset(self, block: Block) -> None:
        """Set the running states to their identity."""
        for kept, state in self.running.items():
            assign_state(block, state, kept.identity)

    def enter(self, block: Block, row: LExpr, moved: LExpr = TRUE) -> None:
        """A row comes in, if `moved`: it exists in any case."""
        come = block.inner()
        value = element_of(come, self.rows, row, self.element)
        valid = come.name("come", conj(moved, value.valid))
        self._merge(come, row, value, valid)
        if self.changed is not None:
            come.set(self.changed, disj(self.changed, valid))
        block.when(TRUE if self._cheap() else moved, come)

    def _cheap(self) -> bool:
        """Whether it costs less than a mispredicted branch to merge a row in vain."""
        calls = any(isinstance(node, Call) for node in walk(self.element))
        return not calls and all(len(kept.types) == 1 for kept in self.running)

    def _merge(self, block: Block, row: LExpr, value: Lowered, valid: LExpr) -> None:
        for kept, state in self.running.items():
            lifted = lift_where(block, kept, value, valid, row)
            assign_state(block, state, kept.merge(block, state, lifted))

    def leave(self, block: Block, row: LExpr, moved: LExpr) -> None:
        """Note that a row leaves, if `moved`: it exists in any case."""
        if self.changed is None:
            return
        value = element_of(block, self.rows, row, self.element)
        gone = conj(moved, value.valid)
        block.set(self.changed, disj(self.changed, gone))

    def stack(self, block: Block, row: LExpr, at: LExpr) -> None:
        """Put a row onto the front, whose state is the running one for now."""
        value = element_of(block, self.rows, row, self.element)
        valid = block.name("here", value.valid)
        for kept, state in self.running.items():
            lifted = lift_where(block, kept, value, valid, row)
            assign_state(block, state, kept.merge(block, lifted, state))
        self.put(block, at)

    def put(self, block: Block, at: LExpr) -> None:
        """Put the running states onto the front."""
        for kept, arrays in self.front.items():
            for array, var in zip(arrays, self.running[kept], strict=True):
                block.add(Store(array, at, var))

    def state(self, block: Block, kept: Kept, top: LExpr) -> State:
        """The state of the whole window; `top` is where the front's oldest row is."""
        front = tuple(block.name("f", load(array, top)) for array in self.front[kept])
        merged = kept.merge(block, front, self.running[kept])
        return tuple(block.name("w", one) for one in merged)


def row_value(
    block: Block, rows: ObjectRows, node: Reduce, row: LExpr, some: LExpr
) -> Lowered:
    """The element at a row, as the value of a `first` or `last`; φ unless `some`."""
    there = block.name("row", select(some, row, i64(0)))
    value = element_of(block, rows, there, node.element)
    return Lowered(node.type, value.value, some)


def assign_state(block: Block, state: tuple[Var, ...], new: State) -> None:
    """Set a state's variables together: the new one may be made of the old."""
    values = [block.name("s", value) for value in new] if len(state) > 1 else new
    for var, value in zip(state, values, strict=True):
        block.set(var, value)


def kept_of(node: Reduce) -> Kept:
    """The state that a reduction needs besides the count."""
    return kept_for(node.reduction, node.element.type)
