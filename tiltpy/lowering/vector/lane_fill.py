"""Empty lanes that take the value of a neighbour, by doubling, or a carried one."""

from typing import Literal

from tiltpy.abi.signature import LANES
from tiltpy.aggregates.aggregate import State
from tiltpy.emit.builder import Block
from tiltpy.emit.values import zero
from tiltpy.loops.build import TRUE, disj, greatest, i64, le, least, negate, select
from tiltpy.loops.nodes import CountTrue, Earlier, Extract, Lane, LExpr, Num, Splat, Var
from tiltpy.types import BOOL, I8, I64, Scalar

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

        Few of these are further than three. Returns which lane each value is of.
        """
        at = block.builder.fresh("at", I8)
        block.set(at, select(valid, Lane(I8), self.beyond))
        for result, number in zip(results, numbers, strict=True):
            block.set(result, number)
        filled = self._double(block, valid, at, results, 1)
        filled = self._double(block, filled, at, results, 2)
        far = block.inner()
        reached = self._double(far, filled, at, results, 4)
        reached = self._double(far, reached, at, results, 8)
        # A lane that is 16 from what is carried, since all others are empty, too.
        for result, carried in zip(results, self.carried, strict=True):
            far.set(result, select(reached, result, Splat(carried, result.type)))
        block.when(negate(all_true(block, filled)), far)
        return at

    def _double(
        self, block: Block, filled: LExpr, at: Var, results: tuple[Var, ...], by: int
    ) -> LExpr:
        """Fill empty lanes by those so many lanes away; returns which need no more."""
        for result, carried in zip(results, self.carried, strict=True):
            other = self._shift(result, carried, by, result.type)
            block.set(result, select(filled, result, other))
        nearer = greatest if self.side == "last" else least
        block.set(at, nearer(at, self._shift(at, self.beyond, by, I8)))
        return block.name("filled", disj(filled, self._shift(filled, TRUE, by, BOOL)))

    def _shift(self, lanes: LExpr, edge: LExpr, by: int, kind: Scalar) -> LExpr:
        if self.side == "last":
            return Earlier(lanes, Splat(edge, kind), by, kind)
        return Earlier(Splat(edge, kind), lanes, LANES - by, kind)


def all_true(block: Block, valid: LExpr) -> LExpr:
    """Test whether a bool holds in all lanes."""
    count = block.name("count", CountTrue(Splat(valid, BOOL), I64))
    return le(i64(LANES), count)
