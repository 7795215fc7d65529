"""The time range of each key over which a vector kernel applies, for all keys at once.

`find_vector_ranges` is the columnar form of `vector_range.find_vector_range`: one entry
per key. All keys share one kernel: those whose rows are on another sampling grid than
most are left to the sweep kernel.
"""

from collections.abc import Mapping
from functools import reduce

import numpy as np

from tiltpy.abi.layouts import SamplingGrid, TimeLayout
from tiltpy.abi.signature import Read, Signature
from tiltpy.costs import Costs
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_numbers import ceil_to
from tiltpy.runtime.execution.kernel import Kernel, Kernels
from tiltpy.runtime.execution.key_domains import Domains, RowsByKey
from tiltpy.runtime.execution.vector_range import (
    FIRST_TIME,
    find_sampling_grid,
    find_spacing,
    first_low,
    has_covered,
    last_high,
)
from tiltpy.runtime.ingest.keys import Groups


@dataclass(frozen=True, slots=True, eq=False)
class KeyVectorRanges:
    """A vector kernel and the time range `(low[k], high[k]]` it serves of each key `k`.

    It does not serve a key at all where low and high are the same.
    """

    kernel: Kernel
    low: Times
    high: Times

    @property
    def some(self) -> BoolArray:
        """Return the keys that it serves."""
        return self.low < self.high

    def of(self, keys: I64Array) -> "KeyVectorRanges":
        """Those of some keys."""
        return KeyVectorRanges(self.kernel, self.low[keys], self.high[keys])

    @property
    def counts_values(self) -> bool:
        """Return whether its loops keep structures of windows, which count values."""
        return any(loop.structures for loop in self.kernel.signature.loops)

    def pays(self, rows: Times, cells_per_row: int) -> BoolArray:
        """Select the keys of which it visits few cells for the rows that they have."""
        aligned = self.kernel.signature.aligned_range
        assert aligned is not None
        visits = (self.high - self.low + aligned.around) // aligned.finest
        return visits <= cells_per_row * rows

    def only(self, mask: BoolArray) -> "KeyVectorRanges":
        """Leave the keys that are not in a mask to the sweep kernel."""
        low, high = np.where(mask, self.low, 0), np.where(mask, self.high, 0)
        return KeyVectorRanges(self.kernel, low, high)


def find_vector_ranges(
    kernels: Kernels,
    inputs: Mapping[str, RowsByKey],
    domains: Mapping[str, Domains],
    rows: Times,
    candidates: BoolArray,
    costs: Costs,
) -> KeyVectorRanges | None:
    """Find the vector kernel for the sampling grids of most rows, and its time ranges.

    `rows` counts those of each key. Only `candidates` are served. None without a key.
    """
    there = candidates.copy()
    for domain in domains.values():
        there &= domain.wanted
    sampling_grids = _sampling_grids(inputs, rows, there, costs)
    kernel = kernels.vector(sampling_grids) if sampling_grids else None
    if kernel is None or kernel.signature.states:
        return None  # calls of a batch go on from no states
    low, high = _time_ranges(kernel.signature, inputs, domains)
    there &= low < high
    return KeyVectorRanges(kernel, np.where(there, low, 0), np.where(there, high, 0))


def _sampling_grids(
    inputs: Mapping[str, RowsByKey], rows: Times, there: BoolArray, costs: Costs
) -> dict[str, SamplingGrid] | None:
    """Find the sampling grid of each input; `there` keeps the keys that are on them."""
    sampling_grids = {}
    for name, by_key in inputs.items():
        if isinstance(by_key, SnapshotBuffer):
            sampling_grid = find_sampling_grid(by_key, costs)
        else:
            sampling_grid = _most(by_key, rows, there, costs)
        if sampling_grid is None:
            return None
        sampling_grids[name] = sampling_grid
    return sampling_grids


def _most(
    groups: Groups, rows: Times, there: BoolArray, costs: Costs
) -> SamplingGrid | None:
    """The sampling grid of most rows of an input by key."""
    buffer, counts = groups.buffer, np.diff(groups.offsets)
    there &= counts > 0
    match buffer.layout:
        case TimeLayout.SAMPLED:
            which = groups.firsts % buffer.period
        case TimeLayout.CONTIGUOUS | TimeLayout.INTERVALS:
            ticks = groups.lasts // 2 - groups.firsts // 2
            there &= 2 * ticks < costs.cells_per_row * counts
            which = find_spacing(2 * ticks, np.maximum(counts, 1), costs)
        case _:
            return None
    if not there.any():
        return None
    kinds, of = np.unique(which[there], return_inverse=True)
    most = int(kinds[np.bincount(of, rows[there]).argmax()])
    there &= which == most
    if buffer.layout is TimeLayout.SAMPLED:
        return SamplingGrid(buffer.period, most)
    return SamplingGrid(1, 0, apart=most)


def _time_ranges(
    signature: Signature,
    inputs: Mapping[str, RowsByKey],
    domains: Mapping[str, Domains],
) -> tuple[Times, Times]:
    """Find where a kernel serves each key (see `find_vector_range`)."""
    aligned = signature.aligned_range
    assert aligned is not None
    lows, highs = [np.array([FIRST_TIME])], []
    for loop in signature.loops:
        domain = domains[loop.name]
        first = ceil_to(loop.tdom, domain.start + 1)
        lows += [first if has_covered(signature, loop) else first - 1, domain.start]
        highs.append(ceil_to(loop.tdom, domain.end))
    firsts, lasts = [], []
    for read in aligned.reads:
        rows = inputs[read.object]
        begin, end, gapless = _bounds(rows)
        if gapless:
            lows.append(begin - read.low - read.early)
            highs.append(end - read.high + (read.late or _spared(rows, read)))
        firsts.append(begin - read.high)
        lasts.append(end - read.low)
    if firsts:
        lows.append(reduce(np.minimum, firsts))
        highs.append(reduce(np.maximum, lasts))
    low, high = reduce(np.maximum, lows), reduce(np.minimum, highs)
    return first_low(aligned, low), last_high(aligned, high)


def _bounds(rows: RowsByKey) -> tuple[Times, Times, bool]:
    """Find from when to when an input has rows, and whether without gaps."""
    if isinstance(rows, Groups):
        gapless = rows.buffer.layout is not TimeLayout.INTERVALS
        return rows.firsts, rows.lasts, gapless
    bounds = rows.bounds()
    assert bounds is not None
    begin, end = np.array([bounds[0]]), np.array([bounds[1]])
    return begin, end, rows.layout is not TimeLayout.INTERVALS


def _spared(rows: RowsByKey, read: Read) -> Times | int:
    """Find how far behind a key's rows may be read where it makes no difference."""
    if not isinstance(rows, Groups) or rows.buffer.layout is not TimeLayout.SAMPLED:
        return 0
    further = (rows.buffer.n - rows.offsets[1:]) * rows.buffer.period
    return np.where(further >= read.spare, read.spare, 0)
