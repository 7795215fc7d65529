"""Rows without those that are hidden, which have the start and the end of the next one.

A row is hidden if the next one of its key has both times, too. To drop hidden rows pays
if the others do not overlap; rows that overlap anyway stay as they are.
"""

from dataclasses import replace

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.runtime.arrays.block_passes import cache_blocks
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import (
    NO_BREAKS,
    Breaks,
    any_within_segments,
    lay_out,
    shift_by_one,
)
from tiltpy.runtime.ingest.drop_nulls import keep_values
from tiltpy.runtime.ingest.keys import Groups


def may_hide_rows(buffer: SnapshotBuffer) -> bool:
    """Tell whether rows overlap, perhaps none but those that share both times."""
    overlapping = buffer.layout is TimeLayout.OVERLAPPING
    return overlapping and buffer.fifo and not buffer.row_object and buffer.n > 1


def find_hidden_rows(buffer: SnapshotBuffer, breaks: Breaks = NO_BREAKS) -> I64Array:
    """Find the numbers of the hidden rows of a buffer that overlaps. Memoized by it.

    `breaks` are the rows with which later segments start.
    """
    if buffer.hidden is None:
        starts, ends = buffer.times()
        hidden = [
            left.start + np.flatnonzero(_share_times(starts, ends, left, breaks))
            for left in cache_blocks(buffer.n - 1)
        ]
        none = np.zeros(0, np.int64)
        buffer.memoize("hidden", np.concatenate((none, *hidden)))
        assert buffer.hidden is not None
    return buffer.hidden


def visible_rows(buffer: SnapshotBuffer) -> SnapshotBuffer:
    """Drop hidden rows, if the others do not overlap. Memoized by the buffer."""
    if buffer.without_hidden is None:
        mask = _find_visible(buffer, NO_BREAKS)
        rows = None if mask is None else _select(buffer, mask, NO_BREAKS)
        buffer.memoize("without_hidden", (rows,))
        assert buffer.without_hidden is not None
    (visible,) = buffer.without_hidden
    return buffer if visible is None else visible


def visible_groups(groups: Groups) -> Groups:
    """Drop hidden rows by key, if the others do not overlap. Memoized by the groups."""
    if not groups.without_hidden:
        mask = _find_visible(groups.buffer, groups.breaks())
        groups.without_hidden.append(None if mask is None else _keep(groups, mask))
    visible = groups.without_hidden[0]
    return groups if visible is None else visible


def _keep(groups: Groups, mask: BoolArray) -> Groups:
    """Keep the rows of a mask, which has some of each segment."""
    before = np.concatenate(([0], mask.cumsum()))
    groups = Groups(groups.buffer, before[groups.offsets], groups.firsts, groups.lasts)
    return replace(groups, buffer=_select(groups.buffer, mask, groups.breaks()))


def _share_times(starts: Times, ends: Times, left: slice, breaks: Breaks) -> BoolArray:
    """Tell which rows have both times of their right neighbours, in their segment."""
    right = shift_by_one(left)
    same: BoolArray = starts[left] == starts[right]
    same &= ends[left] == ends[right]
    any_within_segments(same, left, breaks)  # clears pairs of two segments
    return same


def _find_visible(buffer: SnapshotBuffer, breaks: Breaks) -> BoolArray | None:
    """Find which rows are not hidden; None if any of those overlap."""
    hidden = find_hidden_rows(buffer, breaks)
    if not buffer.points and _count_overlaps(buffer, breaks) > len(hidden):
        return None
    visible = np.ones(buffer.n, np.bool_)
    visible[hidden] = False
    return visible


def _count_overlaps(buffer: SnapshotBuffer, breaks: Breaks) -> int:
    """Count the rows that overlap the next one."""
    starts, ends = buffer.times()
    count = 0
    for left in cache_blocks(buffer.n - 1):
        overlap = ends[left] > starts[shift_by_one(left)]
        if any_within_segments(overlap, left, breaks):
            count += int(np.count_nonzero(overlap))
    return count


def _select(buffer: SnapshotBuffer, mask: BoolArray, breaks: Breaks) -> SnapshotBuffer:
    """Copy the rows of a mask; `breaks` are those of the copy."""
    starts, ends = buffer.times()
    columns = tuple(keep_values(column, mask) for column in buffer.columns)
    return replace(
        lay_out(starts[mask], ends[mask], columns, breaks),
        points=buffer.points,
        domain_end=buffer.domain_end,
        before=buffer.before,
    )
