"""What a grid kernel wrote: a bit for each cell, and the values of its snapshots.

The times of the snapshots follow from the bits. They are made when somebody asks for
them: a result that is only counted, or whose values alone are read, never needs any.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiltpy.runtime.buffers import Bits, Column, Times


@dataclass(frozen=True, slots=True, eq=False)
class CellPiece:
    """`n` snapshots over cells of the length `period`, the first of them at `low`.

    A snapshot begins where `begins` has a bit, and lasts until the next begins or the
    run of bits in `covered` ends; without `covered` each is one cell. Bits beyond the
    cells are anything. `reach`, if given, is the end of the last snapshot, which goes
    on in later pieces. All times are cut to `(floor, ceiling]`.
    """

    low: int
    period: int
    cells: int
    begins: Bits
    covered: Bits | None
    n: int
    columns: tuple[Column, ...]
    reach: int | None = None
    floor: int | None = None
    ceiling: int | None = None

    def carried(self) -> int | None:
        """Where the snapshot before ends that goes on in here; None if none does."""
        if self.covered is None or not self.covered[0] & ~self.begins[0] & 1:
            return None
        return self.low + self.period * self._first_end()

    def _first_end(self) -> int:
        """The cell at which the snapshot that covers the first cell has ended."""
        assert self.covered is not None
        goes_on = self.covered & ~self.begins
        stops = goes_on != 0xFF
        byte = int(stops.argmax())
        if not stops[byte]:
            return self.cells
        zero = ~int(goes_on[byte])
        return min(8 * byte + (zero & -zero).bit_length() - 1, self.cells)

    def times(self) -> tuple[Times, Times]:
        """The starts and the ends of all snapshots."""
        begins = _places(self.begins, self.cells)
        starts = begins * self.period
        starts += self.low
        if self.covered is None:
            ends = starts + self.period
        else:
            stops = self._stops()
            ends = stops[len(stops) - self.n :] * self.period
            ends += self.low
        if self.n:
            self._cut(starts, ends)
        return starts, ends

    def _stops(self) -> Times:
        """The cells before which a snapshot ends; the one behind the last too."""
        assert self.covered is not None
        count = (self.cells + 7) // 8
        covered, begins = self.covered[:count].copy(), self.begins[:count]
        if self.cells % 8:
            covered[-1] &= (1 << self.cells % 8) - 1
        before = covered << np.uint8(1)
        before[1:] |= covered[:-1] >> np.uint8(7)
        before &= begins | ~covered
        stops = _places(before, self.cells)
        last = self.cells - 1
        if covered[last // 8] >> last % 8 & 1:
            stops = np.append(stops, self.cells)
        return stops

    def _cut(self, starts: Times, ends: Times) -> None:
        if self.reach is not None:
            ends[-1] = self.reach
        if self.floor is not None:
            starts[0] = max(starts[0], self.floor)
        if self.ceiling is not None:
            ends[-1] = min(ends[-1], self.ceiling)


def _places(bits: Bits, count: int) -> Times:
    """The positions of the bits that are set among the first `count`."""
    found: NDArray[np.bool_] = np.unpackbits(
        bits[: (count + 7) // 8], count=count, bitorder="little"
    ).view(np.bool_)
    return np.flatnonzero(found).astype(np.int64, copy=False)
