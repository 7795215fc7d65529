"""Long windows over vectors by van Herk blocks (van Herk, Gil, Werman), lane by lane.

The suffixes of a block of vectors are made once a block; merged with the running prefix
of the next one they are the windows that reach from one into the other. Three merges a
vector, however long the window.
"""

from collections.abc import Callable

from tiltpy.abi.signature import LANES
from tiltpy.aggregates.aggregate import Aggregate, State
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.loops.build import add, eq, i64, lt, select, sub
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
from tiltpy.types import F64, I64


class Blocks:
    """A window over so many vectors, each lane on its own.

    The vectors come in blocks as long as the window. In the arrays are those of the
    present block so far, and behind them what is left of the suffixes of the last one.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        name: str,
        kept: Aggregate,
        vectors: int,
        *,
        certain: bool,
    ) -> None:
        self.builder = builder
        self.kept = kept
        self.vectors = vectors
        self.certain = certain
        self.number = builder.fresh(f"{name}.number")
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
                array = self.builder.temporary(label, kind, (), size)
                self.arrays[part] = array
                self.prefix[part] = self.builder.fresh(f"{self.name}.prefix", kind)
        one = dict(enumerate(state))
        first, later = block.inner(), block.inner()
        for part, var in self.prefix.items():
            first.set(var, one[part])
        running = self._state(state, self._prefix, self.number)
        self._assign(later, self.prefix, self._merge(later, running, state))
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

    def _state(
        self, state: State, part_of: Callable[[int], LExpr], vectors: LExpr
    ) -> State:
        """A state of that many vectors: constants of one are multiplied (counts)."""

        def several(constant: Num) -> LExpr:
            if not self.kept.counted:
                return constant
            return Bin("*", constant, Convert(vectors, F64), F64)

        return tuple(
            several(value) if isinstance(value, Num) else part_of(part)
            for part, value in enumerate(state)
        )

    def _merge(self, block: Block, older: State, newer: State) -> State:
        return self.kept.join(block, older, newer, certain=self.certain)

    def _assign(self, block: Block, variables: dict[int, Var], state: State) -> None:
        """Set all parts at once."""
        parts = [state[part] for part in variables]
        block.assign("p", tuple(variables.values()), parts)

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
        newer = self._state(state, self._prefix, add(self.number, i64(1)))
        merged = self._merge(block, older, newer)
        times = self.vectors if self.kept.counted else 1
        return tuple(
            Num(value.value * times, value.type)
            if isinstance(value, Num)
            else block.name("w", select(last, self.prefix[part], merged[part]))
            for part, value in enumerate(state)
        )

    def _turn(self, block: Block, state: State) -> None:
        """The block is full: its vectors become its suffixes."""
        block.set(self.number, i64(0))
        vector = self.builder.fresh("vector")
        running = {
            part: self.builder.fresh("suffix", array.type)
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
        self._assign(inner, running, self._merge(inner, one, rest))
        for part, array in self.arrays.items():
            inner.add(Store(array, at, running[part]))
        block.add(While(lt(i64(0), vector), inner.body()))

    def start(self, block: Block) -> None:
        """Before the loop: an empty block behind one of nothing."""
        block.set(self.number, i64(0))
        vector = self.builder.fresh("vector")
        block.set(vector, i64(0))
        clear = block.inner()
        for part, array in self.arrays.items():
            nothing = Splat(self.kept.identity[part], array.type)
            clear.add(Store(array, self._entry(vector), nothing))
        clear.set(vector, add(vector, i64(1)))
        block.add(While(lt(vector, i64(self.vectors)), clear.body()))
        for part, var in self.prefix.items():
            block.set(var, Splat(self.kept.identity[part], var.type))
