"""Which cell of one regular object another one sees: arithmetic on grids.

The cells of an object, and the rows of a regular input, stand on an axis: cell `j` is
`(phase + j*period, phase + (j+1)*period]`. A grid kernel counts the cells of every
object from the one that begins its stretch (0 holds the first tick after `LOW`), so
that a reference is a fixed relation between two counts, whatever the stretch.
"""

from dataclasses import dataclass
from math import gcd

from tiltpy.abi import LANES
from tiltpy.ir.nodes import Query
from tiltpy.types import TDom


@dataclass(frozen=True, slots=True)
class Axis:
    """Where the cells of an object are."""

    period: int
    phase: int

    @staticmethod
    def of(tdom: TDom) -> "Axis":
        """The cells of a time domain, each ending at a grid point."""
        return Axis(tdom.precision, tdom.offset - tdom.precision)


@dataclass(frozen=True, slots=True)
class CellMap:
    """Cell `i` of a reader sees cell `(i*times + plus) // over` of an object."""

    times: int
    over: int
    plus: int

    @property
    def regular(self) -> bool:
        """Whether both move on cell by cell."""
        return self.times == self.over == 1

    @property
    def strided(self) -> bool:
        """Whether the reader's cells are whole numbers of the object's."""
        return self.over == 1

    def earlier(self, cells: int) -> "CellMap":
        """The step from a count that runs ahead of the reader by that many cells."""
        return CellMap(self.times, self.over, self.plus - cells * self.times)

    def further(self, cells: int) -> "CellMap":
        """The step to the object's cell that many later."""
        return CellMap(self.times, self.over, self.plus + cells * self.over)


def step(reader: Axis, seen: Axis, offset: int, low: int) -> CellMap:
    """What a reference `t + offset` sees, in a stretch whose `LOW` is `low` (modulo).

    The reader's own cells start at `low`.
    """
    first = (low - seen.phase) // seen.period  # the cell that is counted as 0
    ticks = low + reader.period + offset - 1 - seen.phase - seen.period * first
    common = gcd(reader.period, seen.period)
    return CellMap(reader.period // common, seen.period // common, ticks // common)


def common_low(query: Query) -> int | None:
    """A time at which cells of all definitions begin; None if there is none."""
    coarsest = max((d.tdom for d in query.definitions), key=lambda t: t.precision)
    for definition in query.definitions:
        tdom = definition.tdom
        if (coarsest.offset - tdom.offset) % tdom.precision:
            return None
        if coarsest.precision % tdom.precision:
            return None
    return coarsest.offset


def whole_vectors(cells: int) -> int:
    """That many cells or more, in whole vectors."""
    return -(-cells // LANES) * LANES
