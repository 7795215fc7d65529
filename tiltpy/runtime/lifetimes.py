"""From stamped rows to events: what each lifetime makes of them (semantics.md)."""

from dataclasses import replace
from typing import assert_never

import numpy as np

from tiltpy.runtime.buffers import Column, SnapshotBuffer, Times
from tiltpy.runtime.layout import contiguous, find_period, lay_out, sampled
from tiltpy.types import (
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
    domain_end: int | None,
) -> SnapshotBuffer:
    """The events of at least one row, their stamps in order."""
    if isinstance(lifetime, UntilNext):
        return _until_next(stamps, lifetime.max, columns, domain_end)
    before, after = extent(lifetime)
    length = before + after
    if len(stamps) == 1 or find_period(stamps) == length:
        buffer = sampled(int(stamps[0]) - before, length, len(stamps), columns)
    else:
        ends = stamps + after if after else stamps
        buffer = lay_out(stamps - before, ends, columns)
    return replace(buffer, points=isinstance(lifetime, Point))


def _until_next(
    stamps: Times,
    longest: int | None,
    columns: tuple[Column, ...],
    domain_end: int | None,
) -> SnapshotBuffer:
    """Each row ends one tick before the next greater stamp."""
    last = int(stamps[-1])
    end = last if domain_end is None else max(last, domain_end)
    changes = np.flatnonzero(stamps[1:] != stamps[:-1])
    distinct = len(changes) == len(stamps) - 1
    if distinct:
        ends = np.empty_like(stamps)
        np.subtract(stamps[1:], 1, out=ends[:-1])
        ends[-1] = end
    else:  # rows with one stamp end together
        sizes = np.diff(changes, prepend=-1, append=len(stamps) - 1)
        ends = np.repeat(np.append(stamps[changes + 1] - 1, end), sizes)
    if longest is not None:
        np.minimum(ends, stamps + (longest - 1), out=ends)
    elif distinct:
        return contiguous(int(stamps[0]) - 1, ends, columns)
    return lay_out(stamps - 1, ends, columns)
