"""How long the chunks of a run are, where the caller does not say.

A chunk costs up to a hundred microseconds, whatever is in it (the kernel before it has
left nothing else in the caches), and evaluates its halo once more. So chunks are about
a millisecond of work, and much longer than their halo; but there are enough of them for
all workers to be done at about the same time. Their number depends on the data alone:
workers change nothing, not even the last bit of a sum.
"""

from collections.abc import Iterable, Mapping
from math import lcm

from tiltpy.runtime.buffers import SnapshotBuffer
from tiltpy.runtime.grid import Grid
from tiltpy.runtime.sheet import alignment
from tiltpy.types import Boundary

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
"""How many times its halo a chunk is at least."""


def chunk_count(work: int, most: int = MOST) -> int:
    """How many chunks some rows or cells are cut into, whatever the workers."""
    return max(1, work // most, min(ENOUGH, work // LEAST))


def general_interval(
    low: int,
    high: int,
    cells: int,
    rows: Mapping[str, SnapshotBuffer],
    reaches: Iterable[Boundary],
    *,
    ranked: bool,
) -> int | None:
    """An interval for general kernels; None: no cut is needed.

    `ranked`: a loop keeps structures of windows.
    """
    total = sum(buffer.n for buffer in rows.values())
    chunks = chunk_count(max(total, cells), MOST_RANKED if ranked else MOST)
    if chunks == 1:
        return None
    length = high - low
    if cells < total:
        spans = [span for one in rows.values() if (span := one.bounds())]
        first = min(span[0] for span in spans)
        last = max(span[1] for span in spans)
        length = min(high, last) - max(low, first)
    halo = max((one.back.ticks + one.ahead.ticks for one in reaches), default=0)
    return max(1, length // chunks, HALOS * halo)


def grid_interval(grid: Grid, rows: Mapping[str, SnapshotBuffer]) -> int | None:
    """An interval for a grid kernel; None: no cut is needed.

    It is a multiple of the kernel's own, and of what lets chunks write side by side.
    """
    length = grid.high - grid.low
    precisions = (loop.tdom.precision for loop in grid.kernel.signature.loops)
    read = sum(rows[one.object].n for one in grid.stretch.reads)
    chunks = chunk_count(max(length // min(precisions), read))
    if chunks == 1:
        return None
    halo = max((one.high - one.low for one in grid.stretch.reads), default=0)
    interval = max(-(-length // chunks), HALOS * halo)
    multiple = lcm(grid.stretch.multiple, alignment(grid.kernel.signature))
    return -(-interval // multiple) * multiple
