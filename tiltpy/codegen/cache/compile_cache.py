"""The compile cache: artifacts of compiling on disk, by all that decides them."""

import os
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Generic, TypeVar

import llvmlite
import llvmlite.binding as llvm

from tiltpy.codegen.cache.codec import MalformedError, codec
from tiltpy.codegen.machine_code import host
from tiltpy.disk_store import DiskStore, user_store
from tiltpy.lean_dataclass import dataclass

T = TypeVar("T")
_SECONDS = struct.Struct("<d")
_IMPORTED = time.time_ns()


@dataclass(frozen=True, slots=True)
class Artifact(Generic[T]):
    """The product of a stage of compiling, and the seconds that it took to make."""

    value: T
    seconds: float


class CompileCache:
    """The artifacts of one compilation, by name; without a store it keeps none."""

    def __init__(self, store: DiskStore | None, key: str) -> None:
        self._store = store
        self._key = key

    def memoize(
        self, name: str, kind: object, make: Callable[[], T], *, spans: bool = False
    ) -> Artifact[T]:
        """Read the artifact `name` from disk, or make it now.

        `kind` is the type that its codec is for. Without `spans` those of what was read
        are unknown.
        """
        if self._store is None:
            return _make(make)
        key = f"{self._key} {name}"
        content = self._store.get(key)
        if content is not None:
            with suppress(MalformedError, struct.error):
                (seconds,) = _SECONDS.unpack_from(content)
                value: T = codec(kind).decode(content[_SECONDS.size :])
                return Artifact(value, seconds)
        artifact = _make(make)
        with suppress(RecursionError):  # too deep: it is made anew each time
            encoded = codec(kind).encode(artifact.value, spans=spans)
            self._store.put(key, _SECONDS.pack(artifact.seconds) + encoded)
        return artifact


def _make(make: Callable[[], T]) -> Artifact[T]:
    began = time.perf_counter()
    value = make()
    return Artifact(value, time.perf_counter() - began)


NO_CACHE = CompileCache(None, "")


def open_cache(*facts: object) -> CompileCache:
    """Open the cache for these facts, this compiler and this machine.

    The facts are told apart by their `repr`, which leaves out the spans of a query.
    """
    store, compiler = user_store(), _describe_compiler()
    if store is None or compiler is None:
        return NO_CACHE
    with suppress(RecursionError):  # a query too deep to be written out
        key = sha256(f"{compiler} {facts!r}".encode()).hexdigest()
        return CompileCache(store, key)
    return NO_CACHE


def open_parser_cache(*facts: object) -> CompileCache:
    """Open the cache for these facts and this parser."""
    store, files = user_store(), parser_sources()
    if store is None or files is None:
        return NO_CACHE
    key = sha256(f"{files} {sys.version} {facts!r}".encode())
    return CompileCache(store, key.hexdigest())


@cache
def _describe_compiler() -> str | None:
    """Describe what compiles, and for which machine; None if sources are unknown."""
    files = sources()
    versions = llvmlite.__version__, llvm.llvm_version_info, sys.version
    return None if files is None else f"{files} {versions} {host()}"


NOT_COMPILING = (
    "__pycache__", "cli", "editors", "explain", "frontend", "interpreter", "plot",
    "runtime", "spark",
)  # fmt: skip
"""Folders of this package that take no part in making machine code of a query."""


NOT_PARSING = (
    "__pycache__", "abi", "aggregates", "cli", "codegen", "compiler", "editors", "emit",
    "engines", "explain", "interpreter", "loops", "lowering", "passes", "plan", "plot",
    "runtime", "spark",
)  # fmt: skip
"""Folders of this package that take no part in parsing a query."""
_PACKAGE = Path(__file__).parents[2]


@cache
def sources() -> str | None:
    """Digest the compiler's files: entries of another compiler are not found."""
    return _digest([_PACKAGE], NOT_COMPILING)


@cache
def parser_sources() -> str | None:
    """Digest the parser's files, which lie in a clone beside the package, too."""
    beside = _PACKAGE.parent / "grammar"
    installed = (_PACKAGE / "grammar").is_dir()
    return _digest([_PACKAGE] if installed else [_PACKAGE, beside], NOT_PARSING)


def _digest(folders: list[Path], without: tuple[str, ...]) -> str | None:
    """Digest the files in some folders.

    None where that is unknown: the package is no folder, or a file has changed since it
    was imported (then the code that runs is not the one that lies there).
    """
    try:
        listed = (_sources(str(folder), without) for folder in folders)
        files = sorted(file for each in listed for file in each)
    except OSError:
        return None
    if any(changed > _IMPORTED for *_, changed in files):
        return None
    return sha256(repr(files).encode()).hexdigest()


def _sources(
    folder: str, without: tuple[str, ...]
) -> Iterator[tuple[str, int, int, int]]:
    """List the files under a folder: path, size, times of writing and last change."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name not in without:
                    yield from _sources(entry.path, without)
            else:
                status = entry.stat()
                times = status.st_mtime_ns, status.st_ctime_ns
                yield entry.path, status.st_size, *times
