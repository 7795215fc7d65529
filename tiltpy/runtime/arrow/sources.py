"""Files and pipes that tables are read from, each with its format."""

from collections.abc import Iterator
from dataclasses import field
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrow.formats import (
    FileFormat,
    TextStyle,
    detect_compression,
    detect_format,
    format_of,
)

_HEAD = 1 << 16
"""Bytes that tell the format of what a pipe gives."""


@dataclass(frozen=True, slots=True)
class TableSource:
    """Bytes of a known format: a file's, or those that a pipe gave."""

    name: str
    """How messages call it: the path of a file."""
    format: FileFormat
    style: TextStyle = field(default_factory=TextStyle)
    content: pa.Buffer | None = None
    """What a pipe gave; None for a file."""
    lines_before: int = 0
    """Lines of the file before `content`, where that is not all of it."""

    def open(self) -> pa.NativeFile:
        """Open the bytes, decompressed. `OSError` if that is not possible."""
        compression = self.format.compression
        if self.content is not None:
            return pa.input_stream(self.content, compression=compression)
        if compression is not None:
            return pa.input_stream(self.name, compression=compression)
        # Not memory-mapped: a file that shrinks under a mapping kills the process.
        return pa.OSFile(self.name)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, with what ends them."""
        with self.open() as file:
            yield from BufferedReader(file)


def file_source(
    path: Path, form: FileFormat | None = None, style: TextStyle | None = None
) -> TableSource:
    """Make the source of a file; its suffix tells the format where nobody says it."""
    return TableSource(str(path), form or format_of(path), style or TextStyle())


def pipe_source(
    pipe: BinaryIO,
    name: str,
    form: FileFormat | None = None,
    style: TextStyle | None = None,
) -> TableSource:
    """Read a pipe to its end; its first bytes tell the format where nobody says it."""
    content = pa.py_buffer(pipe.read())
    head = content.slice(0, min(_HEAD, content.size)).to_pybytes()
    compression = detect_compression(head)
    if form is None:
        if compression is not None:
            with pa.input_stream(content, compression=compression) as file:
                head = file.read(_HEAD)
        form = detect_format(head)
    if compression is not None and form.is_text:
        form = FileFormat(form.name, compression)
    return TableSource(name, form, style or TextStyle(), content)
