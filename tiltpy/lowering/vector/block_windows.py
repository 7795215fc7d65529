"""Long windows over vectors by van Herk blocks (van Herk, Gil, Werman), lane by lane.

The suffixes of a block of vectors are made once a block; merged with the running prefix
of the next one they are the windows that reach from one into the other. Three merges a
vector, however long the window. Blocks begin at multiples of their length, wherever a
loop begins: so floats are always added up alike.
"""

from collections.abc import Callable

from tiltpy.abi.signature import LANES
from tiltpy.aggregates.aggregate import Aggregate, State
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.loops.build import add, conj, convert, eq, greatest, i64, lt, sub
from tiltpy.loops.nodes import (
    Array,
    Bin,
    LExpr,
    Num,
    Splat,
    Store,
    Var,
    While,
    Wide,
)
from tiltpy.types import I64, int_range


def _multiple(count: Num, times: int) -> Num:
    """A multiple of a constant; integers wrap."""
    product = count.value * times
    if not count.type.is_float:
        low, high = int_range(count.type)
        product = (product - low) % (high - low + 1) + low
    return Num(product, count.type)


class Blocks:
    """A window over so many vectors, each lane on its own.

    The vectors come in blocks as long as the window. In the arrays are those of the
    present block so far, and behind them what is left of the suffixes of the last one:
    from vector `first`, and from `first_suffix` on, since a loop may begin in a block.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        name: str,
        aggregate: Aggregate,
        vectors: int,
        *,
        certain: bool,
    ) -> None:
        assert vectors > 0
        self.builder = builder
        self.aggregate = aggregate
        self.vectors = vectors
        self.certain = certain
        self.number = builder.fresh(f"{name}.number")
        self.first = builder.fresh(f"{name}.first")
        self.first_suffix = builder.fresh(f"{name}.first_suffix")
        self.name = name
        self.arrays: dict[int, Array] = {}
        self.prefix: dict[int, Var] = {}

    def window(self, block: Block, state: State) -> State:
        """Take this round's vector in; returns the state of the window up to it."""
        for component, value in enumerate(state):
            if not isinstance(value, Num):
                kind = self.aggregate.types[component]
                label = f"{self.name}.suffix"
                size = self.vectors * LANES
                array = self.builder.temporary(label, kind, (), size)
                self.arrays[component] = array
                self.prefix[component] = self.builder.fresh(f"{self.name}.prefix", kind)
        present = dict(enumerate(state))
        first, later = block.inner(), block.inner()
        for component, var in self.prefix.items():
            first.set(var, present[component])
        running = self._state(state, self._prefix, self.number)
        self._assign(later, self.prefix, self._merge(later, running, state))
        block.either(eq(self.number, i64(0)), first, later)
        result = self._result(block, state)
        for component, array in self.arrays.items():
            block.add(Store(array, self._entry(self.number), present[component]))
        block.set(self.number, add(self.number, i64(1)))
        turn = block.inner()
        self._turn(turn, state)
        block.when(eq(self.number, i64(self.vectors)), turn)
        return result

    def _prefix(self, component: int) -> LExpr:
        return self.prefix[component]

    def _state(
        self, state: State, component_of: Callable[[int], LExpr], vectors: LExpr
    ) -> State:
        """A state of that many vectors: counts of one are multiplied."""

        def several(component: int, constant: Num) -> LExpr:
            if component not in self.aggregate.counted:
                return constant
            kind = constant.type
            return Bin("*", constant, convert(vectors, kind), kind)

        return tuple(
            several(component, value)
            if isinstance(value, Num)
            else component_of(component)
            for component, value in enumerate(state)
        )

    def _merge(self, block: Block, older: State, newer: State) -> State:
        return self.aggregate.join(block, older, newer, certain=self.certain)

    def _assign(self, block: Block, variables: dict[int, Var], state: State) -> None:
        """Set all parts at once."""
        parts = [state[component] for component in variables]
        block.assign("p", tuple(variables.values()), parts)

    def _entry(self, vector: LExpr) -> LExpr:
        return Bin("*", vector, i64(LANES), I64)

    def _result(self, block: Block, state: State) -> State:
        """The suffix of the last block from the next vector on, and the prefix.

        The last vector's is the prefix alone, and so are all before the first suffixes.
        """
        left = block.name("left", sub(i64(self.vectors - 1), self.number))
        whole, both = block.inner(), block.inner()
        following = greatest(add(self.number, i64(1)), self.first_suffix)
        at = both.name("at", self._entry(following))

        def suffix(component: int) -> LExpr:
            array = self.arrays[component]
            return both.name("s", Wide(array, at, array.type))

        older = self._state(state, suffix, left)
        newer = self._state(state, self._prefix, add(self.number, i64(1)))
        merged = self._merge(both, older, newer)
        result: list[LExpr] = []
        for component, value in enumerate(state):
            if isinstance(value, Num):
                counts = component in self.aggregate.counted
                result.append(_multiple(value, self.vectors) if counts else value)
                continue
            window = self.builder.fresh("w", value.type)
            whole.set(window, self.prefix[component])
            both.set(window, merged[component])
            result.append(window)
        has_suffix = lt(self.first_suffix, i64(self.vectors))
        block.either(conj(has_suffix, lt(i64(0), left)), both, whole)
        return tuple(result)

    def _turn(self, block: Block, state: State) -> None:
        """The block is full: its vectors become its suffixes."""
        block.set(self.number, i64(0))
        block.set(self.first_suffix, self.first)
        block.set(self.first, i64(0))
        vector = self.builder.fresh("vector")
        running = {
            component: self.builder.fresh("suffix", array.type)
            for component, array in self.arrays.items()
        }
        for component, array in self.arrays.items():
            at = self._entry(i64(self.vectors - 1))
            block.set(running[component], Wide(array, at, array.type))
        block.set(vector, i64(self.vectors - 1))
        inner = block.inner()
        inner.set(vector, sub(vector, i64(1)))
        at = inner.name("at", self._entry(vector))

        def load_vector(component: int) -> LExpr:
            return inner.name(
                "v", Wide(self.arrays[component], at, self.arrays[component].type)
            )

        vector_state = self._state(state, load_vector, i64(1))
        count = sub(i64(self.vectors - 1), vector)
        rest = self._state(state, lambda component: running[component], count)
        self._assign(inner, running, self._merge(inner, vector_state, rest))
        for component, array in self.arrays.items():
            inner.add(Store(array, at, running[component]))
        block.add(While(lt(self.first_suffix, vector), inner.body()))

    @property
    def rounds(self) -> bool:
        """Test whether its states depend on where blocks begin."""
        return any(kind.is_float for kind in self.aggregate.types)

    def start(self, block: Block, vector: LExpr) -> None:
        """Go before the loop to its first vector, all before which are identities."""
        block.set(self.number, Bin("%", vector, i64(self.vectors), I64))
        block.set(self.first, self.number)
        block.set(self.first_suffix, i64(self.vectors))
        for component, var in self.prefix.items():
            block.set(var, Splat(self.aggregate.identity[component], var.type))
