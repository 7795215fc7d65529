"""Pieces with a bit for each cell: their times, and how they are put together."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltpy import types as ty
from tiltpy.abi.layouts import TimeLayout
from tiltpy.runtime.arrays.bitmap_snapshots import BitmapSnapshots
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import lay_out
from tiltpy.runtime.execution.stitch import Piece, Stitcher
from tiltpy.runtime.execution.time_domain import Cells, Domain

Rows = list[tuple[int, int]]


def piece_of(text: str, low: int = 0, period: int = 1) -> BitmapSnapshots:
    """A piece from a character for each cell: `b`egins, goes `o`n, nothing (`.`).

    The bits beyond the cells are set, as a kernel may leave them.
    """
    n = text.count("b")
    begins, covered = (
        np.packbits([*(c in set_ for c in text), *[1] * 21], bitorder="little")
        for set_ in ("b", "bo")
    )
    columns = (Column(np.arange(max(1, n))),)
    return BitmapSnapshots(low, period, len(text), begins, covered, n, columns)


def rows_of(piece: Piece) -> Rows:
    starts, ends = piece.times()
    assert starts.dtype == ends.dtype == np.int64
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def meaning(text: str, low: int, period: int) -> tuple[int | None, Rows]:
    """Return the end of the snapshot before this piece, and the piece's snapshots."""
    carried: int | None = None
    rows: Rows = []
    for place, cell in enumerate(text):
        start, end = low + place * period, low + (place + 1) * period
        if cell == "b":
            rows.append((start, end))
        elif cell == "o" and rows:
            rows[-1] = rows[-1][0], end
        elif cell == "o":
            carried = end
    return carried, rows


@st.composite
def cells(draw: st.DrawFn) -> str:
    """Cells of which none goes on after nothing."""
    runs = draw(st.lists(st.sampled_from(["b", "bo", "boo", ".", "..", "b" * 9])))
    first = draw(st.sampled_from(["", "o", "oooo", "o" * 8, "o" * 17]))
    long = draw(st.sampled_from(["", "b" + "o" * 30, "." * 30]))
    return first + "".join(runs) + long or "b"


@given(cells(), st.integers(-9, 9), st.sampled_from([1, 2, 7]))
def test_times_follow_from_the_bits(text: str, low: int, period: int) -> None:
    piece = piece_of(text, low, period)
    assert (piece.find_carry_end(), rows_of(piece)) == meaning(text, low, period)


def test_many_cells() -> None:
    assert piece_of("o" * 100_000).find_carry_end() == 100_000
    assert rows_of(piece_of("b" * 100_001))[-1] == (100_000, 100_001)
    assert rows_of(piece_of("b" + "o" * 99_999)) == [(0, 100_000)]


def test_without_covered_each_snapshot_is_a_cell() -> None:
    begins = np.array([0b10110], np.uint8)
    piece = BitmapSnapshots(10, 5, 5, begins, None, 3, (Column(np.arange(3)),))
    assert piece.find_carry_end() is None
    assert rows_of(piece) == [(15, 20), (20, 25), (30, 35)]


@given(cells(), st.lists(st.integers(1, 40), max_size=4), st.data())
def test_stitching_pieces_of_both_kinds(
    text: str, cuts: list[int], data: st.DataObject
) -> None:
    """Cut anywhere, by kernels of either kind: the snapshots stay what they are."""
    text = text.lstrip("o") or "b"
    carried, whole = meaning(text, 0, 1)
    assert carried is None
    low = whole[0][0] if whole else 0
    domain = Domain(low, len(text))
    stitcher = Stitcher(ty.TDom(), domain)
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    for low, high in pairwise(places):
        own = Cells(low + 1, high, seam=low > 0, final=high == len(text))
        if data.draw(st.booleans()):
            stitcher.add(piece_of(text[low:high], low), own)
        else:
            stitcher.add(swept(whole, low, high), own)
    found = [row for piece in stitcher.finish() for row in rows_of(piece)]
    assert found == whole


def swept(whole: Rows, low: int, high: int) -> SnapshotBuffer:
    """Cut what a sweep finds in a chunk to its cells and the one before them."""
    begin = max(0, low - 1)
    some = [(max(s, begin), min(e, high)) for s, e in whole if e > begin and s < high]
    starts, ends = np.array(some, np.int64).reshape(-1, 2).T.copy()
    columns = (Column(np.arange(max(1, len(some)))),)
    if not some:
        return SnapshotBuffer.empty(ty.I64)
    return SnapshotBuffer(TimeLayout.INTERVALS, len(some), 0, 1, starts, ends, columns)


def test_rows_shared_with_an_input_are_not_written() -> None:
    """A map shares its input's times, and has a row on either side of a seam."""
    ends = np.array([5, 9, 14], np.int64)
    ends.setflags(write=False)
    rows = lay_out(np.array([0, 5, 9]), ends, (Column(np.arange(3)),))
    stitcher = Stitcher(ty.TDom(), Domain(2, 12))
    stitcher.add(rows.slice(0, 2), Cells(3, 7, seam=False, final=False))
    stitcher.add(piece_of("oob", 7), Cells(8, 10, seam=True, final=False))
    stitcher.add(rows.slice(2, 3), Cells(11, 14, seam=True, final=True))
    found = [row for piece in stitcher.finish() for row in rows_of(piece)]
    assert found == [(2, 5), (5, 9), (9, 12)]


@pytest.mark.parametrize("end", [6, 7, 8])
def test_a_domain_cuts_lazily(end: int) -> None:
    stitcher = Stitcher(ty.TDom(None, None, 4), Domain(1, end))
    stitcher.add(piece_of("bo", 0, 4), Cells(4, 8, seam=False, final=True))
    (piece,) = stitcher.finish()
    assert rows_of(piece) == [(1, end)]
