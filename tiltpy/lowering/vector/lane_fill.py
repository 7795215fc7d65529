"""Empty lanes that take the value of a neighbour, or a carried one.

Which lane it is of is found by doubling, in bytes.
"""

from typing import Literal

from tiltpy.abi.signature import LANES
from tiltpy.aggregates.aggregate import State
from tiltpy.emit.builder import Block
from tiltpy.emit.values import zero
from tiltpy.loops.build import greatest, i64, le, least, select
from tiltpy.loops.nodes import (
    CountTrue,
    Earlier,
    Extract,
    Fill,
    Lane,
    LExpr,
    Num,
    Splat,
    Var,
)
from tiltpy.types import BOOL, I8, I64

Side = Literal["first", "last"]
NEVER = i64(-(2**62))
"""The cell of a value that is not there."""


class LaneFill:
    """The `last` value before each empty lane, or the `first` behind it.

    `carried` are the numbers of the nearest value beyond a vector.
    """

    def __init__(self, side: Side, carried: tuple[Var, ...]) -> None:
        self.side = side
        self.carried = carried
        self.beyond = Num(-1 if side == "last" else LANES, I8)
        """The lane of what is carried."""

    def start(self, block: Block) -> None:
        """Set the variables before the loop."""
        for var in self.carried:
            block.set(var, zero(var.type))

    def carry(self, block: Block, results: tuple[Var, ...]) -> None:
        """Carry the last lane's value to the next vector."""
        for carried, result in zip(self.carried, results, strict=True):
            block.set(carried, Extract(result, LANES - 1, carried.type))

    def fill(
        self, block: Block, valid: LExpr, numbers: State, results: tuple[Var, ...]
    ) -> Var:
        """Set `results` to the numbers of full lanes, to those of others in empty ones.

        Returns which lane each value is of.
        """
        at = block.builder.fresh("at", I8)
        block.set(at, select(valid, Lane(I8), self.beyond))
        nearer = greatest if self.side == "last" else least
        for by in (1, 2, 4, 8):
            block.set(at, nearer(at, self._shift(at, by)))
        backwards, valid = self.side == "first", Splat(valid, BOOL)
        for result, number, carried in zip(results, numbers, self.carried, strict=True):
            filled = Fill(number, valid, carried, backwards, result.type)
            block.set(result, filled)
        return at

    def _shift(self, lanes: LExpr, by: int) -> LExpr:
        if self.side == "last":
            return Earlier(lanes, Splat(self.beyond, I8), by, I8)
        return Earlier(Splat(self.beyond, I8), lanes, LANES - by, I8)


def all_true(block: Block, valid: LExpr) -> LExpr:
    """Test whether a bool holds in all lanes."""
    count = block.name("count", CountTrue(Splat(valid, BOOL), I64))
    return le(i64(LANES), count)
