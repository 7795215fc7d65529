"""The elements of windows, and the states of the reductions over them.

The states of the rows in a window are in two stacks: those at the front have the merged
states of their suffixes in an array, the others one running state. Every row is merged
at most twice, whatever the window's size, and what has left leaves no trace.
What a query's own reduction can take out of integers is taken out of one running state.
"""

from tiltpy.aggregates.aggregate import Aggregate, State, lift_where
from tiltpy.aggregates.built_in import COUNT, aggregate_for
from tiltpy.aggregates.user_defined import (
    Slide,
    accumulated,
    initial,
    result_of,
    slide_of,
    taken_out,
    types_of,
)
from tiltpy.emit.builder import Assembly, Block
from tiltpy.emit.elements import element_of
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import (
    Call,
    Expr,
    Reduce,
    UserReduction,
)
from tiltpy.ir.traversal import walk
from tiltpy.loops.build import (
    TRUE,
    add,
    conj,
    convert,
    disj,
    i64,
    load,
    lt,
    select,
    sub,
)
from tiltpy.loops.nodes import Array, For, LExpr, Store, Var
from tiltpy.types import BOOL, I64


class EvictableState:
    """A reduction that takes out what leaves: a state, and of how many snapshots."""

    def __init__(self, assembly: Assembly, own: UserReduction) -> None:
        self.own = own
        self.count = assembly.fresh(f"{own.name}.count")
        self.state = tuple(assembly.fresh(own.name, kind) for kind in types_of(own))

    def reset(self, block: Block) -> None:
        """Before the loop."""
        block.set(self.count, i64(0))
        assign_state(block, self.state, initial(block, self.own))

    def enter(self, block: Block, value: LoopValue, valid: LExpr) -> None:
        """A snapshot comes in, if `valid`."""
        self._become(block, accumulated(block, self.own, self.state, value), valid)
        block.set(self.count, add(self.count, convert(valid, I64)))

    def leave(self, block: Block, value: LoopValue, valid: LExpr) -> None:
        """The oldest leaves, if `valid`."""
        self._become(block, taken_out(block, self.own, self.state, value), valid)
        block.set(self.count, sub(self.count, convert(valid, I64)))

    def _become(self, block: Block, state: State, valid: LExpr) -> None:
        pairs = zip(state, self.state, strict=True)
        assign_state(block, self.state, tuple(select(valid, *pair) for pair in pairs))

    def value(self, block: Block) -> LoopValue:
        """The reduction of what is in it."""
        return result_of(block, self.own, self.state, lt(i64(0), self.count))


class Track:
    """One element of a window: the states of the reductions over it."""

    def __init__(self, assembly: Assembly, rows: ObjectRows, element: Expr) -> None:
        self.assembly = assembly
        self.rows = rows
        self.element = element
        trial = element_of(Block(assembly), rows, i64(0), element)
        self.filtered = trial.valid != TRUE
        self.running: dict[Aggregate, tuple[Var, ...]] = {}
        self.front: dict[Aggregate, tuple[Array, ...]] = {}
        self.taken: dict[str, EvictableState] = {}
        self.changed: Var | None = None

    def reduce(self, node: Reduce) -> None:
        """Have what a reduction needs kept, and the count where rows can be φ."""
        own = self.assembly.own.get(node.reduction)
        if own is not None and slide_of(own) is not Slide.MERGE:
            if slide_of(own) is Slide.EVICT:
                self.take(own)
            return
        if self.filtered:
            self.keep(COUNT)
        if self.filtered or node.reduction not in ("count", "first", "last"):
            self.keep(aggregate_of(self.assembly, node))

    def keep(self, kept: Aggregate) -> None:
        """Have a state kept."""
        if kept in self.running:
            return
        label = f"{self.rows.name}.{kept.name}"
        self.running[kept] = tuple(self.assembly.fresh(label, t) for t in kept.types)
        self.front[kept] = tuple(
            self.assembly.temporary(f"{label}.front", t, ((self.rows.name, 1),), 1)
            for t in kept.types
        )

    def take(self, own: UserReduction) -> None:
        """Have a reduction computed that takes out what leaves."""
        if own.name not in self.taken:
            self.taken[own.name] = EvictableState(self.assembly, own)

    @property
    def sees_leave(self) -> bool:
        """Whether it must know of each row that leaves."""
        return self.changed is not None or bool(self.taken)

    def mark(self) -> Var:
        """Have it noted whether the contributing snapshots change."""
        if self.changed is None:
            self.changed = self.assembly.fresh(f"{self.rows.name}.changed", BOOL)
        return self.changed

    def reset(self, block: Block) -> None:
        """Set the running states to their identity."""
        for kept, state in self.running.items():
            assign_state(block, state, kept.identity)

    def begin(self, block: Block, first: LExpr, stop: LExpr) -> None:
        """Before the loop: rows that are in the window and do not come in any more."""
        for running in self.taken.values():
            running.reset(block)
        row = self.assembly.fresh(f"{self.rows.name}.begin")
        inner = block.inner()
        value = element_of(inner, self.rows, row, self.element)
        for running in self.taken.values():
            running.enter(inner, value, value.valid)
        if self.taken:
            block.add(For(row, first, stop, inner.body()))

    def enter(self, block: Block, row: LExpr, moved: LExpr = TRUE) -> None:
        """A row comes in, if `moved`: it exists in any case."""
        come = block.inner()
        value = element_of(come, self.rows, row, self.element)
        valid = come.name("come", conj(moved, value.valid))
        self._merge(come, row, value, valid)
        for running in self.taken.values():
            running.enter(come, value, valid)
        if self.changed is not None:
            come.set(self.changed, disj(self.changed, valid))
        block.when(TRUE if self._cheap() else moved, come)

    def _cheap(self) -> bool:
        """Whether it costs less than a mispredicted branch to merge a row in vain."""
        calls = any(isinstance(node, Call) for node in walk(self.element))
        simple = all(len(kept.types) == 1 for kept in self.running)
        return simple and not calls and not self.taken

    def _merge(self, block: Block, row: LExpr, value: LoopValue, valid: LExpr) -> None:
        for kept, state in self.running.items():
            lifted = lift_where(block, kept, value, valid, row)
            assign_state(block, state, kept.merge(block, state, lifted))

    def leave(self, block: Block, row: LExpr, moved: LExpr) -> None:
        """A row leaves, if `moved`: it exists in any case."""
        if not self.sees_leave:
            return
        out = block.inner() if self.taken else block
        value = element_of(out, self.rows, row, self.element)
        gone = conj(moved, value.valid)
        if self.changed is not None:
            out.set(self.changed, disj(self.changed, gone))
        if self.taken:
            gone = out.name("gone", gone)
            for running in self.taken.values():
                running.leave(out, value, gone)
            block.when(moved, out)

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

    def state(self, block: Block, kept: Aggregate, top: LExpr) -> State:
        """The state of the whole window; `top` is where the front's oldest row is."""
        front = tuple(block.name("f", load(array, top)) for array in self.front[kept])
        merged = kept.merge(block, front, self.running[kept])
        return tuple(block.name("w", one) for one in merged)


def assign_state(block: Block, state: tuple[Var, ...], new: State) -> None:
    """A state becomes another, which may be made of it."""
    if len(state) == 1:
        block.set(state[0], new[0])
    else:
        block.assign("s", state, new)


def aggregate_of(assembly: Assembly, node: Reduce) -> Aggregate:
    """The state that a reduction needs besides the count."""
    return aggregate_for(node.reduction, node.element.type, assembly.own)
