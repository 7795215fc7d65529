"""Axes: which cell of one regular object another one reads.

The cells of an object, and the rows of a sampled input, lie on an axis: cell `j` is
`(phase + j*period, phase + (j+1)*period]`. A vector kernel counts the cells of every
object from the start of its time range (cell 0 holds the first tick after `LOW`), so
that a reference is a fixed map between two counts.
"""

from math import gcd

from tiltpy.abi.signature import LANES
from tiltpy.ir.nodes import Query
from tiltpy.lean_dataclass import dataclass
from tiltpy.types import TDom


@dataclass(frozen=True, slots=True)
class Axis:
    """The period and phase of an object's cells, in ticks."""

    period: int
    phase: int

    @staticmethod
    def of(tdom: TDom) -> "Axis":
        """The axis of a time domain, whose cells end at grid points."""
        return Axis(tdom.precision, tdom.offset - tdom.precision)


@dataclass(frozen=True, slots=True)
class CellMap:
    """A reference: cell `i` of its reader reads cell `(i*times + plus) // over`."""

    times: int
    over: int
    plus: int

    @property
    def is_regular(self) -> bool:
        """Return whether reader and object have the same cells."""
        return self.times == self.over == 1

    @property
    def is_strided(self) -> bool:
        """Return whether a cell of the reader is a whole number of the object's."""
        return self.over == 1

    def earlier(self, cells: int) -> "CellMap":
        """The map from a count that is so many cells ahead of the reader."""
        return CellMap(self.times, self.over, self.plus - cells * self.times)

    def further(self, cells: int) -> "CellMap":
        """The map to the object's cell that is so many later."""
        return CellMap(self.times, self.over, self.plus + cells * self.over)


def map_cells(reader: Axis, source: Axis, offset: int, low: int) -> CellMap:
    """The map of a reference `t + offset`; the reader's cell 0 starts at `low`."""
    first = (low - source.phase) // source.period  # the cell that counts as 0
    ticks = low + reader.period + offset - 1 - source.phase - source.period * first
    common = gcd(reader.period, source.period)
    return CellMap(reader.period // common, source.period // common, ticks // common)


def common_low(query: Query) -> int | None:
    """A time at which cells of all definitions begin, if there is one."""
    coarsest = max((d.tdom for d in query.definitions), key=lambda t: t.precision)
    for definition in query.definitions:
        tdom = definition.tdom
        if (coarsest.offset - tdom.offset) % tdom.precision:
            return None
        if coarsest.precision % tdom.precision:
            return None
    return coarsest.offset


def whole_vectors(cells: int) -> int:
    """Round a number of cells up to whole vectors."""
    return -(-cells // LANES) * LANES
