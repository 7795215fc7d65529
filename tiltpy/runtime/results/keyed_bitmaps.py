"""Snapshots of many keys: those of a vector kernel, and those beside its ranges.

Values lie key after key; times follow from bits, and are computed on demand, as in
`BitmapSnapshots`. All keys are stitched together, as `stitch` does for one output.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tiltpy.runtime.arrays.bitmap_snapshots import find_stops
from tiltpy.runtime.arrays.dtypes import Bits, BoolArray, I64Array, Times
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.runtime.arrays.snapshot_buffer import CACHE_BLOCK, Column
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
    """A bit for each cell of time ranges; those of range `j` from byte `begins[j]` on.

    `begins` has one entry more, the end of the last range. Behind the cells of each
    range is at least one more bit, and all of those are 0.
    """

    bits: Bits
    begins: I64Array

    @staticmethod
    def of(bits: Bits, cells: I64Array, room: I64Array) -> "KeyBits":
        """Clear the bits behind the `cells` of each range, which takes `room` bytes."""
        begins = np.concatenate([[0], room.cumsum()])
        whole, rest = divmod(cells, 8)
        last = begins[:-1] + whole
        bits[last] &= ((1 << rest) - 1).astype(np.uint8)
        for number in range(1, int((room - whole).max(initial=0))):
            bits[np.minimum(last + number, begins[1:] - 1)[room - whole > number]] = 0
        return KeyBits(bits[: begins[-1]], begins)

    def select_ranges(self, first: int, stop: int) -> Bits:
        """Select the bits of the time ranges `first` to `stop`."""
        return self.bits[self.begins[first] : self.begins[stop]]


@dataclass(frozen=True, slots=True, eq=False)
class KeyedBitmaps:
    """Snapshots over ranges of cells of the length `period`, the first at `low[j]`.

    Without `begins` each cell is one, otherwise see `abi.AlignedRange`. Those
    beside the ranges have `starts` and `ends`.
    """

    low: Times
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
        starts, ends = (allocate(I64, self.n)[: self.n].view(np.int64) for _ in "se")
        starts[places.beside] = self.starts
        ends[places.beside] = self.ends
        carried = np.full(len(places.firsts), EARLIEST)
        for first, stop in self._groups():
            self._write_range_times(first, stop, starts, ends, carried[first:stop])
        led = places.led & (carried > EARLIEST)
        _extend(ends, places.firsts[led] - 1, carried[led])
        reaching = (places.led | (places.counts > 0)) & (places.reach > EARLIEST)
        last = places.firsts + places.counts - 1
        _extend(ends, last[reaching], places.reach[reaching])
        domains = places.domains
        starts[places.heads] = np.maximum(starts[places.heads], domains.start)
        ends[places.tails] = np.minimum(ends[places.tails], domains.end)
        return starts, ends

    def _groups(self) -> Iterator[tuple[int, int]]:
        """Group time ranges so that temporaries of a group stay in the cache."""
        group = self.places.counts.cumsum() // CACHE_BLOCK
        cuts = [*(np.flatnonzero(np.diff(group)) + 1).tolist(), len(group)]
        yield from zip([0, *cuts[:-1]], cuts, strict=True)

    def _write_range_times(
        self, first: int, stop: int, starts: Times, ends: Times, carried: Times
    ) -> None:
        """Compute the times of the time ranges `first` to `stop`.

        `carried` receives the ends of the snapshots carried into them.
        """
        ranges = slice(first, stop)
        counts = self.places.counts[ranges]
        before = counts.cumsum() - counts
        total = int(counts.sum())
        at = np.arange(total) + np.repeat(self.places.firsts[ranges] - before, counts)
        if self.begins is None:
            zeros = self.low[ranges] - before * self.period
            cells = np.arange(total)
        else:
            zeros = self.low[ranges] - 8 * self.period * (
                self.begins.begins[ranges] - self.begins.begins[first]
            )
            cells = _find_set_bits(self.begins.select_ranges(first, stop))
        times = cells * self.period + np.repeat(zeros, counts)
        starts[at] = times
        if self.begins is None or self.covered is None:
            ends[at] = times + self.period
            return
        begins, covered = (
            bits.select_ranges(first, stop) for bits in (self.begins, self.covered)
        )
        heads = self.begins.begins[ranges] - self.begins.begins[first]
        carries = (covered[heads] & ~begins[heads] & 1).astype(np.bool_)
        stops = _find_set_bits(find_stops(begins, covered)) * self.period
        stops += np.repeat(zeros, counts + carries)
        extra = (before + carries.cumsum() - carries)[carries]
        carried[carries] = stops[extra]
        ends[at] = np.delete(stops, extra) if len(extra) else stops


def _find_set_bits(bits: Bits) -> I64Array:
    """List the indices of the bits that are set."""
    flags = np.unpackbits(bits, bitorder="little")
    return np.flatnonzero(flags.view(np.bool_))


def _extend(ends: Times, rows: I64Array, reach: Times) -> None:
    """Extend snapshots to at least the times `reach`."""
    ends[rows] = np.maximum(ends[rows], reach)
