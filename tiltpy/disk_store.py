"""Bytes kept on disk from one process to the next, found by a key.

Among them is machine code, which whoever finds it executes. So what is read must have
been written by the same user: the folder has an absolute path, is the user's own and
closed to others (0700), and no link; an entry is a regular file of the same kind
(0600), and no link either. All of that is asked of what was opened, not of a path,
which could be another's by the time it is opened. On Windows, where files are not
opened by a directory's descriptor and have no such modes, the folder is in the user's
`AppData`, whose access list is closed to others.

An entry is written beside and then renamed, and carries a digest of itself and its key,
so that writers do not disturb each other and a damaged file is the same as none. Only
files with names like those made here are ever removed. Where nothing can be
stored everything works without.
"""

# Names of entries are plain text: what a `Path` is made of is interned, and the table
# of interned strings grows.

import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, reduce
from hashlib import sha256
from operator import or_
from pathlib import Path
from secrets import token_hex

from tiltpy.lean_dataclass import dataclass

BOUND = 16 << 20
"""The bytes that a folder may hold, counting a page for each file at least. The oldest
entries go when they are more; a process looks at every 32nd of its own entries."""
_PAGE, _LOOK_EVERY = 4096, 32
_DIGEST = sha256().digest_size
_MADE_HERE = re.compile(r"[0-9a-f]{64}|[0-9a-f]{16}\.new")
"""The name of an entry, or of one that is being written."""


class DiskStore:
    """Entries in a folder. Nothing here ever fails: no entry is the worst outcome."""

    def __init__(self, folder: Path, bound: int = BOUND) -> None:
        self.folder = folder
        self._bound = bound
        self._puts = 0

    def get(self, key: str) -> bytes | None:
        """Read what was put under a key, if it is still there and as it was."""
        with suppress(OSError), self._open_folder() as folder:
            # A pipe would be waited for.
            flags = _flags("O_NOFOLLOW", "O_NONBLOCK")
            with open(_name(key), "rb", opener=_opener(folder, flags)) as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode) or not _is_private(status):
                    return None
                entry = file.read(self._bound + 1)
            digest, content = entry[:_DIGEST], entry[_DIGEST:]
            if digest == _digest(key, content):
                return content
        return None

    def put(self, key: str, content: bytes) -> None:
        """Keep some bytes under a key, whole or not at all."""
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._open_folder() as folder:
                if self._puts % _LOOK_EVERY == 0:
                    self._evict(folder)
                self._puts += 1
                _write(folder, _name(key), _digest(key, content) + content)

    @contextmanager
    def _open_folder(self) -> Iterator["_OpenFolder"]:
        """Open the folder; an `OSError` if it is not to be trusted."""
        if os.open not in os.supports_dir_fd:
            yield _OpenFolder(self.folder, None)
            return
        flags = os.O_RDONLY | _flags("O_DIRECTORY", "O_NOFOLLOW")
        descriptor = os.open(self.folder, flags)
        try:
            if not _is_private(os.fstat(descriptor)):
                raise PermissionError(self.folder)
            yield _OpenFolder(self.folder, descriptor)
        finally:
            os.close(descriptor)

    def _evict(self, folder: "_OpenFolder") -> None:
        """Remove the oldest entries, if they take too much, until a quarter is free."""
        held = sum(size for _, size, _ in _files(folder))
        if held <= self._bound:
            return
        for _, size, name in sorted(_files(folder)):
            if held <= self._bound * 3 // 4:
                break
            with suppress(FileNotFoundError):  # another process was faster
                os.unlink(folder.locate(name), dir_fd=folder.descriptor)
            held -= size


@dataclass(frozen=True, slots=True)
class _OpenFolder:
    """A folder, and its descriptor where files are opened by that."""

    path: Path
    descriptor: int | None

    def locate(self, name: str) -> str:
        """Locate a file for functions that take the descriptor as `dir_fd`."""
        if self.descriptor is not None:
            return name
        return os.path.join(self.path, name)  # noqa: PTH118 - see above


def _write(folder: _OpenFolder, name: str, entry: bytes) -> None:
    """Write a file beside, and put it into its place."""
    beside = f"{token_hex(8)}.new"
    try:
        with open(beside, "xb", opener=_opener(folder)) as file:
            file.write(entry)
        at = folder.descriptor
        located = folder.locate(beside), folder.locate(name)
        os.replace(*located, src_dir_fd=at, dst_dir_fd=at)
    except BaseException:  # an interrupt among them
        os.unlink(folder.locate(beside), dir_fd=folder.descriptor)
        raise


def _files(folder: _OpenFolder) -> Iterator[tuple[int, int, str]]:
    """List the files made here: when each was written, its bytes, and its name."""
    opened = folder.path if folder.descriptor is None else folder.descriptor
    with os.scandir(opened) as entries:
        for entry in entries:
            regular = entry.is_file(follow_symlinks=False)
            if regular and _MADE_HERE.fullmatch(entry.name):
                status = entry.stat(follow_symlinks=False)
                yield status.st_mtime_ns, max(_PAGE, status.st_size), entry.name


def _opener(folder: _OpenFolder, keywords: int = 0) -> Callable[[str, int], int]:
    """Open a file of the folder for `open`, closed to other users."""
    return lambda name, flags: os.open(
        folder.locate(name), flags | keywords, 0o600, dir_fd=folder.descriptor
    )


def _flags(*names: str) -> int:
    """Combine flags of `os.open`, those that the system has."""
    return reduce(or_, (getattr(os, name, 0) for name in names))


def _is_private(status: os.stat_result) -> bool:
    """Tell whether it is the user's own, and nobody else may even look inside."""
    if not hasattr(os, "geteuid"):
        return True
    mine = status.st_uid == os.geteuid()
    return mine and not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)


def _name(key: str) -> str:
    return sha256(key.encode()).hexdigest()


def _digest(key: str, content: bytes) -> bytes:
    return sha256(key.encode() + b"\0" + content).digest()


def user_store() -> DiskStore | None:
    """Open the store in the user's cache folder, if the user has one."""
    with suppress(RuntimeError):  # no home
        caches = _find_caches()
        if caches.is_absolute():
            return _store(caches / "tiltpy" / "compiled")
    return None


def _find_caches() -> Path:
    """Find the folder where this system keeps the caches of a user's programs."""
    windows = sys.platform == "win32"
    for variable in ("XDG_CACHE_HOME", *(("LOCALAPPDATA",) if windows else ())):
        named = Path(os.environ.get(variable, ""))
        if named.is_absolute():
            return named
    if windows:
        return Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path.home() / ".cache"


@cache
def _store(folder: Path) -> DiskStore:
    return DiskStore(folder)
