"""Densified inputs: short irregular rows as cells that a vector kernel can read.

A row of a few ticks becomes as many cells of a temporary, a tile of time at a time,
with a byte that says where rows begin and, if there may be gaps, one that says where
there is a row at all. Stores are of whole vectors: what goes too far is overwritten by
the next row, or by the gap behind this one. Rows of one tick that follow each other are
copied, a vector at once.
"""

from dataclasses import replace

from tiltpy.abi.layouts import TimeLayout
from tiltpy.abi.signature import LANES
from tiltpy.abi.slots import SlotKind
from tiltpy.emit.axes import Axis
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.cell_arrays import CellArrays, CellIndex, cells_of
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import (
    FALSE,
    TRUE,
    add,
    conj,
    convert,
    eq,
    greatest,
    i64,
    le,
    least,
    load,
    lt,
    negate,
    sub,
)
from tiltpy.loops.nodes import Array, For, LExpr, Splat, Store, Var, While, Wide
from tiltpy.types import BOOL, I64, Struct, columns


@dataclass(frozen=True, slots=True)
class DensifiedInput:
    """An input's rows as cells of one tick.

    A tile's cells stand behind `back` cells before it, and `ahead` more follow. `done`
    is the first cell that has not been made, `row` the first row that is not all made.
    """

    rows: ObjectRows
    back: int
    ahead: int
    cells: CellArrays
    alive: Array | None
    begins: Array | None
    offset: Var
    row: Var
    done: Var

    @staticmethod
    def of(
        builder: KernelBuilder, rows: ObjectRows, tile: int, back: int, ahead: int
    ) -> "DensifiedInput":
        """The temporaries for tiles of at most so many cells."""
        size = back + tile + ahead + 2 * LANES
        struct = isinstance(rows.type, Struct)
        name = rows.name
        values = tuple(
            builder.temporary(f"{name}.cells", scalar, (), size)
            for _, scalar in columns(rows.type)
        )
        validity = tuple(
            builder.temporary(f"{name}.valid", BOOL, (), size)
            if struct and bitmap is not None
            else None
            for bitmap in rows.validity
        )
        gapless = rows.layout.time is TimeLayout.CONTIGUOUS and rows.complete
        alive = None
        if not gapless:  # as where it has rows everywhere in its range
            alive = builder.temporary(f"{name}.alive", BOOL, (), size)
        begins = None
        if not rows.layout.points:
            begins = builder.temporary(f"{name}.begins", BOOL, (), size)
        offset = builder.fresh(f"{name}.offset")
        axis = Axis(1, 0)
        cells = CellArrays(
            name, rows.type, axis, values, validity, alive, begins, offset
        )
        row, done = builder.fresh(f"{name}.row"), builder.fresh(f"{name}.done")
        return DensifiedInput(
            rows, back, ahead, cells, alive, begins, offset, row, done
        )

    def start(self, block: Block, first: LExpr) -> None:
        """Set the variables before the first tile, whose first cell is `first`."""
        block.set(self.row, i64(0))
        block.set(self.offset, i64(0))
        block.set(self.done, sub(first, i64(self.back)))

    def fill(self, block: Block, first: LExpr, cells: LExpr) -> None:
        """Make a tile's cells; those before it are kept from the tile before."""
        begin = block.name("begin", sub(first, i64(self.back)))
        end = block.name("end", add(add(first, cells), i64(self.ahead)))
        self._keep(block, begin)
        block.set(self.offset, sub(i64(0), begin))
        self._clear(block, end)
        self._put_rows(block, end)
        block.set(self.done, end)

    def _flags(self) -> list[Array]:
        return [flags for flags in (self.alive, self.begins) if flags is not None]

    def _keep(self, block: Block, begin: LExpr) -> None:
        """Move the cells from `begin` on to the front; tiles are a vector at least."""
        moved = block.name("moved", add(begin, self.offset))
        at = block.builder.fresh("at")
        inner = block.inner()
        source = inner.name("from", add(at, moved))
        for array in self.cells.arrays():
            inner.add(Store(array, at, Wide(array, source, array.type)))
        count = block.name("kept", sub(self.done, begin))
        block.add(For(at, i64(0), count, inner.body(), LANES))

    def _clear(self, block: Block, end: LExpr) -> None:
        """Clear the flags of a tile: a gap is left where no row is put."""
        at = block.builder.fresh("at")
        inner = block.inner()
        for array in self._flags():
            inner.add(Store(array, at, Splat(FALSE, BOOL)))
        first, last = add(self.done, self.offset), add(end, self.offset)
        block.add(For(at, first, last, inner.body(), LANES))

    def _put_rows(self, block: Block, end: LExpr) -> None:
        """Put all rows that start before a cell, as far as they go.

        The first and the last may go beyond the tile; those between are quickly done.
        """
        builder, rows = block.builder, self.rows
        low = builder.number(SlotKind.LOW, "")
        start, stopped = builder.fresh("start"), builder.fresh("stopped", BOOL)
        head, body = block.inner(), block.inner()
        head.set(start, sub(rows.start_or_never(self.row), low))
        until = body.name("until", sub(rows.end_at(self.row), low))
        self._put(body, start, until, end)
        body.set(stopped, lt(end, until))
        body.set(self.row, add(self.row, convert(negate(stopped), I64)))
        inside = body.inner()
        if rows.layout.points:
            self._put_points(inside, end)
        else:
            self._put_inside(inside, until, end)
        body.when(le(self.done, until), inside)
        block.set(stopped, FALSE)
        further = conj(lt(start, end), negate(stopped))
        block.add(While(further, body.body(), head.body()))

    def _put_inside(self, block: Block, behind: LExpr, end: LExpr) -> None:
        """Put the rows that lie in the tile from begin to end.

        `behind` is where the row before them ends.
        """
        builder, rows = block.builder, self.rows
        low = builder.number(SlotKind.LOW, "")
        until, start = builder.fresh("until"), builder.fresh("start")
        gapless = rows.layout.time is TimeLayout.CONTIGUOUS
        head, body, whole = block.inner(), block.inner(), block.inner()
        head.set(until, sub(rows.end_or_never(self.row), low))
        if not gapless:
            body.set(start, sub(rows.start_at(self.row), low))
        self._fill(whole, start, until)
        self._begin(whole, start)
        body.when(rows.exists(self.row), whole)
        body.set(self.row, add(self.row, i64(1)))
        body.set(start, until)
        block.set(start, behind)
        block.add(While(le(until, end), body.body(), head.body()))

    def _begin(self, block: Block, start: LExpr) -> None:
        if self.begins is not None:
            block.add(Store(self.begins, add(start, self.offset), TRUE))

    def _put_points(self, block: Block, end: LExpr) -> None:
        """Put the rows of one tick that lie in the tile, as far as they go."""
        rows, row = self.rows, self.row
        until = block.builder.fresh("until")
        low = block.builder.number(SlotKind.LOW, "")
        head, body = block.inner(), block.inner()
        head.set(until, sub(rows.end_or_never(row), low))
        last = body.name("last", add(row, i64(LANES - 1)))
        newest = body.name("newest", sub(rows.end_at(least(last, rows.last)), low))
        follow = conj(
            le(last, rows.last),
            eq(sub(newest, until), i64(LANES - 1)),
            le(newest, end),
        )
        several, one = body.inner(), body.inner()
        to = body.name("to", add(sub(until, i64(1)), self.offset))
        vector = cells_of(rows).value(several, CellIndex(row))
        self._copy(several, replace(vector, valid=Splat(vector.valid, BOOL)), to)
        several.set(row, add(row, i64(LANES)))
        exists = rows.exists(row)
        self._copy(one, rows.value(row, exists), to)
        one.set(row, add(row, i64(1)))
        body.either(follow, several, one)
        block.add(While(le(until, end), body.body(), head.body()))

    def _copy(self, block: Block, value: LoopValue, to: LExpr) -> None:
        """Copy the payload of a row, or of a vector of them, to cells."""
        fields = value.fields or (value,)
        arrays = zip(self.cells.values, self.cells.validity, fields, strict=True)
        for array, flags, part in arrays:
            block.add(Store(array, to, part.scalar))
            if isinstance(flags, Array):
                block.add(Store(flags, to, part.valid))
        # A field is null in some rows, so that its flags are no constant.
        if self.alive is not None:
            block.add(Store(self.alive, to, value.valid))

    def _fill(self, block: Block, first: LExpr, last: LExpr) -> None:
        """Put the present row into some cells, of which there is one at least."""
        inner = block.inner()
        at = inner.builder.fresh("at")
        stores = inner.inner()
        index = stores.name("to", add(at, self.offset))
        for array, values in zip(self.cells.values, self.rows.values, strict=True):
            value = block.name("x", load(values, self.row))
            stores.add(Store(array, index, Splat(value, array.type)))
        for j, flags in enumerate(self.cells.validity):
            if isinstance(flags, Array):
                valid = block.name("is", self.rows.valid(j, self.row))
                stores.add(Store(flags, index, Splat(valid, BOOL)))
        if self.alive is not None:
            stores.add(Store(self.alive, index, Splat(TRUE, BOOL)))
        block.set(at, first)
        block.add(*stores.statements)
        rest = block.inner()
        rest.set(at, add(at, i64(LANES)))
        rest.add(*stores.statements)
        block.add(While(lt(add(at, i64(LANES)), last), rest.body()))
        if self.alive is not None:
            behind = add(last, self.offset)
            block.add(Store(self.alive, behind, Splat(FALSE, BOOL)))

    def _put(self, block: Block, start: Var, until: LExpr, end: LExpr) -> None:
        """Put the present row into its cells from `done` on."""
        inner = block.inner()
        first = inner.name("first", greatest(start, self.done))
        self._fill(inner, first, inner.name("last", least(until, end)))
        begins = inner.inner()
        self._begin(begins, start)
        inner.when(le(self.done, start), begins)
        here = lt(self.done, until)
        block.when(conj(here, self.rows.exists(self.row)), inner)
