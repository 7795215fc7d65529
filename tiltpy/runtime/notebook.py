"""How an output looks in a notebook: its first rows as an HTML table."""

from collections.abc import Iterable
from html import escape

import pyarrow as pa

SHOWN = 10
"""How many rows are shown."""


def html_table(table: pa.Table, title: str) -> str:
    """The first rows of a table under a title; nulls are φ."""
    head = _row("th", (f"{f.name}: {f.type}" for f in table.schema))
    # as Arrow writes them: Python's datetime has neither nanoseconds nor far years
    texts = [c.cast(pa.string()).to_pylist() for c in table.slice(0, SHOWN).columns]
    body = "".join(
        _row("td", ("φ" if text is None else text for text in row))
        for row in zip(*texts, strict=True)
    )
    left = table.num_rows - SHOWN
    more = f"<p>and {left:,} more</p>" if left > 0 else ""
    return f"<p>{escape(title)}</p><table>{head}{body}</table>{more}"


def _row(tag: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(c)}</{tag}>" for c in cells) + "</tr>"
