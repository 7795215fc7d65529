"""Putting an output's pieces together: a seam splits no snapshot and joins no two.

A sweep starts one cell early, so a piece whose first snapshot reaches back over that
seam cell continues the last one of the piece before it: that one is made longer, and
the piece starts with its next row. Rows are never moved.
"""

from dataclasses import replace

import numpy as np

from tiltpy.abi import TimeLayout
from tiltpy.runtime.buffers import SnapshotBuffer, Times
from tiltpy.runtime.domain import Cells, Domain
from tiltpy.types import TDom


class Stitcher:
    """Takes an output's pieces in order of time."""

    def __init__(self, tdom: TDom, domain: Domain) -> None:
        self.tdom = tdom
        self.domain = domain
        self.pieces: list[SnapshotBuffer] = []

    def add(self, piece: SnapshotBuffer, cells: Cells, *, trim: bool) -> None:
        """Append a chunk's piece; `trim`: it may hold more than the chunk's cells."""
        if trim and piece.n:
            piece = self._trim(piece, cells)
        if piece.n:
            self.pieces.append(piece)

    def _trim(self, piece: SnapshotBuffer, cells: Cells) -> SnapshotBuffer:
        """Drop what other chunks own, and join what continues over the seam."""
        seam = cells.first - self.tdom.precision
        starts, ends = _stored(piece)
        stop = int(np.searchsorted(starts, cells.last, side="left"))
        first = int(np.searchsorted(ends[:stop], seam, side="right"))
        if stop and ends[stop - 1] > cells.last:
            ends[stop - 1] = cells.last
        if first < stop and cells.seam and starts[first] < seam:
            _stored(self.pieces[-1])[1][-1] = ends[first]
            first += 1
        return piece.slice(first, max(first, stop))

    def finish(self) -> list[SnapshotBuffer]:
        """The pieces, cut to the domain."""
        if self.pieces:
            self.pieces[0] = _from(self.pieces[0], self.domain.start)
            self.pieces[-1] = _until(self.pieces[-1], self.domain.end)
        return self.pieces


def _stored(piece: SnapshotBuffer) -> tuple[Times, Times]:
    """The times of a piece that a sweep wrote, to be written again."""
    assert piece.starts is not None
    assert piece.ends is not None
    return piece.starts[: piece.n], piece.ends[: piece.n]


def _from(piece: SnapshotBuffer, start: int) -> SnapshotBuffer:
    """The piece with its first snapshot cut at the start of the domain."""
    bounds = piece.slice(0, 1).bounds()
    if bounds is None or bounds[0] >= start:
        return piece
    starts, ends = (times.copy() for times in piece.times())
    starts[0] = start
    return _with_times(piece, starts, ends)


def _until(piece: SnapshotBuffer, end: int) -> SnapshotBuffer:
    """The piece with its last snapshot cut at the end of the domain."""
    bounds = piece.slice(piece.n - 1, piece.n).bounds()
    if bounds is None or bounds[1] <= end:
        return piece
    starts, ends = (times.copy() for times in piece.times())
    ends[-1] = end
    return _with_times(piece, starts, ends)


def _with_times(piece: SnapshotBuffer, starts: Times, ends: Times) -> SnapshotBuffer:
    return replace(
        piece, layout=TimeLayout.INTERVALS, starts=starts, ends=ends, start=0, period=1
    )
