"""What many keys have of an output: what a vector kernel wrote, and what is beside it.

Values stand key after key; times follow from bits, and are made when somebody asks for
them, as those of `BitmapSnapshots` are. What `stitch` does where two pieces of one
output meet is done here for all keys together.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tiltpy.runtime.arrays.dtypes import Bits, BoolArray, I64Array, Times
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.runtime.arrays.snapshot_buffer import TILE, Column
from tiltpy.runtime.execution.key_domains import EARLIEST, Domains
from tiltpy.types import I64


@dataclass(frozen=True, slots=True, eq=False)
class KeyRanges:
    """Where the snapshots of some keys stand, which are `n` in all.

    Those of range `j`, `counts[j]`, are the rows from `firsts[j]` on; `led[j]` tells
    that there is one of the same key before them, `reach[j]` how far the last of both
    goes at least. All others, which stand beside ranges, are the rows `beside`.
    `heads` and `tails` are the first and the last row of each key that has any, and
    `domains` what they are cut to.
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
    """A bit for each cell of some time ranges; those of range `j` from `begins[j]` on.

    That is a byte; there is one more of them, where the last ends. Behind the cells of
    each range is at least one bit more, and all that are there are 0.
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

    Without `begins` each cell is one, otherwise they are as in `abi.Stretch`. Those
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
        """How many snapshots there are."""
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
        some = (places.led | (places.counts > 0)) & (places.reach > EARLIEST)
        _extend(ends, (places.firsts + places.counts - 1)[some], places.reach[some])
        domains = places.domains
        starts[places.heads] = np.maximum(starts[places.heads], domains.start)
        ends[places.tails] = np.minimum(ends[places.tails], domains.end)
        return starts, ends

    def _groups(self) -> Iterator[tuple[int, int]]:
        """Group time ranges so that temporaries of a group stay in the cache."""
        group = self.places.counts.cumsum() // TILE
        cuts = [*(np.flatnonzero(np.diff(group)) + 1).tolist(), len(group)]
        yield from zip([0, *cuts[:-1]], cuts, strict=True)

    def _write_range_times(
        self, first: int, stop: int, starts: Times, ends: Times, carried: Times
    ) -> None:
        """Compute the times of the time ranges `first` to `stop`.

        `carried` gets where the snapshots end that go on from before them.
        """
        some = slice(first, stop)
        counts = self.places.counts[some]
        before = counts.cumsum() - counts
        total = int(counts.sum())
        at = np.arange(total) + np.repeat(self.places.firsts[some] - before, counts)
        if self.begins is None:
            zeros = self.low[some] - before * self.period
            cells = np.arange(total)
        else:
            zeros = self.low[some] - 8 * self.period * (
                self.begins.begins[some] - self.begins.begins[first]
            )
            cells = _set(self.begins.select_ranges(first, stop))
        times = cells * self.period + np.repeat(zeros, counts)
        starts[at] = times
        if self.begins is None or self.covered is None:
            ends[at] = times + self.period
            return
        begins, covered = (
            one.select_ranges(first, stop) for one in (self.begins, self.covered)
        )
        heads = self.begins.begins[some] - self.begins.begins[first]
        goes_on = (covered[heads] & ~begins[heads] & 1).astype(np.bool_)
        stops = _set(_stops(begins, covered)) * self.period
        stops += np.repeat(zeros, counts + goes_on)
        extra = (before + goes_on.cumsum() - goes_on)[goes_on]
        carried[goes_on] = stops[extra]
        ends[at] = np.delete(stops, extra) if len(extra) else stops


def _set(bits: Bits) -> I64Array:
    """Find the numbers of the bits that are set."""
    flags = np.unpackbits(bits, bitorder="little")
    return np.flatnonzero(flags.view(np.bool_))


def _stops(begins: Bits, covered: Bits) -> Bits:
    """Find the cells before which a snapshot ends."""
    stops = covered << np.uint8(1)
    stops[1:] |= covered[:-1] >> np.uint8(7)
    return stops & (begins | ~covered)


def _extend(ends: Times, rows: I64Array, reach: Times) -> None:
    """Have some snapshots last until then, at least."""
    ends[rows] = np.maximum(ends[rows], reach)
