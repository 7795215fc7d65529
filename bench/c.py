"""C beside Python: the `.c` files here, compiled when they are first needed.

All functions have one form, `i64 f(void *const *in, void *const *out, i64 low, i64
high)`: the arrays they read and write, and the cells that they compute. They run
without Python's lock, so several threads can share a workload.
"""

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from bench.outcome import Array

COMPILERS = ("gcc", "clang", "cc")
FLAGS = (
    *("-O3", "-march=native", "-ffp-contract=off"),
    *("-Wno-psabi", "-shared", "-fPIC"),
)
SOURCES = Path(__file__).parent
BETWEEN_THREADS = 80_000
"""Work is split at multiples of this many cells: every block and bitmap ends there."""

ALIGNMENT = 64
"""Bytes in a vector; those written past the caches must begin at a multiple."""

Function = Callable[..., int]


def compiler() -> str | None:
    """The C compiler of this machine, if there is one that we know how to call."""
    return next((found for name in COMPILERS if (found := shutil.which(name))), None)


@cache
def library(*, plain: bool = False) -> ctypes.CDLL:
    """The compiled functions. Raises a `RuntimeError` where they cannot be had.

    `plain`: they do not ask for memory ahead of time, nor write past the caches.
    """
    command = compiler()
    if command is None:
        raise RuntimeError(
            f"no C compiler found, looked for {', '.join(COMPILERS)}; install one, or "
            "leave C out"
        )
    with TemporaryDirectory() as folder:
        made = Path(folder, "peers.so")
        sources = sorted(SOURCES.glob("*.c"))
        done = subprocess.run(  # noqa: S603 - a compiler found by its name
            [command, *FLAGS, *["-DPLAIN"] * plain, "-o", made, *sources, "-lm"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{command} failed:\n{done.stderr}")
        return ctypes.CDLL(str(made))


def function(name: str, *, plain: bool = False) -> Function:
    """A compiled function of the common form."""
    found = getattr(library(plain=plain), name)
    found.restype = ctypes.c_int64
    found.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return found  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Piece:
    """The cells `low` to `high`, and the arrays of one call."""

    inputs: Sequence[Array]
    outputs: Sequence[Array]
    low: int
    high: int


class Work:
    """A function and what it is called with, a thread for each piece."""

    def __init__(
        self, name: str, pieces: Sequence[Piece], *, plain: bool = False
    ) -> None:
        self.pieces = pieces
        run = function(name, plain=plain)
        self._calls = [_prepared(run, piece) for piece in pieces]
        self._threads = ThreadPoolExecutor(len(pieces))

    def __call__(self) -> list[int]:
        """Run; what each piece returns."""
        if len(self._calls) == 1:
            return [self._calls[0]()]
        running = [self._threads.submit(call) for call in self._calls]
        return [one.result() for one in running]


def _prepared(run: Function, piece: Piece) -> Callable[[], int]:
    """A call whose arguments are ready; it keeps the arrays alive."""
    inputs, outputs = _addresses(piece.inputs), _addresses(piece.outputs)
    return lambda: run(inputs, outputs, piece.low, piece.high)


def _addresses(arrays: Sequence[Array]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


def memory(entries: int, kind: type) -> Array:
    """Memory for results, written to before so that a run costs no page faults."""
    wide: Array = np.ones(entries + ALIGNMENT, kind)
    first = -wide.ctypes.data % ALIGNMENT // wide.itemsize
    return wide[first : first + entries]


def shares(cells: int, threads: int) -> list[tuple[int, int]]:
    """Stretches of about equal length, one for each thread, without empty ones."""
    each = -(-cells // (threads * BETWEEN_THREADS)) * BETWEEN_THREADS
    return [(low, min(low + each, cells)) for low in range(0, cells, each)]


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Bytes per second: read alone; and copied, both read and written counted."""

    read: float
    copied: float


def bandwidth(threads: int, megabytes: int = 256, repeat: int = 7) -> Bandwidth:
    """What the memory of this machine gives, at its best."""
    entries = megabytes * 2**20 // 4
    source, target = memory(entries, np.float32), memory(entries, np.float32)
    pieces = [
        Piece((source,), (target,), low, high) for low, high in shares(entries, threads)
    ]
    rates = []
    for name, passes in (("read_all", 1), ("copy_all", 2)):
        work = Work(name, pieces)
        rates.append(passes * source.nbytes / _least_seconds(work, repeat))
    return Bandwidth(*rates)


def _least_seconds(work: Work, repeat: int) -> float:
    taken = []
    for _ in range(repeat):
        start = perf_counter()
        work()
        taken.append(perf_counter() - start)
    return min(taken)
