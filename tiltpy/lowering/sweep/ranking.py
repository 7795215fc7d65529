"""Ranks: the distinct values of an element in sorted order, found before the loop.

Order statistics (`median`, `mode`, ...) do not compare values in the loop. All rows of
the object that the kernel gets are sorted once by the element, and each distinct value
gets its number in that order, its *rank*. All windows over the same object and element
share the ranks. The structures of a window have an entry for each rank, and insert and
evict rows in logarithmic time.

The rows are those of a chunk and its halo: `chunk_sizing.MOST_RANKED`, or nine times
those of the longest window, whichever is more. The arrays here take at most 36 bytes a
row, those of a window 8 to 64; they are allocated like all others, and refused where
memory is short. Rows and ranks are 32-bit numbers: the runtime refuses larger chunks.

Integers that lie close together are not sorted: how far one is above the least is its
rank. Then some ranks have no rows.
"""

from tiltpy.abi.signature import LANES
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import element_of, is_filtered
from tiltpy.emit.order_keys import order_key, value_of_key
from tiltpy.emit.row_access import ObjectRows
from tiltpy.ir.nodes import Expr
from tiltpy.loops.build import (
    add,
    convert,
    disj,
    eq,
    greatest,
    i64,
    least,
    load,
    lt,
    mul,
    ne,
    select,
    sub,
)
from tiltpy.loops.nodes import Array, Bin, For, LExpr, Num, Splat, Store, Var, While
from tiltpy.lowering.sweep.dense_keys import DenseKeys, reads_times
from tiltpy.lowering.sweep.end_order import EndOrder
from tiltpy.lowering.sweep.radix_sort import RadixSort
from tiltpy.types import I32, I64, U64, Scalar

NOWHERE = -1
"""The rank of a row that does not contribute."""


class Ranking:
    """The ranks of one element of an object.

    `rank` has the rank of each row, `value` the value of each rank (a zero is +0).
    There are `count` ranks; `leaves` is the next power of two. `nan` is the rank of
    NaN, if there is one: always the last.
    """

    def __init__(self, builder: KernelBuilder, rows: ObjectRows, element: Expr) -> None:
        self.builder = builder
        self.rows = rows
        self.element = element
        assert isinstance(element.type, Scalar)
        self.type = element.type
        name = rows.name
        self.filtered = is_filtered(builder, rows, element)
        self.sort = RadixSort.of(builder, name)
        self.rank = builder.temporary(f"{name}.rank", I32, ((name, 1),), LANES)
        self.value = builder.temporary(f"{name}.value", self.type, ((name, 1),), 1)
        self.count = builder.fresh(f"{name}.ranks")
        self.leaves = builder.fresh(f"{name}.leaves")
        self.nan: Var | None = None
        if self.type.is_float:
            self.nan = builder.fresh(f"{name}.nan")
        self._done = False

    def array(
        self, name: str, scalar: Scalar, constant: int = 2, factor: int = 2
    ) -> Array:
        """An array with `factor` entries for each rank and `constant` more.

        `leaves` is at least 1 and less than twice the number of rows.
        """
        rows = ((self.rows.name, factor),)
        label = f"{self.rows.name}.{name}"
        return self.builder.temporary(label, scalar, rows, constant)

    def value_at(self, rank: LExpr) -> LExpr:
        """The value of a rank; an arbitrary one where there are no ranks."""
        last = greatest(sub(self.count, i64(1)), i64(0))
        return load(self.value, least(rank, last))

    def start(self, block: Block) -> None:
        """Compute the ranks, unless an earlier loop of the kernel has."""
        if self._done:
            return
        self._done = True
        if self.type.is_integer and not reads_times(self.element):
            keys = DenseKeys.of(self.builder, self.rows, self.element)
            keys.measure(block)
            by_key, by_place = block.inner(), block.inner()
            self._sort(by_key)
            self._subtract(by_place, keys)
            is_dense = lt(keys.span, convert(self.rows.count, U64))
            block.either(is_dense, by_place, by_key)
        else:
            self._sort(block)
        block.set(self.leaves, i64(1))
        grow = block.inner()
        grow.set(self.leaves, mul(self.leaves, i64(2)))
        block.add(While(lt(self.leaves, self.count), grow.body()))

    def _subtract(self, block: Block, keys: "DenseKeys") -> None:
        """Take the distances from the least key for ranks."""
        row, rank = self.builder.fresh("row"), self.builder.fresh("rank")
        each = block.inner()
        key, exists = keys.read(each, row)
        distance = convert(Bin("-", key, keys.low, U64), I32)
        place = Splat(select(exists, distance, Num(NOWHERE, I32)), I32)
        each.add(Store(self.rank, row, place))
        block.add(For(row, i64(0), self.rows.count, each.body(), LANES))
        block.set(self.count, add(convert(keys.span, I64), i64(1)))
        value = value_of_key(Bin("+", keys.low, convert(rank, U64), U64), self.type)
        store = Store(self.value, rank, value)
        block.add(For(rank, i64(0), self.count, (store,)))

    def _sort(self, block: Block) -> None:
        """Sort the rows by their keys, and number these."""
        entries = self.builder.fresh(f"{self.rows.name}.found")
        low = self.builder.fresh(f"{self.rows.name}.low", U64)
        self._read(block, entries, low)
        self._subtract_least(block, entries, low)
        self.sort.emit(block, entries)
        self._number(block, entries)

    def _read(self, block: Block, entries: Var, low: Var) -> None:
        """Store the rows that contribute as `entries`, with their keys."""
        block.set(entries, i64(0))
        block.set(low, Num(2**64 - 1, U64))
        row = self.builder.fresh("row")
        each = block.inner()
        value = element_of(each, self.rows, row, self.element)
        valid = each.name("ok", value.valid)
        key = each.name("key", order_key(value.scalar, self.type))
        each.add(
            Store(self.sort.order, entries, convert(row, I32)),
            Store(self.sort.rest, entries, key),
        )
        if self.filtered:
            each.add(Store(self.rank, row, Num(NOWHERE, I32)))
        each.set(low, least(low, select(valid, key, low)))
        each.set(entries, add(entries, convert(valid, I64)))
        block.add(For(row, i64(0), self.rows.count, each.body()))

    def _subtract_least(self, block: Block, entries: Var, low: Var) -> None:
        """Subtract the least key: the closer the values, the fewer digits to sort."""
        span, rest = self.sort.span, self.sort.rest
        block.set(span, Num(0, U64))
        position = self.builder.fresh("place")
        each = block.inner()
        key = each.name("key", Bin("-", load(rest, position), low, U64))
        each.add(Store(rest, position, key))
        each.set(span, greatest(span, key))
        block.add(For(position, i64(0), entries, each.body()))

    def _number(self, block: Block, entries: Var) -> None:
        """Assign a new rank wherever the key differs from the one before."""
        base = self.sort.base
        before = self.builder.fresh(f"{self.rows.name}.before", U64)
        block.set(self.count, i64(0))
        block.set(before, Num(0, U64))
        position = self.builder.fresh("place")
        each = block.inner()
        row = each.name("row", convert(load(self.sort.order, position), I64))
        value = element_of(each, self.rows, row, self.element).scalar
        key = each.name("key", order_key(value, self.type))
        differs = each.name("other", disj(eq(position, base), ne(key, before)))
        new = each.inner()
        new.add(Store(self.value, self.count, _without_sign(value)))
        new.set(self.count, add(self.count, i64(1)))
        each.when(differs, new)
        each.add(Store(self.rank, row, convert(sub(self.count, i64(1)), I32)))
        each.set(before, key)
        block.add(For(position, base, add(base, entries), each.body()))
        if self.nan is not None:
            greatest_key = Num(2**self.type.bits - 1, U64)
            last = sub(self.count, i64(1))
            exists = eq(before, greatest_key)
            block.set(self.nan, select(exists, last, i64(NOWHERE)))


def _without_sign(value: LExpr) -> LExpr:
    """The value, with +0 for -0."""
    scalar = value.type
    if not scalar.is_float:
        return value
    return Bin("+", value, Num(0.0, scalar), scalar)


class Rankings:
    """The ranks of a kernel, by object and element; and the orders of ends."""

    def __init__(self, builder: KernelBuilder) -> None:
        self.builder = builder
        self.known: dict[tuple[str, Expr], Ranking] = {}
        self.ends: dict[str, EndOrder] = {}

    def of(self, rows: ObjectRows, element: Expr) -> Ranking:
        """The ranks of an element of an object."""
        key = rows.name, element
        if key not in self.known:
            self.known[key] = Ranking(self.builder, rows, element)
        return self.known[key]

    def by_end(self, rows: ObjectRows) -> EndOrder:
        """The order of an object's rows by their ends."""
        if rows.name not in self.ends:
            self.ends[rows.name] = EndOrder(self.builder, rows)
        return self.ends[rows.name]
