"""Rows appended to a file: JSON lines, CSV, TSV, or an Arrow stream."""

from pathlib import Path

import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.live.append_file import AppendFile, FilePosition
from tiltpy.live.sinks.encoder import GROWING, TableEncoder
from tiltpy.runtime.arrow.files import reason
from tiltpy.runtime.arrow.formats import FORMATS, FileFormat, format_of

_SUFFIXES = tuple(suffix for suffix, name in FORMATS.items() if name in GROWING)
"""The suffixes of files that grow."""


class FileSink:
    """A file that grows, and is cut back to the last checkpoint after a crash."""

    def __init__(self, path: Path, form: FileFormat) -> None:
        self._file = AppendFile(path)
        self._encoder = TableEncoder(form)

    def write(self, table: pa.Table) -> None:
        """Append rows; the first table, even without rows, writes the header."""
        try:
            head = self._encoder.encode_head(table.schema)
            body = self._encoder.encode_body(table)
        except pa.ArrowException as error:
            raise DataError(
                f"{self._file.path}: not written: {reason(error)}"
            ) from error
        if not self._file.size and head:
            self._file.append(head)
        if body:
            self._file.append(body)

    def flush(self) -> FilePosition:
        """Make all rows durable."""
        return self._file.sync()

    def restore(self, position: FilePosition | None) -> None:
        """Cut the file behind a position; None: make it anew."""
        self._file.restore(position)

    def is_empty(self) -> bool:
        """Tell whether the file is not there, or has no bytes."""
        path = self._file.path
        return not path.is_file() or not path.stat().st_size

    def close(self) -> None:
        """End the file; an Arrow stream gets its end, which `restore` cuts off."""
        if self._file.size and self._encoder.tail:
            self._file.append(self._encoder.tail)
        self._file.release()

    def __repr__(self) -> str:
        return str(self._file.path)


def check_growing(path: Path, form: FileFormat | None = None) -> FileFormat:
    """Find the format of a file that grows; refuse one that cannot."""
    form = form or format_of(path, _SUFFIXES)
    if form.compression is not None:
        raise DataError(
            f"{path}: a file that grows is not compressed as a whole; leave "
            f"'{path.suffix}' out"
        )
    if form.name == "Parquet":
        raise DataError(
            f"{path}: a Parquet file cannot grow; name a folder, which gets a file for "
            "each checkpoint"
        )
    if form.name not in GROWING:
        raise DataError(
            f"{path}: an Arrow file cannot grow, an Arrow stream can: call it "
            f"{path.with_suffix('.arrows').name}"
        )
    return form
