"""Folds of panes: one pass over the cells of each tumbling or hopping window.

Reductions of section 6.1 of the paper. Each lane of up to four vectors accumulates a
state of its own; they are combined at the end, so that no addition waits for another.
"""

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from tiltpy.abi.signature import LANES
from tiltpy.aggregates.aggregate import Aggregate, State, name_state
from tiltpy.aggregates.built_in import COUNT
from tiltpy.emit.builder import Block
from tiltpy.emit.cell_arrays import CellArrays, CellIndex
from tiltpy.emit.values import LoopValue, lower_expr
from tiltpy.ir.nodes import Element, Expr
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import TRUE, add, conj, disj, eq, i64, lt, sub
from tiltpy.loops.nodes import (
    Bin,
    CountTrue,
    Earlier,
    Extract,
    For,
    Lane,
    LExpr,
    Splat,
    Var,
)
from tiltpy.types import BOOL, I64


def unroll_factor(cells: int) -> int:
    """The number of vectors to fold side by side: more take longer to combine."""
    return 1 if cells < 256 else 4


Lift = Callable[[Block, CellIndex, LExpr], State]
"""The states of a vector of cells, masked by those in the window."""


@dataclass(frozen=True, slots=True)
class Pane:
    """A range of cells of an object: `cells` of them from `base` on.

    For a window over rows their number is a variable. `names` are the values of the
    element's free names.
    """

    source: CellArrays
    element: Expr
    base: LExpr
    cells: int | Var
    names: Mapping[str, LoopValue] = field(default_factory=dict, compare=False)

    @property
    def size(self) -> LExpr:
        """The number of cells."""
        return i64(self.cells) if isinstance(self.cells, int) else self.cells

    @property
    def end(self) -> LExpr:
        """The cell after the last."""
        return add(self.base, self.size)

    def first(self) -> CellIndex:
        """A vector of cells from the first one on."""
        if isinstance(self.cells, int):
            return CellIndex(self.base)
        return CellIndex(self.base, mask=lt(Lane(I64), self.size))

    def value(self, block: Block, where: CellIndex) -> LoopValue:
        """The element in a vector of cells; valid where a snapshot contributes.

        A snapshot that began before the pane contributes in its first cell.
        """
        snapshot = self.source.value(block, where)

        def leaf(node: object) -> LoopValue:
            assert isinstance(node, Element)
            return snapshot

        value = lower_expr(block, leaf, self.element, self.names)
        begins: LExpr = TRUE
        if self.source.begins is not None:
            first = eq(Bin("+", where.base, Lane(I64), I64), self.base)
            begins = disj(self.source.beginning(block, where), first)
        valid = block.name("in", conj(snapshot.valid, value.valid, begins))
        return LoopValue(value.type, value.value, valid, value.fields)

    def starts(self, block: Block) -> bool:
        """Return whether its first cell contributes, whenever its snapshot began."""
        whole = replace(self, source=replace(self.source, begins=None))
        return whole.certain(block)

    def certain(self, block: Block) -> bool:
        """Return whether each cell contributes."""
        return self.value(block.inner(), CellIndex(self.base)).valid == TRUE


class PaneFold:
    """The states over the cells of a pane, lane by lane; `kinds` lift cells to them.

    `unroll` vectors are folded side by side. `fetch`: prefetch the cells.
    """

    def __init__(
        self,
        block: Block,
        pane: Pane,
        kinds: Mapping[Aggregate, Lift],
        *,
        unroll: int = 1,
        fetch: bool = False,
    ) -> None:
        self.pane = pane
        self.kinds = kinds
        self.fetch = fetch
        self.count: Var | None = None
        if COUNT in kinds:
            self.count = block.builder.fresh("count")
            block.set(self.count, i64(0))
        self.vectors = {
            aggregate: [
                tuple(
                    block.builder.fresh(aggregate.name, kind)
                    for kind in aggregate.types
                )
                for _ in range(1 if aggregate.ordered else unroll)
            ]
            for aggregate in kinds
            if aggregate != COUNT
        }
        for aggregate, vectors in self.vectors.items():
            for state in vectors:
                for var, neutral in zip(state, aggregate.identity, strict=True):
                    ordered = aggregate.ordered
                    block.set(var, neutral if ordered else Splat(neutral, var.type))

    def accumulate(
        self, block: Block, where: CellIndex, lane: int, inside: LExpr
    ) -> None:
        """Fold the cells of a vector that are `inside`."""
        if self.fetch:
            self.pane.source.prefetch(block, where.base)
        for aggregate, vectors in self.vectors.items():
            state = vectors[0 if aggregate.ordered else lane]
            lifted = self.kinds[aggregate](block, where, inside)
            if aggregate.ordered:
                lifted = _in_order(block, aggregate, lifted)
            combine = aggregate.accumulate or aggregate.combine
            block.assign("m", state, combine(block, state, lifted))
        if self.count is not None:
            contributes = conj(self.pane.value(block, where).valid, inside)
            contributing = CountTrue(Splat(contributes, BOOL), I64)
            block.set(self.count, add(self.count, contributing))

    def states(self, block: Block) -> dict[Aggregate, State]:
        """The states of all cells."""
        states: dict[Aggregate, State] = {
            a: vectors[0] if a.ordered else _combine_lanes(block, a, vectors)
            for a, vectors in self.vectors.items()
        }
        return states if self.count is None else {**states, COUNT: (self.count,)}


def fold(
    block: Block, pane: Pane, kinds: Mapping[Aggregate, Lift], *, fetch: bool = False
) -> dict[Aggregate, State]:
    """Fold all cells of a pane; `kinds` lift cells to states, `fetch` prefetches."""
    if not isinstance(pane.cells, int):
        return fold_rows(block, {pane: kinds})[pane]
    unroll = unroll_factor(pane.cells)
    pane_fold = PaneFold(block, pane, kinds, unroll=unroll, fetch=fetch)
    step = unroll * LANES
    whole, rest = divmod(pane.cells, step)
    if pane.cells <= block.costs.straight_pane:
        whole, rest = 0, pane.cells
    end = add(pane.base, i64(whole * step))
    if whole:
        at = block.builder.fresh("at")
        inner = block.inner()
        for lane in range(unroll):
            pane_fold.accumulate(
                inner, CellIndex(add(at, i64(lane * LANES))), lane, TRUE
            )
        block.add(For(at, pane.base, end, inner.body(), step))
    for lane in range(-(-rest // LANES)):
        inside: LExpr = TRUE
        if rest < (lane + 1) * LANES:
            inside = lt(Lane(I64), i64(rest - lane * LANES))
        index = CellIndex(add(end, i64(lane * LANES)))
        pane_fold.accumulate(block, index, lane % unroll, inside)
    return pane_fold.states(block)


def fold_rows(
    block: Block,
    panes: Mapping[Pane, Mapping[Aggregate, Lift]],
    *,
    fetch: bool = False,
) -> dict[Pane, dict[Aggregate, State]]:
    """Fold several panes of the same rows in one pass; their number is a variable.

    That of one row is its own state, where lanes without a row change none.
    """
    if any(aggregate.ordered for kinds in panes.values() for aggregate in kinds):
        return _fold_vectors(block, panes, fetch=fetch)
    alone, together = block.inner(), block.inner()
    folded = _fold_vectors(together, panes, fetch=fetch)
    states: dict[Pane, dict[Aggregate, State]] = {}
    for pane, kinds in panes.items():
        states[pane] = {}
        for aggregate, lift in kinds.items():
            fresh = block.builder.fresh
            state = tuple(fresh(aggregate.name, kind) for kind in aggregate.types)
            alone.assign("m", state, _state_of_one(alone, pane, aggregate, lift))
            together.assign("m", state, folded[pane][aggregate])
            states[pane][aggregate] = state
    block.either(eq(next(iter(panes)).size, i64(1)), alone, together)
    return states


def _state_of_one(block: Block, pane: Pane, aggregate: Aggregate, lift: Lift) -> State:
    """The state of a pane of one row, as its lane has it."""
    lifted = lift(block, CellIndex(pane.base, single=True), TRUE)
    combine = aggregate.accumulate or aggregate.combine
    return combine(block, aggregate.identity, lifted)


def _fold_vectors(
    block: Block,
    panes: Mapping[Pane, Mapping[Aggregate, Lift]],
    *,
    fetch: bool,
) -> dict[Pane, dict[Aggregate, State]]:
    """Fold several panes of the same rows, a vector at a time."""
    folds = {pane: PaneFold(block, pane, kinds) for pane, kinds in panes.items()}
    pane = next(iter(panes))
    at = block.builder.fresh("at")
    inner = block.inner()
    inside = inner.name("inside", lt(Lane(I64), sub(pane.end, at)))
    if fetch:
        pane.source.prefetch(inner, at)
    for fold in folds.values():
        fold.accumulate(inner, CellIndex(at, mask=inside), 0, inside)
    block.add(For(at, pane.base, pane.end, inner.body(), LANES))
    return {pane: fold.states(block) for pane, fold in folds.items()}


def _combine_lanes(
    block: Block, aggregate: Aggregate, vectors: list[tuple[Var, ...]]
) -> State:
    """Combine all lanes of all vectors into one state, in any order."""
    states: list[State] = [*vectors]
    while len(states) > 1:
        pairs = zip(states[::2], states[1::2], strict=True)
        states = [
            name_state(block, "m", aggregate.combine(block, a, b)) for a, b in pairs
        ]
    (state,) = states
    by = LANES
    while by > 1:
        by //= 2
        turned = tuple(Earlier(number, number, by, number.type) for number in state)
        state = name_state(
            block, "m", aggregate.combine(block, name_state(block, "m", turned), state)
        )
    return name_state(
        block, "m", tuple(Extract(number, 0, number.type) for number in state)
    )


def _in_order(block: Block, aggregate: Aggregate, lanes: State) -> State:
    """Combine the lanes of a vector in order, by a prefix scan: the last has all."""
    state = name_state(block, "m", tuple(Splat(n, n.type) for n in lanes))
    for by in (1, 2, 4, 8):
        older = tuple(Earlier(number, number, by, number.type) for number in state)
        state = name_state(
            block, "m", aggregate.combine(block, name_state(block, "m", older), state)
        )
    return name_state(block, "m", tuple(Extract(p, LANES - 1, p.type) for p in state))
