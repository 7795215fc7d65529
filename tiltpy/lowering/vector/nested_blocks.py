"""Windows over vectors that no near cache holds: van Herk blocks of short blocks.

A window is what is left of the short block in which it begins, whole short blocks, and
what there is of the one in which it ends. Whole blocks come from `Blocks` of their
states, a vector a block; the oldest is read once more, when the window comes to it. So
a cell is read twice and no state of it is kept. Blocks of both kinds begin at multiples
of their length, wherever a loop begins: floats are always added up alike.
"""

from typing import Protocol

from tiltpy.abi.signature import LANES
from tiltpy.aggregates.aggregate import Aggregate, State
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.loops.build import add, eq, i64, le, lt, mul, select, sub
from tiltpy.loops.nodes import Array, Bin, LExpr, Splat, Store, Var, While, Wide
from tiltpy.lowering.vector.block_windows import Blocks
from tiltpy.types import I64


class OldVectors(Protocol):
    """Vectors of a window that are read once more, one after the other."""

    def read(self, block: Block, ago: LExpr) -> tuple[State, State | None]:
        """The state of the vector so many cells ago, and of the rest up to it."""

    def advance(self, block: Block) -> None:
        """Go on to the next."""

    def start(self, block: Block) -> None:
        """Begin with any vector, before the loop that reads them."""

    def prefetch(self, block: Block, ago: int) -> None:
        """Prefetch the vector so many cells ago."""


class NestedBlocks:
    """A window over so many vectors, and the rest of less than one before them.

    Short blocks have `costs.short_block` vectors; a window holds two at least. The
    identity is a state like all others.
    """

    def __init__(
        self, builder: KernelBuilder, name: str, aggregate: Aggregate, vectors: int
    ) -> None:
        self.builder = builder
        self.name = name
        self.aggregate = aggregate
        self.vectors = vectors
        self.short = builder.costs.short_block
        self.whole, self.over = divmod(vectors, self.short)
        self.blocks = Blocks(
            builder, f"{name}.blocks", aggregate, self.whole - 1, certain=True
        )
        self.number = builder.fresh(f"{name}.number")
        self.age = builder.fresh(f"{name}.age")
        self.prefix = self._variables("prefix")
        self.middle = self._variables("middle")
        self.closed = self._variables("closed")
        self.following = self._variables("following")
        self.suffixes = self._arrays("suffixes")
        self.rests: tuple[Array, ...] = ()

    def _variables(self, label: str) -> tuple[Var, ...]:
        return tuple(
            self.builder.fresh(f"{self.name}.{label}", kind)
            for kind in self.aggregate.types
        )

    def _arrays(self, label: str) -> tuple[Array, ...]:
        """Arrays of the oldest block's vectors, of one before and of one behind it."""
        size = (self.short + 2) * LANES
        return tuple(
            self.builder.temporary(f"{self.name}.{label}", kind, (), size)
            for kind in self.aggregate.types
        )

    def window(self, block: Block, state: State, old: OldVectors) -> State:
        """Take this round's vector in; returns the state of the window up to it."""
        first, later, turn, last = (block.inner() for _ in range(4))
        self._assign(first, self.prefix, state)
        if self.over:  # one more block is whole, and the oldest is still the same
            middle = self._merge(first, self.middle, self.closed)
            self._assign(first, self.middle, middle)
        self._assign(later, self.prefix, self._merge(later, self.prefix, state))
        block.either(eq(self.number, i64(0)), first, later)
        self._turn(turn, old)
        block.when(eq(self.age, i64(0)), turn, rarely=True)
        old.prefetch(block, (self.vectors - self.short) * LANES)
        result = self._result(block)
        block.set(self.age, self._next(block, self.age))
        block.set(self.number, self._next(block, self.number))
        self._close(last)
        block.when(eq(self.number, i64(0)), last, rarely=True)
        return result

    def _merge(self, block: Block, older: State, newer: State) -> State:
        return self.aggregate.join(block, older, newer, certain=True)

    def _assign(self, block: Block, variables: tuple[Var, ...], state: State) -> None:
        block.assign("p", variables, state)

    def _next(self, block: Block, number: Var) -> LExpr:
        """Count on, round a short block."""
        following = block.name("next", add(number, i64(1)))
        return select(le(i64(self.short), following), i64(0), following)

    def _entries(self, block: Block, arrays: tuple[Array, ...], at: LExpr) -> State:
        entry = block.name("at", mul(at, i64(LANES)))
        return tuple(block.name("s", Wide(each, entry, each.type)) for each in arrays)

    def _store(
        self, block: Block, arrays: tuple[Array, ...], at: LExpr, state: State
    ) -> None:
        entry = block.name("at", mul(at, i64(LANES)))
        for array, part in zip(arrays, state, strict=True):
            block.add(Store(array, entry, Splat(part, array.type)))

    def _result(self, block: Block) -> State:
        """Merge what is left of the oldest block, whole ones, and the present."""
        newer = self._merge(block, self.middle, self.prefix)
        older = self._entries(block, self.suffixes, add(self.age, i64(2)))
        state = self._merge(block, older, newer)
        if self.rests:
            rest = self._entries(block, self.rests, add(self.age, i64(1)))
            state = self._merge(block, rest, state)
        return tuple(block.name("w", part) for part in state)

    def _turn(self, block: Block, old: OldVectors) -> None:
        """The window comes to another oldest block: read it, from a vector before."""
        self._assign(block, self.middle, self.following)
        at = self.builder.fresh("vector")
        inner = block.inner()
        ago = mul(sub(i64(self.vectors + 1), at), i64(LANES))
        state, rest = old.read(inner, inner.name("ago", ago))
        self._store(inner, self.suffixes, at, state)
        if rest is not None:
            self.rests = self._arrays("rests")
            self._store(inner, self.rests, at, rest)
        old.advance(inner)
        inner.set(at, add(at, i64(1)))
        old.start(block)
        block.set(at, i64(0))
        block.add(While(le(at, i64(self.short)), inner.body()))
        self._make_suffixes(block)

    def _make_suffixes(self, block: Block) -> None:
        at = self.builder.fresh("vector")
        suffix = self._variables("suffix")
        self._assign(
            block, suffix, self._entries(block, self.suffixes, i64(self.short))
        )
        inner = block.inner()
        inner.set(at, sub(at, i64(1)))
        vector = self._entries(inner, self.suffixes, at)
        self._assign(inner, suffix, self._merge(inner, vector, suffix))
        self._store(inner, self.suffixes, at, suffix)
        block.set(at, i64(self.short))
        block.add(While(lt(i64(2), at), inner.body()))

    def _close(self, block: Block) -> None:
        """The present block is whole."""
        self._assign(block, self.closed, self.prefix)
        state = self.blocks.window(block, self.prefix)
        self._assign(block, self.following, state)

    @property
    def rounds(self) -> bool:
        """Test whether its states depend on where blocks begin."""
        return self.blocks.rounds

    def start(self, block: Block, vector: LExpr) -> None:
        """Go before the loop to its first vector, all before which are identities."""
        short = i64(self.short)
        block.set(self.number, Bin("%", vector, short, I64))
        block.set(self.age, Bin("%", sub(vector, i64(self.over)), short, I64))
        self.blocks.start(block, block.name("block", Bin("//", vector, short, I64)))
        nothing = tuple(
            Splat(number, kind)
            for number, kind in zip(
                self.aggregate.identity, self.aggregate.types, strict=True
            )
        )
        for variables in (self.prefix, self.middle, self.closed, self.following):
            self._assign(block, variables, nothing)
        at = self.builder.fresh("vector")
        inner = block.inner()
        for arrays in (self.suffixes, self.rests):
            self._store(inner, arrays, at, nothing[: len(arrays)])
        inner.set(at, add(at, i64(1)))
        block.set(at, i64(0))
        block.add(While(lt(at, i64(self.short + 2)), inner.body()))
