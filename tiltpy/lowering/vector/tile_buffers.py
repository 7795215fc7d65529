"""Definitions that another loop of a vector kernel reads: a tile of them, in arrays."""

from collections.abc import Callable

from tiltpy.abi.signature import LANES, RowCount
from tiltpy.emit.axes import Axis
from tiltpy.emit.builder import Block, KernelBuilder
from tiltpy.emit.cell_arrays import CellArrays
from tiltpy.emit.values import zero
from tiltpy.ir.nodes import TemporalExpr
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import add, i64, sub
from tiltpy.loops.nodes import Array, Bin, For, LExpr, Splat, Store, Var, Wide
from tiltpy.lowering.vector.cell_values import Outcome
from tiltpy.types import BOOL, I64, Scalar, columns


@dataclass(frozen=True, slots=True)
class TileBuffer:
    """A tile of an object, behind the `history` cells that were before it."""

    stored: CellArrays
    history: int
    precision: int
    offset: Var

    @staticmethod
    def of(
        builder: KernelBuilder,
        definition: TemporalExpr,
        outcome: Outcome,
        history: int,
        size: tuple[RowCount, int],
    ) -> "TileBuffer":
        """Allocate the arrays for an outcome, `size` cells a tile."""
        name, kind = definition.name, definition.type
        rows, constant = size

        def array(what: str, scalar: Scalar) -> Array:
            most = history + constant + 2 * LANES
            return builder.temporary(f"{name}.{what}", scalar, rows, most)

        def flags(what: str, *, needed: bool) -> Array | None:
            return array(what, BOOL) if needed else None

        offset = builder.fresh(f"{name}.offset")
        stored = CellArrays(
            name,
            kind,
            Axis.of(definition.tdom),
            tuple(array("cells", scalar) for _, scalar in columns(kind)),
            tuple(flags("valid", needed=nullable) for nullable in outcome.nullable),
            flags("alive", needed=not outcome.complete),
            flags("begins", needed=outcome.begins is not None),
            offset,
        )
        return TileBuffer(stored, history, definition.tdom.precision, offset)

    def start(self, block: Block) -> None:
        """Clear the history before the first tile."""
        self._shift(block, lambda array, _: Splat(zero(array.type), array.type))

    def move(self, block: Block, first: LExpr) -> None:
        """Move to a tile, whose first cell stands behind the history."""
        block.set(self.offset, sub(i64(self.history), first))

    def store(
        self, block: Block, cell: LExpr, outcome: Outcome, *, lanes: bool
    ) -> None:
        """Store the outcome of a round."""
        outcome.put(block, self.stored, add(cell, self.offset), lanes=lanes)

    def keep(self, block: Block, ticks: LExpr) -> None:
        """Keep the last cells of a tile as the history of the next."""
        cells = block.name("cells", Bin("//", ticks, i64(self.precision), I64))
        self._shift(block, lambda array, at: Wide(array, add(at, cells), array.type))

    def _shift(self, block: Block, entries: Callable[[Array, LExpr], LExpr]) -> None:
        """Write the history anew, from its oldest cell on."""
        at = block.builder.fresh("at")
        inner = block.inner()
        for array in self.stored.arrays():
            inner.add(Store(array, at, entries(array, at)))
        block.add(For(at, i64(0), i64(self.history), inner.body(), LANES))
