"""What compiling a query left on disk, found again by all that decides it."""

import os
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Generic, TypeVar

import llvmlite
import llvmlite.binding as llvm

from tiltpy.codegen.cache.codec import MalformedError, codec
from tiltpy.codegen.jit import host
from tiltpy.disk_store import DiskStore, user_store

T = TypeVar("T")
_SECONDS = struct.Struct("<d")
_IMPORTED = time.time_ns()


@dataclass(frozen=True, slots=True)
class Made(Generic[T]):
    """A part, and the seconds it took to make whenever that was."""

    value: T
    seconds: float


class Kept:
    """The parts of one compilation, by name; without a store nothing is kept."""

    def __init__(self, store: DiskStore | None, key: str) -> None:
        self._store = store
        self._key = key

    def once(self, part: str, kind: object, make: Callable[[], T]) -> Made[T]:
        """A part of some type as it was found (its spans unknown), or made now."""
        if self._store is None:
            return _made(make)
        key = f"{self._key} {part}"
        content = self._store.get(key)
        if content is not None:
            with suppress(MalformedError, struct.error):
                (seconds,) = _SECONDS.unpack_from(content)
                value: T = codec(kind).decode(content[_SECONDS.size :])
                return Made(value, seconds)
        made = _made(make)
        with suppress(RecursionError):  # too deep: it is made anew each time
            encoded = codec(kind).encode(made.value)
            self._store.put(key, _SECONDS.pack(made.seconds) + encoded)
        return made


def _made(make: Callable[[], T]) -> Made[T]:
    began = time.perf_counter()
    value = make()
    return Made(value, time.perf_counter() - began)


NOTHING_KEPT = Kept(None, "")


def kept(*facts: object) -> Kept:
    """What is kept for these facts, this compiler and this machine.

    The facts are told apart by their `repr`, which leaves out the spans of a query.
    """
    store, made_by = user_store(), _made_by()
    if store is None or made_by is None:
        return NOTHING_KEPT
    with suppress(RecursionError):  # a query too deep to be written out
        return Kept(store, sha256(f"{made_by} {facts!r}".encode()).hexdigest())
    return NOTHING_KEPT


@cache
def _made_by() -> str | None:
    """What compiles here, and for what; None where the sources are unknown."""
    files = sources()
    versions = llvmlite.__version__, llvm.llvm_version_info, sys.version
    return None if files is None else f"{files} {versions} {host()}"


NOT_COMPILING = (
    "__pycache__", "cli", "editors", "explain", "frontend", "interpreter", "plot",
    "runtime", "spark",
)  # fmt: skip
"""Folders of this package that have no part in making machine code of a query's IR."""


@cache
def sources() -> str | None:
    """A digest of the compiler's files, for which entries of another are not there.

    None where that is unknown: the package is no folder, or a file has changed since it
    was imported (then the code that runs is not the one that lies there).
    """
    try:
        seen = sorted(_sources(str(Path(__file__).parents[2])))
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
