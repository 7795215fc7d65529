"""Regular objects in memory, as a grid kernel reads them: one entry a cell.

Sampled inputs, rows that were spread over the ticks, and what an earlier loop of the
kernel has put down. What the loop itself computes is in `streams`.
"""

from dataclasses import dataclass, replace

from tiltpy.abi import LANES
from tiltpy.emit.axes import Axis, CellMap
from tiltpy.emit.builder import Block
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.loops.build import (
    TRUE,
    add,
    convert,
    disj,
    i64,
    mul,
    ne,
    select,
    sub,
)
from tiltpy.loops.nodes import (
    Array,
    Bin,
    Lane,
    Lanes,
    LExpr,
    Load,
    Num,
    Pick,
    Prefetch,
    Splat,
    Wide,
)
from tiltpy.types import I64, U32, Struct, Type, columns


@dataclass(frozen=True, slots=True)
class CellIndex:
    """Where a vector of cells is: at `base` and on, or each lane at `base + lanes`.

    `single`: one cell, at `base`. `near`: the lanes are these constants, all within
    two vectors from `base` on. Of neighbours only those `inside` may be read, if given.
    """

    base: LExpr
    lanes: LExpr | None = None
    single: bool = False
    near: tuple[int, ...] = ()
    inside: LExpr | None = None

    @property
    def contiguous(self) -> bool:
        """Whether it is a vector of neighbours."""
        return self.lanes is None and not self.single

    def back(self, cells: int) -> "CellIndex":
        """The cells that many earlier."""
        return replace(self, base=sub(self.base, i64(cells)))

    def cell(self) -> LExpr:
        """The cell of each lane."""
        lanes = Lane(I64) if self.contiguous else self.lanes
        return self.base if lanes is None else add(self.base, lanes)


def single(cell: LExpr, seen: CellMap) -> CellIndex:
    """The cell that one of the reader's sees."""
    at = add(mul(cell, i64(seen.times)), i64(seen.plus))
    if seen.over != 1:
        at = Bin("//", at, i64(seen.over), I64)
    return CellIndex(at, single=True)


def place(cell: LExpr, seen: CellMap) -> CellIndex:
    """The cells that a vector of the reader's sees, its first being `cell`."""
    if seen.regular:
        return CellIndex(add(cell, i64(seen.plus)))
    at = add(mul(cell, i64(seen.times)), i64(seen.plus))
    if LANES * seen.times % seen.over == 0:  # loops count in whole vectors
        return _fixed(at, seen)
    base = Bin("//", at, i64(seen.over), I64)
    if seen.times == 1 and seen.over % LANES == 0 and seen.plus % LANES == 0:
        return CellIndex(base, single=True)
    rest = convert(sub(at, mul(base, i64(seen.over))), U32)
    ticks = Bin("+", Bin("*", Lane(U32), Num(seen.times, U32), U32), rest, U32)
    lanes = Bin("//", ticks, Num(seen.over, U32), U32)
    return CellIndex(base, convert(lanes, I64))


def _fixed(at: LExpr, seen: CellMap) -> CellIndex:
    """Lanes that are at the same distances from the first one in every round."""
    rest = seen.plus % seen.over
    lanes = tuple((lane * seen.times + rest) // seen.over for lane in range(LANES))
    base = at if seen.over == 1 else Bin("//", at, i64(seen.over), I64)
    near = lanes if max(lanes) < 2 * LANES else ()
    return CellIndex(base, Lanes(lanes, I64), near=near)


@dataclass(frozen=True, slots=True)
class Bitmap:
    """Bits of an input, the one of row 0 at `offset`."""

    array: Array
    offset: LExpr


Flags = Array | Bitmap | None
"""A bool for each cell; None where it is always true."""


@dataclass(frozen=True, slots=True)
class CellArrays:
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

    def value(self, block: Block, where: CellIndex) -> LoopValue:
        """The payload in a vector of cells."""
        at = self._at(where)
        at = replace(at, base=block.name("at", at.base))
        fields = tuple(
            LoopValue(
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
            return LoopValue(self.type, None, alive, fields)
        return LoopValue(self.type, fields[0].value, alive)

    def prefetch(self, block: Block, cell: LExpr, ahead: int = 0) -> None:
        """Ask for the cells that a loop will come to, or `ahead`.

        The machine does so by itself, but not over the ends of pages.
        """
        for array in self.values:
            cells = ahead or block.costs.prefetch_bytes // (array.type.bits // 8 or 1)
            block.add(Prefetch(array, add(add(cell, self.offset), i64(cells))))

    def living(self, block: Block, where: CellIndex) -> LExpr:
        """Where there is a snapshot."""
        return _flag(block, self.alive, self._at(where))

    def beginning(self, block: Block, where: CellIndex) -> LExpr:
        """Where a snapshot begins."""
        if self.begins is None:
            return self.living(block, where)
        return _flag(block, self.begins, self._at(where))

    def moved(self, block: Block, where: CellIndex) -> LExpr:
        """Where another snapshot or gap is than in the cell before."""
        if self.begins is None and self.alive is None:
            return TRUE
        begins = self.beginning(block, where)
        if self.alive is None:
            return begins
        before = self.living(block, where.back(1))
        changed = ne(self.living(block, where), before)
        return block.name("moved", disj(begins, changed))

    def _at(self, where: CellIndex) -> CellIndex:
        """A place in the arrays."""
        return replace(where, base=add(where.base, self.offset))


def _flag(block: Block, flags: Flags, where: CellIndex) -> LExpr:
    if flags is None:
        return TRUE
    if isinstance(flags, Bitmap):
        where = replace(where, base=add(where.base, flags.offset))
        return block.name("is", _entries(flags.array, where))
    return block.name("is", _entries(flags, where))


def _entries(array: Array, where: CellIndex) -> LExpr:
    """The entries of an array in a place."""
    if where.inside is not None and array.bits:  # instead of the others the first
        index = select(where.inside, where.cell(), Splat(where.base, I64))
        return Load(array, index, array.type)
    if where.contiguous:
        return Wide(array, where.base, array.type, where.inside)
    if where.near and not array.bits:
        second = Wide(array, add(where.base, i64(LANES)), array.type)
        first = Wide(array, where.base, array.type)
        return Pick(first, second, where.near, array.type)
    index = where.base if where.lanes is None else add(where.base, where.lanes)
    return Load(array, index, array.type)


def cells_of(rows: ObjectRows) -> CellArrays:
    """Rows as cells that nobody asks for their time."""
    flags = tuple(map(_flags, rows.validity))
    struct = isinstance(rows.type, Struct)
    return CellArrays(
        rows.name,
        rows.type,
        Axis(1, 0),
        rows.values,
        flags if struct else (None,),
        None if struct else flags[0],
        None,
        i64(0),
    )


def _flags(validity: tuple[Array, LExpr] | None) -> Flags:
    if validity is None:
        return None
    array, offset = validity
    return Bitmap(array, offset) if array.bits else array
