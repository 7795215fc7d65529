"""How long the chunks of a run are, where the caller does not say.

A chunk costs up to a hundred microseconds, whatever is in it (the kernel before it has
left nothing else in the caches), and evaluates its halo once more. So chunks are about
a millisecond of work, and much more than their halo's, counted in visits (`visits`):
what is empty costs nothing. But there are enough of them for all workers to be done at
about the same time. Their number depends on the data alone: workers change nothing, not
even the last bit of a sum.
"""

from collections.abc import Callable, Iterator, Mapping
from math import lcm

from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.dense_output import alignment
from tiltpy.runtime.execution.time_domain import MAX_CHUNKS
from tiltpy.runtime.execution.vector_range import VectorRange

Work = Callable[[int, int], int]
"""A bound on the visits that a chunk `(low, high]` makes, its halo included."""

MOST = 1 << 21
"""Rows of all inputs, or cells, in a chunk, at most ..."""
MOST_RANKED = 1 << 17
"""... where a loop keeps structures of windows, which take 100 bytes a row: so they
stay in the caches, and little beside the rows ..."""
LEAST = 1 << 16
"""... and at least, where there are fewer than `ENOUGH` chunks."""
ENOUGH = 12
"""Chunks that all workers can share well."""
HALOS = 8
"""How many times the visits of its halo a chunk makes at least."""
AGAIN = 1 << 26
"""Visits of halos that a run makes where the caller gives the length of chunks: where
that would be more, and more than all others, chunks are longer."""
TOO_MUCH = 4
"""How many times the most visits a chunk may make before it is cut."""
SAMPLE = 16
"""Chunks that are looked at to estimate the work of all."""


def chunk_count(work: int, most: int = MOST) -> int:
    """How many chunks some rows or cells are cut into, whatever the workers."""
    return max(1, work // most, min(ENOUGH, work // LEAST))


def sweep_interval(
    low: int,
    high: int,
    work: Work,
    rows: Mapping[str, SnapshotBuffer],
    *,
    ranked: bool,
) -> int | None:
    """An interval for sweep kernels; None: no cut is needed.

    `ranked`: a loop keeps structures of windows.
    """
    total, most = work(low, high), MOST_RANKED if ranked else MOST
    chunks = chunk_count(total, most)
    if chunks == 1:
        return None
    spans = [span for one in rows.values() if (span := one.bounds())]
    if spans and total <= sum(buffer.n for buffer in rows.values()):
        low = max(low, min(span[0] for span in spans))
        high = max(low, min(high, max(span[1] for span in spans)))
    interval = max(1, (high - low) // chunks)
    return lengthen(interval, low, high, work, total // HALOS)


def lengthen(interval: int, low: int, high: int, work: Work, limit: int) -> int:
    """A power of two times an interval: chunks do little of others' work again.

    `limit` bounds that, in visits. What chunks do in all is estimated from some.
    """
    whole = work(low, high)
    while interval < high - low:
        count = -(-(high - low) // interval)
        some = range(0, count, -(-count // SAMPLE))
        starts = (low + number * interval for number in some)
        each = [work(start, min(start + interval, high)) for start in starts]
        if min(count, MAX_CHUNKS) * sum(each) <= (whole + limit) * len(each):
            break
        interval *= 2
    return interval


def is_too_much(work: int, *, ranked: bool) -> bool:
    """Whether a chunk with that much work is cut, if that does little of it twice."""
    return work > TOO_MUCH * (MOST_RANKED if ranked else MOST)


def split(
    low: int, high: int, work: Work, rows: Mapping[str, SnapshotBuffer], *, ranked: bool
) -> Iterator[int]:
    """Times at which to cut a chunk that has too much work for its length.

    Its rows are halved until there is little, or what both halves must do is more.
    """
    total = work(low, high)
    if not is_too_much(total, ranked=ranked) or high - low < 2:
        return
    middle = _middle(low, high, rows, total)
    if HALOS * (work(low, middle) + work(middle, high) - total) > total:
        return
    yield from split(low, middle, work, rows, ranked=ranked)
    yield middle
    yield from split(middle, high, work, rows, ranked=ranked)


def _middle(low: int, high: int, rows: Mapping[str, SnapshotBuffer], total: int) -> int:
    """Where half of a chunk's rows have started; the middle of it if they are few."""
    found = {name: buffer.find(low, high) for name, buffer in rows.items()}
    if not found:
        return (low + high) // 2
    name, (first, stop) = max(found.items(), key=lambda one: one[1][1] - one[1][0])
    if 2 * (stop - first) < total:
        return (low + high) // 2
    start, _ = rows[name].row((first + stop) // 2)
    return min(max(start, low + 1), high - 1)


def vector_interval(
    vector: VectorRange, rows: Mapping[str, SnapshotBuffer]
) -> int | None:
    """An interval for a vector kernel; None: no cut is needed.

    It is a multiple of the kernel's own, and of what lets chunks write side by side.
    """
    length = vector.high - vector.low
    precisions = (loop.tdom.precision for loop in vector.kernel.signature.loops)
    read = sum(rows[one.object].n for one in vector.aligned_range.reads)
    chunks = chunk_count(max(length // min(precisions), read))
    if chunks == 1:
        return None
    halo = max((one.high - one.low for one in vector.aligned_range.reads), default=0)
    interval = max(-(-length // chunks), HALOS * halo)
    multiple = lcm(vector.aligned_range.multiple, alignment(vector.kernel.signature))
    return -(-interval // multiple) * multiple
