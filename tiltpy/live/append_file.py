"""Files that only grow, up to positions that they can be cut back to."""

import os
from io import FileIO
from pathlib import Path
from typing import TypedDict
from zlib import crc32

from tiltpy.errors import DataError
from tiltpy.runtime.arrow.files import reason, sync_folder

CHECKED = 4096
"""Bytes before a position whose checksum it holds."""


class FilePosition(TypedDict):
    """A place in a file: bytes before it, and the checksum of the last of them."""

    offset: int
    checksum: int


class AppendFile:
    """A file that bytes are appended to.

    A position has the checksum of the bytes before it, by which `restore` tells that
    the file is another one, or was changed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self._file: FileIO | None = None
        self._last = b""
        """The last bytes of the file."""
        self._is_new = True
        """Whether its name may not be durable yet."""

    def restore(self, position: FilePosition | None) -> None:
        """Cut the file behind a position; None: all of it. It need not exist then."""
        self.release()
        try:
            self._open(position)
        except OSError as error:
            raise self._not_written(error) from error

    def _open(self, position: FilePosition | None) -> None:
        if self.path.is_dir():
            raise DataError(f"{self.path}: is a directory; name a file in it")
        if not self.path.parent.is_dir():
            raise DataError(
                f"{self.path}: there is no directory {self.path.parent}; make it first"
            )
        if position is not None and not self.path.exists():
            raise DataError(
                f"{self.path}: is not there any more, but held {position['offset']} "
                f"bytes; {_WAYS_OUT}"
            )
        # What somebody else appends is never overwritten, and `sync` sees it.
        self._file = FileIO(self.path, "a+")
        self.size, self._last = 0, b""
        if position is not None:
            self._last = check_position(self.path, self._file, position)
            self.size = position["offset"]
        if os.fstat(self._file.fileno()).st_size > self.size:
            self._file.truncate(self.size)

    def append(self, content: bytes | memoryview) -> None:
        """Append bytes, which `sync` makes durable."""
        if self._file is None:
            self.restore(None)
        assert self._file is not None
        rest = memoryview(content)
        try:
            while rest:
                count = self._file.write(rest)
                end = bytes(rest[max(0, count - CHECKED) : count])
                self._last = (self._last + end)[-CHECKED:]
                self.size += count
                rest = rest[count:]
        except OSError as error:
            raise self._not_written(error) from error

    def sync(self) -> FilePosition:
        """Make all bytes durable; returns the position behind them."""
        if self._file is None:
            self.restore(None)
        assert self._file is not None
        try:
            self._check_unchanged(self._file)
            os.fsync(self._file.fileno())
            if self._is_new:
                sync_folder(self.path.parent)
                self._is_new = False
        except OSError as error:
            raise self._not_written(error) from error
        return FilePosition(offset=self.size, checksum=crc32(self._last))

    def _check_unchanged(self, file: FileIO) -> None:
        ours = os.fstat(file.fileno())
        try:
            there = self.path.stat()
        except FileNotFoundError:
            raise DataError(
                f"{self.path}: was removed while it was written to; {_WAYS_OUT}"
            ) from None
        if (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
            raise DataError(
                f"{self.path}: was replaced by another file while it was written to; "
                f"{_WAYS_OUT}"
            )
        if ours.st_size != self.size:
            raise DataError(
                f"{self.path}: found {ours.st_size} bytes, expected {self.size}: "
                f"somebody else changes it; {_WAYS_OUT}"
            )

    def release(self) -> None:
        """Close the file, if it is open."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _not_written(self, error: OSError) -> DataError:
        return DataError(
            f"{self.path}: not written: {reason(error)}; mend that and start again: "
            "with a state folder it goes on where it was"
        )


def check_position(path: Path, file: FileIO, position: FilePosition) -> bytes:
    """Check that a file still holds what it held at a position.

    Returns the last bytes before the position.
    """
    offset = position["offset"]
    size = os.fstat(file.fileno()).st_size
    if size < offset:
        raise DataError(
            f"{path}: found {size} bytes, expected {offset} at least: it was cut or "
            f"replaced; {_WAYS_OUT}"
        )
    first = max(0, offset - CHECKED)
    file.seek(first)
    last = b""
    while len(last) < offset - first:
        last += file.read(offset - first - len(last))
    if crc32(last) != position["checksum"]:
        raise DataError(
            f"{path}: the bytes before {offset} are not those that were there: it was "
            f"changed or replaced; {_WAYS_OUT}"
        )
    return last


_WAYS_OUT = (
    "bring the file back, or begin anew: remove the state folder and the outputs"
)
