"""Lengths of chunks, where the caller does not give them.

A chunk costs up to a hundred microseconds, whatever is in it (the kernel before it has
left nothing else in the caches), and evaluates its halo once more. So chunks are about
a millisecond of work, and much more than their halo's, counted in visits (`visits`):
what is empty costs nothing. But there are enough of them for all workers to be done at
about the same time, whatever their number; for one alone there need be no more than one
chunk. Sums of floats over events that end in any order depend on where a chunk begins:
there the number of chunks depends on the data alone, for workers change nothing, not
even the last bit of a sum.
"""

from collections.abc import Callable, Iterator, Mapping
from math import lcm

from tiltpy.costs import RunCosts
from tiltpy.plan.run_plan import chunk_count, most_work
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.dense_output import alignment
from tiltpy.runtime.execution.vector_range import VectorRange

Work = Callable[[int, int], int]
"""A bound on the visits that a chunk `(low, high]` makes, its halo included."""


def sweep_interval(
    low: int,
    high: int,
    work: Work,
    rows: Mapping[str, SnapshotBuffer],
    costs: RunCosts,
    *,
    ranked: bool,
    shared: bool,
) -> int | None:
    """Find a chunk interval for sweep kernels, in ticks; None: no cut is needed.

    `ranked`: a loop keeps structures of windows. `shared`: by several workers.
    """
    total = work(low, high)
    chunks = chunk_count(total, costs, ranked=ranked, shared=shared)
    if shared:  # enough of them in each round, for workers wait at its end
        chunks = max(chunks, costs.enough_chunks * total // costs.round_snapshots)
    if chunks == 1:
        return None
    spans = [span for buffer in rows.values() if (span := buffer.bounds())]
    if spans and total <= sum(buffer.n for buffer in rows.values()):
        low = max(low, min(span[0] for span in spans))
        high = max(low, min(high, max(span[1] for span in spans)))
    interval = max(1, (high - low) // chunks)
    return lengthen(interval, low, high, work, total // costs.halos, costs)


def lengthen(
    interval: int, low: int, high: int, work: Work, limit: int, costs: RunCosts
) -> int:
    """Double an interval until chunks do little of others' work again.

    `limit` bounds that, in visits. What chunks do in all is estimated from some.
    """
    whole = work(low, high)
    while interval < high - low:
        count = -(-(high - low) // interval)
        sample = range(0, count, -(-count // costs.sampled_chunks))
        starts = (low + number * interval for number in sample)
        each = [work(start, min(start + interval, high)) for start in starts]
        if min(count, costs.most_chunks) * sum(each) <= (whole + limit) * len(each):
            break
        interval *= 2
    return interval


def is_overfull(work: int, costs: RunCosts, *, ranked: bool) -> bool:
    """Tell whether a chunk with that work is cut, if that does little of it twice."""
    return work > costs.overfull * most_work(costs, ranked=ranked)


def split(
    low: int,
    high: int,
    work: Work,
    rows: Mapping[str, SnapshotBuffer],
    costs: RunCosts,
    *,
    ranked: bool,
) -> Iterator[int]:
    """Yield the times at which to cut a chunk with too much work for its length.

    Its rows are halved until there is little, or what both halves must do is more.
    """
    total = work(low, high)
    if not is_overfull(total, costs, ranked=ranked) or high - low < 2:
        return
    middle = _middle(low, high, rows, total)
    if costs.halos * (work(low, middle) + work(middle, high) - total) > total:
        return
    yield from split(low, middle, work, rows, costs, ranked=ranked)
    yield middle
    yield from split(middle, high, work, rows, costs, ranked=ranked)


def _middle(low: int, high: int, rows: Mapping[str, SnapshotBuffer], total: int) -> int:
    """Find when half of a chunk's rows have started; its middle if they are few."""
    ranges = {name: buffer.find(low, high) for name, buffer in rows.items()}
    if not ranges:
        return (low + high) // 2
    name, (first, stop) = max(ranges.items(), key=lambda item: item[1][1] - item[1][0])
    if 2 * (stop - first) < total:
        return (low + high) // 2
    start, _ = rows[name].row((first + stop) // 2)
    return min(max(start, low + 1), high - 1)


def vector_interval(
    vector: VectorRange,
    rows: Mapping[str, SnapshotBuffer],
    costs: RunCosts,
    *,
    shared: bool,
) -> int | None:
    """Find a chunk interval for a vector kernel, in ticks; None: no cut is needed.

    It is a multiple of the kernel's own, and of what lets chunks write side by side.
    `shared`: by several workers.
    """
    length = vector.high - vector.low
    precisions = (loop.tdom.precision for loop in vector.kernel.signature.loops)
    reads = vector.aligned_range.reads
    rows_read = sum(rows[read.object].n for read in reads)
    visits = max(length // min(precisions), rows_read)
    chunks = chunk_count(visits, costs, shared=shared)
    if chunks == 1:
        return None
    halo = max((read.high - read.low for read in reads), default=0)
    interval = max(-(-length // chunks), costs.halos * halo)
    multiple = lcm(vector.aligned_range.step, alignment(vector.kernel.signature))
    return -(-interval // multiple) * multiple
