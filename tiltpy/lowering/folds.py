"""Windows over cells, sixteen at a time, without a chain from cell to cell.

A window that moves on with the cells is made by doubling: sums of 2 cells from two
cells, of 4 from two of those 2 apart, and so on; then a window is a few of these side
by side. Windows of one object share them. Each is in registers; what is some cells back
is a shuffle of two vectors. A long window is 16 cells by doubling and then a window
over whole vectors, lane by lane: suffixes of a block of vectors, made once a block, and
the running prefix of the next (van Herk, Gil and Werman). Nothing runs on over time:
a result depends on the cells of its window alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from tiltpy.abi import LANES
from tiltpy.loops.build import add, eq, f64, i64, lt, select, sub
from tiltpy.loops.nodes import (
    Array,
    Bin,
    Convert,
    LExpr,
    Num,
    Splat,
    Store,
    Var,
    While,
    Wide,
)
from tiltpy.lowering.assembly import Assembly, Block
from tiltpy.lowering.objects import REGISTERS, History
from tiltpy.lowering.reducers import Kept, State
from tiltpy.types import F64, I64

LONGEST_TREE = 8 * LANES
"""Cells of a window that is made by doubling alone."""


class Sequence:
    """The states of each round; a component that never changes stays a number."""

    def __init__(
        self, assembly: Assembly, name: str, kept: Kept, state: State, deepest: int
    ) -> None:
        self.histories = [
            None
            if isinstance(part, Num)
            else History(assembly, f"{name}.{kept.name}", scalar, deepest)
            for part, scalar in zip(state, kept.types, strict=True)
        ]
        self.constant = state

    def set(self, block: Block, state: State) -> None:
        """The state of this round."""
        for history, part in zip(self.histories, state, strict=True):
            if history is not None:
                history.set(block, part)

    def at(self, block: Block, back: int) -> State:
        """The state that many cells ago."""
        return tuple(
            part if history is None else history.at(block, back)
            for history, part in zip(self.histories, self.constant, strict=True)
        )

    def start(self, block: Block) -> None:
        """Before the loop."""
        for history in self.histories:
            if history is not None:
                history.start(block)

    def advance(self, block: Block) -> None:
        """At the end of a round."""
        for history in self.histories:
            if history is not None:
                history.advance(block)


@dataclass(slots=True)
class Fold:
    """All windows of one element of one object with one kind of state.

    `lifted` is the state of each cell's own snapshot (the identity where none begins);
    `certain`: one contributes in every cell.
    """

    assembly: Assembly
    name: str
    kept: Kept
    certain: bool
    deepest: int
    levels: dict[int, Sequence] = field(default_factory=dict)
    windows: dict[int, tuple[Kept, Sequence]] = field(default_factory=dict)
    blocks: list["Blocks"] = field(default_factory=list)
    delays: list[Sequence] = field(default_factory=list)

    def lift(self, block: Block, lifted: State) -> None:
        """The states of this round's cells."""
        if not self.certain:
            lifted = tuple(
                Splat(part, part.type) if isinstance(part, Num) else part
                for part in lifted
            )
        self._level(block, 1, lifted)

    def _level(self, block: Block, size: int, state: State) -> Sequence:
        state = tuple(block.name(self.name, part) for part in state)
        deepest = REGISTERS * LANES
        found = Sequence(self.assembly, f"{self.name}{size}", self.kept, state, deepest)
        found.set(block, state)
        self.levels[size] = found
        return found

    def merge(self, older: State, newer: State) -> State:
        """Two states beside each other in time."""
        merge = self.kept.join if self.certain else self.kept.merge
        return merge(older, newer)

    def level(self, block: Block, size: int) -> Sequence:
        """The states of so many cells (a power of two)."""
        if size not in self.levels:
            half = self.level(block, size // 2)
            older, newer = half.at(block, size // 2), half.at(block, 0)
            self._level(block, size, self.merge(older, newer))
        return self.levels[size]

    def window(self, block: Block, cells: int, back: int) -> tuple[Kept, State]:
        """The state of that many cells, the newest of them `back` cells ago."""
        if cells not in self.windows:
            kept, state = self._window(block, cells)
            name = f"{self.name}.window{cells}"
            found = Sequence(self.assembly, name, kept, state, self.deepest)
            found.set(block, state)
            self.windows[cells] = kept, found
        kept, found = self.windows[cells]
        return kept, found.at(block, back)

    def _window(self, block: Block, cells: int) -> tuple[Kept, State]:
        if cells <= LONGEST_TREE:
            return self.kept, self._tree(block, cells)
        vectors, rest = divmod(cells, LANES)
        kept = self.kept.wider or self.kept
        whole = self._wide(self.level(block, LANES).at(block, 0))
        blocks = Blocks(self.assembly, self.name, kept, vectors, certain=self.certain)
        self.blocks.append(blocks)
        state = blocks.window(block, whole)
        if rest:
            tail = self._wide(self._tree(block, rest))
            name = f"{self.name}.rest{cells}"
            delay = Sequence(self.assembly, name, kept, tail, vectors * LANES)
            self.delays.append(delay)
            delay.set(block, tail)
            older = delay.at(block, vectors * LANES)
            merge = kept.join if self.certain else kept.merge
            state = merge(older, state)
        return kept, tuple(block.name(self.name, part) for part in state)

    def _wide(self, state: State) -> State:
        return self.kept.widen(state)

    def _tree(self, block: Block, cells: int) -> State:
        """Powers of two side by side, merged from the smallest and oldest on."""
        pieces, back = [], 0
        for size in (64, 32, 16, 8, 4, 2, 1):
            while cells - back >= size:
                pieces.append((size, back))
                back += size
        (size, back), *rest = reversed(pieces)
        state = self.level(block, size).at(block, back)
        for size, back in rest:
            newer = self.level(block, size).at(block, back)
            merged = self.merge(state, newer)
            state = tuple(block.name(self.name, part) for part in merged)
        return state

    def _sequences(self) -> list[Sequence]:
        windows = [found for _, found in self.windows.values()]
        return [*self.levels.values(), *windows, *self.delays]

    def start(self, block: Block) -> None:
        """Before the loop."""
        for sequence in self._sequences():
            sequence.start(block)
        for blocks in self.blocks:
            blocks.start(block)

    def advance(self, block: Block) -> None:
        """At the end of a round."""
        for sequence in self._sequences():
            sequence.advance(block)


class Blocks:
    """A window over so many vectors, each lane on its own.

    The vectors come in blocks as long as the window. In the arrays are those of the
    present block so far, and behind them what is left of the suffixes of the last one.
    """

    def __init__(
        self, assembly: Assembly, name: str, kept: Kept, vectors: int, *, certain: bool
    ) -> None:
        self.assembly = assembly
        self.kept = kept
        self.vectors = vectors
        self.certain = certain
        self.number = assembly.fresh(f"{name}.number")
        self.varying: list[int] = []
        self.name = name
        self.arrays: dict[int, Array] = {}
        self.prefix: dict[int, Var] = {}

    def window(self, block: Block, state: State) -> State:
        """Take this round's vector in; returns the state of the window up to it."""
        for part, value in enumerate(state):
            if not isinstance(value, Num):
                kind = self.kept.types[part]
                label = f"{self.name}.suffix"
                size = self.vectors * LANES
                array = self.assembly.temporary(label, kind, (), size)
                self.arrays[part] = array
                self.prefix[part] = self.assembly.fresh(f"{self.name}.prefix", kind)
        one = dict(enumerate(state))
        first, later = block.inner(), block.inner()
        for part, var in self.prefix.items():
            first.set(var, one[part])
        running = self._state(state, self._prefix, self._so_far(0))
        self._assign(later, self.prefix, self._merge(running, state))
        block.either(eq(self.number, i64(0)), first, later)
        result = self._result(block, state)
        for part, array in self.arrays.items():
            block.add(Store(array, self._entry(self.number), one[part]))
        block.set(self.number, add(self.number, i64(1)))
        turn = block.inner()
        self._turn(turn, state)
        block.when(eq(self.number, i64(self.vectors)), turn)
        return result

    def _prefix(self, part: int) -> LExpr:
        return self.prefix[part]

    def _so_far(self, more: int) -> LExpr:
        """How many vectors of the present block are in the prefix."""
        return add(self.number, i64(more))

    def _state(
        self, state: State, part_of: Callable[[int], LExpr], vectors: LExpr
    ) -> State:
        """A state of that many vectors: constants of one are multiplied (counts)."""
        return tuple(
            Bin("*", value, Convert(vectors, F64), F64)
            if isinstance(value, Num)
            else part_of(part)
            for part, value in enumerate(state)
        )

    def _merge(self, older: State, newer: State) -> State:
        merge = self.kept.join if self.certain else self.kept.merge
        return merge(older, newer)

    def _assign(self, block: Block, variables: dict[int, Var], state: State) -> None:
        """Set all parts at once."""
        named = {part: block.name("p", state[part]) for part in variables}
        for part, var in variables.items():
            block.set(var, named[part])

    def _entry(self, vector: LExpr) -> LExpr:
        return Bin("*", vector, i64(LANES), I64)

    def _result(self, block: Block, state: State) -> State:
        """The suffix of the last block from the next vector on, and the prefix."""
        last = block.name("last", eq(self.number, i64(self.vectors - 1)))
        following = select(last, i64(0), add(self.number, i64(1)))
        at = block.name("at", self._entry(following))
        left = sub(i64(self.vectors - 1), self.number)

        def suffix(part: int) -> LExpr:
            array = self.arrays[part]
            return block.name("s", Wide(array, at, array.type))

        older = self._state(state, suffix, left)
        newer = self._state(state, self._prefix, self._so_far(1))
        merged = self._merge(older, newer)
        total = f64(float(self.vectors))
        return tuple(
            f64(value.value * total.value)
            if isinstance(value, Num)
            else block.name("w", select(last, self.prefix[part], merged[part]))
            for part, value in enumerate(state)
        )

    def _turn(self, block: Block, state: State) -> None:
        """The block is full: its vectors become its suffixes."""
        block.set(self.number, i64(0))
        vector = self.assembly.fresh("vector")
        running = {
            part: self.assembly.fresh("suffix", array.type)
            for part, array in self.arrays.items()
        }
        for part, array in self.arrays.items():
            at = self._entry(i64(self.vectors - 1))
            block.set(running[part], Wide(array, at, array.type))
        block.set(vector, i64(self.vectors - 1))
        inner = block.inner()
        inner.set(vector, sub(vector, i64(1)))
        at = inner.name("at", self._entry(vector))

        def loaded(part: int) -> LExpr:
            return inner.name("v", Wide(self.arrays[part], at, self.arrays[part].type))

        one = self._state(state, loaded, i64(1))
        count = sub(i64(self.vectors - 1), vector)
        rest = self._state(state, lambda part: running[part], count)
        self._assign(inner, running, self._merge(one, rest))
        for part, array in self.arrays.items():
            inner.add(Store(array, at, running[part]))
        block.add(While(lt(i64(0), vector), inner.body()))

    def start(self, block: Block) -> None:
        """Before the loop: an empty block behind one of nothing."""
        block.set(self.number, i64(0))
        vector = self.assembly.fresh("vector")
        block.set(vector, i64(0))
        clear = block.inner()
        for part, array in self.arrays.items():
            nothing = Splat(self.kept.identity[part], array.type)
            clear.add(Store(array, self._entry(vector), nothing))
        clear.set(vector, add(vector, i64(1)))
        block.add(While(lt(vector, i64(self.vectors)), clear.body()))
        for part, var in self.prefix.items():
            block.set(var, Splat(self.kept.identity[part], var.type))
