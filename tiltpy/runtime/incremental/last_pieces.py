"""The last snapshot of an output, which rows still to come may make longer."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.runtime.arrays.bitmap_snapshots import BitmapSnapshots
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer, pack_validity
from tiltpy.runtime.execution.stitch import Piece, events_of, with_times
from tiltpy.types import STRING, Scalar, Type, columns


def split_last(
    piece: Piece, type: Type, strings: Strings, high: int
) -> tuple[list[Piece], Piece]:
    """Split an output's last piece into what is done and what may still grow.

    `strings` is the dictionary of the span, which the latter outlives. The span ends at
    `high`: a row that goes on may be hidden from there by one still to come.
    """
    encoded = _with_strings(piece, type, strings)
    if isinstance(piece, BitmapSnapshots):
        return [], replace(piece, columns=encoded)
    piece = with_times(piece).with_columns(encoded)
    last = copy_row(piece, encoded, piece.n - 1, high)
    return ([piece.slice(0, piece.n - 1)] if piece.n > 1 else []), last


def split_at(
    pieces: Sequence[Piece], type: Type, strings: Strings, through: int, *, behind: bool
) -> tuple[list[Piece], SnapshotBuffer | None]:
    """Split snapshots into those that are final through a time, and an open one.

    With the cells `behind` that time, which are dropped, a snapshot is open if it goes
    on there; without them if it ends at that time. `strings` is as in `split_last`.
    """
    closed: list[Piece] = []
    last = len(pieces) - 1
    for number, each in enumerate(pieces):
        if not each.n:
            continue
        piece = events_of(each, type)
        if number < last and _ends_before(piece, through):
            closed.append(piece)
            continue
        rows = with_times(piece)
        starts, ends = rows.times()
        count = int(starts.searchsorted(through))
        if not count:
            break
        end = int(ends[count - 1])
        if end > through or (end == through and not behind):
            if count > 1:
                closed.append(rows.slice(0, count - 1))
            columns = _with_strings(rows, type, strings)
            return closed, copy_row(rows, columns, count - 1, through)
        closed.append(rows if count == rows.n else rows.slice(0, count))
    return closed, None


def _ends_before(snapshots: Piece, time: int) -> bool:
    """Tell whether all of some snapshots end before a time."""
    if not isinstance(snapshots, SnapshotBuffer):
        return False
    return not snapshots.n or snapshots.row(snapshots.n - 1)[1] < time


def _with_strings(snapshots: Piece, type: Type, strings: Strings) -> tuple[Column, ...]:
    """Give the columns of strings their dictionary."""
    if isinstance(type, Scalar) and type != STRING:
        return snapshots.columns
    pairs = zip(columns(type), snapshots.columns, strict=True)
    return tuple(
        replace(column, strings=column.strings or strings)
        if scalar == STRING
        else column
        for (_, scalar), column in pairs
    )


def copy_row(
    rows: SnapshotBuffer, columns: Sequence[Column], number: int, high: int
) -> SnapshotBuffer:
    """Copy a row with other columns; it ends at `high`, at the latest."""
    start, end = rows.row(number)
    copied = tuple([_copy_value(column, number) for column in columns])
    times = np.array((start, min(end, high)))
    layout = TimeLayout.INTERVALS
    return SnapshotBuffer(layout, 1, start, 0, times[:1], times[1:], copied)


def _copy_value(column: Column, row: int) -> Column:
    """Make a column of one row that keeps no other memory."""
    values = column.values[row : row + 1].copy()
    if column.validity is None:
        return Column(values, strings=column.strings)
    validity = pack_validity(column.slice(row, 1).valid(1))
    return Column(values, validity, strings=column.strings)
