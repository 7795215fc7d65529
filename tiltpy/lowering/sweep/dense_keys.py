"""Dense keys: how far the keys of some rows lie apart.

Where they lie close together, the distance from the least of them says where a value is
counted, without a sort or a hash table.
"""

from tiltpy.abi.signature import LANES
from tiltpy.aggregates.pane_fold import Pane
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.cell_arrays import CellIndex, cells_of
from tiltpy.emit.fold_lanes import fold_lanes
from tiltpy.emit.order_keys import order_key
from tiltpy.emit.row_access import ObjectRows
from tiltpy.ir.nodes import ElementStart, Expr
from tiltpy.ir.traversal import walk
from tiltpy.loops.build import conj, greatest, i64, least, lt, select, sub
from tiltpy.loops.nodes import Bin, For, Lane, LExpr, Num, Splat, Var
from tiltpy.types import I64, U64


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
        block.set(low, fold_lanes(block, self.low, least))
        block.set(span, Bin("-", fold_lanes(block, self.high, greatest), low, U64))


def reads_times(element: Expr) -> bool:
    """Decide whether an element sees when its snapshot starts."""
    return any(isinstance(node, ElementStart) for node in walk(element))
