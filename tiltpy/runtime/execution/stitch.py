"""Putting an output's pieces together: a seam splits no snapshot and joins no two.

A piece holds every snapshot that overlaps its chunk, and of a row object the rows that
are stamped in it. One that begins before the chunk
stands in the piece before it already: there it is made longer, and the piece starts
with its next row. A sweep starts one cell early to know where its first snapshot
begins; a vector kernel says that its first cell goes on. Rows are never moved.
"""

from dataclasses import replace
from typing import TypeVar

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.array_address import address
from tiltpy.runtime.arrays.bitmap_snapshots import BitmapSnapshots
from tiltpy.runtime.arrays.joined_rows import JoinedRows
from tiltpy.runtime.arrays.pool import Array
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import make_sampled
from tiltpy.runtime.execution.time_domain import Cells, Domain
from tiltpy.runtime.ingest.drop_nulls import keep_rows
from tiltpy.types import Scalar, TDom, Type

Piece = SnapshotBuffer | BitmapSnapshots | JoinedRows
"""Some snapshots of an output, in order."""
Made = TypeVar("Made")


def events_of(piece: Made, type: Type) -> Made | SnapshotBuffer:
    """The piece without the rows of a scalar that are null: they are no snapshots.

    A row object has null rows only where it is asked to.
    """
    if not isinstance(piece, SnapshotBuffer) or not isinstance(type, Scalar):
        return piece
    if piece.row_object:
        return piece
    if piece.columns[0].validity is None:
        return piece
    valid = piece.columns[0].valid(piece.n)
    return piece if valid.all() else keep_rows(piece, valid, type)


def with_times(piece: Piece) -> SnapshotBuffer:
    """The piece as rows with their times."""
    if isinstance(piece, SnapshotBuffer):
        return piece
    layout, (starts, ends) = TimeLayout.INTERVALS, piece.times()
    return SnapshotBuffer(layout, piece.n, 0, 1, starts, ends, piece.columns)


class Stitcher:
    """Takes an output's pieces in order of time.

    Where a run starts in the middle of an output's domain, `carried` is the end of the
    snapshot that goes on from before; it stands in none of the pieces.
    """

    def __init__(self, tdom: TDom, domain: Domain) -> None:
        self.tdom = tdom
        self.domain = domain
        self.pieces: list[Piece] = []
        self.carried: int | None = None

    def add(self, piece: Piece, cells: Cells[int] | None) -> None:
        """Append a chunk's piece; `cells` are its own, if the piece may have others."""
        if isinstance(piece, BitmapSnapshots):
            end = piece.find_carry_end()
            if end is not None:
                self._extend(end)
        elif isinstance(piece, JoinedRows):
            if cells is not None and cells.seam:
                piece, end = piece.after(cells.first - self.tdom.precision)
                if end is not None:
                    self._extend(end)
        elif piece.n and cells is not None:
            piece = self._trim(piece, cells)
        if piece.n:
            self.pieces.append(piece)

    def _trim(self, piece: SnapshotBuffer, cells: Cells[int]) -> SnapshotBuffer:
        """Drop what other chunks own, and join what continues over the seam."""
        seam = cells.first - self.tdom.precision
        first, stop = piece.find(seam, cells.last)
        if first < stop and cells.seam:
            start, end = piece.row(first)
            if start < seam:
                self._extend(end)
                first += 1
        return piece if stop - first == piece.n else piece.slice(first, stop)

    def _extend(self, end: int) -> None:
        """Have the last snapshot end there, where it does not already."""
        if not self.pieces:
            self.carried = min(end, self.domain.end)
            return
        last = self.pieces[-1]
        if not isinstance(last, SnapshotBuffer):
            self.pieces[-1] = replace(last, reach=end)
            return
        start, before = last.row(last.n - 1)
        if before >= end:
            return
        if last.layout is TimeLayout.SAMPLED:  # by a vector kernel, up to the last row
            layout, times = TimeLayout.INTERVALS, (np.array([start]), np.array([end]))
            columns = last.slice(last.n - 1, last.n).columns
            rest = [last.slice(0, last.n - 1)] if last.n > 1 else []
            longer = SnapshotBuffer(layout, 1, start, 0, *times, columns)
            self.pieces[-1:] = [*rest, longer]
            return
        assert last.layout is TimeLayout.INTERVALS  # whose arrays are nobody else's
        assert last.ends is not None
        last.ends[last.n - 1] = end

    def finish(self) -> list[Piece]:
        """The pieces, cut to the domain; one for all that lie side by side."""
        if self.pieces:
            self.pieces = _join(self.pieces)
        if self.pieces and self.tdom.rows is None:
            self.pieces[:1] = _from(self.pieces[0], self.domain.start)
            self.pieces[-1:] = _until(self.pieces[-1], self.domain.end)
        return self.pieces


def _join(pieces: list[Piece]) -> list[Piece]:
    """Join snapshots into as few pieces as there can be without a copy."""
    stitched = pieces[:1]
    for piece in pieces[1:]:
        joined = _joined(stitched[-1], piece)
        if joined is None:
            stitched.append(piece)
        else:
            stitched[-1] = joined
    return stitched


def _joined(left: Piece, right: Piece) -> Piece | None:
    """Both as one piece, where chunks wrote samples side by side."""
    if not isinstance(left, SnapshotBuffer) or not isinstance(right, SnapshotBuffer):
        return None
    if left.layout is not TimeLayout.SAMPLED or right.layout is not TimeLayout.SAMPLED:
        return None
    end = left.start + left.n * left.period
    if left.period != right.period or end != right.start:
        return None
    columns = []
    for before, after in zip(left.columns, right.columns, strict=True):
        values = _beside(before.values[: left.n], after.values[: right.n])
        if values is None or before.validity is not None or after.validity is not None:
            return None
        columns.append(Column(values))
    return make_sampled(left.start, left.period, left.n + right.n, tuple(columns))


def _beside(left: Array, right: Array) -> Array | None:
    """A view of both, where they are parts of one array, the second right behind."""
    whole = left.base
    if not isinstance(whole, np.ndarray) or right.base is not whole:
        return None
    begin = address(left)
    if begin + left.nbytes != address(right):
        return None
    count, offset = len(left) + len(right), begin - address(whole)
    return np.ndarray(count, left.dtype, whole, offset)


def _from(piece: Piece, start: int) -> list[Piece]:
    """The piece with its first snapshot cut at the start of the domain."""
    if not isinstance(piece, SnapshotBuffer):
        return [replace(piece, floor=start)]
    low, high = piece.row(0)
    if low >= start:
        return [piece]
    cut = _with_times(piece.slice(0, 1), start, high)
    return [cut] if piece.n == 1 else [cut, piece.slice(1, piece.n)]


def _until(piece: Piece, end: int) -> list[Piece]:
    """The piece with its last snapshot cut at the end of the domain."""
    if not isinstance(piece, SnapshotBuffer):
        return [replace(piece, ceiling=end)]
    last = piece.n - 1
    low, high = piece.row(last)
    if high <= end:
        return [piece]
    cut = _with_times(piece.slice(last, piece.n), low, end)
    return [cut] if last == 0 else [piece.slice(0, last), cut]


def _with_times(row: SnapshotBuffer, start: int, end: int) -> SnapshotBuffer:
    """A single row over another interval; its time column may be an input's."""
    layout, period = TimeLayout.SAMPLED, end - start
    return SnapshotBuffer(layout, 1, start, period, None, None, row.columns)
