"""The time range of a run over which a vector kernel applies.

A vector kernel visits every grid point of a time range without looking at times, so
all its samples must exist, and its outputs must own just the cells of the range.
"""

from collections.abc import Mapping
from dataclasses import replace

from tiltpy.abi.layouts import FARTHEST, SamplingGrid, TimeLayout
from tiltpy.abi.signature import AlignedRange, Loop, Signature
from tiltpy.abi.slots import SlotKind
from tiltpy.costs import Costs
from tiltpy.lean_dataclass import dataclass
from tiltpy.plan.run_plan import VectorFacts
from tiltpy.runtime.arrays.dtypes import BoolArray, Times
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.call_numbers import N, least
from tiltpy.runtime.execution.dense_output import DenseOutput, whole_vectors
from tiltpy.runtime.execution.kernel import Kernel
from tiltpy.runtime.execution.time_domain import Domain
from tiltpy.types import ENDLESS

FIRST_TIME = ENDLESS - 2**63 + 1
"""The first time from which a kernel can count ticks up to `ENDLESS`."""


def first_low(aligned: AlignedRange, times: N) -> N:
    """The first times from these on at which a range may begin."""
    return times + (aligned.phase - times) % aligned.step


def last_high(aligned: AlignedRange, times: N) -> N:
    """The last times up to these at which a range may end."""
    return times - (times - aligned.phase) % aligned.multiple


def last_seam(aligned: AlignedRange, times: N) -> N:
    """The last times up to these at which a range may end and the next begin."""
    return times - (times - aligned.phase) % aligned.step


def find_spacing(ticks: N, rows: N, costs: Costs) -> N:
    """Find how far rows are apart on the average, as a sampling grid has it."""
    return least(ticks // (costs.ticks_apart * rows), FARTHEST)


def find_sampling_grid(buffer: SnapshotBuffer, costs: Costs) -> SamplingGrid | None:
    """Find how a vector kernel takes an input's rows; None where it cannot."""
    bounds = buffer.bounds()
    if bounds is None:
        return None
    match buffer.layout:
        case TimeLayout.SAMPLED:
            return SamplingGrid(buffer.period, buffer.start % buffer.period)
        case TimeLayout.CONTIGUOUS | TimeLayout.INTERVALS:
            ticks = bounds[1] - bounds[0]
            if ticks > costs.cells_per_row * buffer.n:
                return None
            return SamplingGrid(1, 0, apart=find_spacing(ticks, buffer.n, costs))
        case _:
            return None


@dataclass(frozen=True, slots=True)
class VectorRange:
    """A vector kernel and the time range `(low, high]` of a run in which it serves.

    Its calls begin at `seams` or later; that of the first chunk at the last one before
    `low`, so that cells do not depend on where a run begins.
    """

    kernel: Kernel
    aligned_range: AlignedRange
    low: int
    high: int
    seams: int

    def fit(self, low: Times, high: Times) -> BoolArray:
        """Select those chunks `(low[k], high[k]]` that it can compute."""
        inside = (self.low <= low) & (high <= self.high)
        begins = (first_low(self.aligned_range, low) == low) | (low == self.low)
        ends = last_high(self.aligned_range, high) == high
        fitting: BoolArray = inside & begins & ends
        return fitting

    def within(self, low: int, high: int) -> "VectorRange | None":
        """Narrow it to a part of its time range; None where nothing is left."""
        low = _first_cell(self.kernel, max(self.low, low), self.seams)
        high = last_high(self.aligned_range, min(self.high, high))
        return replace(self, low=low, high=high) if low < high else None

    def facts(self, rows: Mapping[str, SnapshotBuffer]) -> VectorFacts:
        """Count its visits, and the rows that it reads and leaves."""
        rows_read = 0
        for read in self.aligned_range.reads:
            needed = self.low + read.low, self.high + read.high
            first, stop = rows[read.object].find(*needed)
            rows_read = max(rows_read, stop - first)
        inside = (buffer.find(self.low, self.high) for buffer in rows.values())
        outside = sum(buffer.n for buffer in rows.values()) - sum(
            stop - first for first, stop in inside
        )
        return VectorFacts(self.visits, rows_read, outside)

    @property
    def carries(self) -> bool:
        """Test whether each call goes on from the states of the one before."""
        return bool(self.kernel.signature.states)

    @property
    def visits(self) -> int:
        """Count the kernel's visits in its time range."""
        return self.aligned_range.visits(self.high - self.low)

    def dense_output(self, low: Times, high: Times) -> DenseOutput | None:
        """The columns of the full outputs of chunks that it can compute.

        None where one of them would write into the cells of the next.
        """
        step = whole_vectors(self.kernel.signature)
        if len(low) == 0 or ((low[1:] - low[:1]) % step).any():
            return None
        return DenseOutput(self.kernel.signature, int(low[0]), int(high[-1]))

    def begin_calls(self, low: Times) -> Times:
        """Find when the calls for chunks begin, the first at a seam before its own."""
        if len(low) == 0 or low[0] != self.low:
            return low
        begin = low.copy()
        begin[0] = self.call_low
        return begin

    @property
    def call_low(self) -> int:
        """Return the time at which the call for the first chunk begins."""
        return min(self.low, max(self.seams, last_seam(self.aligned_range, self.low)))


def find_vector_range(
    kernel: Kernel, rows: Mapping[str, SnapshotBuffer], domains: Mapping[str, Domain]
) -> VectorRange | None:
    """The kernel with the largest time range in which it serves; None without one."""
    signature, aligned = kernel.signature, kernel.signature.aligned_range
    assert aligned is not None
    if any(loop.name not in domains for loop in signature.loops):
        return None
    lows, highs, rows_low = [FIRST_TIME], [], [FIRST_TIME]
    for loop in signature.loops:
        domain = domains[loop.name]
        # A snapshot may have begun before the domain: then its value is not written,
        # and another kernel has to compute the first cell.
        first = loop.tdom.ceil(domain.start + 1)
        lows.append(first if has_covered(signature, loop) else first - 1)
        highs.append(loop.tdom.ceil(domain.end))
    seen = []
    for read in aligned.reads:
        buffer = rows[read.object]
        bounds = buffer.bounds()
        assert bounds is not None
        if buffer.layout is not TimeLayout.INTERVALS:
            rows_low.append(bounds[0] - read.low - read.early)
            highs.append(bounds[1] - read.high + read.late)
        seen.append((bounds[0] - read.high, bounds[1] - read.low))
    if seen:  # where it sees no row of any input, other kernels need no time at all
        rows_low.append(min(low for low, _ in seen))
        highs.append(max(high for _, high in seen))
    seams = first_low(aligned, max(rows_low))
    low = _first_cell(kernel, max(lows), seams)
    high = last_high(aligned, min(highs))
    return VectorRange(kernel, aligned, low, high, seams) if low < high else None


def _first_cell(kernel: Kernel, low: int, seams: int) -> int:
    """Find the first time, no less than `low`, from which on a kernel serves.

    Its call begins before, if that is no seam: what it computes too much is left out,
    unless snapshots may have begun there. Nor does a call that goes on from states:
    those are of the time at which it begins.
    """
    signature, aligned = kernel.signature, kernel.signature.aligned_range
    assert aligned is not None
    covers = any(has_covered(signature, loop) for loop in signature.loops)
    cell = last_high(aligned, low + aligned.multiple - 1)
    if not covers and not signature.states and seams <= last_seam(aligned, cell):
        return cell
    return first_low(aligned, max(low, seams))


def has_covered(signature: Signature, loop: Loop) -> bool:
    """Return whether an output's snapshots may be longer than a cell."""
    return any(
        slot.kind is SlotKind.OUT_COVERED and slot.object == loop.name
        for slot in signature.slots
    )
