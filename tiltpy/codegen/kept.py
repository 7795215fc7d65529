"""What compiling a query left on disk, found again by all that decides it."""

import pickle
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from io import BytesIO
from typing import Any, Generic, TypeVar

import llvmlite
import llvmlite.binding as llvm

from tiltpy.codegen.jit import host
from tiltpy.codegen.store import Store, sources, user_store
from tiltpy.source import UNKNOWN, Span

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Made(Generic[T]):
    """A part, and the seconds it took to make whenever that was."""

    value: T
    seconds: float


class Kept:
    """The parts of one compilation, by name; without a store nothing is kept."""

    def __init__(self, store: Store | None, key: str) -> None:
        self._store = store
        self._key = key

    def once(self, part: str, make: Callable[[], T]) -> Made[T]:
        """A part as it was found (its spans unknown), or made now and kept."""
        if self._store is None:
            return _made(make)
        key = f"{self._key} {part}"
        content = self._store.get(key)
        if content is not None:
            found: Made[T] = pickle.loads(content)  # noqa: S301
            return found
        made = _made(make)
        written = BytesIO()
        with suppress(RecursionError):  # too deep: it is made anew each time
            _Pickler(written, pickle.HIGHEST_PROTOCOL).dump(made)
            self._store.put(key, written.getvalue())
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


class _Pickler(pickle.Pickler):
    """Leaves out spans: where in its text a query says something is another text's."""

    def reducer_override(self, value: object) -> Any:
        return (_unknown, ()) if isinstance(value, Span) else NotImplemented


def _unknown() -> Span:
    return UNKNOWN
