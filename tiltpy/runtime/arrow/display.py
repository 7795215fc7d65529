"""Tables as text and HTML, for previews and notebooks."""

import re
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.types as pt

from tiltpy import html
from tiltpy.runtime.arrow.time_texts import write_times
from tiltpy.text_columns import align_columns
from tiltpy.types import NANOSECONDS, format_duration
from tiltpy.visible import escape_text

PHI = "φ"
_FRACTION = re.compile(r"\.(\d+)")
NOTEBOOK_ROWS = 10
"""Rows of a table that a notebook shows."""


def format_values(column: pa.ChunkedArray) -> list[str]:
    """Format each value of a column; nulls are φ, structs stand in braces.

    Timestamps have as many digits of a second as one of them needs.
    """
    texts = [text for chunk in column.chunks for text in _format_array(chunk)]
    return _trim_fractions(texts) if pt.is_timestamp(column.type) else texts


def format_key(column: pa.Array) -> str:
    """Format a column of a key, of one row, as messages name it."""
    if pt.is_temporal(column.type) and not column.null_count:
        return "".join(format_values(pa.chunked_array([column])))
    return repr(column[0].as_py())


def _trim_fractions(texts: Sequence[str]) -> list[str]:
    """Leave out the zeros that all timestamps end in, three at a time."""
    found = (_FRACTION.search(text) for text in texts)
    digits = max((len(match[1].rstrip("0")) for match in found if match), default=0)
    kept = -(-digits // 3) * 3
    return [
        _FRACTION.sub(lambda match: match[0][: kept + 1] if kept else "", text)
        for text in texts
    ]


def _format_array(array: pa.Array) -> list[str]:
    if pt.is_struct(array.type):
        return _format_structs(array)
    if pt.is_duration(array.type):
        tick = NANOSECONDS[array.type.unit]
        counts = array.cast(pa.int64()).to_pylist()
        return [PHI if n is None else format_duration(n * tick) for n in counts]
    # as Arrow writes them: Python's datetime has neither nanoseconds nor far years
    return [PHI if text is None else text for text in _write_values(array).to_pylist()]


def _write_values(array: pa.Array) -> pa.Array:
    is_time = pt.is_timestamp(array.type) or pt.is_date(array.type)
    return write_times(array) if is_time else array.cast(pa.string())


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
    return "\n".join(format_lines(shown))


def format_lines(table: pa.Table) -> Iterator[str]:
    """Format a table in columns of text, the names first, a line each; nulls are φ."""
    columns = [
        [escape_text(text) for text in (name, *format_values(column))]
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return align_columns(list(zip(*columns, strict=True)))


def format_html(table: pa.Table, title: str) -> str:
    """Format the first rows of a table as HTML, under a title; nulls are φ."""
    head = (f"{field.name}: {field.type}" for field in table.schema)
    rows = zip(*map(format_values, table.slice(0, NOTEBOOK_ROWS).columns), strict=True)
    hidden = table.num_rows - NOTEBOOK_ROWS
    rest = html.format_paragraph(f"and {hidden:,} more") if hidden > 0 else ""
    return html.format_paragraph(title) + html.format_table(head, rows) + rest
