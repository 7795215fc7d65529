"""Files that arrive in a folder, each read once, in order of their names."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

from tiltpy.errors import DataError
from tiltpy.live.sources.file_source import FileSource
from tiltpy.live.sources.source import Batch, WaitingSource
from tiltpy.live.sources.watch import FolderWatch
from tiltpy.runtime.arrow.files import reason
from tiltpy.runtime.arrow.formats import FileFormat, TextStyle, format_of

SETTLED = 1.0
"""Seconds after its last change when a file without an end of its own is complete."""
UNFINISHED = (".tmp", ".part", ".partial", ".crdownload", ".swp")
"""Suffixes of files that are being written, and renamed when they are complete."""
_ENDS = {"Parquet": b"PAR1", "Arrow": b"ARROW1"}
"""The last bytes of complete files."""


class FolderFilePosition(TypedDict):
    """A place in a folder: the file that was read last, and the place in that.

    `files` is how many have been read, that one among them, and `types` are those of
    key columns.
    """

    file: str
    inside: Any
    files: int
    types: dict[str, str]


class FolderSource(WaitingSource):
    """Files of one folder, also those that arrive later; each is read once.

    A file counts when it is complete: Parquet and Arrow files say so by their last
    bytes, others have not changed for `settled` seconds. A file that is renamed into
    the folder is complete at once with `settled=0`. Files that are hidden, or end in
    `.tmp` or `.part`, wait for their names. Without `follow` all files that are there
    are complete, and the last one is the end.
    """

    def __init__(
        self,
        folder: Path,
        pattern: str = "*",
        form: FileFormat | None = None,
        style: TextStyle | None = None,
        *,
        follow: bool = True,
        settled: float = SETTLED,
    ) -> None:
        super().__init__()
        self._folder, self._pattern = folder, pattern
        self._format, self._style = form, style
        self._follow, self._settled = follow, settled
        self._position: FolderFilePosition | None = None
        self._sizes: dict[str, tuple[int, int, float]] = {}
        """The size of a file, its time of change, and when that was first seen."""

    def seek(self, position: FolderFilePosition | None) -> None:
        """Go behind a position, when the files are read."""
        self._position = position

    def __iter__(self) -> Iterator[Batch]:
        position = self._position or FolderFilePosition(
            file="", inside=None, files=0, types={}
        )
        if position["file"]:
            self._check_earlier(position)
            yield from self._read(position)
        watch = FolderWatch(self._folder, self.stopped)
        while not self.stopped.is_set():
            name, ready = self._find_next(position)
            if name is not None and ready:
                position = FolderFilePosition(
                    file=name,
                    inside=None,
                    files=position["files"] + 1,
                    types=position["types"],
                )
                yield from self._read(position)
            elif name is None and not self._follow:
                return
            else:
                watch.wait(1.0 if name is None else min(1.0, self._settled / 4))

    def _find_next(self, position: FolderFilePosition) -> tuple[str | None, bool]:
        """Find the next file by name, and tell whether it is complete."""
        self._check_earlier(position)
        names = [name for name in self._list() if name > position["file"]]
        if not names:
            return None, False
        return names[0], not self._follow or self._is_complete(names[0])

    def _list(self) -> list[str]:
        """List the names of the files, in order."""
        try:
            return sorted(
                path.name
                for path in self._folder.glob(self._pattern)
                if path.name[0] != "."
                and path.suffix not in UNFINISHED
                and path.is_file()
            )
        except OSError as error:
            raise DataError(f"{self._folder}: not readable: {reason(error)}") from error

    def _check_earlier(self, position: FolderFilePosition) -> None:
        """Refuse files that came after one with a later name was read."""
        if not self._folder.is_dir():
            raise DataError(f"{self._folder}: there is no such directory")
        last, count = position["file"], position["files"]
        earlier = [name for name in self._list() if name <= last]
        if len(earlier) > count:
            raise DataError(
                f"{self._folder}: found {len(earlier)} files up to {last}, but "
                f"{count} were read up to that: one came after a file with a later "
                "name; files are read in order of name, so give it a name behind the "
                "others"
            )

    def _is_complete(self, name: str) -> bool:
        path = self._folder / name
        try:
            status = path.stat()
            ending = _ENDS.get(self._format_of(path).name)
            if ending is not None:
                with path.open("rb") as file:  # it may be shorter by now
                    file.seek(max(0, file.seek(0, 2) - len(ending)))
                    return file.read() == ending
        except FileNotFoundError:
            return False
        now = time.monotonic()
        size, changed = status.st_size, status.st_mtime_ns
        known = self._sizes.get(name)
        if known is None or known[:2] != (size, changed):
            # One that has been there for a while is complete at first sight.
            age = time.time() - status.st_mtime
            self._sizes[name] = known = (size, changed, now - max(0.0, age))
        if now - known[2] < self._settled:
            return False
        del self._sizes[name]
        return True

    def _format_of(self, path: Path) -> FileFormat:
        return self._format or format_of(path)

    def _read(self, position: FolderFilePosition) -> Iterator[Batch]:
        """Read a file from a place in it, and keep the position up to date."""
        path = self._folder / position["file"]
        if position["inside"] is not None and not path.exists():
            raise DataError(f"{path}: was not read to its end, and is not there now")
        if not path.exists():
            return
        file = FileSource(
            path, self._format_of(path), self._style, types=position["types"]
        )
        file.expected, file.stopped = self.expected, self.stopped
        file.seek(position["inside"])
        for batch in file:
            position["inside"] = batch.position
            position["types"] = batch.position.get("types", position["types"])
            yield replace(batch, position=FolderFilePosition(**position))

    def __repr__(self) -> str:
        return f"<source {self._folder}/{self._pattern}>"
