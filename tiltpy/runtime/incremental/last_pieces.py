"""The last piece of an output, which rows still to come may make longer."""

from dataclasses import replace

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.runtime.arrays.bitmap_snapshots import BitmapSnapshots
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer, pack_validity
from tiltpy.runtime.execution.stitch import Piece, with_times
from tiltpy.types import STRING, Type, columns


def split_last(
    piece: Piece, type: Type, strings: Strings, high: int
) -> tuple[list[Piece], Piece]:
    """Split an output's last piece into what is done and what may still grow.

    `strings` is the dictionary of the span, which the latter outlives. The span ends at
    `high`: a row that goes on may be hidden from there by one still to come.
    """
    pairs = zip(columns(type), piece.columns, strict=True)
    encoded = tuple(
        replace(column, strings=column.strings or strings)
        if scalar == STRING
        else column
        for (_, scalar), column in pairs
    )
    if isinstance(piece, BitmapSnapshots):
        return [], replace(piece, columns=encoded)
    piece = with_times(piece).with_columns(encoded)
    start, end = piece.row(piece.n - 1)
    last_row = tuple(_copied(one.slice(piece.n - 1, 1)) for one in piece.columns)
    starts, ends = np.array([start]), np.array([min(end, high)])
    last = SnapshotBuffer(TimeLayout.INTERVALS, 1, start, 0, starts, ends, last_row)
    return ([piece.slice(0, piece.n - 1)] if piece.n > 1 else []), last


def _copied(row: Column) -> Column:
    """One row that keeps no other memory."""
    validity = None if row.validity is None else pack_validity(row.valid(1))
    return Column(row.values.copy(), validity, strings=row.strings)
