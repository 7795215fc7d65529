"""Windows over cells, sixteen at a time, without a chain from cell to cell.

A window that moves on with the cells is made by doubling: sums of 2 cells from two
cells, of 4 from two of those 2 apart, and so on; then a window is a few of these side
by side. Windows of one object share them. Each is in registers, or in a ring in memory;
what is some cells back is a shuffle of two vectors. A long window is 16 cells by
doubling and then a window over whole vectors, lane by lane (`blocks`), but for sums in
single precision: blocks would round them too often, and doubling on costs less than
doubles. Nothing runs on over time: a result depends on the cells of its window alone.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tiltpy.abi.signature import LANES
from tiltpy.aggregates.aggregate import Aggregate, State, name_state
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.loops.build import add, i64, lt
from tiltpy.loops.nodes import LExpr, Num, Splat, Var
from tiltpy.lowering.vector.block_windows import Blocks
from tiltpy.lowering.vector.history import History
from tiltpy.lowering.vector.nested_blocks import NestedBlocks


class Sequence:
    """The states of each round; a component that never changes stays a number.

    `shared` are histories of components that the loop has already.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        name: str,
        aggregate: Aggregate,
        state: State,
        deepest: int,
        shared: Mapping[int, History] | None = None,
    ) -> None:
        self.histories = [
            None
            if isinstance(component, Num)
            else (shared or {}).get(number)
            or History(builder, f"{name}.{aggregate.name}", scalar, deepest, nothing)
            for number, (component, scalar, nothing) in enumerate(
                zip(state, aggregate.types, aggregate.identity, strict=True)
            )
        ]
        self.constant = state
        self.own = [
            history
            for number, history in enumerate(self.histories)
            if history is not None and number not in (shared or {})
        ]

    def set(self, block: Block, state: State) -> None:
        """The state of this round."""
        for history, component in zip(self.histories, state, strict=True):
            if history in self.own:
                history.set(block, component)

    def at(self, block: Block, back: int) -> State:
        """The state that many cells ago."""
        return tuple(
            component if history is None else history.at(block, back)
            for history, component in zip(self.histories, self.constant, strict=True)
        )

    def start(self, block: Block) -> None:
        """Set the variables before the loop."""
        for history in self.own:
            history.start(block)

    def advance(self, block: Block) -> None:
        """End a round of the loop."""
        for history in self.own:
            history.advance(block)


def parts_of(cells: int, *, overlap: bool) -> list[tuple[int, int]]:
    """Powers of two side by side, and how many cells ago each ends.

    They are two at most if they may overlap.
    """
    if overlap and cells & (cells - 1):
        size = 1 << (cells.bit_length() - 1)
        return [(size, 0), (size, cells - size)]
    parts, back = [], 0
    while back < cells:
        size = 1 << ((cells - back).bit_length() - 1)
        parts.append((size, back))
        back += size
    return parts


def _in_lanes(state: State) -> State:
    """A state without constants."""
    return tuple(
        Splat(component, component.type) if isinstance(component, Num) else component
        for component in state
    )


class CellSource(Protocol):
    """Addresses of the cells of a window in memory."""

    def lift(self, block: Block, ago: LExpr) -> State:
        """The states of the vector of cells that was taken in so many cells ago."""

    def prefetch(self, block: Block, ago: int) -> None:
        """Prefetch the vector so many cells ago."""


@dataclass(slots=True)
class WindowFold:
    """All windows of one element of one object with one kind of state.

    `lifted` is the state of each cell's own snapshot (the identity where none begins);
    `certain`: one contributes in every cell. `lengths`: the cells of windows to come;
    `deepest`: how far back their readers look for them. With a `source` there may be no
    cells before the first rounds, instead of any.
    """

    builder: KernelBuilder
    name: str
    aggregate: Aggregate
    certain: bool
    lengths: Collection[int]
    deepest: int
    source: CellSource | None = None
    levels: dict[int, Sequence] = field(default_factory=dict)
    windows: dict[int, tuple[Aggregate, Sequence]] = field(default_factory=dict)
    blocks: list[Blocks | NestedBlocks] = field(default_factory=list)
    delays: list[Sequence] = field(default_factory=list)
    shared: dict[int, History] = field(default_factory=dict)
    rounds: Var | None = None

    def lift(self, block: Block, lifted: State) -> None:
        """The states of this round's cells."""
        if not self.certain:
            lifted = _in_lanes(lifted)
        self._level(block, 1, lifted)

    def _level(self, block: Block, size: int, state: State) -> Sequence:
        state = tuple(block.name(self.name, component) for component in state)
        name = f"{self.name}{size}"
        if not self.levels:
            self._share(block, state)
        deepest = self._deepest(size)
        aggregate, shared = self.aggregate, self.shared
        sequence = Sequence(self.builder, name, aggregate, state, deepest, shared)
        sequence.set(block, state)
        self.levels[size] = sequence
        return sequence

    def _share(self, block: Block, state: State) -> None:
        """Remember once what is the same in the states of all sizes."""
        powers = range(max(self.lengths).bit_length())
        deepest = max((self._deepest(1 << power) for power in powers), default=0)
        for component in self.aggregate.from_newer:
            kind = self.aggregate.types[component]
            history = History(self.builder, f"{self.name}.shared", kind, deepest)
            history.set(block, state[component])
            self.shared[component] = history

    def _deepest(self, size: int) -> int:
        """Find how far back the states of `size` cells will be looked for.

        By the windows to come, and by the states of twice as many.
        """
        grown = filter(self._grows, self.lengths)
        parts = [pair for cells in grown for pair in self._parts(cells)]
        backs = [back for power, back in parts if power == size]
        doubled = any(power > size for power, _ in parts)
        return max(*backs, size if doubled else 0, 0)

    def _parts(self, cells: int) -> list[tuple[int, int]]:
        return parts_of(cells, overlap=self.aggregate.idempotent)

    def merge(self, block: Block, older: State, newer: State) -> State:
        """Two states beside each other in time."""
        return self.aggregate.join(block, older, newer, certain=self.certain)

    def level(self, block: Block, size: int) -> Sequence:
        """The states of so many cells (a power of two)."""
        if size not in self.levels:
            half = self.level(block, size // 2)
            older, newer = half.at(block, size // 2), half.at(block, 0)
            self._level(block, size, self.merge(block, older, newer))
        return self.levels[size]

    def window(self, block: Block, cells: int, back: int) -> tuple[Aggregate, State]:
        """The state of that many cells, the newest of them `back` cells ago."""
        if cells not in self.windows:
            aggregate, state = self._window(block, cells)
            name = f"{self.name}.window{cells}"
            sequence = Sequence(self.builder, name, aggregate, state, self.deepest)
            sequence.set(block, state)
            self.windows[cells] = aggregate, sequence
        aggregate, sequence = self.windows[cells]
        return aggregate, sequence.at(block, back)

    def _grows(self, cells: int) -> bool:
        """Decide whether a window is made by doubling alone; blocks need a vector."""
        narrow = self.aggregate.wider is not None
        costs = self.builder.costs
        longest = costs.longest_narrow_tree if narrow else costs.longest_tree
        return cells < max(LANES, longest + 1)

    def _nests(self, vectors: int) -> bool:
        """Decide whether a window has blocks of blocks, two of them at least."""
        costs = self.builder.costs
        nested = max(costs.nested_window, 2 * costs.short_block * LANES)
        return self.source is not None and vectors * LANES >= nested

    def _window(self, block: Block, cells: int) -> tuple[Aggregate, State]:
        if self._grows(cells):
            return self.aggregate, self._tree(block, cells)
        vectors, rest = divmod(cells, LANES)
        aggregate = self.aggregate.wider or self.aggregate
        whole = self.aggregate.widen(self.level(block, LANES).at(block, 0))
        if aggregate.ordered:  # other constants than these may grow with blocks
            whole = tuple(
                part if number in (0, *aggregate.counted) else _in_lanes((part,))[0]
                for number, part in enumerate(whole)
            )
        if self._nests(vectors):
            nested = NestedBlocks(self.builder, self.name, aggregate, vectors)
            self.blocks.append(nested)
            return aggregate, nested.window(block, whole, OldCells(self, rest))
        blocks = Blocks(
            self.builder, self.name, aggregate, vectors, certain=self.certain
        )
        self.blocks.append(blocks)
        state = blocks.window(block, whole)
        if rest:
            tail = self.aggregate.widen(self._tree(block, rest))
            name = f"{self.name}.rest{cells}"
            delay = Sequence(self.builder, name, aggregate, tail, vectors * LANES)
            self.delays.append(delay)
            delay.set(block, tail)
            state = self._join_delayed(block, delay, vectors, aggregate, state)
        return aggregate, tuple(block.name(self.name, component) for component in state)

    def _join_delayed(
        self,
        block: Block,
        delay: Sequence,
        vectors: int,
        aggregate: Aggregate,
        state: State,
    ) -> State:
        """Join what some vectors ago was the oldest part of a window, if it has one."""
        if self.source is None:
            older = delay.at(block, vectors * LANES)
            return aggregate.join(block, older, state, certain=self.certain)
        if self.rounds is None:
            self.rounds = self.builder.fresh(f"{self.name}.rounds")
        state = name_state(block, self.name, state)
        joined = tuple(self.builder.fresh(self.name, part.type) for part in state)
        before, after = block.inner(), block.inner()
        for var, part in zip(joined, state, strict=True):
            before.set(var, part)
        older = delay.at(after, vectors * LANES)
        merged = aggregate.join(after, older, state, certain=self.certain)
        for var, part in zip(joined, merged, strict=True):
            after.set(var, part)
        block.either(lt(self.rounds, i64(vectors)), before, after)
        return joined

    def _tree(self, block: Block, cells: int) -> State:
        """Powers of two side by side, merged from the smallest and oldest on."""
        (size, back), *rest = reversed(self._parts(cells))
        state = self.level(block, size).at(block, back)
        for size, back in rest:
            newer = self.level(block, size).at(block, back)
            merged = self.merge(block, state, newer)
            state = tuple(block.name(self.name, component) for component in merged)
        return state

    def _sequences(self) -> list[Sequence]:
        windows = [sequence for _, sequence in self.windows.values()]
        return [*self.levels.values(), *windows, *self.delays]

    def start(self, block: Block, vector: LExpr) -> None:
        """Set the variables before the loop, whose first round has a `vector`."""
        for history in self.shared.values():
            history.start(block)
        for sequence in self._sequences():
            sequence.start(block)
        for blocks in self.blocks:
            blocks.start(block, vector)
        if self.rounds is not None:
            block.set(self.rounds, i64(0))

    def advance(self, block: Block) -> None:
        """End a round of the loop."""
        for history in self.shared.values():
            history.advance(block)
        for sequence in self._sequences():
            sequence.advance(block)
        if self.rounds is not None:
            block.set(self.rounds, add(self.rounds, i64(1)))


class OldCells:
    """The cells of a window that are read once more: vectors, each with a `rest`."""

    def __init__(self, fold: WindowFold, rest: int) -> None:
        assert fold.source is not None
        self.source = fold.source
        self.rest = rest
        self.fold = WindowFold(
            fold.builder,
            f"{fold.name}.old",
            fold.aggregate,
            fold.certain,
            {LANES, rest} if rest else {LANES},
            0,
        )

    def read(self, block: Block, ago: LExpr) -> tuple[State, State | None]:
        """The state of the vector so many cells ago, and of the rest up to it."""
        fold = self.fold
        fold.lift(block, self.source.lift(block, ago))
        whole = fold.aggregate.widen(fold.level(block, LANES).at(block, 0))
        if not self.rest:
            return whole, None
        return whole, fold.aggregate.widen(fold.window(block, self.rest, 0)[1])

    def start(self, block: Block) -> None:
        """Begin with any vector; to be called when one has been read."""
        self.fold.start(block, i64(0))

    def advance(self, block: Block) -> None:
        """Go on to the next."""
        self.fold.advance(block)

    def prefetch(self, block: Block, ago: int) -> None:
        """Prefetch the vector so many cells ago."""
        self.source.prefetch(block, ago)
