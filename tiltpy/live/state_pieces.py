"""A large state in pieces: what a checkpoint writes are those that are new.

Pieces lie in files, one for each checkpoint that has new ones. A file that is mostly
out of use goes, and what is left of it is written with the next new pieces; so do the
smallest files where there are many.
"""

from collections import defaultdict
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from struct import Struct as Layout
from typing import BinaryIO

from tiltpy.errors import StateError
from tiltpy.live.content_cuts import cut_content
from tiltpy.runtime.arrow.files import reason, sync_folder, sync_path

PREFIX = "rows-"
"""The beginning of the names of files of pieces."""
MOST_FILES = 64
_DIGEST = 16
_PIECE = Layout(f"<{_DIGEST}sQQI")
"""A digest, the number of a file, an offset in it, and a length."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a state, and where it lies."""

    digest: bytes
    file: int
    offset: int
    length: int


class PieceStore:
    """The pieces of the last state that was written to a folder, or read from it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pieces: dict[bytes, Segment] = {}

    def write(self, state: bytes) -> bytes:
        """Write what is new of a state, durably; returns what `read` takes.

        What the state before needs stays, until `tidy`.
        """
        parts = [(_digest(part), part) for part in cut_content(state)]
        stay = self._choose_files({digest for digest, _ in parts})
        pieces: dict[bytes, Segment] = {}
        number = max((each.file for each in self._pieces.values()), default=0) + 1
        new: list[memoryview] = []
        offset = 0
        for digest, part in parts:
            known = pieces.get(digest) or self._pieces.get(digest)
            if known is None or known.file not in {*stay, number}:
                known = Segment(digest, number, offset, len(part))
                new.append(part)
                offset += len(part)
            pieces[digest] = known
        if new:
            path = self._path(number)
            path.write_bytes(b"".join(new))
            sync_path(path)
            sync_folder(self._folder)
        self._pieces = pieces
        return b"".join(_pack(pieces[digest]) for digest, _ in parts)

    def _choose_files(self, needed: set[bytes]) -> set[int]:
        """Choose the files that stay: most of each is needed, and they are not many."""
        sizes: defaultdict[int, int] = defaultdict(int)
        for digest in needed:
            if (piece := self._pieces.get(digest)) is not None:
                sizes[piece.file] += piece.length
        files = [n for n, size in sizes.items() if 2 * size > self._size(n)]
        files.sort(key=sizes.__getitem__, reverse=True)
        return set(files if len(files) < MOST_FILES else files[: MOST_FILES // 2])

    def _size(self, number: int) -> int:
        return self._path(number).stat().st_size

    def tidy(self) -> None:
        """Remove the files that the last state does not need."""
        needed = {self._path(piece.file) for piece in self._pieces.values()}
        for path in self._folder.glob(f"{PREFIX}*"):
            if path not in needed:
                path.unlink()

    def forget(self) -> None:
        """Have no state: the next one is written as a whole."""
        self._pieces = {}

    def read(self, listed: bytes) -> bytes:
        """Read a state from its list of pieces. `StateError` where one is damaged."""
        pieces = [Segment(*each) for each in _PIECE.iter_unpack(listed)]
        files = {piece.file: self._open(piece.file) for piece in pieces}
        try:
            parts = [self._read_piece(files[piece.file], piece) for piece in pieces]
        finally:
            for file in files.values():
                file.close()
        self._pieces = {piece.digest: piece for piece in pieces}
        return b"".join(parts)

    def _open(self, number: int) -> BinaryIO:
        path = self._path(number)
        try:
            return path.open("rb")
        except FileNotFoundError:
            raise StateError(
                f"{path}: is not there any more, and the checkpoint needs it; "
                f"{WAYS_OUT}"
            ) from None
        except OSError as error:
            raise StateError(f"{path}: not readable: {reason(error)}") from error

    def _read_piece(self, file: BinaryIO, piece: Segment) -> bytes:
        file.seek(piece.offset)
        content = file.read(piece.length)
        if _digest(content) != piece.digest:
            raise StateError(
                f"{self._path(piece.file)}: is damaged, the checksum of its "
                f"{piece.length} bytes from {piece.offset} on does not fit; {WAYS_OUT}"
            )
        return content

    def _path(self, number: int) -> Path:
        return self._folder / f"{PREFIX}{number:08}"


def _digest(content: bytes | memoryview) -> bytes:
    return blake2b(content, digest_size=_DIGEST).digest()


def _pack(piece: Segment) -> bytes:
    return _PIECE.pack(piece.digest, piece.file, piece.offset, piece.length)


WAYS_OUT = (
    "bring a copy back together with the outputs of that time, or begin anew: remove "
    "the state folder and the outputs"
)
