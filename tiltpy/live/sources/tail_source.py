"""The rows of a text file that grows: JSON lines, CSV or TSV."""

import os
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from tiltpy.errors import DataError
from tiltpy.live.append_file import FilePosition, check_position
from tiltpy.live.sources.source import Batch, WaitingSource
from tiltpy.live.sources.text_pieces import (
    TextForm,
    TextPieces,
    TextPosition,
    find_first_row,
)
from tiltpy.live.sources.watch import FolderWatch
from tiltpy.runtime.arrow.files import reason
from tiltpy.runtime.arrow.formats import FileFormat, TextStyle

PIECE = 1 << 22
"""Bytes that are read at once."""


class TailSource(WaitingSource):
    """A text file from its beginning, and what is appended to it.

    A line counts once its newline is there. Without `follow` the end of the file is the
    end of the source, and a last line needs no newline. `types` are those of key
    columns, where files before this one had them.
    """

    def __init__(
        self,
        path: Path,
        form: FileFormat,
        style: TextStyle | None = None,
        *,
        follow: bool = True,
        types: dict[str, str] | None = None,
    ) -> None:
        super().__init__()
        self._path = path
        self._form = TextForm(str(path), form, style or TextStyle())
        self._follow = follow
        self._types = types or {}
        self._position: TextPosition | None = None

    def seek(self, position: TextPosition | None) -> None:
        """Go behind a position, when the rows are read."""
        self._position = position

    def __iter__(self) -> Iterator[Batch]:
        watch = FolderWatch(self._path.parent, self.stopped)
        file = self._open(watch)
        if file is not None:
            with file:
                yield from self._read(file, watch)

    def _open(self, watch: FolderWatch) -> FileIO | None:
        """Open the file, once it is there; None if it is stopped before."""
        while not self.stopped.is_set():
            try:
                return FileIO(self._path)
            except FileNotFoundError:
                if not self._path.parent.is_dir():
                    raise DataError(
                        f"{self._path}: there is no directory {self._path.parent}"
                    ) from None
                if self._position is not None or not self._follow:
                    raise DataError(f"{self._path}: there is no such file") from None
            except OSError as error:
                raise DataError(
                    f"{self._path}: not readable: {reason(error)}"
                ) from error
            watch.wait()
        return None

    def _read(self, file: FileIO, watch: FolderWatch) -> Iterator[Batch]:
        pieces = self._start(file)
        offset = file.tell()
        while not self.stopped.is_set():
            content = file.read(PIECE)
            if content:
                offset += len(content)
                table = pieces.feed(content)
            elif self._follow:
                self._check_growing(file, offset, pieces.position()["lines"])
                watch.wait()
                continue
            else:
                table = pieces.finish()
            if table is not None and table.num_rows:
                yield Batch(table, pieces.position(), origin=pieces.origin)
            if not content:
                return

    def _start(self, file: FileIO) -> TextPieces:
        """Go to the position; a file that is another one is refused."""
        pieces = TextPieces(self._form, self.expected, dict(self._types))
        position = self._position
        if position is None:
            return pieces
        known = FilePosition(offset=position["offset"], checksum=position["checksum"])
        last = check_position(self._path, file, known)
        delimiter = self._form.delimiter
        header = b"" if delimiter is None else self._read_header(file, delimiter)
        file.seek(position["offset"])
        pieces.resume(position, last, header)
        return pieces

    def _read_header(self, file: FileIO, delimiter: str) -> bytes:
        file.seek(0)
        head = b""
        while content := file.read(PIECE):
            head += content
            if end := find_first_row(head, delimiter):
                return head[:end]
        return head

    def _check_growing(self, file: FileIO, offset: int, lines: int) -> None:
        """Refuse a file that was cut, or replaced by another, after its last row."""
        ours = os.fstat(file.fileno())
        try:
            there = self._path.stat()
        except FileNotFoundError:
            there = None
        if ours.st_size < offset:
            what = f"was cut to {ours.st_size} bytes"
        elif there is None:
            what = "was removed or renamed"
        elif (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
            what = "was replaced by another file"
        else:
            return
        raise DataError(
            f"{self._path}: {what}, after {lines} lines were read; a file that is "
            "followed only grows: let its writer begin a new file in a folder "
            "instead, and read that folder"
        )

    def __repr__(self) -> str:
        return f"<source {self._path}>"
