"""Counts of a pane by value: how many different ones it has, and the most frequent.

Values whose keys lie close together, as those of small integers and of strings, are
counted where the key says. Others get numbers first, from a hash table of the pane.
"""

from tiltpy.abi.signature import LANES
from tiltpy.aggregates.pane_fold import Pane
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.elements import is_filtered, row_value
from tiltpy.emit.order_keys import probe
from tiltpy.emit.row_access import ObjectRows
from tiltpy.emit.values import LoopValue
from tiltpy.ir.nodes import Reduce
from tiltpy.loops.build import (
    add,
    conj,
    convert,
    eq,
    greatest,
    i64,
    le,
    load,
    lt,
    mul,
    ne,
    select,
)
from tiltpy.loops.nodes import (
    Array,
    Bin,
    CountTrue,
    For,
    Lane,
    LExpr,
    Num,
    Pack,
    Splat,
    Store,
    Var,
    Wide,
)
from tiltpy.lowering.sweep.dense_keys import DenseKeys, KeyExtremes
from tiltpy.types import I32, I64, U64, Scalar, Struct

_FREE, _NOTHING, _ONE = Num(-1, I32), Num(0, I32), Num(1, I32)
_ROOM = 1 << 8
"""Largest span of the keys of a few values that are counted in place."""


class PaneCounts:
    """The counts of each pane of an element, for one reduction.

    `keys` has the key of each row that contributes, less `low` the place of its count.
    """

    def __init__(self, builder: KernelBuilder, rows: ObjectRows, node: Reduce) -> None:
        self.builder = builder
        self.rows = rows
        self.node = node
        self.keys = self._array("keys", U64)
        self.known = self._array("known", U64)
        self.entries = self._array("entries", I32, 2)
        self.counts = self._array("counts", I32, 2)
        by_row = node.reduction != "nunique"
        self.firsts = self._array("firsts", I64) if by_row else None
        self.numbers: Array | None = None
        if by_row and is_filtered(builder, rows, node.element):
            self.numbers = self._array("rows", I64)
        self.size = builder.fresh(f"{rows.name}.size")
        self.low = builder.fresh(f"{rows.name}.least", U64)
        self.span = builder.fresh(f"{rows.name}.span", U64)
        self.different = builder.fresh(f"{rows.name}.different")

    def _array(self, name: str, scalar: Scalar, factor: int = 1) -> Array:
        return self.builder.temporary(
            f"{self.rows.name}.pane.{name}", scalar, ((self.rows.name, factor),), _ROOM
        )

    def compute(self, block: Block, pane: Pane) -> LoopValue:
        """Count the values of a pane."""
        self._read(block, pane)
        self._number_apart(block)
        at = self.builder.fresh("at")
        places = block.name("places", add(convert(self.span, I64), i64(1)))
        clear = Store(self.counts, at, Splat(_NOTHING, I32))
        block.add(For(at, i64(0), places, (clear,), LANES))
        occupied = block.name("some", lt(i64(0), self.size))
        if self.node.reduction == "nunique":
            self._mark(block, places)
            return LoopValue(self.node.type, self.different, occupied)
        self._count(block)
        return self._most_frequent(block, pane, occupied)

    def _read(self, block: Block, pane: Pane) -> None:
        """Pack the keys of the rows that contribute, and find how they lie."""
        size, row = self.size, self.builder.fresh("row")
        keys = DenseKeys(self.builder, pane)
        extremes = KeyExtremes(block)
        block.set(size, i64(0))
        each = block.inner()
        pane.source.prefetch(each, row)
        key, exists = keys.read(each, row)
        each.add(Pack(self.keys, size, key, exists))
        if self.numbers is not None:
            each.add(Pack(self.numbers, size, add(row, Lane(I64)), exists))
        extremes.take(each, key, exists)
        each.set(size, add(size, CountTrue(exists, I64)))
        block.add(For(row, pane.base, pane.end, each.body(), LANES))
        extremes.finish(block, self.low, self.span)

    def _number_apart(self, block: Block) -> None:
        """Number the values in order of their first rows, if their keys lie apart."""
        room = add(mul(self.size, i64(2)), i64(_ROOM - 4 * LANES))
        apart = block.inner()
        table = apart.name("table", add(mul(self.size, i64(2)), i64(2)))
        at = self.builder.fresh("at")
        free = Store(self.entries, at, Splat(_FREE, I32))
        apart.add(For(at, i64(0), table, (free,), LANES))
        apart.set(self.different, i64(0))
        each, new = apart.inner(), apart.inner()
        key = each.name("key", load(self.keys, at))

        def is_other(entry: LExpr) -> LExpr:
            number = load(self.entries, entry)
            known = load(self.known, greatest(convert(number, I64), i64(0)))
            return conj(ne(number, _FREE), ne(known, key))

        entry = probe(self.builder, each, (key,), table, is_other)
        new.add(
            Store(self.entries, entry, convert(self.different, I32)),
            Store(self.known, self.different, key),
        )
        new.set(self.different, add(self.different, i64(1)))
        each.when(eq(load(self.entries, entry), _FREE), new)
        each.add(Store(self.keys, at, convert(load(self.entries, entry), U64)))
        apart.add(For(at, i64(0), self.size, each.body()))
        apart.set(self.low, Num(0, U64))
        apart.set(self.span, convert(self.different, U64))
        block.when(le(convert(room, U64), self.span), apart)

    def _count_place(self, position: LExpr) -> LExpr:
        """The place of the count of a row's value, which is less than 2^32."""
        place = Bin("-", load(self.keys, position), self.low, U64)
        return convert(Bin("%", place, Num(1 << 32, U64), U64), I64)

    def _mark(self, block: Block, places: LExpr) -> None:
        """Mark the values that there are, and count the marks."""
        at = self.builder.fresh("at")
        mark = Store(self.counts, self._count_place(at), _ONE)
        block.add(For(at, i64(0), self.size, (mark,)))
        block.set(self.different, i64(0))
        each = block.inner()
        marked = lt(_NOTHING, Wide(self.counts, at, I32))
        each.set(self.different, add(self.different, CountTrue(marked, I64)))
        block.add(For(at, i64(0), places, each.body(), LANES))

    def _count(self, block: Block) -> None:
        """Count each value, and note where each stands first."""
        assert self.firsts is not None
        at = self.builder.fresh("at")
        block.set(self.different, i64(0))
        each = block.inner()
        place = each.name("place", self._count_place(at))
        count = each.name("count", load(self.counts, place))
        each.add(
            Store(self.counts, place, add(count, _ONE)),
            Store(self.firsts, self.different, at),
        )
        new = convert(eq(count, _NOTHING), I64)
        each.set(self.different, add(self.different, new))
        block.add(For(at, i64(0), self.size, each.body()))

    def _most_frequent(self, block: Block, pane: Pane, occupied: LExpr) -> LoopValue:
        """The most frequent value, or several with their counts; then φ."""
        several = self.node.type if isinstance(self.node.type, Struct) else None
        fields: list[LoopValue] = []
        for _ in range(len(several.fields) // 2 if several else 1):
            first, most = self._winner(block)
            exists = block.name("some", lt(_NOTHING, most))
            row: LExpr = add(pane.base, first)
            if self.numbers is not None:
                row = load(self.numbers, first)
            value = row_value(block, self.rows, self.node, row, exists)
            if several is None:
                return _in_variable(block, value, occupied)
            fields.append(_in_variable(block, value, exists))
            count = block.name("count", convert(most, I64))
            fields.append(LoopValue(I64, count, exists))
            out = block.inner()
            out.add(Store(self.counts, self._count_place(first), _NOTHING))
            block.when(exists, out)
        return LoopValue(self.node.type, None, occupied, tuple(fields))

    def _winner(self, block: Block) -> tuple[Var, Var]:
        """Return the first row of the most frequent value, and how often it is there.

        Of several it is the earliest; if there is none it is nowhere, no times.
        """
        assert self.firsts is not None
        fresh = self.builder.fresh
        first, most, number = fresh("first"), fresh("most", I32), fresh("number")
        block.set(first, i64(0))
        block.set(most, _NOTHING)
        each = block.inner()
        at = each.name("at", load(self.firsts, number))
        count = each.name("count", load(self.counts, self._count_place(at)))
        wins = each.name("wins", lt(most, count))
        each.set(first, select(wins, at, first))
        each.set(most, select(wins, count, most))
        block.add(For(number, i64(0), self.different, each.body()))
        return first, most


def _in_variable(block: Block, value: LoopValue, exists: LExpr) -> LoopValue:
    return LoopValue(value.type, block.name("mode", value.scalar), exists)
