"""A large state in segments: what a checkpoint writes are those that are new.

Pieces lie in files, one for each checkpoint that has new ones. A file that is mostly
out of use goes, and what is left of it is written with the next new segments; so do the
smallest files where there are many.
"""

from collections import defaultdict
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from struct import Struct as Layout
from typing import BinaryIO

from tiltpy.errors import StateError
from tiltpy.lean_dataclass import dataclass
from tiltpy.live.content_cuts import cut_content
from tiltpy.runtime.arrow.files import reason, sync_folder, sync_path

PREFIX = "rows-"
"""The beginning of the names of files of segments."""
MOST_FILES = 64
_DIGEST = 16
_SEGMENT = Layout(f"<{_DIGEST}sQQI")
"""A digest, the number of a file, an offset in it, and a length."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of a state, and where it lies."""

    digest: bytes
    file: int
    offset: int
    length: int


class SegmentStore:
    """The segments of the last state that was written to a folder, or read from it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._segments: dict[bytes, Segment] = {}

    def write(self, state: bytes) -> bytes:
        """Write what is new of a state, durably; returns what `read` takes.

        What the state before needs stays, until `tidy`.
        """
        parts = [(_digest(part), part) for part in cut_content(state)]
        stay = self._choose_files({digest for digest, _ in parts})
        segments: dict[bytes, Segment] = {}
        number = self._free_number()
        new: list[memoryview] = []
        offset = 0
        for digest, part in parts:
            known = segments.get(digest) or self._segments.get(digest)
            if known is None or known.file not in {*stay, number}:
                known = Segment(digest, number, offset, len(part))
                new.append(part)
                offset += len(part)
            segments[digest] = known
        if new:
            path = self._path(number)
            path.write_bytes(b"".join(new))
            sync_path(path)
            sync_folder(self._folder)
        self._segments = segments
        return b"".join(_pack(segments[digest]) for digest, _ in parts)

    def _free_number(self) -> int:
        """Find a number above those of all files: some may be the last checkpoint's."""
        names = [path.name for path in self._folder.glob(f"{PREFIX}*")]
        numbers = [name.removeprefix(PREFIX) for name in names]
        return 1 + max(map(int, filter(str.isdecimal, numbers)), default=0)

    def _choose_files(self, needed: set[bytes]) -> set[int]:
        """Choose the files that stay: most of each is needed, and they are not many."""
        sizes: defaultdict[int, int] = defaultdict(int)
        for digest in needed:
            if (segment := self._segments.get(digest)) is not None:
                sizes[segment.file] += segment.length
        files = [n for n, size in sizes.items() if 2 * size > self._size(n)]
        files.sort(key=sizes.__getitem__, reverse=True)
        return set(files if len(files) < MOST_FILES else files[: MOST_FILES // 2])

    def _size(self, number: int) -> int:
        return self._path(number).stat().st_size

    def tidy(self) -> None:
        """Remove the files that the last state does not need."""
        needed = {self._path(segment.file) for segment in self._segments.values()}
        for path in self._folder.glob(f"{PREFIX}*"):
            if path not in needed:
                path.unlink()

    def forget(self) -> None:
        """Have no state: the next one is written as a whole."""
        self._segments = {}

    def read(self, listed: bytes) -> bytes:
        """Read a state from its list of segments. `StateError` where one is damaged."""
        segments = [Segment(*each) for each in _SEGMENT.iter_unpack(listed)]
        with ExitStack() as stack:
            numbers = {segment.file for segment in segments}
            files = {n: stack.enter_context(self._open(n)) for n in sorted(numbers)}
            parts = [
                self._read_segment(files[segment.file], segment) for segment in segments
            ]
        self._segments = {segment.digest: segment for segment in segments}
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

    def _read_segment(self, file: BinaryIO, segment: Segment) -> bytes:
        try:
            file.seek(segment.offset)
            content = file.read(segment.length)
        except OSError as error:
            path = self._path(segment.file)
            raise StateError(f"{path}: not readable: {reason(error)}") from error
        if _digest(content) != segment.digest:
            raise StateError(
                f"{self._path(segment.file)}: is damaged, the checksum of its "
                f"{segment.length} bytes from {segment.offset} on does not fit; "
                f"{WAYS_OUT}"
            )
        return content

    def _path(self, number: int) -> Path:
        return self._folder / f"{PREFIX}{number:08}"


def _digest(content: bytes | memoryview) -> bytes:
    return blake2b(content, digest_size=_DIGEST).digest()


def _pack(segment: Segment) -> bytes:
    return _SEGMENT.pack(segment.digest, segment.file, segment.offset, segment.length)


WAYS_OUT = (
    "bring a copy back together with the outputs of that time, or begin anew: remove "
    "the state folder and the outputs"
)
