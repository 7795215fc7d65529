"""Snapshots of many keys: those of a vector kernel, and those beside its ranges.

Values lie key after key; times follow from bits, and are computed on demand, as in
`BitmapSnapshots`. All keys are stitched together, as `stitch` does for one output.
"""

import numpy as np

from tiltpy.lean_dataclass import dataclass
from tiltpy.routines.catalogue import (
    EXPAND_ALL,
    EXPAND_CELLS,
    EXPAND_RUNS,
    SPARE,
)
from tiltpy.runtime.arrays.dtypes import Bits, BoolArray, I64Array, Times
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.execution.key_domains import EARLIEST, Domains
from tiltpy.types import I64


@dataclass(frozen=True, slots=True, eq=False)
class KeyRanges:
    """The rows at which the snapshots of keys lie, which are `n` in all.

    Those of range `j` are the `counts[j]` rows from `firsts[j]` on; `led[j]` tells that
    another one of its key is before them, `reach[j]` how far the last of both goes at
    least. All others, beside the ranges, are the rows `beside`. `heads` and `tails` are
    the first and the last row of each key that has any; `domains` clip them.
    """

    n: int
    counts: I64Array
    firsts: I64Array
    led: BoolArray
    reach: Times
    beside: I64Array
    heads: I64Array
    tails: I64Array
    domains: Domains


@dataclass(frozen=True, slots=True, eq=False)
class KeyBits:
    """A bit for each cell of time ranges; those of range `j` from byte `firsts[j]` on.

    Bits behind the cells of a range are undefined, and `BYTES_BEHIND` bytes behind the
    last cells can be read.
    """

    bits: Bits
    firsts: I64Array


@dataclass(frozen=True, slots=True, eq=False)
class KeyedBitmaps:
    """Snapshots over ranges of `cells[j]` cells, `period` long, the first at `low[j]`.

    Without `begins` each cell is one, otherwise see `abi.AlignedRange`. Those
    beside the ranges have `starts` and `ends`.
    """

    low: Times
    cells: I64Array
    period: int
    begins: KeyBits | None
    covered: KeyBits | None
    places: KeyRanges
    starts: Times
    ends: Times
    columns: tuple[Column, ...]

    @property
    def n(self) -> int:
        """The number of snapshots."""
        return self.places.n

    def times(self) -> tuple[Times, Times]:
        """Compute the starts and the ends of all snapshots, in ticks."""
        places = self.places
        starts, ends = (allocate(I64, self.n + 1 + SPARE).view(np.int64) for _ in "se")
        carried = np.full(len(places.firsts), EARLIEST)
        self._expand_ranges(starts, ends, carried)
        starts, ends = starts[: self.n], ends[1 : self.n + 1]
        starts[places.beside] = self.starts
        ends[places.beside] = self.ends
        led = places.led & (carried > EARLIEST)
        _extend(ends, places.firsts[led] - 1, carried[led])
        reaching = (places.led | (places.counts > 0)) & (places.reach > EARLIEST)
        last = places.firsts + places.counts - 1
        _extend(ends, last[reaching], places.reach[reaching])
        domains = places.domains
        starts[places.heads] = np.maximum(starts[places.heads], domains.start)
        ends[places.tails] = np.minimum(ends[places.tails], domains.end)
        return starts, ends

    def _expand_ranges(self, starts: Times, ends: Times, carried: Times) -> None:
        """Compute the times of the snapshots of all ranges; the ends from entry 1 on.

        `carried` receives the ends of the snapshots carried into ranges.
        """
        places = self.places
        ranges = len(places.counts), self.period, self.low
        if self.begins is None:
            EXPAND_ALL(*ranges, places.counts, places.firsts, starts, ends[1:])
            return
        cells, bits = self.cells, (self.begins.bits, self.begins.firsts)
        if self.covered is None:
            EXPAND_CELLS(*ranges, cells, places.firsts, starts, ends[1:], *bits)
            return
        bits_of_both = *bits, self.covered.bits
        EXPAND_RUNS(*ranges, cells, places.firsts, starts, ends, *bits_of_both, carried)


def _extend(ends: Times, rows: I64Array, reach: Times) -> None:
    """Extend snapshots to at least the times `reach`."""
    ends[rows] = np.maximum(ends[rows], reach)
