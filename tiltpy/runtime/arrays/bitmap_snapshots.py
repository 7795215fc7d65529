"""What a vector kernel wrote: a bit for each cell, and the values of its snapshots.

The times of the snapshots follow from the bits. They are made when somebody asks for
them: a result that is only counted, or whose values alone are read, never needs any.
"""

from dataclasses import dataclass

import numpy as np

from tiltpy.runtime.arrays.dtypes import Bits, Times
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.runtime.arrays.snapshot_buffer import TILE, Column
from tiltpy.types import I64


@dataclass(frozen=True, slots=True, eq=False)
class BitmapSnapshots:
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
        """Find where the snapshot before ends that goes on in here.

        None if none does.
        """
        if self.covered is None or not self.covered[0] & ~self.begins[0] & 1:
            return None
        return self.low + self.period * self._first_end()

    def _first_end(self) -> int:
        """Find the cell at which the snapshot that covers the first cell has ended."""
        assert self.covered is not None
        goes_on = self.covered & ~self.begins
        stops = goes_on != 0xFF
        byte = int(stops.argmax())
        if not stops[byte]:
            return self.cells
        zero = ~int(goes_on[byte])
        return min(8 * byte + (zero & -zero).bit_length() - 1, self.cells)

    def times(self) -> tuple[Times, Times]:
        """Compute the starts and the ends of all snapshots, in ticks."""
        starts = _times(self.n)
        if self._each_a_cell():
            ends = _times(self.n)
            later = ends, self.low + self.period
            _write_times(
                self.begins, self.cells, self.period, (starts, self.low), later
            )
        else:
            _write_times(self.begins, self.cells, self.period, (starts, self.low))
            ends = self._ends()
        if self.n:
            self._cut(starts, ends)
        return starts, ends

    def _each_a_cell(self) -> bool:
        """Tell whether no snapshot goes on behind the cell in which it begins."""
        if self.covered is None:
            return True
        whole, rest = divmod(self.cells, 8)
        if not np.array_equal(self.begins[:whole], self.covered[:whole]):
            return False
        unlike = self.begins[whole : whole + 1] ^ self.covered[whole : whole + 1]
        return not (unlike & ((1 << rest) - 1)).any()

    def _ends(self) -> Times:
        """Compute the ends of all snapshots, of which some are longer than a cell."""
        assert self.covered is not None
        count = (self.cells + 7) // 8
        covered, begins = self.covered[:count].copy(), self.begins[:count]
        if self.cells % 8:
            covered[-1] &= (1 << self.cells % 8) - 1
        stops = covered << np.uint8(1)  # the cells before which a snapshot ends
        stops[1:] |= covered[:-1] >> np.uint8(7)
        stops &= begins | ~covered
        carried = int(covered[0] & ~begins[0] & 1)
        ends = _times(carried + self.n)
        written_count = _write_times(stops, self.cells, self.period, (ends, self.low))
        ends[written_count:] = self.low + self.cells * self.period
        return ends[carried:]

    def _cut(self, starts: Times, ends: Times) -> None:
        if self.reach is not None:
            ends[-1] = self.reach
        if self.floor is not None:
            starts[0] = max(starts[0], self.floor)
        if self.ceiling is not None:
            ends[-1] = min(ends[-1], self.ceiling)


def _times(count: int) -> Times:
    return allocate(I64, count)[:count].view(np.int64)


def _write_times(bits: Bits, cells: int, period: int, *given: tuple[Times, int]) -> int:
    """Write the times of the cells whose bits are set, and say how many there are.

    Each array gets them counted from a time of its own. All goes through places that
    stay in the cache, so that memory is written once and not read.
    """
    steps = np.arange(min(cells, TILE), dtype=np.int64) * period
    done = 0
    for first in range(0, cells, TILE):
        count = min(TILE, cells - first)
        part = bits[first // 8 : (first + count + 7) // 8]
        if (part == 0xFF).all():
            places = steps[:count]
        else:
            flags = np.unpackbits(part, count=count, bitorder="little")
            places = np.flatnonzero(flags.view(np.bool_))
            if period != 1:
                places *= period
        stop = done + len(places)
        for times, low in given:
            np.add(places, low + first * period, out=times[done:stop])
        done = stop
    return done
