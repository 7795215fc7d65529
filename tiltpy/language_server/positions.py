"""Positions of the protocol: lines from 0, and code units of UTF-16 in a line.

A client may agree on bytes of UTF-8 or on characters (UTF-32) instead. Lines end with
a line feed, a carriage return, or both; `str.splitlines` has more line ends than that.
"""

import re
from bisect import bisect_right
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]
_LINE_END = re.compile(r"\r\n|\r|\n")
_UNIT_BYTES = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


class Positions:
    """Converts offsets of a text's characters to positions, and back."""

    def __init__(self, text: str, encoding: Encoding = "utf-16") -> None:
        self._text = text
        self._codec = encoding if encoding == "utf-8" else f"{encoding}-le"
        self._unit = _UNIT_BYTES[encoding]
        self._starts = [0]
        self._ends = []
        for match in _LINE_END.finditer(text):
            self._ends.append(match.start())
            self._starts.append(match.end())
        self._ends.append(len(text))

    def position(self, offset: int) -> tuple[int, int]:
        """Find the line and the code unit of a character."""
        line = bisect_right(self._starts, offset) - 1
        return line, self._count_units(self._text[self._starts[line] : offset])

    def offset(self, line: int, unit: int) -> int:
        """Find the character at a position.

        A position beyond its line is the end of that line, one below the text is the
        end of the text, and one within a character is that character.
        """
        if line >= len(self._starts):
            return len(self._text)
        start, end = self._starts[line], self._ends[line]
        units = self._text[start:end].encode(self._codec, "surrogatepass")
        before = units[: unit * self._unit].decode(self._codec, "ignore")
        return start + len(before)

    def _count_units(self, text: str) -> int:
        return len(text.encode(self._codec, "surrogatepass")) // self._unit
