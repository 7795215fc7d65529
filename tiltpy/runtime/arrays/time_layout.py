"""The time layout of a buffer, found by one scan over its times in cache-sized blocks.

Facts about the data decide which kernel runs, so they must be cheap to find: the scan
compares neighbours in blocks whose temporaries stay in the cache, asks in each block
only what the blocks before left possible, and stops where nothing is left to ask.

Rows of several keys lie in segments, one behind the other. `breaks` are the rows with
which a segment starts behind another one; what a buffer says of its rows holds within
every segment, and neighbours on the two sides of a break are not compared.
"""

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.runtime.arrays.block_passes import CACHE_BLOCK, any_block, cache_blocks
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.arrays.masks import is_any
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.concurrency.workers import map_portions
from tiltpy.types import MAX_OFFSET

Breaks = I64Array
NO_BREAKS: Breaks = np.zeros(0, np.int64)
LOOSER = TimeLayout.CONTIGUOUS, TimeLayout.INTERVALS, TimeLayout.OVERLAPPING
"""Relations of a row to the next one, each less tight than the one before."""


def shift_by_one(rows: slice) -> slice:
    """Return the right neighbours of a range of rows."""
    return slice(rows.start + 1, rows.stop + 1)


def any_within_segments(broken: BoolArray, rows: slice, breaks: Breaks) -> bool:
    """Tell whether any pair of neighbours is broken, but for those at `breaks`."""
    if len(breaks):
        low, high = breaks.searchsorted([rows.start + 1, rows.stop + 1])
        broken[breaks[low:high] - (rows.start + 1)] = False
    return bool(broken.any())


def find_period(stamps: Times) -> int | None:
    """Find the step between stamps equally spaced in order; None if they are not.

    One stamp alone, or none, has no step.
    """
    if len(stamps) < 2:
        return None
    step = int(stamps[1]) - int(stamps[0])
    return step if step > 0 and has_period(stamps, step) else None


def has_period(stamps: Times, period: int, breaks: Breaks = NO_BREAKS) -> bool:
    """Tell whether each stamp is a period after the one before it in its segment."""
    total = period * (len(stamps) - 1)
    if not len(breaks) and int(stamps[-1]) - int(stamps[0]) != total:
        return False

    def is_broken(left: slice) -> bool:
        other = stamps[shift_by_one(left)] - stamps[left] != period
        return any_within_segments(other, left, breaks)

    return not any_block(is_broken, len(stamps) - 1)


def make_sampled(
    start: int, period: int, n: int, columns: tuple[Column, ...]
) -> SnapshotBuffer:
    """Make a buffer of `n` rows of one length, without gaps, from `start` on."""
    return SnapshotBuffer(TimeLayout.SAMPLED, n, start, period, None, None, columns)


def make_contiguous(
    firsts: Times, ends: Times, columns: tuple[Column, ...], breaks: Breaks = NO_BREAKS
) -> SnapshotBuffer:
    """Make a buffer of one row or more without gaps; sampled if they are of one length.

    `firsts` are the starts of the segments. A period is an offset to a kernel, so that
    longer rows keep their `ends`.
    """
    n, start = len(ends), int(firsts[0])
    length = int(ends[0]) - start
    if length <= MAX_OFFSET and _have_length(length, firsts, ends, breaks):
        return make_sampled(start, length, n, columns)
    return SnapshotBuffer(TimeLayout.CONTIGUOUS, n, start, 0, None, ends, columns)


def _have_length(length: int, firsts: Times, ends: Times, breaks: Breaks) -> bool:
    """Tell whether rows without gaps are of one length, the first row's.

    `firsts` are the starts of the segments, `ends` those of all rows, in ticks;
    `breaks` the rows with which later segments start.
    """
    heads = ends[breaks] - firsts[1:] == length
    return bool(heads.all()) and has_period(ends, length, breaks)


def lay_out(
    starts: Times, ends: Times, columns: tuple[Column, ...], breaks: Breaks = NO_BREAKS
) -> SnapshotBuffer:
    """Make a buffer of one row or more, starts in order, in the tightest layout.

    `starts` and `ends` are ticks, one for each row; `breaks` are the rows with which
    later segments start.
    """
    layout, fifo = _classify_neighbours(starts, ends, breaks)
    first = int(starts[0])
    if layout is TimeLayout.CONTIGUOUS:
        firsts = np.concatenate((starts[:1], starts[breaks]))
        return make_contiguous(firsts, ends, columns, breaks)
    return SnapshotBuffer(layout, len(starts), first, 0, starts, ends, columns, fifo)


def lay_out_apart(
    starts: Times, ends: Times, columns: tuple[Column, ...], breaks: Breaks = NO_BREAKS
) -> SnapshotBuffer:
    """Make a buffer of one row or more that has the start and the end of each row.

    As `lay_out`, of few rows: a tighter layout would save a kernel nothing, and rows to
    come may not have it.
    """
    left = ends[:-1]
    below, layout, fifo = left > starts[1:], TimeLayout.INTERVALS, True
    below[breaks - 1] = False
    if is_any(below):
        layout = TimeLayout.OVERLAPPING
        below = left > ends[1:]
        below[breaks - 1] = False
        fifo = not is_any(below)
    return lay_out_as(layout, fifo, starts, ends, columns)


def lay_out_as(
    layout: TimeLayout,
    fifo: bool,
    starts: Times,
    ends: Times,
    columns: tuple[Column, ...],
) -> SnapshotBuffer:
    """Make a buffer of one row or more in a layout that has its starts and ends."""
    return SnapshotBuffer(
        layout, len(starts), starts.item(0), 0, starts, ends, columns, fifo
    )


def _classify_neighbours(
    starts: Times, ends: Times, breaks: Breaks
) -> tuple[TimeLayout, bool]:
    """Find how each row meets the next one, and whether the ends are in order."""
    if len(starts) <= CACHE_BLOCK:
        return _classify_portion(starts, ends, breaks, slice(0, len(starts) - 1))
    found = map_portions(
        lambda rows: _classify_portion(starts, ends, breaks, rows), len(starts) - 1
    )
    loosest = max(LOOSER.index(layout) for layout, _ in found)
    return LOOSER[loosest], all(fifo for _, fifo in found)


def _classify_portion(
    starts: Times, ends: Times, breaks: Breaks, portion: slice
) -> tuple[TimeLayout, bool]:
    layout = TimeLayout.CONTIGUOUS
    for rows in cache_blocks(portion.stop, portion.start):
        left, right = ends[rows], starts[shift_by_one(rows)]
        if layout is TimeLayout.CONTIGUOUS and any_within_segments(
            left != right, rows, breaks
        ):
            layout = TimeLayout.INTERVALS
        if layout is TimeLayout.INTERVALS and any_within_segments(
            left > right, rows, breaks
        ):
            layout = TimeLayout.OVERLAPPING
        if layout is TimeLayout.OVERLAPPING and any_within_segments(
            left > ends[shift_by_one(rows)], rows, breaks
        ):
            return layout, False
    return layout, True
