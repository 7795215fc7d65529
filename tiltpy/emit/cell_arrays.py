"""Cell arrays: regular objects in memory, with one entry a cell, for vector kernels.

Sampled inputs, densified rows, and objects that an earlier loop materialised.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from math import gcd

from tiltpy.abi.signature import LANES
from tiltpy.emit.axes import Axis, CellMap
from tiltpy.emit.builder import Block
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue, zero
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import (
    FALSE,
    TRUE,
    add,
    conj,
    convert,
    disj,
    greatest,
    i64,
    le,
    least,
    load,
    lt,
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
from tiltpy.types import I32, I64, U32, Struct, Type, columns

CACHE_LINE = 64
"""Bytes."""
ALIGNED = i64(0)
"""The shift of objects of which a cell begins where the time range does."""


@dataclass(frozen=True, slots=True)
class CellIndex:
    """The indices of a vector of cells: from `base` on, or each at `base + lanes`.

    `single`: one cell, at `base`. `steps`: masks of the lanes that have come to the
    next cell, to that behind it, and so on, which are `ahead` of `base`: 0 if none has.
    `enters`: a mask of the lanes at another cell than the one before them. `picks`: the
    lanes are these constants, all within two vectors from `base` on. `mask`: which of
    successive cells may be read.
    """

    base: LExpr
    lanes: LExpr | None = None
    single: bool = False
    picks: tuple[int, ...] = ()
    mask: LExpr | None = None
    steps: tuple[LExpr, ...] = ()
    ahead: tuple[LExpr, ...] = ()
    enters: LExpr = FALSE

    @property
    def contiguous(self) -> bool:
        """Return whether it is a vector of successive cells."""
        return self.lanes is None and not (self.single or self.steps)

    def back(self, cells: int) -> "CellIndex":
        """The indices of the cells that are so many earlier."""
        return self.later(i64(-cells))

    def in_variables(self, block: Block) -> "CellIndex":
        """Assign all that several arrays share of it to variables."""
        base = block.name("base", self.base)
        ahead = tuple(block.name("ahead", cells) for cells in self.ahead)
        steps = tuple(block.name("behind", mask) for mask in self.steps)
        return replace(self, base=base, ahead=ahead, steps=steps)

    def later(self, cells: LExpr) -> "CellIndex":
        """The indices of the cells that are so many later."""
        return replace(self, base=add(self.base, cells))

    def cell(self) -> LExpr:
        """The index of each lane."""
        if self.steps:
            numbers = range(len(self.steps) + 1)
            return self.blend(add(self.base, i64(number)) for number in numbers)
        lanes = Lane(I64) if self.contiguous else self.lanes
        return self.base if lanes is None else add(self.base, lanes)

    def cells_read(self) -> Iterator[LExpr]:
        """The first lane's cell, and those that lanes pass on to."""
        yield self.base
        for cells in self.ahead:
            yield add(self.base, cells)

    def blend(self, entries: Iterable[LExpr]) -> LExpr:
        """Choose for each lane that of its cell, of the entries of `cells_read`."""
        blended, *others = entries
        for behind, other in zip(self.steps, others, strict=True):
            blended = select(behind, other, blended)
        return blended


def cell_at(cell: LExpr, step: CellMap, shift: LExpr = ALIGNED) -> CellIndex:
    """The index of the cell that a cell of the reader reads.

    `shift`: how far the time range begins behind the object's cell 0, in the counts of
    the map (`CellArrays.shift`).
    """
    at = add(mul(cell, i64(step.times)), add(shift, i64(step.plus)))
    if step.over != 1:
        at = Bin("//", at, i64(step.over), I64)
    return CellIndex(at, single=True)


def divide_cell(cell: LExpr, step: CellMap, shift: LExpr) -> tuple[LExpr, LExpr]:
    """The cell that a cell of the reader reads, and what the map leaves over."""
    at = add(mul(cell, i64(step.times)), add(shift, i64(step.plus)))
    base = Bin("//", at, i64(step.over), I64)
    return base, sub(at, mul(base, i64(step.over)))


def cells_at(
    cell: LExpr,
    step: CellMap,
    shift: LExpr = ALIGNED,
    divide: Callable[[LExpr, CellMap, LExpr], tuple[LExpr, LExpr]] = divide_cell,
) -> CellIndex:
    """The indices of the cells that a vector of the reader, from `cell` on, reads.

    `divide` finds the first of them, as `divide_cell` does.
    """
    if step.is_regular:
        return CellIndex(add(cell, i64(step.plus)))
    at = add(mul(cell, i64(step.times)), add(shift, i64(step.plus)))
    aligned = shift == ALIGNED
    if aligned and LANES * step.times % step.over == 0:  # loops count in whole vectors
        return _fixed_lanes(at, step)
    cells, plus = divmod(step.plus, step.over)
    if cells:  # references a whole cell apart share all but the cell of the first lane
        first = replace(step, plus=plus)
        return cells_at(cell, first, shift, divide).later(i64(cells))
    single = step.times == 1 and step.over % LANES == 0 and step.plus % LANES == 0
    if aligned and single:
        return CellIndex(Bin("//", at, i64(step.over), I64), single=True)
    base, rest = divide(cell, step, shift)
    if step.over >= 2 * step.times:  # five blends at most cost less than a gather
        return _passing_lanes(base, rest, step)
    first_ticks = convert(rest, U32)
    ticks = Bin("+", Bin("*", Lane(U32), Num(step.times, U32), U32), first_ticks, U32)
    lanes = divide_ticks(ticks, step.over, LANES * step.times + step.over)
    return CellIndex(base, convert(lanes, I64))


def divide_ticks(ticks: LExpr, over: int, limit: int) -> LExpr:
    """Divide numbers below a limit: by a product and a shift, if they are small.

    No vector has an instruction to divide integers, nor for the upper half of a product
    of such a size (Granlund and Montgomery).
    """
    for bits in range(over.bit_length(), 32):
        factor = (1 << bits) // over + 1
        if (factor * over - (1 << bits)) * limit <= 1 << bits:
            if factor * limit > 1 << 32:
                break
            product = Bin("*", ticks, Num(factor, U32), U32)
            return Bin("//", product, Num(1 << bits, U32), U32)
    return Bin("//", ticks, Num(over, U32), U32)


def _passing_lanes(base: LExpr, first: LExpr, step: CellMap) -> CellIndex:
    """Indices of few cells: that of the first lane, and those that lanes pass on to.

    None behind the last lane's is read: there may be no more.
    """
    furthest = (LANES - 1) * step.times
    integer = U32 if furthest + 2 * step.over < 2**32 else I64
    rest = convert(first, integer)
    ticks = Bin("+", mul(Lane(integer), Num(step.times, integer)), rest, integer)
    most = -(-furthest // step.over)
    edges = [number * step.over for number in range(most + 1)]
    steps = tuple(le(Num(edge, integer), ticks) for edge in edges[1:])
    enters = disj(
        lt(ticks, Num(step.times, integer)),
        *(
            conj(mask, lt(ticks, Num(edge + step.times, integer)))
            for mask, edge in zip(steps, edges[1:], strict=True)
        ),
    )
    last = add(first, i64(furthest))
    ahead = tuple(
        select(le(i64(edge), last), i64(number), i64(0))
        for number, edge in enumerate(edges[1:], 1)
    )
    return CellIndex(base, steps=steps, ahead=ahead, enters=enters)


def _fixed_lanes(at: LExpr, step: CellMap) -> CellIndex:
    """Indices whose distances from the first are the same for every vector."""
    rest = step.plus % step.over
    lanes = tuple((lane * step.times + rest) // step.over for lane in range(LANES))
    base = at if step.over == 1 else Bin("//", at, i64(step.over), I64)
    picks = lanes if max(lanes) < 2 * LANES else ()
    return CellIndex(base, Lanes(lanes, I64), picks=picks)


@dataclass(frozen=True, slots=True)
class Bitmap:
    """A bitmap of an input, with row 0 at bit `offset`."""

    array: Array
    offset: LExpr


Flags = Array | Bitmap | None
"""A bool for each cell; None if all are true."""


@dataclass(frozen=True, slots=True)
class CellArrays:
    """An object in arrays, with cell 0 of the time range at entry `offset`.

    `alive`: cells with a snapshot; `begins`: cells in which one begins. `start`: the
    time at which cell 0 begins, of sampled inputs only. `rest`: the ticks from there to
    the start of the time range, where that is not aligned with the cells. `guard`: how
    many entries there are, if cells before and behind them may be read: they are 0.
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
    rest: LExpr = ALIGNED
    guard: LExpr | None = None

    def shift(self, block: Block, reader: Axis) -> LExpr:
        """The ticks before the time range in the counts of a reader's `CellMap`."""
        common = i64(gcd(self.axis.period, reader.period))
        if self.rest == ALIGNED or common == i64(1):
            return self.rest
        return block.name("shift", Bin("//", self.rest, common, I64))

    @property
    def complete(self) -> bool:
        """Return whether every cell has a snapshot."""
        return self.alive is None

    @property
    def always_begins(self) -> bool:
        """Return whether no snapshot is longer than a cell."""
        return self.begins is None

    def arrays(self) -> list[Array]:
        """The arrays of values and flags."""
        flags = (*self.validity, self.alive, self.begins)
        return [*self.values, *(flag for flag in flags if isinstance(flag, Array))]

    def value(self, block: Block, where: CellIndex) -> LoopValue:
        """Load the payload of a vector of cells."""
        at = self.at(where)
        at = replace(at, base=block.name("at", at.base))
        fields = tuple(
            LoopValue(
                scalar,
                self._load(block, array, at),
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

    def _load(self, block: Block, array: Array, at: CellIndex) -> LExpr:
        """Load the values of a vector of cells."""
        if self.guard is None:
            return block.name("x", _entries(array, at))
        entries = block.builder.fresh("x", array.type)
        edge, outside, partly, wholly = (block.inner() for _ in range(4))
        # To load no lane at all may be slow, where the address is none.
        outside.set(entries, Splat(zero(array.type), array.type))
        partly.set(entries, Wide(array, at.base, array.type, self.inside(at)))
        none = disj(le(at.base, i64(-LANES)), le(self.guard, at.base))
        edge.either(none, outside, partly)
        wholly.set(entries, _entries(array, at))
        block.either(self.is_inside(at), wholly, edge)
        return entries

    def is_inside(self, at: CellIndex) -> LExpr:
        """Return whether all successive cells from an entry on exist."""
        assert self.guard is not None
        last = sub(self.guard, i64(LANES))
        return conj(le(i64(0), at.base), le(at.base, last))

    def inside(self, at: CellIndex) -> LExpr:
        """The mask of those that exist."""
        assert self.guard is not None
        before = greatest(least(sub(i64(0), at.base), i64(LANES)), i64(0))
        left = greatest(least(sub(self.guard, at.base), i64(LANES)), i64(0))
        lane = Lane(I32)
        return conj(le(convert(before, I32), lane), lt(lane, convert(left, I32)))

    def count_inside(self, block: Block, where: CellIndex, cells: int) -> LExpr:
        """Count the cells not before the first entry, of those up to each of a vector.

        `cells` are counted up to each, and that one exists.
        """
        last = block.name("last", self.at(where).base)
        count = block.builder.fresh("n", I32)
        partly, wholly = block.inner(), block.inner()
        first_lane = convert(greatest(least(last, i64(cells)), i64(-LANES)), I32)
        up_to = Bin("+", Lane(I32), Bin("+", first_lane, Num(1, I32), I32), I32)
        partly.set(count, least(up_to, Num(cells, I32)))
        wholly.set(count, Splat(Num(cells, I32), I32))
        block.either(lt(last, i64(cells - 1)), partly, wholly)
        return count

    def prefetch(self, block: Block, cell: LExpr, ahead: int = 0) -> None:
        """Prefetch the cells that a loop will read, `ahead` of `cell` if given.

        The hardware prefetches by itself, but not across pages.
        """
        for (field, _), array in zip(columns(self.type), self.values, strict=True):
            cells = ahead or block.costs.prefetch_bytes // array.type.entry_bytes
            if block.builder.reads(self.name, field):
                step = CACHE_LINE // array.type.entry_bytes
                for entry in range(0, LANES, step):
                    at = add(add(cell, self.offset), i64(cells + entry))
                    block.add(Prefetch(array, at))

    def prefetch_lines(self, block: Block, cell: LExpr, ahead: int) -> None:
        """Prefetch all lines of a vector of cells `ahead` of `cell`, or behind it."""
        for (field, _), array in zip(columns(self.type), self.values, strict=True):
            if block.builder.reads(self.name, field):
                step = CACHE_LINE // array.type.entry_bytes
                for entry in range(0, LANES, step):
                    at = add(add(cell, self.offset), i64(ahead + entry))
                    block.add(Prefetch(array, at))

    def presence(self, block: Block, where: CellIndex) -> LExpr:
        """The mask of the cells with a snapshot."""
        return _flag(block, self.alive, self.at(where))

    def masks(self, block: Block, where: CellIndex) -> list[LExpr]:
        """The masks of the cells with a snapshot, and of those with each field."""
        at = self.at(where)
        return [_flag(block, flags, at) for flags in (self.alive, *self.validity)]

    def beginning(self, block: Block, where: CellIndex) -> LExpr:
        """The mask of the cells in which a snapshot begins."""
        if self.begins is None:
            return self.presence(block, where)
        return _flag(block, self.begins, self.at(where))

    def change(
        self, block: Block, where: CellIndex, earlier: CellIndex | None = None
    ) -> LExpr:
        """The mask of the cells with another snapshot or gap than the one `earlier`.

        By default that is the one before.
        """
        if self.begins is None and self.alive is None:
            return TRUE
        begins = self.beginning(block, where)
        if self.alive is None:
            return begins
        before = self.presence(block, earlier or where.back(1))
        changed = ne(self.presence(block, where), before)
        return block.name("moved", disj(begins, changed))

    def at(self, where: CellIndex) -> CellIndex:
        """The indices in the arrays."""
        return where.later(self.offset)


def _flag(block: Block, flags: Flags, where: CellIndex) -> LExpr:
    if flags is None:
        return TRUE
    if isinstance(flags, Bitmap):
        return block.name("is", _entries(flags.array, where.later(flags.offset)))
    return block.name("is", _entries(flags, where))


def _entries(array: Array, where: CellIndex) -> LExpr:
    """Load entries of an array."""
    if where.mask is not None and array.bits:  # masked lanes read the first
        index = select(where.mask, where.cell(), Splat(where.base, I64))
        return Load(array, index, array.type)
    if where.steps:
        return where.blend(load(array, cell) for cell in where.cells_read())
    if where.contiguous:
        return Wide(array, where.base, array.type, where.mask)
    if where.picks and not array.bits:
        second = Wide(array, add(where.base, i64(LANES)), array.type)
        first = Wide(array, where.base, array.type)
        return Pick(first, second, where.picks, array.type)
    index = where.base if where.lanes is None else add(where.base, where.lanes)
    return Load(array, index, array.type)


def cells_of(rows: ObjectRows) -> CellArrays:
    """The rows of an object as cells, whose times are not read."""
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
