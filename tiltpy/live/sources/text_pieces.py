"""A growing text as tables: whole lines, with the columns and types of an input.

The values of one piece say less of a column's type than those of a whole file: the
declaration of the input gives the types of times and payload, and keys keep the type
that the first piece had.
"""

import re
from functools import cache
from typing import TypedDict
from zlib import crc32

import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.lean_dataclass import dataclass
from tiltpy.live.append_file import CHECKED
from tiltpy.live.sources.source import ExpectedInput
from tiltpy.runtime.arrays.views import arrow_type
from tiltpy.runtime.arrow.delimited_rows import row_pattern
from tiltpy.runtime.arrow.files import read_source
from tiltpy.runtime.arrow.formats import FileFormat, TextStyle
from tiltpy.runtime.arrow.select_columns import Choice, choose_columns
from tiltpy.runtime.arrow.sources import TableSource
from tiltpy.runtime.arrow.text_faults import first_failure, place_of_value
from tiltpy.runtime.arrow.text_files import read_as_text
from tiltpy.runtime.ingest.binding import complete_input
from tiltpy.runtime.ingest.text_types import are_written_so, cast_as_declared
from tiltpy.types import Scalar, Struct


class TextPosition(TypedDict):
    """A place in a text: the bytes and lines before it, and what they said.

    `types` are those of key columns, `checksum` is of the last bytes.
    """

    offset: int
    checksum: int
    lines: int
    types: dict[str, str]


@dataclass(frozen=True, slots=True)
class TextForm:
    """A text's name in messages, its format, and the style of its values."""

    name: str
    format: FileFormat
    style: TextStyle

    @property
    def delimiter(self) -> str | None:
        """The separator of the values of a row; None for JSON lines."""
        return (
            self.style.delimiter_of(self.format) if self.format.is_delimited else None
        )


class TextPieces:
    """Cuts a text at the ends of its rows, and reads the pieces as tables."""

    def __init__(
        self, form: TextForm, expected: ExpectedInput | None, types: dict[str, str]
    ) -> None:
        self._form = form
        self._expected = expected
        self._offset = self._lines = 0
        self._last = self._rest = self._header = b""
        self._types = types
        self.origin = form.name
        """The name of the text of the last table's rows, and the line before them."""

    def resume(self, position: TextPosition, last: bytes, header: bytes) -> None:
        """Go on behind a position; `last` are the bytes before it."""
        self._offset, self._lines = position["offset"], position["lines"]
        self._types = dict(position["types"])
        self._last, self._header = last, header

    def position(self) -> TextPosition:
        """Return the position behind the last complete row."""
        return TextPosition(
            offset=self._offset,
            checksum=crc32(self._last),
            lines=self._lines,
            types=dict(self._types),
        )

    def feed(self, content: bytes) -> pa.Table | None:
        """Take the next bytes; returns the rows that they complete."""
        text = self._rest + content
        end = find_end_of_rows(text, self._form.delimiter)
        self._rest = text[end:]
        return self._read(text[:end])

    def finish(self) -> pa.Table | None:
        """Read what is left: a last line that no newline ends."""
        text, self._rest = self._rest, b""
        return self._read(text)

    def _read(self, text: bytes) -> pa.Table | None:
        if not text:
            return None
        before, rows = self._lines, text
        lines = self._lines
        if self._form.delimiter is not None:
            if not self._header:
                end = find_first_row(text, self._form.delimiter) or len(text)
                self._header, rows = text[:end], text[end:]
                before += self._header.count(b"\n")
                lines = before
            before -= self._header.count(b"\n")
        table, name = None, self._form.name
        self.origin = f"{name} behind line {lines}" if lines else name
        if rows.strip():
            table = self._read_table(self._header + rows, before)
        self._offset += len(text)
        self._lines += text.count(b"\n")
        self._last = (self._last + text[-CHECKED:])[-CHECKED:]
        return table

    def _read_table(self, content: bytes, before: int) -> pa.Table:
        source = TableSource(
            self._form.name,
            self._form.format,
            self._form.style,
            pa.py_buffer(content),
            lines_before=before,
        )
        table = read_source(source)
        if self._expected is None:
            return table
        return _type_columns(table, source, self._expected, self._types)


def find_end_of_rows(text: bytes, delimiter: str | None = None) -> int:
    """Find where the last complete row ends, in a text that begins with a row.

    In delimited text a newline in a value that begins with a quote ends none.
    """
    if delimiter is None or b'"' not in text:
        return text.rfind(b"\n") + 1
    end = 0
    for row in _row_pattern(delimiter).finditer(text):
        if row.start() != end:  # it begins inside of one that is not complete
            break
        end = row.end()
    return end


def find_first_row(text: bytes, delimiter: str) -> int:
    """Find where the first row ends; 0 if it is not complete."""
    row = _row_pattern(delimiter).match(text)
    return row.end() if row is not None else 0


@cache
def _row_pattern(delimiter: str) -> re.Pattern[bytes]:
    return re.compile(row_pattern(delimiter).encode() + b"\n")


def _type_columns(
    table: pa.Table,
    source: TableSource,
    expected: ExpectedInput,
    types: dict[str, str],
) -> pa.Table:
    """Select the columns of the input, each with the same type in every piece.

    `types` are those of the key columns so far, and get those of new ones.
    """
    declared, binding = expected.declared, expected.binding
    if not source.format.is_delimited:
        table = _add_absent(table, expected)
    table = cast_as_declared(table, declared, binding, source, expected.unit)
    complete = complete_input(declared, binding)
    choice = choose_columns(complete, binding.column, table.schema)
    table = table.select(choice.columns)
    return _settle_keys(table, choice, source, types, declared.name)


def _add_absent(table: pa.Table, expected: ExpectedInput) -> pa.Table:
    """Add the fields of a struct that no object of this piece has: all are null."""
    kind = expected.declared.type
    if expected.binding.column is None and isinstance(kind, Struct):
        for name, scalar in kind.fields:
            if isinstance(scalar, Scalar) and name not in table.column_names:
                nulls = pa.nulls(table.num_rows, arrow_type(scalar))
                table = table.append_column(name, nulls)
    return table


def _settle_keys(
    table: pa.Table,
    choice: Choice,
    source: TableSource,
    types: dict[str, str],
    input: str,
) -> pa.Table:
    """Give keys, and columns that break ties, the type of the first piece."""
    for name in dict.fromkeys((*choice.order, *choice.keys)):
        kind = table.schema.field(name).type
        if name in choice.times or pa.types.is_null(kind):
            continue
        known = types.setdefault(name, str(kind))
        if str(kind) != known:
            texts = (
                read_as_text(source, [name]).column(0)
                if source.format.is_delimited
                else table.column(name).cast(pa.string())
            )
            is_key = name in choice.keys
            column = _cast_keys(texts, source, input, name, known, apart=is_key)
            table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


def _cast_keys(
    texts: pa.ChunkedArray,
    source: TableSource,
    input: str,
    name: str,
    known: str,
    *,
    apart: bool,
) -> pa.ChunkedArray:
    """Cast texts to a known type; keys must stay `apart`."""

    def cast(values: pa.ChunkedArray) -> pa.ChunkedArray:
        keys = values.cast(pa.type_for_alias(known))
        if apart and not are_written_so(keys, values):
            raise pa.ArrowInvalid("another key is written so")
        return keys

    row = first_failure(texts, cast)
    if row is not None:
        raise DataError(
            f"found '{texts[row]}' at {place_of_value(source, row, name)}, expected "
            f"{known}, as in the lines before; mend it, or write all of them as texts",
            input=input,
            column=name,
        )
    return cast(texts)
