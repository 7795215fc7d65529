"""Snapshots as vector kernels write them: a bit for each cell, and their values.

Their times follow from the bits, and are computed on demand: a result that is only
counted, or whose values alone are read, needs none.
"""

import numpy as np

from tiltpy.lean_dataclass import dataclass
from tiltpy.routines.catalogue import EXPAND_CELLS, EXPAND_RUNS, SPARE
from tiltpy.runtime.arrays.dtypes import Bits, Times
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.types import I64


@dataclass(frozen=True, slots=True, eq=False)
class BitmapSnapshots:
    """`n` snapshots over cells of the length `period`, the first cell after `low`.

    A snapshot begins where `begins` has a bit, and lasts until the next begins or the
    run of bits in `covered` ends; without `covered` each is one cell. Bits beyond the
    cells are undefined, and `BYTES_BEHIND` more bytes can be read. `reach`, if there is
    one, is the end of the last snapshot, which continues in later pieces. All times are
    clipped to `(floor, ceiling]`.
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

    def find_carry_end(self) -> int | None:
        """Find the end of the snapshot carried in from before, if there is one."""
        if self.covered is None or not self.covered[0] & ~self.begins[0] & 1:
            return None
        return self.low + self.period * self._first_end()

    def _first_end(self) -> int:
        """Find the first cell behind the snapshot that covers the first one."""
        assert self.covered is not None
        continues = self.covered & ~self.begins
        stops = continues != 0xFF
        byte = int(stops.argmax())
        if not stops[byte]:
            return self.cells
        zero = ~int(continues[byte])
        return min(8 * byte + (zero & -zero).bit_length() - 1, self.cells)

    def times(self) -> tuple[Times, Times]:
        """Compute the starts and the ends of all snapshots, in ticks."""
        starts, ends = _times(self.n), _times(self.n + 1)
        low, cells, zero = (np.array([each]) for each in (self.low, self.cells, 0))
        ranges = 1, self.period, low, cells, zero
        if self.covered is None:
            EXPAND_CELLS(*ranges, starts, ends[1:], self.begins, zero)
        else:
            bits = self.begins, zero, self.covered
            EXPAND_RUNS(*ranges, starts, ends, *bits, np.empty(1, np.int64))
        starts, ends = starts[: self.n], ends[1 : self.n + 1]
        if self.n:
            self._clip(starts, ends)
        return starts, ends

    def _clip(self, starts: Times, ends: Times) -> None:
        if self.reach is not None:
            ends[-1] = self.reach
        if self.floor is not None:
            starts[0] = max(starts[0], self.floor)
        if self.ceiling is not None:
            ends[-1] = min(ends[-1], self.ceiling)


def _times(count: int) -> Times:
    return allocate(I64, count + SPARE).view(np.int64)
