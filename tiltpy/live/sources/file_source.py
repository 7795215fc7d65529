"""The rows of a file that is complete, in any format, batch by batch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict
from zlib import crc32

import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.live.append_file import CHECKED
from tiltpy.live.sources.source import Batch, ExpectedInput, WaitingSource
from tiltpy.live.sources.tail_source import PIECE, TailSource
from tiltpy.live.sources.text_pieces import TextForm, TextPieces, find_first_row
from tiltpy.runtime.arrow.files import read_source, reason
from tiltpy.runtime.arrow.formats import FileFormat, TextStyle
from tiltpy.runtime.arrow.parquet_scan import open_parquet, unreadable
from tiltpy.runtime.arrow.select_columns import choose_columns
from tiltpy.runtime.arrow.sources import file_source
from tiltpy.runtime.ingest.binding import complete_input

ROWS = 1 << 16
"""Rows of a batch."""


class RowPosition(TypedDict):
    """A place in a table: the rows before it."""

    rows: int


class FileSource(WaitingSource):
    """A whole file: Parquet, Arrow, or text, which may be compressed.

    `types` are those of key columns, where text files before this one had them.
    """

    def __init__(
        self,
        path: Path,
        form: FileFormat,
        style: TextStyle | None = None,
        *,
        types: dict[str, str] | None = None,
    ) -> None:
        super().__init__()
        self._path, self._format, self._style = path, form, style or TextStyle()
        self._types = types or {}
        self._position: Any = None

    def seek(self, position: Any) -> None:
        """Go behind a position, when the rows are read."""
        self._position = position

    def __iter__(self) -> Iterator[Batch]:
        match self._format:
            case FileFormat("Parquet"):
                return self._number(self._read_parquet(self._skip()))
            case FileFormat(compression=str()):
                return self._read_compressed()
            case FileFormat() if self._format.is_text:
                return self._read_text()
            case _:
                return self._number(self._read_arrow(self._skip()))

    def _skip(self) -> int:
        return int(self._position["rows"]) if self._position else 0

    def _number(self, tables: Iterator[pa.Table]) -> Iterator[Batch]:
        rows = self._skip()
        for table in tables:
            first, rows = rows, rows + table.num_rows
            position, origin = RowPosition(rows=rows), str(self._path)
            yield Batch(table, position, origin=origin, first=first)
            if self.stopped.is_set():
                return

    def _read_parquet(self, skip: int) -> Iterator[pa.Table]:
        with open_parquet(self._path) as file:
            names = select_names(file.schema_arrow, self.expected)
            groups: list[int] = []
            for group in range(file.num_row_groups):
                count = file.metadata.row_group(group).num_rows
                if not groups and skip >= count:
                    skip -= count
                else:
                    groups.append(group)
            if not groups:
                return
            batches = file.iter_batches(ROWS, row_groups=groups, columns=names)
            while True:
                try:
                    batch = next(batches, None)
                except (OSError, pa.ArrowException) as error:
                    raise unreadable(self._path, error) from error
                if batch is None:
                    return
                rest, skip = (
                    batch.slice(min(skip, len(batch))),
                    max(0, skip - len(batch)),
                )
                if len(rest):
                    yield pa.Table.from_batches([rest])

    def _read_arrow(self, skip: int) -> Iterator[pa.Table]:
        table = read_source(file_source(self._path, self._format))
        table = table.select(select_names(table.schema, self.expected))
        for first in range(skip, table.num_rows, ROWS):
            yield table.slice(first, ROWS)

    def _read_text(self) -> Iterator[Batch]:
        tail = TailSource(
            self._path, self._format, self._style, follow=False, types=self._types
        )
        tail.expected, tail.stopped = self.expected, self.stopped
        tail.seek(self._position)
        return iter(tail)

    def _read_compressed(self) -> Iterator[Batch]:
        """Decompress from the beginning, also where it goes on behind a position."""
        form = TextForm(str(self._path), FileFormat(self._format.name), self._style)
        pieces = TextPieces(form, self.expected, dict(self._types))
        try:
            with file_source(self._path, self._format).open() as file:
                if self._position is not None:
                    self._resume(pieces, form, file)
                while not self.stopped.is_set():
                    content = file.read(PIECE)
                    table = pieces.feed(content) if content else pieces.finish()
                    if table is not None and table.num_rows:
                        yield Batch(table, pieces.position(), origin=pieces.origin)
                    if not content:
                        return
        except (OSError, pa.ArrowException) as error:
            raise DataError(
                f"{self._path}: not readable as {self._format.name}: {reason(error)}"
            ) from error

    def _resume(self, pieces: TextPieces, form: TextForm, file: pa.NativeFile) -> None:
        """Read up to the position again; a file that is another one is refused."""
        rest, last, head, header = self._position["offset"], b"", b"", b""
        while rest and (content := file.read(min(PIECE, rest))):
            rest -= len(content)
            last = (last + content)[-CHECKED:]
            if form.delimiter is not None and not header:
                head += content
                header = head[: find_first_row(head, form.delimiter)]
        if rest or crc32(last) != self._position["checksum"]:
            raise DataError(
                f"{self._path}: is not the file that was read before; bring that back, "
                "or begin anew: remove the state folder and the outputs"
            )
        pieces.resume(self._position, last, header)

    def __repr__(self) -> str:
        return f"<source {self._path}>"


def select_names(schema: pa.Schema, expected: ExpectedInput | None) -> list[str]:
    """List the columns that an input needs; without one, all."""
    if expected is None:
        return list(schema.names)
    declared, binding = expected.declared, expected.binding
    complete = complete_input(declared, binding)
    return choose_columns(complete, binding.column, schema).columns
