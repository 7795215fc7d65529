"""Tables as text and HTML, for previews and notebooks."""

import pyarrow as pa
import pyarrow.types as pt

from tiltpy import html
from tiltpy.visible import escape_text

PHI = "φ"
NOTEBOOK_ROWS = 10
"""Rows of a table that a notebook shows."""


def format_values(column: pa.ChunkedArray) -> list[str]:
    """Format each value of a column; nulls are φ, structs stand in braces."""
    return [text for chunk in column.chunks for text in _format_array(chunk)]


def _format_array(array: pa.Array) -> list[str]:
    if pt.is_struct(array.type):
        return _format_structs(array)
    # as Arrow writes them: Python's datetime has neither nanoseconds nor far years
    unit = array.type.unit if pt.is_duration(array.type) else ""
    texts = array.cast(pa.string()).to_pylist()
    return [PHI if text is None else text + unit for text in texts]


def _format_structs(array: pa.Array) -> list[str]:
    names = [field.name for field in array.type]
    rows = zip(*(_format_array(field) for field in array.flatten()), strict=True)
    texts = []
    for is_there, row in zip(array.is_valid().to_pylist(), rows, strict=True):
        fields = ", ".join(f"{n} = {v}" for n, v in zip(names, row, strict=True))
        texts.append(f"{{ {fields} }}" if is_there else PHI)
    return texts


def format_text(table: pa.Table, rows: int = NOTEBOOK_ROWS) -> str:
    """Format the first rows of a table in columns of text; nulls are φ."""
    shown = table.slice(0, rows)
    columns = [
        [name, *map(escape_text, format_values(column))]
        for name, column in zip(table.column_names, shown.columns, strict=True)
    ]
    widths = [max(map(len, texts)) for texts in columns]
    lines = zip(*columns, strict=True)
    return "\n".join(
        "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True))
        for line in lines
    )


def format_html(table: pa.Table, title: str) -> str:
    """Format the first rows of a table as HTML, under a title; nulls are φ."""
    head = (f"{field.name}: {field.type}" for field in table.schema)
    rows = zip(*map(format_values, table.slice(0, NOTEBOOK_ROWS).columns), strict=True)
    hidden = table.num_rows - NOTEBOOK_ROWS
    rest = html.format_paragraph(f"and {hidden:,} more") if hidden > 0 else ""
    return html.format_paragraph(title) + html.format_table(head, rows) + rest
