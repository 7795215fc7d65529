"""Elements of windows, and the states of the reductions over them.

The rows of a window are in two stacks: the front has an array of the combined states of
its suffixes, the back one running state. Every row is combined at most twice, whatever
the window's size, and evicted rows leave no trace. Sums that are exact have an array of
prefix sums instead: a window is the difference of two. A user-defined reduction that
evicts exactly has one running state.
"""

from collections.abc import Callable, Mapping
from copy import copy
from itertools import compress

from tiltpy.aggregates.aggregate import Aggregate, State, lift_where, name_state
from tiltpy.aggregates.built_in import COUNT, aggregate_for, value_aggregate
from tiltpy.aggregates.user_defined import Slide, code_of, slide_of, substitute
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import element_of, is_filtered
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Call, Expr, Reduce, UserReduction
from tiltpy.ir.traversal import walk
from tiltpy.loops.build import (
    TRUE,
    add,
    conj,
    convert,
    disj,
    eq,
    greatest,
    i64,
    load,
    lt,
    select,
    sub,
)
from tiltpy.loops.nodes import Array, For, LExpr, Store, Var
from tiltpy.ops import REDUCTIONS
from tiltpy.types import BOOL, I64, Scalar

OF_ANY = frozenset(rule.name for rule in REDUCTIONS.values() if rule.never_null)
"""Reductions that are never φ over a window with a row."""


class EvictableState:
    """The state of a reduction with `deacc`, and its number of snapshots.

    A fold that goes on evicts none: it counts no further than the first. In an
    `invariant` state some entries are constants (see `find_invariants`).
    """

    def __init__(
        self,
        builder: KernelBuilder,
        reduction: UserReduction,
        value: LoopValue,
        *,
        folds_on: bool,
    ) -> None:
        self.folds_on = folds_on
        self.code = code = code_of(reduction)
        self.constants = code.find_invariants(value)
        self.count = builder.fresh(f"{reduction.name}.count")
        self.state = tuple(builder.fresh(reduction.name, kind) for kind in code.types())

    def reset(self, block: Block) -> None:
        """Set the state of no snapshot."""
        block.set(self.count, i64(0))
        assign_state(block, self.state, self.code.initial(block))

    def meets_invariants(self) -> LExpr:
        """Return whether the state is invariant, which it then stays."""
        pairs = zip(self.state, self.constants, strict=True)
        same = (eq(state, known) for state, known in pairs if known is not None)
        return conj(lt(i64(0), self.count), *same)

    def insert(
        self, block: Block, value: LoopValue, valid: LExpr, *, invariant: bool = False
    ) -> None:
        """Insert a snapshot if `valid`."""
        if invariant:
            known = substitute(self.state, self.constants)
            new = self.code.accumulate(block, known, value)
            changes = [constant is None for constant in self.constants]
            state = tuple(compress(self.state, changes))
            assign_state(block, state, tuple(compress(new, changes)))
            return
        self._become(block, self.code.accumulate(block, self.state, value), valid)
        one = convert(valid, I64)
        combine = greatest if self.folds_on else add
        block.set(self.count, combine(self.count, one))

    def evict(self, block: Block, value: LoopValue, valid: LExpr) -> None:
        """Evict the oldest snapshot, whose value this is, if `valid`."""
        self._become(block, self.code.evict(block, self.state, value), valid)
        block.set(self.count, sub(self.count, convert(valid, I64)))

    def _become(self, block: Block, state: State, valid: LExpr) -> None:
        pairs = zip(state, self.state, strict=True)
        assign_state(block, self.state, tuple(select(valid, *pair) for pair in pairs))

    def relabel(self, label: Callable[[Var], Var]) -> "EvictableState":
        """Copy the state to other variables."""
        other = copy(self)
        other.count = label(self.count)
        other.state = tuple(map(label, self.state))
        return other

    def value(self, block: Block, *, invariant: bool = False) -> LoopValue:
        """The result of the state."""
        if invariant:
            state = substitute(self.state, self.constants)
            return self.code.result(block, state, TRUE)
        return self.code.result(block, self.state, lt(i64(0), self.count))


class Track:
    """The states of the reductions over an element of a window.

    Where it is `filtered` the element may be φ. A `counted` one has a COUNT of the rows
    at which it is not, which the bounds of the window do not tell.

    `running` and `front` are the two stacks; of `sums` the state is of all rows up to
    now, and `prefixes` are those of the rows before each; `evictable` states have no
    arrays. With `folds_on` no row is ever evicted: there is no front, and user-defined
    reductions need no more than `acc`.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        rows: ObjectRows,
        element: Expr,
        *,
        folds_on: bool = False,
    ) -> None:
        self.builder = builder
        self.rows = rows
        self.element = element
        self.folds_on = folds_on
        self.filtered = is_filtered(builder, rows, element)
        self.counted = folds_on or self.filtered
        self.running: dict[Aggregate, tuple[Var, ...]] = {}
        self.front: dict[Aggregate, tuple[Array, ...]] = {}
        self.sums: dict[Aggregate, tuple[Var, ...]] = {}
        self.prefixes: dict[Aggregate, tuple[Array, ...]] = {}
        self.blocks: dict[Aggregate, tuple[Var, ...]] = {}
        self.evictable: dict[str, EvictableState] = {}
        self.changed: Var | None = None

    def over(self, rows: ObjectRows) -> "Track":
        """Copy the states to take in other rows of the same type."""
        other = copy(self)
        other.rows = rows
        other.filtered = is_filtered(self.builder, rows, self.element)
        return other

    def reduce(self, node: Reduce) -> None:
        """Add the states of a reduction, and the count where rows can be φ."""
        reduction = self.builder.user_reductions.get(node.reduction)
        if reduction is not None and (
            self.folds_on or slide_of(reduction) is not Slide.MERGE
        ):
            evicts = self.folds_on or slide_of(reduction) is Slide.EVICT
            if evicts and reduction.name not in self.evictable:
                block = Block(self.builder)
                value = element_of(block, self.rows, i64(0), self.element)
                state = EvictableState(
                    self.builder, reduction, value, folds_on=self.folds_on
                )
                self.evictable[reduction.name] = state
            return
        keeps_value = self.folds_on and node.reduction in ("first", "last")
        if self.counted and not keeps_value:
            self.add(COUNT)
        if self.counted or node.reduction not in ("count", "first", "last"):
            self.add(self.aggregate(node))

    def aggregate(self, node: Reduce) -> Aggregate:
        """The aggregate of a reduction besides the count.

        A fold that goes on keeps values: its rows may have left memory.
        """
        scalar = node.element.type
        if self.folds_on and node.reduction in ("first", "last"):
            assert isinstance(scalar, Scalar)
            return value_aggregate(node.reduction, scalar)
        return aggregate_of(self.builder, node)

    def add(self, aggregate: Aggregate) -> None:
        """Add the states of an aggregate, once."""
        if aggregate in self.running or aggregate in self.sums:
            return
        label, fresh = f"{self.rows.name}.{aggregate.name}", self.builder.fresh
        state = tuple(fresh(label, t) for t in aggregate.types)
        if aggregate.evict is not None and not self.folds_on:
            self.sums[aggregate] = state
            self.prefixes[aggregate] = self._arrays(f"{label}.before", aggregate, 2)
            return
        self.running[aggregate] = state
        rounds = any(each.is_float for each in aggregate.types)
        if self.folds_on and rounds and not aggregate.ordered:
            label = f"{label}.blocks"
            self.blocks[aggregate] = tuple(fresh(label, t) for t in aggregate.types)
        if self.folds_on:
            return
        self.front[aggregate] = self._arrays(f"{label}.front", aggregate, 1)

    def _arrays(
        self, label: str, aggregate: Aggregate, extra: int
    ) -> tuple[Array, ...]:
        """Make the arrays of a state for each row, and `extra` ones.

        Without rows, too, sums are stored behind the one that a loop can read.
        """
        entries = ((self.rows.name, 1),)
        return tuple(
            self.builder.temporary(label, t, entries, extra) for t in aggregate.types
        )

    @property
    def rounds(self) -> bool:
        """Test whether a state of it depends on the order of additions."""
        kinds = (kind for aggregate in self.running for kind in aggregate.types)
        return any(kind.is_float for kind in kinds)

    def count(self) -> Var:
        """The number of snapshots in the running states."""
        if COUNT in self.running:
            return self.running[COUNT][0]
        return next(iter(self.evictable.values())).count

    @property
    def sees_evictions(self) -> bool:
        """Return whether it must see each row that leaves."""
        return self.changed is not None or bool(self.evictable)

    def mark(self) -> Var:
        """The variable that says whether other snapshots contribute than before."""
        if self.changed is None:
            self.changed = self.builder.fresh(f"{self.rows.name}.changed", BOOL)
        return self.changed

    def reset(self, block: Block) -> None:
        """Set the running states to their identity."""
        for states in (self.running, self.blocks):
            for aggregate, state in states.items():
                assign_state(block, state, aggregate.identity)

    def close_block(self, block: Block) -> None:
        """Add the running states to those of the blocks before, and begin anew."""
        for aggregate, state in self.blocks.items():
            running = self.running[aggregate]
            assign_state(block, state, aggregate.combine(block, state, running))
            assign_state(block, running, aggregate.identity)

    def running_state(self, block: Block, aggregate: Aggregate) -> State:
        """The state of all rows of a window that folds on.

        Floats are added up in blocks of time, and the running one last, so that a sum
        does not depend on where a run began.
        """
        running = self.running[aggregate]
        if aggregate not in self.blocks:
            return running
        state = aggregate.combine(block, self.blocks[aggregate], running)
        return name_state(block, "w", state)

    def start_sums(self, block: Block, row: LExpr) -> None:
        """Start the sums before the first row of a window."""
        for aggregate, state in self.sums.items():
            assign_state(block, state, aggregate.identity)
        self.put_sums(block, row)

    def put_sums(self, block: Block, row: LExpr) -> None:
        """Store the sums of the rows before one."""
        for aggregate, arrays in self.prefixes.items():
            for array, var in zip(arrays, self.sums[aggregate], strict=True):
                block.add(Store(array, row, var))

    def begin(self, block: Block, first: LExpr, stop: LExpr) -> None:
        """Insert the rows that are in the window before the loop into what evicts."""
        for evictable in self.evictable.values():
            evictable.reset(block)
        row = self.builder.fresh(f"{self.rows.name}.begin")
        inner = block.inner()
        value = element_of(inner, self.rows, row, self.element)
        for evictable in self.evictable.values():
            evictable.insert(inner, value, value.valid)
        if self.evictable:
            block.add(For(row, first, stop, inner.body()))

    def meets_invariants(self) -> LExpr:
        """Return whether every state meets its invariants."""
        states = () if self.filtered else self.evictable.values()
        return conj(TRUE, *(state.meets_invariants() for state in states))

    def insert(
        self,
        block: Block,
        row: LExpr,
        moved: LExpr = TRUE,
        *,
        marks: bool = True,
        invariant: bool = False,
    ) -> None:
        """Insert a row, which exists, if `moved`; `marks` it as a change.

        With `invariant` the states meet their invariants, and the row is inserted.
        """
        insertion = block.inner()
        value = element_of(insertion, self.rows, row, self.element)
        valid = insertion.name("come", conj(moved, value.valid))
        combine_row(insertion, self.running, value, valid, row)
        if self.sums:
            self._add_up(insertion, row, value, valid)
        for evictable in self.evictable.values():
            evictable.insert(
                insertion, value, valid, invariant=invariant and not self.filtered
            )
        if self.changed is not None and marks:
            insertion.set(self.changed, disj(self.changed, valid))
        block.when(TRUE if self._cheap() else moved, insertion)

    def append(self, block: Block, row: LExpr) -> None:
        """Add a row to the running states alone."""
        value = element_of(block, self.rows, row, self.element)
        valid = block.name("come", value.valid)
        combine_row(block, self.running, value, valid, row)

    def add_up(self, block: Block, row: LExpr) -> None:
        """Add a row to the sums alone."""
        value = element_of(block, self.rows, row, self.element)
        self._add_up(block, row, value, block.name("come", value.valid))

    def _add_up(self, block: Block, row: LExpr, value: LoopValue, valid: LExpr) -> None:
        """Add a row to the sums; if it is not `valid` they are stored as they were."""
        combine_row(block, self.sums, value, valid, row)
        self.put_sums(block, add(row, i64(1)))

    def _cheap(self) -> bool:
        """Return whether a combine in vain costs less than a mispredicted branch."""
        calls = any(isinstance(node, Call) for node in walk(self.element))
        states = *self.running, *self.sums
        simple = all(len(aggregate.types) == 1 for aggregate in states)
        return simple and not calls and not self.evictable

    def mark_row(self, block: Block, row: LExpr) -> None:
        """Mark a row that exists as a change, if it contributes."""
        if self.changed is not None:
            value = element_of(block, self.rows, row, self.element)
            block.set(self.changed, disj(self.changed, value.valid))

    def evict(
        self, block: Block, row: LExpr, moved: LExpr, marked: LExpr = TRUE
    ) -> None:
        """Evict a row, which exists, if `moved`; as a change if it is `marked`."""
        if not self.sees_evictions:
            return
        out = block.inner() if self.evictable else block
        value = element_of(out, self.rows, row, self.element)
        gone = conj(moved, value.valid)
        if self.changed is not None:
            out.set(self.changed, disj(self.changed, conj(gone, marked)))
        if self.evictable:
            gone = out.name("gone", gone)
            for evictable in self.evictable.values():
                evictable.evict(out, value, gone)
            block.when(moved, out)

    def stack(self, block: Block, row: LExpr, at: LExpr) -> None:
        """Push a row on the front; the running state serves as the front's."""
        value = element_of(block, self.rows, row, self.element)
        valid = block.name("here", value.valid)
        for aggregate, state in self.running.items():
            lifted = lift_where(block, aggregate, value, valid, row)
            assign_state(block, state, aggregate.combine(block, lifted, state))
        self.put(block, at)

    def put(self, block: Block, at: LExpr) -> None:
        """Store the running states in the front at an index."""
        for aggregate, arrays in self.front.items():
            for array, var in zip(arrays, self.running[aggregate], strict=True):
                block.add(Store(array, at, var))

    def state(
        self, block: Block, aggregate: Aggregate, first: LExpr, base: LExpr
    ) -> State:
        """The state of the window from row `first` on; `base` is the front's first."""
        if aggregate in self.sums:
            before = _load_state(block, self.prefixes[aggregate], first)
            assert aggregate.evict is not None
            state = aggregate.evict(block, self.sums[aggregate], before)
        else:
            top = block.name("top", sub(first, base))
            front = _load_state(block, self.front[aggregate], top)
            state = aggregate.combine(block, front, self.running[aggregate])
        return name_state(block, "w", state)


def _load_state(block: Block, arrays: tuple[Array, ...], index: LExpr) -> State:
    return tuple(block.name("f", load(array, index)) for array in arrays)


def combine_row(
    block: Block,
    states: Mapping[Aggregate, tuple[Var, ...]],
    value: LoopValue,
    valid: LExpr,
    row: LExpr,
) -> None:
    """Combine states with that of a row."""
    for aggregate, state in states.items():
        lifted = lift_where(block, aggregate, value, valid, row)
        assign_state(block, state, aggregate.combine(block, state, lifted))


def assign_state(block: Block, state: tuple[Var, ...], new: State) -> None:
    """Assign a state, which may be computed from the old one."""
    if len(state) == 1:
        block.set(state[0], new[0])
    else:
        block.assign("s", state, new)


def aggregate_of(builder: KernelBuilder, node: Reduce) -> Aggregate:
    """The aggregate of a reduction besides the count."""
    return aggregate_for(node.reduction, node.element.type, builder.user_reductions)
