"""From stamped rows to events: what each lifetime makes of them (semantics.md)."""

from dataclasses import replace
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer, Times
from tiltpy.runtime.arrays.time_layout import (
    NO_BREAKS,
    Breaks,
    contiguous,
    find_period,
    has_period,
    lay_out,
    sampled,
)
from tiltpy.types import (
    ENDLESS,
    Duration,
    Interval,
    Lifetime,
    Point,
    Sampled,
    UntilNext,
)


def extent(lifetime: Lifetime) -> tuple[int, int]:
    """How far an event goes below and above its stamp, whatever the other rows."""
    match lifetime:
        case Point() | UntilNext():
            return 1, 0
        case Duration(ticks):
            return 1, ticks - 1
        case Sampled(period):
            return period, 0
        case Interval():
            return 0, 0
        case _:
            assert_never(lifetime)


def stamped_events(
    stamps: Times,
    lifetime: Lifetime,
    columns: tuple[Column, ...],
    next_stamp: int | None = None,
    breaks: Breaks = NO_BREAKS,
) -> SnapshotBuffer:
    """Turn at least one row into events; stamps are in order within each segment.

    `breaks` are where segments start (`layout`): one ends like the rows of an input.
    `next_stamp` is that of the row behind the last one, where that is known: without
    it the last rows of `until_next` hold without end.
    """
    if isinstance(lifetime, UntilNext):
        return _until_next(stamps, lifetime.max, columns, next_stamp, breaks)
    before, after = extent(lifetime)
    length = before + after
    if _are_samples(stamps, length, breaks):
        buffer = sampled(int(stamps[0]) - before, length, len(stamps), columns)
    else:
        ends = stamps + after if after else stamps
        buffer = lay_out(stamps - before, ends, columns, breaks)
    return replace(buffer, points=isinstance(lifetime, Point))


def _are_samples(stamps: Times, length: int, breaks: Breaks) -> bool:
    """Whether each row of a length ends where the next one starts."""
    if len(breaks):
        return has_period(stamps, length, breaks)
    return len(stamps) == 1 or find_period(stamps) == length


def _until_next(
    stamps: Times,
    longest: int | None,
    columns: tuple[Column, ...],
    next_stamp: int | None,
    breaks: Breaks,
) -> SnapshotBuffer:
    """End each row one tick before the next greater stamp; the last rows are endless.

    For a domain those end at their own stamp.
    """
    ends = np.empty(len(stamps), np.int64)
    np.subtract(stamps[1:], 1, out=ends[:-1])
    last = np.concatenate((breaks, [len(stamps)])) - 1
    ends[last] = ENDLESS if next_stamp is None else next_stamp - 1
    tied = _tied(stamps, breaks)
    if len(tied):  # rows with one stamp end together, as the last of them
        gaps = np.flatnonzero(np.diff(tied) != 1)
        last_tied = tied[np.append(gaps, len(tied) - 1)]
        sizes = np.diff(gaps, prepend=-1, append=len(tied) - 1)
        ends[tied] = np.repeat(ends[last_tied + 1], sizes)
    if longest is not None:
        np.minimum(ends, stamps + (longest - 1), out=ends)
    if longest is None and not len(tied):
        firsts = np.concatenate((stamps[:1], stamps[breaks])) - 1
        buffer = contiguous(firsts, ends, columns, breaks)
    else:
        buffer = lay_out(stamps - 1, ends, columns, breaks)
    if next_stamp is not None:
        return buffer
    return replace(buffer, domain_end=int(stamps[last].max()))


def _tied(stamps: Times, breaks: Breaks) -> NDArray[np.int64]:
    """The rows with the stamp of the next row, if that is in their segment."""
    same = stamps[1:] == stamps[:-1]
    same[breaks - 1] = False
    rows: NDArray[np.int64] = same.nonzero()[0]
    return rows
