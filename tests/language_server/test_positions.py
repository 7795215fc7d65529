"""Positions: code units of three encodings, and what ends a line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltpy.language_server.positions import Encoding, Positions

TEXT = 'φ⊕ = "😀∞"\r\n\rend\u2028of\x0cline\n'


@pytest.mark.parametrize(
    ("encoding", "units"), [("utf-8", 9), ("utf-16", 6), ("utf-32", 6)]
)
def test_the_unit_of_a_column(encoding: Encoding, units: int) -> None:
    positions = Positions(TEXT, encoding)
    smiley = TEXT.index("😀")
    assert positions.position(smiley) == (0, units)
    assert positions.offset(0, units) == smiley
    after = {"utf-8": 4, "utf-16": 2, "utf-32": 1}[encoding]
    assert positions.position(smiley + 1) == (0, units + after)
    assert positions.offset(0, units + after) == smiley + 1
    if after > 1:  # within a character
        assert positions.offset(0, units + 1) == smiley


def test_lines_end_as_the_protocol_says() -> None:
    positions = Positions(TEXT)
    assert positions.position(TEXT.index("end")) == (2, 0)
    assert positions.position(TEXT.index("line")) == (2, 7)
    assert positions.position(len(TEXT)) == (3, 0)
    assert positions.offset(0, 99) == TEXT.index("\r")
    assert positions.offset(1, 5) == TEXT.index("\rend")
    assert positions.offset(9, 9) == len(TEXT)


@given(st.text(st.sampled_from("aφ😀\r\n")), st.sampled_from(["utf-8", "utf-16"]))
def test_positions_lead_back(text: str, encoding: Encoding) -> None:
    positions = Positions(text, encoding)
    for offset in range(len(text) + 1):
        if text[offset - 1 : offset + 1] != "\r\n":  # no place is between these
            assert positions.offset(*positions.position(offset)) == offset
