"""Bytes kept on disk from one process to the next: machine code, found by a key.

The folder is the user's alone (0700) or it is not used: what is read from it is
unpickled and executed. An entry is written beside and then renamed, and carries a
digest of itself and its key, so that writers do not disturb each other and a damaged
file is the same as none. Where nothing can be kept everything works without.
"""

# Names of entries are plain text: what a `Path` is made of is interned, and the table
# of interned strings grows.
# ruff: noqa: PTH105, PTH108, PTH123

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

BOUND = 16 << 20
"""The bytes that a folder may hold, counting a page for each file at least. The oldest
entries go when they are more; a process looks at every 32nd of its own entries."""
_PAGE, _LOOK_EVERY = 4096, 32
_DIGEST = sha256().digest_size
_IMPORTED = time.time_ns()


class Store:
    """Entries in a folder. Nothing here ever fails: no entry is the worst outcome."""

    def __init__(self, folder: Path, bound: int = BOUND) -> None:
        self.folder = folder
        self._bound = bound
        self._puts = 0

    def get(self, key: str) -> bytes | None:
        """What was put under a key, if it is still there and as it was."""
        with suppress(OSError):
            if _is_private(self.folder):
                with open(self._place(key), "rb") as file:
                    kept = file.read()
                digest, content = kept[:_DIGEST], kept[_DIGEST:]
                if digest == _digest(key, content):
                    return content
        return None

    def put(self, key: str, content: bytes) -> None:
        """Keep some bytes under a key, whole or not at all."""
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_private(self.folder):
                return
            if self._puts % _LOOK_EVERY == 0:
                self._evict()
            self._puts += 1
            beside = f"{self.folder}/{token_hex(8)}.new"
            try:
                with open(beside, "xb") as file:
                    file.write(_digest(key, content) + content)
                os.replace(beside, self._place(key))
            except OSError:
                os.unlink(beside)

    def _place(self, key: str) -> str:
        return f"{self.folder}/{sha256(key.encode()).hexdigest()}"

    def _evict(self) -> None:
        """If there is too much, remove the oldest until a quarter is free again."""
        held = sum(size for _, size, _ in self._files())
        if held <= self._bound:
            return
        for _, size, path in sorted(self._files()):
            if held <= self._bound * 3 // 4:
                break
            with suppress(FileNotFoundError):  # another process was faster
                os.unlink(path)
            held -= size

    def _files(self) -> Iterator[tuple[int, int, str]]:
        """When each file was written, what it takes, and its path."""
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    yield status.st_mtime_ns, max(_PAGE, status.st_size), entry.path


def _digest(key: str, content: bytes) -> bytes:
    return sha256(key.encode() + b"\0" + content).digest()


def _is_private(folder: Path) -> bool:
    """Whether a folder is the user's own and nobody else may even look inside."""
    status = folder.stat()
    mine = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return mine and not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)


def user_store() -> Store | None:
    """The store in the user's cache folder, if the user has one."""
    with suppress(RuntimeError):  # no home
        named = Path(os.environ.get("XDG_CACHE_HOME", ""))
        caches = named if named.is_absolute() else Path.home() / ".cache"
        return _store(caches / "tiltpy" / "kernels")
    return None


@cache
def _store(folder: Path) -> Store:
    return Store(folder)


NOT_COMPILING = (
    "__pycache__", "cli", "editors", "frontend", "outline", "plot", "runtime", "spark"
)  # fmt: skip
"""Folders of this package that have no part in making machine code of a query's IR."""


@cache
def sources() -> str | None:
    """A digest of the compiler's files, for which entries of another are not there.

    None where that is unknown: the package is no folder, or a file has changed since it
    was imported (then the code that runs is not the one that lies there).
    """
    try:
        seen = sorted(_sources(str(Path(__file__).parent.parent)))
    except OSError:
        return None
    if any(changed > _IMPORTED for *_, changed in seen):
        return None
    return sha256(repr(seen).encode()).hexdigest()


def _sources(folder: str) -> Iterator[tuple[str, int, int, int]]:
    """The files under a folder: path, size, when they were written and last changed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name not in NOT_COMPILING:
                    yield from _sources(entry.path)
            else:
                status = entry.stat()
                times = status.st_mtime_ns, status.st_ctime_ns
                yield entry.path, status.st_size, *times
