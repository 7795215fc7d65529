"""Regular objects as a grid kernel reads them: from memory, or lane by lane.

A `Stored` object lies in arrays, one entry a cell: a sampled input, or a temporary that
an earlier loop of the kernel has filled. A `Streamed` one is being computed by the loop
itself: its vectors of this round and of those before are in variables.
"""

from dataclasses import dataclass, field, replace

from tiltpy.abi import LANES
from tiltpy.loops.build import (
    TRUE,
    add,
    convert,
    disj,
    i64,
    lt,
    mul,
    ne,
    select,
    sub,
)
from tiltpy.loops.nodes import (
    Array,
    Bin,
    Earlier,
    Lane,
    Lanes,
    LExpr,
    Load,
    Num,
    Pick,
    Prefetch,
    Splat,
    Store,
    Var,
    While,
    Wide,
)
from tiltpy.lowering.assembly import Assembly, Block
from tiltpy.lowering.lattice import Axis, Step
from tiltpy.lowering.values import Lowered, zero
from tiltpy.types import I64, U32, Scalar, Struct, Type, columns

AHEAD = 1 << 13
"""Bytes ahead of a loop that are asked for."""
REGISTERS = 8
"""Vectors of a stream's past that are kept in variables; older ones are in memory."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a vector of cells is: at `base` and on, or each lane at `base + lanes`.

    `single`: one cell, at `base`. `near`: the lanes are these constants, all within
    two vectors from `base` on.
    """

    base: LExpr
    lanes: LExpr | None = None
    single: bool = False
    near: tuple[int, ...] = ()

    @property
    def contiguous(self) -> bool:
        """Whether it is a vector of neighbours."""
        return self.lanes is None and not self.single

    def back(self, cells: int) -> "Place":
        """The cells that many earlier."""
        return replace(self, base=sub(self.base, i64(cells)))

    def cell(self) -> LExpr:
        """The cell of each lane."""
        lanes = Lane(I64) if self.contiguous else self.lanes
        return self.base if lanes is None else add(self.base, lanes)


def single(cell: LExpr, seen: Step) -> Place:
    """The cell that one of the reader's sees."""
    at = add(mul(cell, i64(seen.times)), i64(seen.plus))
    if seen.over != 1:
        at = Bin("//", at, i64(seen.over), I64)
    return Place(at, single=True)


def place(cell: LExpr, seen: Step) -> Place:
    """The cells that a vector of the reader's sees, its first being `cell`."""
    if seen.regular:
        return Place(add(cell, i64(seen.plus)))
    at = add(mul(cell, i64(seen.times)), i64(seen.plus))
    if LANES * seen.times % seen.over == 0:  # loops count in whole vectors
        return _fixed(at, seen)
    base = Bin("//", at, i64(seen.over), I64)
    if seen.times == 1 and seen.over % LANES == 0 and seen.plus % LANES == 0:
        return Place(base, single=True)
    rest = convert(sub(at, mul(base, i64(seen.over))), U32)
    ticks = Bin("+", Bin("*", Lane(U32), Num(seen.times, U32), U32), rest, U32)
    lanes = Bin("//", ticks, Num(seen.over, U32), U32)
    return Place(base, convert(lanes, I64))


def _fixed(at: LExpr, seen: Step) -> Place:
    """Lanes that are at the same distances from the first one in every round."""
    rest = seen.plus % seen.over
    lanes = tuple((lane * seen.times + rest) // seen.over for lane in range(LANES))
    base = at if seen.over == 1 else Bin("//", at, i64(seen.over), I64)
    near = lanes if max(lanes) < 2 * LANES else ()
    return Place(base, Lanes(lanes, I64), near=near)


@dataclass(frozen=True, slots=True)
class Bitmap:
    """Bits of an input, the one of row 0 at `offset`."""

    array: Array
    offset: LExpr


Flags = Array | Bitmap | None
"""A bool for each cell; None where it is always true."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An object in arrays; cell 0 of the stretch is entry `offset`.

    `alive`: whether there is a snapshot; `begins`: whether one begins in the cell.
    """

    name: str
    type: Type
    axis: Axis
    values: tuple[Array, ...]
    validity: tuple[Flags, ...]
    alive: Flags
    begins: Flags
    offset: LExpr
    start: LExpr | None = None
    """The time at which cell 0 begins; of sampled inputs only."""

    @property
    def complete(self) -> bool:
        """Whether there is a snapshot in every cell."""
        return self.alive is None

    @property
    def always_begins(self) -> bool:
        """Whether each cell is a snapshot or a gap of its own kind."""
        return self.begins is None

    def arrays(self) -> list[Array]:
        """All that it lies in."""
        flags = (*self.validity, self.alive, self.begins)
        return [*self.values, *(flag for flag in flags if isinstance(flag, Array))]

    def value(self, block: Block, where: Place) -> Lowered:
        """The payload in a vector of cells."""
        at = self._at(where)
        at = replace(at, base=block.name("at", at.base))
        fields = tuple(
            Lowered(
                scalar,
                block.name("x", _entries(array, at)),
                _flag(block, flags, at),
            )
            for (_, scalar), array, flags in zip(
                columns(self.type), self.values, self.validity, strict=True
            )
        )
        alive = _flag(block, self.alive, at)
        if isinstance(self.type, Struct):
            return Lowered(self.type, None, alive, fields)
        return Lowered(self.type, fields[0].value, alive)

    def prefetch(self, block: Block, cell: LExpr, ahead: int = 0) -> None:
        """Ask for the cells that a loop will come to, or `ahead`.

        The machine does so by itself, but not over the ends of pages.
        """
        for array in self.values:
            cells = ahead or AHEAD // (array.type.bits // 8 or 1)
            block.add(Prefetch(array, add(add(cell, self.offset), i64(cells))))

    def living(self, block: Block, where: Place) -> LExpr:
        """Where there is a snapshot."""
        return _flag(block, self.alive, self._at(where))

    def beginning(self, block: Block, where: Place) -> LExpr:
        """Where a snapshot begins."""
        if self.begins is None:
            return self.living(block, where)
        return _flag(block, self.begins, self._at(where))

    def moved(self, block: Block, where: Place) -> LExpr:
        """Where another snapshot or gap is than in the cell before."""
        if self.begins is None and self.alive is None:
            return TRUE
        begins = self.beginning(block, where)
        if self.alive is None:
            return begins
        before = self.living(block, where.back(1))
        changed = ne(self.living(block, where), before)
        return block.name("moved", disj(begins, changed))

    def _at(self, where: Place) -> Place:
        """A place in the arrays."""
        return replace(where, base=add(where.base, self.offset))


def _flag(block: Block, flags: Flags, where: Place) -> LExpr:
    if flags is None:
        return TRUE
    if isinstance(flags, Bitmap):
        where = replace(where, base=add(where.base, flags.offset))
        return block.name("is", _entries(flags.array, where))
    return block.name("is", _entries(flags, where))


def _entries(array: Array, where: Place) -> LExpr:
    """The entries of an array in a place."""
    if where.contiguous:
        return Wide(array, where.base, array.type)
    if where.near and not array.bits:
        second = Wide(array, add(where.base, i64(LANES)), array.type)
        first = Wide(array, where.base, array.type)
        return Pick(first, second, where.near, array.type)
    index = where.base if where.lanes is None else add(where.base, where.lanes)
    return Load(array, index, array.type)


class History:
    """A wide value of each round, and those of the rounds before.

    `deepest` is the furthest that will be looked back, in cells, if that is far.
    """

    def __init__(
        self, assembly: Assembly, name: str, scalar: Scalar, deepest: int = 0
    ) -> None:
        self.assembly = assembly
        self.name = name
        self.type = scalar
        self.now: LExpr = Splat(zero(scalar), scalar)
        self.past: list[Var] = []
        self.ring: Array | None = None
        if deepest > REGISTERS * LANES:
            self.size = (deepest // LANES + 2) * LANES
            self.ring = assembly.temporary(f"{name}.past", scalar, (), self.size)
            self.position = assembly.fresh(f"{name}.position")

    def set(self, block: Block, value: LExpr) -> None:
        """The value of this round."""
        self.now = block.name(self.name, value)
        if self.ring is not None:
            block.add(Store(self.ring, self.position, Splat(self.now, self.type)))

    def at(self, block: Block, back: int) -> LExpr:
        """The value that many cells ago."""
        assert back >= 0
        if isinstance(self.now, Num):
            return self.now
        whole, by = divmod(back, LANES)
        late = self._vector(block, whole)
        if by == 0:
            return late
        early = self._vector(block, whole + 1)
        return block.name(self.name, Earlier(late, early, by, self.type))

    def _vector(self, block: Block, rounds: int) -> LExpr:
        if rounds == 0:
            return self.now
        if rounds <= REGISTERS:
            while len(self.past) < rounds:
                name = f"{self.name}.before{len(self.past) + 1}"
                self.past.append(self.assembly.fresh(name, self.type))
            return self.past[rounds - 1]
        assert self.ring is not None, f"{self.name} looks {rounds} vectors back"
        at = sub(self.position, i64(rounds * LANES))
        wrapped = select(lt(at, i64(0)), add(at, i64(self.size)), at)
        entries = Wide(self.ring, wrapped, self.type)
        return block.name(self.name, entries)

    def start(self, block: Block) -> None:
        """Before the loop: nothing has been."""
        for var in self.past:
            block.set(var, Splat(zero(self.type), self.type))
        if self.ring is not None:
            block.set(self.position, i64(0))
            entry = self.assembly.fresh("entry")
            clear = block.inner()
            clear.add(Store(self.ring, entry, zero(self.type)))
            clear.set(entry, add(entry, i64(1)))
            block.set(entry, i64(0))
            block.add(While(lt(entry, i64(self.size)), clear.body()))

    def advance(self, block: Block) -> None:
        """At the end of a round: it is one further back."""
        vectors = [self.now, *self.past]
        for newer, older in reversed(list(zip(vectors, self.past, strict=False))):
            block.set(older, newer)
        if self.ring is not None:
            following = add(self.position, i64(LANES))
            over = lt(following, i64(self.size))
            block.set(self.position, select(over, following, i64(0)))


@dataclass(slots=True)
class Streamed:
    """An object that the loop computes, `lag` cells behind its counter."""

    assembly: Assembly
    name: str
    type: Type
    axis: Axis
    deepest: int
    lag: int
    histories: list[History] = field(default_factory=list)
    values: tuple[History, ...] = ()
    validity: tuple[History | None, ...] = ()
    alive: History | None = None
    begins: History | None = None

    @property
    def complete(self) -> bool:
        """Whether there is a snapshot in every cell."""
        return self.alive is None

    @property
    def always_begins(self) -> bool:
        """Whether each cell is a snapshot or a gap of its own kind."""
        return self.begins is None

    def set(self, block: Block, value: Lowered, begins: LExpr | None) -> None:
        """What this round has computed; `begins` None: wherever there is a value."""
        parts = value.fields or (value,)
        self.values = tuple(
            self._history(block, "value", part.scalar) for part in parts
        )
        self.validity = tuple(
            None if part is value else self._flags(block, "valid", part.valid)
            for part in parts
        )
        self.alive = self._flags(block, "alive", value.valid)
        if begins is not None:
            self.begins = self._history(block, "begins", begins)

    def _flags(self, block: Block, what: str, value: LExpr) -> History | None:
        return None if value == TRUE else self._history(block, what, value)

    def _history(self, block: Block, what: str, value: LExpr) -> History:
        assert isinstance(value.type, Scalar)
        name = f"{self.name}.{what}"
        history = History(self.assembly, name, value.type, self.deepest)
        history.set(block, value)
        self.histories.append(history)
        return history

    def value(self, block: Block, back: int) -> Lowered:
        """The payload that many cells ago."""
        alive = self.living(block, back)
        fields = tuple(
            Lowered(
                scalar,
                history.at(block, back),
                TRUE if valid is None else valid.at(block, back),
            )
            for (_, scalar), history, valid in zip(
                columns(self.type), self.values, self.validity, strict=True
            )
        )
        if isinstance(self.type, Struct):
            return Lowered(self.type, None, alive, fields)
        return Lowered(self.type, fields[0].value, alive)

    def living(self, block: Block, back: int) -> LExpr:
        """Where there was a snapshot that many cells ago."""
        return TRUE if self.alive is None else self.alive.at(block, back)

    def beginning(self, block: Block, back: int) -> LExpr:
        """Where one began."""
        if self.begins is None:
            return self.living(block, back)
        return self.begins.at(block, back)

    def moved(self, block: Block, back: int) -> LExpr:
        """Where there was another snapshot or gap than in the cell before."""
        if self.begins is None and self.alive is None:
            return TRUE
        begins = self.beginning(block, back)
        if self.alive is None:
            return begins
        changed = ne(self.living(block, back), self.living(block, back + 1))
        return block.name("moved", disj(begins, changed))
