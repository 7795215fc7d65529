"""The first rows of a result as text."""

from typing import Any

from tiltpy.runtime.arrow.display import texts_of
from tiltpy.visible import visible

ROWS = 10
"""How many rows are shown."""


def format_preview(table: Any, rows: int = ROWS, count: int | None = None) -> str:
    """The head of an Arrow table in columns, φ for nulls, and the number of rows.

    `count`, if the table itself is the head of a longer one.
    """
    head = table.slice(0, rows)
    columns = [
        [visible(text) for text in (name, *texts_of(column))]
        for name, column in zip(head.column_names, head.columns, strict=True)
    ]
    widths = [max(map(len, column)) for column in columns]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in zip(*columns, strict=True)
    ]
    count = len(table) if count is None else count
    shown = f", the first {rows} shown" if count > rows else ""
    return "\n".join([*lines, f"{count:,} snapshot{'' if count == 1 else 's'}{shown}"])
