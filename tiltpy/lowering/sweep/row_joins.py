"""Row joins: where snapshots of a distinct object begin, among the rows of an input.

A row is joined to the one before if it touches that and has an identical value. A byte
for each row says whether a snapshot begins with it, and another one whether there is
any, if there may be none; the values of those that begin are packed. So times are read
where neighbours have one value, and never written (see `runtime.arrays.joined_rows`).
"""

from collections.abc import Sequence

from tiltpy.abi.layouts import TimeLayout
from tiltpy.abi.signature import LANES
from tiltpy.abi.slots import SlotKind
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.join_snapshots import identical
from tiltpy.emit.output_arrays import OutputArrays
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.stream_stores import StreamStore
from tiltpy.emit.values import LoopValue, zero
from tiltpy.loops.build import (
    TRUE,
    add,
    conj,
    convert,
    eq,
    greatest,
    i64,
    load,
    lt,
    negate,
    sub,
)
from tiltpy.loops.nodes import (
    CountTrue,
    Earlier,
    Extract,
    LExpr,
    Pack,
    Splat,
    Store,
    Var,
)
from tiltpy.types import BOOL, I64


class RowJoins:
    """Appends the snapshots that begin with a vector of rows, or with one.

    The rows are those from `first` on: whole vectors, then single ones. Values go by
    way of `store`. `before` has the columns of the last row or vector, `was` tells
    where there was a snapshot.
    """

    def __init__(
        self,
        builder: KernelBuilder,
        out: OutputArrays,
        rows: ObjectRows,
        first: LExpr,
        store: StreamStore,
    ) -> None:
        self.builder = builder
        self.out = out
        self.rows = rows
        self.first = first
        self.store = store
        self._set_before()

    def _set_before(self) -> None:
        fresh = self.builder.fresh
        self.before = [fresh(f"{a.name}.before", a.type) for a in self.store.target]
        self.was = fresh(f"{self.out.name}.was", BOOL)

    def start(self, block: Block) -> None:
        """Start before the first vector: no row is before it."""
        for var in (*self.before, self.was):
            block.set(var, Splat(zero(var.type), var.type))

    def append_vector(self, block: Block, row: LExpr, value: LoopValue) -> None:
        """Append those that begin with a vector of rows."""
        columns = [
            block.name("now", Splat(column, array.type))
            for column, array in zip(
                self.out.payload_columns(value), self.before, strict=True
            )
        ]
        past = [
            block.name("past", Earlier(column, before, 1, before.type))
            for column, before in zip(columns, self.before, strict=True)
        ]
        exists = block.name("is", Splat(value.valid, BOOL))
        was = block.name("had", Earlier(exists, self.was, 1, BOOL))
        joins = self.builder.fresh("joins", BOOL)
        block.set(joins, conj(exists, was, *identical(self.out, columns, past)))
        if not self._are_adjacent:
            # Read now and then without it, each line would have to be waited for.
            self.rows.prefetch_times(block, row)
            timed, ends = block.inner(), self.rows.wide_end(row)
            before = Splat(self._end_before(row), I64)
            touch = eq(self.rows.wide_start(row), Earlier(ends, before, 1, I64))
            timed.set(joins, conj(joins, touch))
            block.when(lt(i64(0), CountTrue(joins, I64)), timed)
        begins = block.name("begins", conj(exists, negate(joins)))
        self._mark(block, row, begins, exists, value)
        count = self.store.count
        for array, column in zip(self.store.staged, columns, strict=True):
            block.add(Pack(array, count, column, begins))
        block.set(count, add(count, CountTrue(begins, I64)))
        self._remember(block, columns, exists)

    def narrow(self, block: Block) -> None:
        """Go on with single rows."""
        vectors = [*self.before, self.was]
        self._set_before()
        for var, vector in zip([*self.before, self.was], vectors, strict=True):
            block.set(var, Extract(vector, LANES - 1, var.type))

    def append_row(self, block: Block, row: LExpr, value: LoopValue) -> None:
        """Append the snapshot that begins with a row, if one does."""
        columns = [
            block.name("now", column) for column in self.out.payload_columns(value)
        ]
        tests = [self.was, *identical(self.out, columns, list(self.before))]
        if not self._are_adjacent:
            tests.append(eq(self.rows.start_at(row), self._end_before(row)))
        begins = block.name("begins", conj(value.valid, negate(conj(*tests))))
        self._mark(block, row, begins, value.valid, value)
        count = self.store.count
        for array, column in zip(self.store.staged, columns, strict=True):
            block.add(Store(array, count, column))
        block.set(count, add(count, convert(begins, I64)))
        self._remember(block, columns, value.valid)

    @property
    def _are_adjacent(self) -> bool:
        """Return whether each row touches the one before."""
        return self.rows.layout.time in (TimeLayout.SAMPLED, TimeLayout.CONTIGUOUS)

    def _end_before(self, row: LExpr) -> LExpr:
        """The end of the row before, or of the first one itself."""
        assert self.rows.ends is not None
        return load(self.rows.ends, greatest(sub(row, i64(1)), i64(0)))

    def _mark(
        self, block: Block, row: LExpr, begins: LExpr, exists: LExpr, value: LoopValue
    ) -> None:
        """Mark the rows with which snapshots begin, and those that have any."""
        marks = [(SlotKind.OUT_BEGINS, begins)]
        if value.valid != TRUE:
            marks.append((SlotKind.OUT_COVERED, exists))
        for kind, flags in marks:
            array = self.builder.array(kind, self.out.name, BOOL, written=True)
            block.add(Store(array, sub(row, self.first), flags))

    def _remember(self, block: Block, columns: Sequence[LExpr], exists: LExpr) -> None:
        variables: list[Var] = [*self.before, self.was]
        for var, now in zip(variables, [*columns, exists], strict=True):
            block.set(var, now)
