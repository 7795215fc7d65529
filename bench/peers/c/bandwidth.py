"""Memory bandwidth, which nothing that reads and writes all of it can beat."""

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from bench.peers.c.work import Piece, Work, shares
from bench.peers.workspace import memory


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Bytes per second: read alone; and copied, both read and written counted."""

    read: float
    copied: float


def bandwidth(threads: int, megabytes: int = 256, repeat: int = 7) -> Bandwidth:
    """The best bandwidths of this machine's memory, in bytes a second."""
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
