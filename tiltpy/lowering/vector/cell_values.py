"""Cells that a vector loop computes: values, and a mask of where snapshots begin."""

from tiltpy.emit.builder import Block
from tiltpy.emit.cell_arrays import CellArrays
from tiltpy.emit.values import LoopValue
from tiltpy.lean_dataclass import dataclass
from tiltpy.loops.build import FALSE, TRUE
from tiltpy.loops.nodes import Array, LExpr, Splat, Store


@dataclass(frozen=True, slots=True)
class Outcome:
    """The cells of one round: a vector of them, or one.

    `begins`: where a snapshot begins; None: wherever there is a value. `cuts`: where
    one begins if there is a value, whatever the cell before has.
    """

    value: LoopValue
    begins: LExpr | None
    cuts: LExpr = FALSE

    @property
    def parts(self) -> tuple[LoopValue, ...]:
        """The columns."""
        return self.value.fields or (self.value,)

    @property
    def nullable(self) -> tuple[bool, ...]:
        """Return the columns that are fields which may be φ."""
        return tuple(field.valid != TRUE for field in self.value.fields) or (False,)

    @property
    def complete(self) -> bool:
        """Return whether there is a value in every cell."""
        return self.value.valid == TRUE

    @property
    def full(self) -> bool:
        """Return whether each cell is a snapshot of its own."""
        return self.complete and self.begins is None

    def put(self, block: Block, stored: CellArrays, at: LExpr, *, lanes: bool) -> None:
        """Store the cells in arrays, from an index on."""
        index = block.name("to", at)

        def store(array: object, value: LExpr) -> None:
            if isinstance(array, Array):
                entry = Splat(value, array.type) if lanes else value
                block.add(Store(array, index, entry))

        for column, values, flags in zip(
            self.parts, stored.values, stored.validity, strict=True
        ):
            store(values, column.scalar)
            store(flags, column.valid)
        store(stored.alive, self.value.valid)
        if self.begins is not None:
            store(stored.begins, self.begins)
