"""Keys: numbers that order like values and are equal for equal values.

Where the keys of some rows lie close together, the distance from the least of them says
where a value is counted, without a sort or a hash table.
"""

from tiltpy.abi.signature import LANES
from tiltpy.aggregates.pane_fold import Pane
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.cell_arrays import CellIndex, cells_of
from tiltpy.emit.row_access import ObjectRows
from tiltpy.ir.nodes import ElementStart, Expr
from tiltpy.ir.traversal import walk
from tiltpy.loops.build import add, conj, convert, eq, i64, lt, select, sub
from tiltpy.loops.nodes import (
    Bin,
    CallFn,
    Earlier,
    Extract,
    For,
    Lane,
    LExpr,
    Num,
    Splat,
    Var,
)
from tiltpy.types import I32, I64, U64, Scalar, int_range


def order_key(value: LExpr, scalar: Scalar) -> LExpr:
    """A number that orders like a value and is equal for equal values.

    All NaNs are equal and the greatest, both zeros are equal.
    """
    if not scalar.is_float and scalar.kind != "int":
        return convert(value, U64)
    signed = convert(signed_key(value), I64)
    least_value, greatest_value = int_range(I64)
    if scalar.bits < I64.bits:
        return convert(add(signed, i64(1 << (scalar.bits - 1))), U64)
    below = convert(Bin("+", signed, i64(least_value), I64), U64)  # which wraps
    above = Bin("+", convert(signed, U64), Num(greatest_value + 1, U64), U64)
    return select(lt(signed, i64(0)), below, above)


def key_type(scalar: Scalar) -> Scalar:
    """The type of the signed key of a number: integers are their own."""
    if not scalar.is_float:
        return scalar
    return I32 if scalar.bits == I32.bits else I64


def signed_key(value: LExpr) -> LExpr:
    """A number as an integer that orders like it; both zeros are equal, NaNs last."""
    if not value.type.is_float:
        return value
    kind = key_type(value.type)
    bits: LExpr = CallFn("max_key", (value,), kind)
    return select(eq(bits, Num(-1, kind)), Num(0, kind), bits)


def number_of_key(key: LExpr, scalar: Scalar) -> LExpr:
    """The number of a signed key, with +0 for both zeros."""
    return CallFn("from_key", (key,), scalar) if scalar.is_float else key


def value_of_key(key: LExpr, scalar: Scalar) -> LExpr:
    """The integer of a key (see `order_key`)."""
    if scalar.kind != "int":
        return convert(key, scalar)
    least_value, _ = int_range(I64)
    if scalar.bits < I64.bits:
        return convert(sub(convert(key, I64), i64(1 << (scalar.bits - 1))), scalar)
    half = Num(1 << 63, U64)
    above = convert(Bin("-", key, half, U64), I64)
    below = Bin("+", convert(key, I64), i64(least_value), I64)
    return select(lt(key, half), below, above)


class DenseKeys:
    """The keys of rows, read in vectors: the least, and how far the others go."""

    def __init__(self, builder: KernelBuilder, pane: Pane) -> None:
        self.builder = builder
        self.pane = pane
        self.low = builder.fresh(f"{pane.source.name}.least", U64)
        self.span = builder.fresh(f"{pane.source.name}.span", U64)

    @staticmethod
    def of(builder: KernelBuilder, rows: ObjectRows, element: Expr) -> "DenseKeys":
        """The keys of all rows of an object."""
        assert isinstance(rows.count, Var)
        return DenseKeys(builder, Pane(cells_of(rows), element, i64(0), rows.count))

    def read(self, block: Block, row: LExpr) -> tuple[LExpr, LExpr]:
        """The keys of the rows from `row` on, and which of them contribute."""
        inside = block.name("inside", lt(Lane(I64), sub(self.pane.end, row)))
        value = self.pane.value(block, CellIndex(row, mask=inside))
        scalar = value.scalar.type
        key = order_key(Splat(value.scalar, scalar), scalar)
        valid = block.name("ok", conj(inside, value.valid))
        return block.name("key", Splat(key, U64)), valid

    def measure(self, block: Block) -> None:
        """Find the least key and the distance of the greatest; any if there is none."""
        extremes = KeyExtremes(block)
        row, each = self.builder.fresh("row"), block.inner()
        extremes.take(each, *self.read(each, row))
        block.add(For(row, i64(0), self.pane.size, each.body(), LANES))
        extremes.finish(block, self.low, self.span)


class KeyExtremes:
    """The least and the greatest of keys, lane by lane."""

    def __init__(self, block: Block) -> None:
        self.low = block.builder.fresh("least", U64)
        self.high = block.builder.fresh("most", U64)
        block.set(self.low, Splat(Num(2**64 - 1, U64), U64))
        block.set(self.high, Splat(Num(0, U64), U64))

    def take(self, block: Block, key: LExpr, exists: LExpr) -> None:
        """Take in the keys of a vector that `exists`."""
        low, high = self.low, self.high
        block.set(low, select(conj(exists, lt(key, low)), key, low))
        block.set(high, select(conj(exists, lt(high, key)), key, high))

    def finish(self, block: Block, low: Var, span: Var) -> None:
        """Set the least of all, and how far the greatest is from it."""
        by = LANES
        while by > 1:
            by //= 2
            for extreme in (self.low, self.high):
                turned = block.name("turned", Earlier(extreme, extreme, by, U64))
                low_side = extreme == self.low
                wins = lt(turned, extreme) if low_side else lt(extreme, turned)
                block.set(extreme, select(wins, turned, extreme))
        block.set(low, Extract(self.low, 0, U64))
        block.set(span, Bin("-", Extract(self.high, 0, U64), low, U64))


def reads_times(element: Expr) -> bool:
    """Decide whether an element sees when its snapshot starts."""
    return any(isinstance(node, ElementStart) for node in walk(element))
