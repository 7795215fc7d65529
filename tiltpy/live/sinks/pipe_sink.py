"""Rows to a stream of bytes that nobody can take back: the standard output."""

from typing import BinaryIO, TextIO

import pyarrow as pa

from tiltpy.live.sinks.encoder import TableEncoder
from tiltpy.runtime.arrow.formats import FileFormat


class TextPipe:
    """A stream of text that takes the bytes of whole lines."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, content: bytes | memoryview) -> None:
        """Write lines, in UTF-8."""
        self._stream.write(bytes(content).decode())

    def flush(self) -> None:
        """Hand over what is buffered."""
        self._stream.flush()


class PipeSink:
    """A stream whose reader sees rows at once.

    After a crash the rows since the last checkpoint are written again: each comes at
    least once. A new process begins a new stream, header first.
    """

    def __init__(self, stream: BinaryIO | TextPipe, form: FileFormat) -> None:
        self._stream = stream
        self._encoder = TableEncoder(form)
        self._has_begun = False

    def write(self, table: pa.Table) -> None:
        """Write rows through to the reader."""
        head = self._encoder.encode_head(table.schema)
        body = self._encoder.encode_body(table)
        if not self._has_begun:
            self._stream.write(head)
            self._has_begun = True
        self._stream.write(body)
        self._stream.flush()

    def flush(self) -> None:
        """Hand over what is buffered."""
        self._stream.flush()

    def restore(self, position: None) -> None:
        """Do nothing: what was written stays written."""

    def close(self) -> None:
        """End an Arrow stream; the stream of bytes stays open."""
        if self._has_begun and self._encoder.tail:
            self._stream.write(self._encoder.tail)
        self._stream.flush()

    def __repr__(self) -> str:
        return str(getattr(self._stream, "name", "<stream>"))
