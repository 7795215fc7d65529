"""Finding a buffer's time layout: one look at the times, in cache-sized pieces.

Facts about the data decide which kernel runs, so they must be cheap to find: the scan
compares neighbours in pieces whose temporaries stay in the cache, asks in each piece
only what the pieces before left possible, and stops where nothing is left to ask.
"""

from collections.abc import Iterator

import numpy as np

from tiltpy.abi import TimeLayout
from tiltpy.runtime.buffers import Column, SnapshotBuffer, Times
from tiltpy.types import MAX_OFFSET

PIECE = 1 << 15


def pieces(rows: int) -> Iterator[slice]:
    """The ranges of `i` over pairs of neighbours `(i, i + 1)` of that many rows."""
    for first in range(0, rows - 1, PIECE):
        yield slice(first, min(first + PIECE, rows - 1))


def after(piece: slice) -> slice:
    """The right neighbours of a piece."""
    return slice(piece.start + 1, piece.stop + 1)


def find_period(stamps: Times) -> int | None:
    """The step between stamps that are equally spaced in order; None if they are not.

    One stamp alone, or none, has no step.
    """
    if len(stamps) < 2:
        return None
    step = int(stamps[1]) - int(stamps[0])
    if step <= 0 or int(stamps[-1]) - int(stamps[0]) != step * (len(stamps) - 1):
        return None
    for piece in pieces(len(stamps)):
        if not ((stamps[after(piece)] - stamps[piece]) == step).all():
            return None
    return step


def sampled(
    start: int, period: int, n: int, columns: tuple[Column, ...]
) -> SnapshotBuffer:
    """A buffer of `n` rows of one length, without gaps, from `start` on."""
    return SnapshotBuffer(TimeLayout.SAMPLED, n, start, period, None, None, columns)


def contiguous(start: int, ends: Times, columns: tuple[Column, ...]) -> SnapshotBuffer:
    """A buffer of at least one row without gaps; sampled if the rows are of one length.

    A period is an offset to a kernel, so that longer rows keep their `ends`.
    """
    n, length = len(ends), int(ends[0]) - start
    if length <= MAX_OFFSET and (n == 1 or find_period(ends) == length):
        return sampled(start, length, n, columns)
    return SnapshotBuffer(TimeLayout.CONTIGUOUS, n, start, 0, None, ends, columns)


def lay_out(starts: Times, ends: Times, columns: tuple[Column, ...]) -> SnapshotBuffer:
    """A buffer of at least one row, its starts in order, in the tightest layout."""
    layout, fifo = _neighbours(starts, ends)
    first = int(starts[0])
    if layout is TimeLayout.CONTIGUOUS:
        return contiguous(first, ends, columns)
    return SnapshotBuffer(layout, len(starts), first, 0, starts, ends, columns, fifo)


def _neighbours(starts: Times, ends: Times) -> tuple[TimeLayout, bool]:
    """How each row meets the next one, and whether the ends are in order."""
    layout = TimeLayout.CONTIGUOUS
    for piece in pieces(len(starts)):
        left, right = ends[piece], starts[after(piece)]
        if layout is TimeLayout.CONTIGUOUS and not np.array_equal(left, right):
            layout = TimeLayout.INTERVALS
        if layout is TimeLayout.INTERVALS and not (left <= right).all():
            layout = TimeLayout.OVERLAPPING
        if layout is TimeLayout.OVERLAPPING and not (left <= ends[after(piece)]).all():
            return layout, False
    return layout, True
