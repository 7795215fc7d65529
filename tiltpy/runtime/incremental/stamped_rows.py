"""Rows that last equally long, or up to the next, and their layout by their steps."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltpy.abi.layouts import TimeLayout
from tiltpy.lean_dataclass import record
from tiltpy.lifetimes import Lifetime
from tiltpy.runtime.arrays.dtypes import Steps, Times
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.arrays.steps import layout_of_steps
from tiltpy.types import ENDLESS


@record(frozen=True, slots=True, eq=False)
class StampedRows:
    """At least one row, in order of start, without nulls: starts, and payload."""

    starts: Times
    values: Sequence[NDArray[Any]]
    steps: Steps


def join_steps(last: int | None, pieces: Sequence[StampedRows]) -> Steps:
    """Find the steps between rows that follow each other, from a start on, if any."""
    if last is None:
        first, *pieces = pieces
        last = int(first.starts[-1])
        least, greatest = first.steps
    else:
        least = greatest = int(pieces[0].starts[0]) - last
    for piece in pieces:
        step = int(piece.starts[0]) - last
        last = int(piece.starts[-1])
        least = min(least, step, piece.steps[0])
        greatest = max(greatest, step, piece.steps[1])
    return least, greatest


def join_rows(pieces: Sequence[StampedRows]) -> StampedRows:
    """Put rows behind one another."""
    if len(pieces) == 1:
        return pieces[0]
    starts = np.concatenate([piece.starts for piece in pieces])
    values = map(np.concatenate, zip(*[piece.values for piece in pieces], strict=True))
    return StampedRows(starts, list(values), join_steps(None, pieces))


class EventLength:
    """The length of events by a lifetime: one of all, or up to the next start.

    Events that hold until the next one (`holds`) last `longest` ticks at most.
    """

    def __init__(self, lifetime: Lifetime) -> None:
        self.before = lifetime.before
        self.ticks = lifetime.before + lifetime.after
        self.is_point = lifetime.is_point
        self.holds = lifetime.needs_next_row
        self.longest = ENDLESS if lifetime.longest is None else lifetime.longest
        self.counted = self.before if self.holds else self.ticks
        """The ticks from the start of the last row to the end that counts for a domain,
        which a row that holds does not extend."""

    def layout_of(self, steps: Steps) -> TimeLayout:
        """Find the layout of events by the steps between their starts."""
        if not self.holds:
            return layout_of_steps(self.ticks, steps)
        least, greatest = steps
        if not least:
            return TimeLayout.OVERLAPPING
        is_limited = greatest > self.longest
        return TimeLayout.INTERVALS if is_limited else TimeLayout.CONTIGUOUS

    def lay_out(self, rows: StampedRows) -> SnapshotBuffer:
        """Lay out rows as events, which do not hold."""
        assert not self.holds
        starts, layout = rows.starts, self.layout_of(rows.steps)
        is_sampled = layout is TimeLayout.SAMPLED
        return SnapshotBuffer(
            layout,
            len(starts),
            int(starts[0]),
            self.ticks if is_sampled else 0,
            None if is_sampled else starts,
            None if is_sampled else starts + self.ticks,
            tuple(map(Column, rows.values)),
            points=self.is_point,
            before=self.before,
        )

    def lay_out_none(self, start: int, columns: tuple[Column, ...]) -> SnapshotBuffer:
        """Lay out no rows of events, the first of which will start at a time."""
        return SnapshotBuffer(
            TimeLayout.SAMPLED,
            0,
            start,
            self.ticks,
            None,
            None,
            columns,
            points=self.is_point,
            before=self.before,
        )
