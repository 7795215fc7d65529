"""Snapshots as vector kernels write them: a bit for each cell, and their values.

Their times follow from the bits, and are computed on demand: a result that is only
counted, or whose values alone are read, needs none.
"""

from dataclasses import dataclass

import numpy as np

from tiltpy.runtime.arrays.dtypes import Bits, Times
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.runtime.arrays.snapshot_buffer import CACHE_BLOCK, Column, cache_blocks
from tiltpy.types import I64


@dataclass(frozen=True, slots=True, eq=False)
class BitmapSnapshots:
    """`n` snapshots over cells of the length `period`, the first cell after `low`.

    A snapshot begins where `begins` has a bit, and lasts until the next begins or the
    run of bits in `covered` ends; without `covered` each is one cell. Bits beyond the
    cells are undefined. `reach`, if there is one, is the end of the last snapshot,
    which continues in later pieces. All times are clipped to `(floor, ceiling]`.
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
        starts = _times(self.n)
        targets = [(starts, self.low)]
        if single := self._are_single_cells():
            ends = _times(self.n)
            targets.append((ends, self.low + self.period))
        _write_times(self.begins, self.cells, self.period, *targets)
        if not single:
            ends = self._find_ends()
        if self.n:
            self._clip(starts, ends)
        return starts, ends

    def _are_single_cells(self) -> bool:
        """Tell whether each snapshot ends with the cell in which it begins."""
        if self.covered is None:
            return True
        whole, rest = divmod(self.cells, 8)
        if not np.array_equal(self.begins[:whole], self.covered[:whole]):
            return False
        unlike = self.begins[whole : whole + 1] ^ self.covered[whole : whole + 1]
        return not (unlike & ((1 << rest) - 1)).any()

    def _find_ends(self) -> Times:
        """Compute the ends of snapshots that may be longer than a cell."""
        assert self.covered is not None
        count = (self.cells + 7) // 8
        covered, begins = self.covered[:count].copy(), self.begins[:count]
        if self.cells % 8:
            covered[-1] &= (1 << self.cells % 8) - 1
        stops = find_stops(begins, covered)
        carried = int(covered[0] & ~begins[0] & 1)
        ends = _times(carried + self.n)
        written_count = _write_times(stops, self.cells, self.period, (ends, self.low))
        ends[written_count:] = self.low + self.cells * self.period
        return ends[carried:]

    def _clip(self, starts: Times, ends: Times) -> None:
        if self.reach is not None:
            ends[-1] = self.reach
        if self.floor is not None:
            starts[0] = max(starts[0], self.floor)
        if self.ceiling is not None:
            ends[-1] = min(ends[-1], self.ceiling)


def find_stops(begins: Bits, covered: Bits) -> Bits:
    """Find the cells before which a snapshot ends."""
    stops = covered << np.uint8(1)
    stops[1:] |= covered[:-1] >> np.uint8(7)
    stops &= begins | ~covered
    return stops


def _times(count: int) -> Times:
    return allocate(I64, count)[:count].view(np.int64)


def _write_times(
    bits: Bits, cells: int, period: int, *targets: tuple[Times, int]
) -> int:
    """Write the times of the cells whose bits are set; returns how many there are.

    A target is an array and the time of its cell 0, in ticks. Temporaries stay in the
    cache, so that memory is written once and not read.
    """
    steps = np.arange(min(cells, CACHE_BLOCK), dtype=np.int64) * period
    done = 0
    for block in cache_blocks(cells):
        count = block.stop - block.start
        begins = bits[block.start // 8 : (block.stop + 7) // 8]
        if (begins == 0xFF).all():
            offsets = steps[:count]
        else:
            flags = np.unpackbits(begins, count=count, bitorder="little")
            offsets = np.flatnonzero(flags.view(np.bool_))
            if period != 1:
                offsets *= period
        stop = done + len(offsets)
        for times, low in targets:
            np.add(offsets, low + block.start * period, out=times[done:stop])
        done = stop
    return done
