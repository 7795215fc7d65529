"""A guess at how a text file separates its values and writes its decimals."""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from tiltpy.runtime.arrow.formats import TextStyle
from tiltpy.runtime.arrow.sources import TableSource

SEPARATORS = ";\t|,"
_ROWS = 100
"""Rows that are looked at, besides the header."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


def guess_text_style(source: TableSource) -> TextStyle | None:
    """Guess the style of delimited text that a comma leaves in one column.

    The header and all rows that are looked at have the same number of values, two or
    more; None if no separator does that, or the style of the source does.
    """
    if not source.format.is_delimited:
        return None
    try:
        lines = list(_first_lines(source))
    except (OSError, UnicodeDecodeError):
        return None
    usual = source.style.delimiter_of(source.format)
    if not lines or len(_split(lines[:1], usual)[0]) != 1:
        return None
    for sign in SEPARATORS:
        rows = _split(lines, sign)
        if sign != usual and len(rows[0]) > 1 and len(set(map(len, rows))) == 1:
            decimal = "," if sign != "," and _has_decimal_commas(rows[1:]) else "."
            return TextStyle(sign, decimal, source.style.date_format)
    return None


def style_options(style: TextStyle) -> dict[str, str]:
    """Return the options of the command line that say a guessed style, with values."""
    sign = r"\t" if style.delimiter == "\t" else str(style.delimiter)
    if style.decimal == ".":
        return {"delimiter": sign}
    implied = {} if sign == ";" else {"delimiter": sign}
    return implied | {"decimal": style.decimal}


def _first_lines(source: TableSource) -> Iterator[str]:
    for number, line in enumerate(islice(source.lines(), _ROWS + 1)):
        text = line.decode("utf-8" if number else "utf-8-sig").rstrip("\r\n")
        if text.strip():
            yield text


def _split(lines: Sequence[str], sign: str) -> list[list[str]]:
    try:
        return list(csv.reader(lines, delimiter=sign))
    except csv.Error:
        return [[]]


def _has_decimal_commas(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether a column has decimal commas in all its values."""
    columns = ([v for v in column if v] for column in zip(*rows, strict=True))
    return any(
        column and all(map(_DECIMAL_COMMA.fullmatch, column)) for column in columns
    )
