"""Objects that the loop under way computes, as it sees them itself: lane by lane.

The vectors of this round and of those before are in variables; what is some cells back
is a shuffle of two of them. What is far back is in a ring in memory.
"""

from dataclasses import dataclass, field

from tiltpy.abi.signature import LANES
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.values import LoopValue, zero
from tiltpy.loops.build import TRUE, add, disj, i64, lt, ne, sub
from tiltpy.loops.nodes import (
    Array,
    Bin,
    Earlier,
    LExpr,
    Num,
    Splat,
    Stmt,
    Store,
    Var,
    While,
    Wide,
)
from tiltpy.types import I64, Scalar, Struct, Type, columns


class History:
    """A wide value of each round, and those of the rounds before.

    `deepest` is the furthest that may be looked back, in cells, if that is far: a ring
    in memory holds what is, once it is looked at. Before the first round all is
    `nothing`, by default 0.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        name: str,
        scalar: Scalar,
        deepest: int = 0,
        nothing: Num | None = None,
    ) -> None:
        self.builder = builder
        self.name = name
        self.type = scalar
        self.nothing = nothing or zero(scalar)
        self.now: LExpr = Splat(zero(scalar), scalar)
        self.past: list[Var] = []
        most = builder.costs.history_vectors
        self.in_registers = most if deepest <= most * LANES else 1
        self.size = 1 << ((deepest // LANES + 2) * LANES - 1).bit_length()
        self.ring: Array | None = None
        self.position = builder.fresh(f"{name}.position")
        self.statements: list[Stmt] = []
        self.setter: Stmt | None = None

    def set(self, block: Block, value: LExpr) -> None:
        """Set the value of this round."""
        self.now = block.name(self.name, value)
        self.statements = block.statements
        self.setter = self.statements[-1] if self.statements else None

    def _ring(self) -> Array:
        """The ring, to which this round's value goes where it has been set."""
        if self.ring is None:
            label = f"{self.name}.past"
            self.ring = self.builder.temporary(label, self.type, (), self.size)
            store = Store(self.ring, self.position, Splat(self.now, self.type))
            before = (n for n, s in enumerate(self.statements) if s is self.setter)
            self.statements.insert(next(before, -1) + 1, store)
        return self.ring

    def at(self, block: Block, back: int) -> LExpr:
        """The value `back` cells ago."""
        assert back >= 0
        if isinstance(self.now, Num):
            return self.now
        whole, by = divmod(back, LANES)
        late = self._vector(block, whole)
        if by == 0:
            return self._copy(block, late) if whole else late
        early = self._vector(block, whole + 1)
        return block.name(self.name, Earlier(late, early, by, self.type))

    def _copy(self, block: Block, vector: LExpr) -> LExpr:
        """A copy: at the end of a round its variable moves on, maybe before others."""
        copy = self.builder.fresh(self.name, self.type)
        block.set(copy, vector)
        return copy

    def _vector(self, block: Block, rounds: int) -> LExpr:
        if rounds == 0:
            return self.now
        if rounds <= self.in_registers:
            while len(self.past) < rounds:
                name = f"{self.name}.before{len(self.past) + 1}"
                self.past.append(self.builder.fresh(name, self.type))
            return self.past[rounds - 1]
        assert rounds * LANES < self.size, f"{self.name} looks {rounds} vectors back"
        at = self._wrap(sub(self.position, i64(rounds * LANES)))
        return block.name(self.name, Wide(self._ring(), at, self.type))

    def _wrap(self, position: LExpr) -> LExpr:
        """Wrap a position in the ring, whose size is a power of two."""
        return Bin("%", position, i64(self.size), I64)

    def start(self, block: Block) -> None:
        """Clear all, before the loop."""
        for var in self.past:
            block.set(var, Splat(self.nothing, self.type))
        if self.ring is not None:
            block.set(self.position, i64(0))
            entry = self.builder.fresh("entry")
            clear = block.inner()
            clear.add(Store(self.ring, entry, self.nothing))
            clear.set(entry, add(entry, i64(1)))
            block.set(entry, i64(0))
            block.add(While(lt(entry, i64(self.size)), clear.body()))

    def advance(self, block: Block) -> None:
        """Move all one round back, at the end of a round."""
        vectors = [self.now, *self.past]
        for newer, older in reversed(list(zip(vectors, self.past, strict=False))):
            block.set(older, newer)
        if self.ring is not None:
            following = add(self.position, i64(LANES))
            block.set(self.position, self._wrap(following))


@dataclass(slots=True)
class StreamedObject:
    """An object that the loop computes: its values and flags of each round.

    `deepest` is the furthest that readers look back, in cells.
    """

    builder: KernelBuilder
    name: str
    type: Type
    deepest: int
    histories: list[History] = field(default_factory=list)
    values: tuple[History, ...] = ()
    validity: tuple[History | None, ...] = ()
    alive: History | None = None
    begins: History | None = None

    @property
    def complete(self) -> bool:
        """Return whether there is a snapshot in every cell."""
        return self.alive is None

    @property
    def always_begins(self) -> bool:
        """Return whether each cell is a snapshot or a gap of its own kind."""
        return self.begins is None

    def set(self, block: Block, value: LoopValue, begins: LExpr | None) -> None:
        """Set this round's cells; `begins` None: wherever there is a value."""
        parts = value.fields or (value,)
        self.values = tuple(
            self._history(block, "value", column.scalar) for column in parts
        )
        self.validity = tuple(
            None if column is value else self._flags(block, "valid", column.valid)
            for column in parts
        )
        self.alive = self._flags(block, "alive", value.valid)
        if begins is not None:
            self.begins = self._history(block, "begins", begins)

    def _flags(self, block: Block, what: str, value: LExpr) -> History | None:
        return None if value == TRUE else self._history(block, what, value)

    def _history(self, block: Block, what: str, value: LExpr) -> History:
        assert isinstance(value.type, Scalar)
        name = f"{self.name}.{what}"
        history = History(self.builder, name, value.type, self.deepest)
        history.set(block, value)
        self.histories.append(history)
        return history

    def value(self, block: Block, back: int) -> LoopValue:
        """The payload `back` cells ago."""
        alive = self.presence(block, back)
        fields = tuple(
            LoopValue(
                scalar,
                history.at(block, back),
                TRUE if valid is None else valid.at(block, back),
            )
            for (_, scalar), history, valid in zip(
                columns(self.type), self.values, self.validity, strict=True
            )
        )
        if isinstance(self.type, Struct):
            return LoopValue(self.type, None, alive, fields)
        return LoopValue(self.type, fields[0].value, alive)

    def presence(self, block: Block, back: int) -> LExpr:
        """The mask of snapshots `back` cells ago."""
        return TRUE if self.alive is None else self.alive.at(block, back)

    def beginning(self, block: Block, back: int) -> LExpr:
        """The mask of snapshots that began `back` cells ago."""
        if self.begins is None:
            return self.presence(block, back)
        return self.begins.at(block, back)

    def change(self, block: Block, back: int) -> LExpr:
        """The mask of other snapshots or gaps than in the cell before."""
        if self.begins is None and self.alive is None:
            return TRUE
        begins = self.beginning(block, back)
        if self.alive is None:
            return begins
        changed = ne(self.presence(block, back), self.presence(block, back + 1))
        return block.name("moved", disj(begins, changed))
