"""Windows of many cells that do not overlap much: one pass over the cells of each.

Tumbling and hopping reductions of section 6.1 of the paper. Sixteen lanes and four
vectors at a time are folded on their own and merged at the end, so that no addition
waits for the one before.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tiltpy.abi import LANES
from tiltpy.aggregates.aggregate import Aggregate, State
from tiltpy.aggregates.built_in import COUNT
from tiltpy.emit.builder import Block
from tiltpy.emit.cell_arrays import CellArrays, CellIndex
from tiltpy.emit.values import LoopValue, lower_expr
from tiltpy.ir.nodes import Element, Expr
from tiltpy.loops.build import (
    TRUE,
    add,
    conj,
    disj,
    eq,
    i64,
    lt,
    sub,
)
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


def unrolled(cells: int) -> int:
    """How many vectors to fold side by side: more of them take longer to merge."""
    return 1 if cells < 256 else 4


Lift = Callable[[Block, CellIndex, LExpr], State]
"""The states of a vector of cells; the bool says which of them are in the window."""


@dataclass(frozen=True, slots=True)
class Pane:
    """Some cells of a stored object: `cells` of them from `base` on.

    They are as many as there are rows in a window, if that is no constant.
    """

    source: CellArrays
    element: Expr
    base: LExpr
    cells: int | Var

    @property
    def size(self) -> LExpr:
        """How many cells it has."""
        return i64(self.cells) if isinstance(self.cells, int) else self.cells

    @property
    def end(self) -> LExpr:
        """The first cell behind it."""
        return add(self.base, self.size)

    def first(self) -> CellIndex:
        """A vector of cells from the first one on."""
        if isinstance(self.cells, int):
            return CellIndex(self.base)
        return CellIndex(self.base, inside=lt(Lane(I64), self.size))

    def value(self, block: Block, where: CellIndex) -> LoopValue:
        """The element in a vector of cells; valid where a snapshot contributes.

        A snapshot that began before the pane contributes in its first cell.
        """
        given = self.source.value(block, where)

        def leaf(node: object) -> LoopValue:
            assert isinstance(node, Element)
            return given

        value = lower_expr(block, leaf, self.element)
        begins: LExpr = TRUE
        if self.source.begins is not None:
            first = eq(Bin("+", where.base, Lane(I64), I64), self.base)
            begins = disj(self.source.beginning(block, where), first)
        valid = block.name("in", conj(given.valid, value.valid, begins))
        return LoopValue(value.type, value.value, valid, value.fields)

    def starts(self, block: Block) -> bool:
        """Whether its first cell contributes: there it does not matter who began."""
        whole = replace(self, source=replace(self.source, begins=None))
        return whole.certain(block)

    def certain(self, block: Block) -> bool:
        """Whether each cell contributes."""
        return self.value(block.inner(), CellIndex(self.base)).valid == TRUE


class PaneFold:
    """The states over the cells of a pane, lane by lane: `kinds` lift what they keep.

    `unroll` vectors are folded side by side. `fetch`: they have not been read before.
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
        self.counted: Var | None = None
        if COUNT in kinds:
            self.counted = block.assembly.fresh("count")
            block.set(self.counted, i64(0))
        self.running = {
            kept: [
                tuple(block.assembly.fresh(kept.name, kind) for kind in kept.types)
                for _ in range(1 if kept.ordered else unroll)
            ]
            for kept in kinds
            if kept != COUNT
        }
        for kept, lanes in self.running.items():
            for state in lanes:
                for var, nothing in zip(state, kept.identity, strict=True):
                    every = nothing if kept.ordered else Splat(nothing, var.type)
                    block.set(var, every)

    def take(self, block: Block, where: CellIndex, lane: int, inside: LExpr) -> None:
        """Fold a vector of cells, those of them that are `inside`."""
        if self.fetch:
            self.pane.source.prefetch(block, where.base)
        for kept, vectors in self.running.items():
            state = vectors[0 if kept.ordered else lane]
            lifted = self.kinds[kept](block, where, inside)
            if kept.ordered:
                lifted = _in_order(block, kept, lifted)
            taken = (kept.take or kept.merge)(block, state, lifted)
            block.assign("m", state, taken)
        if self.counted is not None:
            contributes = conj(self.pane.value(block, where).valid, inside)
            more = CountTrue(Splat(contributes, BOOL), I64)
            block.set(self.counted, add(self.counted, more))

    def states(self, block: Block) -> dict[Aggregate, State]:
        """The states of all cells."""
        states: dict[Aggregate, State] = {
            kept: lanes[0] if kept.ordered else _merged(block, kept, lanes)
            for kept, lanes in self.running.items()
        }
        return states if self.counted is None else {**states, COUNT: (self.counted,)}


def fold(
    block: Block, pane: Pane, kinds: Mapping[Aggregate, Lift], *, fetch: bool = False
) -> dict[Aggregate, State]:
    """The states over all cells of a pane, each with what lifts a cell's value.

    `fetch`: the cells have not been read before.
    """
    if not isinstance(pane.cells, int):
        return fold_rows(block, {pane: kinds})[pane]
    unroll = unrolled(pane.cells)
    folding = PaneFold(block, pane, kinds, unroll=unroll, fetch=fetch)
    step = unroll * LANES
    whole, rest = divmod(pane.cells, step)
    if pane.cells <= block.costs.straight_pane:
        whole, rest = 0, pane.cells
    end = add(pane.base, i64(whole * step))
    if whole:
        at = block.assembly.fresh("at")
        inner = block.inner()
        for lane in range(unroll):
            folding.take(inner, CellIndex(add(at, i64(lane * LANES))), lane, TRUE)
        block.add(For(at, pane.base, end, inner.body(), step))
    for lane in range(-(-rest // LANES)):
        inside: LExpr = TRUE
        if rest < (lane + 1) * LANES:
            inside = lt(Lane(I64), i64(rest - lane * LANES))
        place = CellIndex(add(end, i64(lane * LANES)))
        folding.take(block, place, lane % unroll, inside)
    return folding.states(block)


def fold_rows(
    block: Block,
    wanted: Mapping[Pane, Mapping[Aggregate, Lift]],
    *,
    fetch: bool = False,
) -> dict[Pane, dict[Aggregate, State]]:
    """The same of panes of the same rows, whose number is not known, in one pass."""
    foldings = {pane: PaneFold(block, pane, kinds) for pane, kinds in wanted.items()}
    some = next(iter(wanted))
    at = block.assembly.fresh("at")
    inner = block.inner()
    inside = inner.name("inside", lt(Lane(I64), sub(some.end, at)))
    if fetch:
        some.source.prefetch(inner, at)
    for folding in foldings.values():
        folding.take(inner, CellIndex(at, inside=inside), 0, inside)
    block.add(For(at, some.base, some.end, inner.body(), LANES))
    return {pane: folding.states(block) for pane, folding in foldings.items()}


def _merged(block: Block, kept: Aggregate, lanes: list[tuple[Var, ...]]) -> State:
    """All lanes of all vectors as one state, in any order."""
    states: list[State] = [*lanes]
    while len(states) > 1:
        pairs = zip(states[::2], states[1::2], strict=True)
        states = [_named(block, kept.merge(block, a, b)) for a, b in pairs]
    (state,) = states
    by = LANES
    while by > 1:
        by //= 2
        turned = tuple(Earlier(part, part, by, part.type) for part in state)
        state = _named(block, kept.merge(block, _named(block, turned), state))
    return _named(block, tuple(Extract(part, 0, part.type) for part in state))


def _in_order(block: Block, kept: Aggregate, lanes: State) -> State:
    """All lanes of a vector as one state: the last has itself and all before it."""
    state = tuple(block.name("m", Splat(part, part.type)) for part in lanes)
    for by in (1, 2, 4, 8):
        older = tuple(Earlier(part, part, by, part.type) for part in state)
        state = _named(block, kept.merge(block, _named(block, older), state))
    return _named(block, tuple(Extract(p, LANES - 1, p.type) for p in state))


def _named(block: Block, state: State) -> State:
    return tuple(block.name("m", part) for part in state)
