"""Rows that are joined: their times, and what is dropped at a seam."""

import numpy as np
import pytest

from tiltpy.runtime.arrays.joined_rows import JoinedRows, RowMarks
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.arrays.time_layout import lay_out

Rows = list[tuple[int, int]]


def joined(text: str, lengths: list[int], gap: int) -> tuple[JoinedRows, Rows]:
    """Join rows by a character for each: `b`egins, goes `o`n, nothing (`.`).

    Those with which a snapshot begins are `gap` ticks behind the row before. Also gives
    the snapshots.
    """
    starts, ends, expected, time = [], [], [], 3
    for mark, length in zip(text, lengths, strict=True):
        time += gap * (mark == "b")
        starts.append(time)
        time += length
        ends.append(time)
        if mark == "b":
            expected.append((starts[-1], time))
        elif mark == "o":
            expected[-1] = expected[-1][0], time
    begins = np.array([mark == "b" for mark in text])
    covered = np.array([mark != "." for mark in text])
    rows = lay_out(np.array(starts), np.array(ends), ())
    marks = RowMarks(begins, None if covered.all() else covered)
    columns = (Column(np.arange(len(expected))),)
    piece = JoinedRows(rows, marks, len(expected), columns)
    return piece, expected


def rows_of(piece: JoinedRows) -> Rows:
    starts, ends = piece.times()
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


TEXTS = ("b", "bo", "bob", "b.b", "boo.bo", "bbbbbbbbb", "bo..", "b" + "o" * 20 + "b.")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("gap", [0, 2])
@pytest.mark.parametrize("longest", [1, 3])
def test_what_begins_before_a_seam_is_dropped(
    text: str, gap: int, longest: int
) -> None:
    lengths = [1 + number % longest for number in range(len(text))]
    piece, expected = joined(text, lengths, gap)
    assert rows_of(piece) == expected
    for seam in range(2, expected[-1][1] + 3):
        rest, carry_end = piece.after(seam)
        values = rest.columns[0].values[: rest.n].tolist()
        kept = [row for row in expected if row[0] >= seam]
        assert rows_of(rest) == kept
        assert values == list(range(len(expected) - len(kept), len(expected)))
        over = [end for start, end in expected if start < seam < end]
        assert carry_end == (over[0] if over else None)


def test_times_of_an_input_are_not_written() -> None:
    """A piece whose rows are all snapshots shares their times."""
    piece, expected = joined("bbb", [4, 4, 4], gap=1)
    assert piece.rows.ends is not None
    cut = JoinedRows(piece.rows, piece.marks, 3, piece.columns, 99, 6, 50)
    assert rows_of(cut) == [(6, 8), expected[1], (expected[2][0], 50)]
    assert rows_of(piece) == expected
