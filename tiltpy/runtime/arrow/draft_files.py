"""Drafts: files that are being written, beside the files that they will replace.

A draft of `out.csv` is `.out.csv.1f00ba42.part` in the same directory. Its writer locks
it as long as it lives: a draft without a lock is from a process that was killed, and is
removed when the next draft of the same file is made. Systems without such locks keep
them.
"""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from tiltpy.runtime.concurrency.threads import start

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def open_draft(target: Path) -> Iterator[Path]:
    """Open a new draft, an empty file; a draft left at the end is removed."""
    sweep(target)
    draft, descriptor = _create(target)
    if fcntl is None:  # no locks, and no file is replaced or removed while it is open
        os.close(descriptor)
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)
        if fcntl is not None:
            _close(descriptor)


def _close(descriptor: int) -> None:
    """Close a draft, and so release its lock.

    Closing a file without a name frees its blocks: 0.1 s for a few hundred megabytes.
    Another thread does that, since Ctrl-C may have come.
    """
    close = partial(os.close, descriptor)
    if os.fstat(descriptor).st_nlink:
        close()
        return
    try:
        start(close, lambda: None)
    except RuntimeError:  # no more threads
        close()


def sweep(target: Path) -> None:
    """Remove drafts of a file whose writers are dead."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.part")
    for entry in os.scandir(target.parent):
        if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
            with suppress(OSError):  # another's, or gone
                _remove_dead(entry.path)


def _create(target: Path) -> tuple[Path, int]:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    while True:
        draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        descriptor = os.open(draft, flags, 0o666)
        # A sweep at this moment may have removed it, as it had no lock yet.
        if _lock(descriptor) is not False and os.fstat(descriptor).st_nlink:
            return draft, descriptor
        os.close(descriptor)


def _remove_dead(path: str) -> None:
    descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        if _lock(descriptor):
            Path(path).unlink()
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Lock a file; False if another has, None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
