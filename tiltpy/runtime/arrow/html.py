"""How an output looks in a notebook: its first rows as an HTML table."""

import pyarrow as pa

from tiltpy import html
from tiltpy.runtime.arrow.display import texts_of

SHOWN = 10
"""How many rows are shown."""


def html_table(table: pa.Table, title: str) -> str:
    """The first rows of a table under a title; nulls are φ."""
    head = (f"{field.name}: {field.type}" for field in table.schema)
    rows = zip(*map(texts_of, table.slice(0, SHOWN).columns), strict=True)
    left = table.num_rows - SHOWN
    more = html.paragraph(f"and {left:,} more") if left > 0 else ""
    return html.paragraph(title) + html.table(head, rows) + more
