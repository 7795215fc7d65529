"""Texts in the columns of a terminal, or of any font of a fixed pitch.

A letter takes one of them, a wide one (of Chinese, say) two, and a mark none of its
own: it stands on the letter before it.
"""

from collections.abc import Iterator, Sequence
from unicodedata import category, east_asian_width


def count_columns(text: str) -> int:
    """Count the columns that a text without tabs and line breaks takes."""
    return len(text) if text.isascii() else sum(map(_count, text))


def align_columns(rows: Sequence[Sequence[str]], sides: str = "") -> Iterator[str]:
    """Align the cells of rows, a line each.

    `sides` says for each column whether its cells are moved to the left (`<`) or, as
    all are without it, to the right (`>`).
    """
    widths = [max(map(count_columns, column)) for column in zip(*rows, strict=True)]
    sides = sides or ">" * len(widths)
    for row in rows:
        cells = zip(row, widths, sides, strict=True)
        yield "  ".join(_fill(*cell) for cell in cells).rstrip()


def _fill(cell: str, width: int, side: str) -> str:
    spaces = " " * (width - count_columns(cell))
    return cell + spaces if side == "<" else spaces + cell


def _count(letter: str) -> int:
    if category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(letter) in "WF" else 1
