"""Calls of C functions, whose arguments are ready; shared among threads by cells."""

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bench.outcome import Array
from bench.peers.c.library import Function, function

BETWEEN_THREADS = 80_000
"""Work is split at multiples of this many cells: every block and bitmap ends there."""


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


def shares(cells: int, threads: int) -> list[tuple[int, int]]:
    """Stretches of about equal length, one for each thread, without empty ones."""
    each = -(-cells // (threads * BETWEEN_THREADS)) * BETWEEN_THREADS
    return [(low, min(low + each, cells)) for low in range(0, cells, each)]
