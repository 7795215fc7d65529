"""The peers in C: which function stands for which workload, and what it wrote.

They read what tiltpy reads and write the payload that it writes, to memory that has
been written to before: values alone where every cell has one, otherwise values and bits
that say where they belong. With `times` they write starts and ends as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bench.outcome import Array, Cells, Kept, Outcome, Payload, Table
from bench.peers.c.library import compiler
from bench.peers.c.work import Piece, Work, shares
from bench.peers.peer import Peer
from bench.peers.workspace import memory
from bench.workloads.streams import Stream, Workload
from bench.workloads.tuned import PANE, WINDOW

SPARE = 64
"""Entries that a function may write beyond its results."""

Streams = Mapping[str, Stream]


def peer(
    workload: Workload,
    streams: Streams,
    *,
    threads: int = 1,
    times: bool = False,
    plain: bool = False,
) -> Peer | None:
    """The workload in C, if there is such a function, and a compiler.

    Where nearly every cell has a value, `times` writes its start and end too. `plain`
    code leaves memory to the processor.
    """
    if compiler() is None or workload.name != workload.base:
        return None
    how = How(threads, plain)
    if workload.name in DENSE:
        return _dense(DENSE[workload.name], streams, how, times=times)
    if workload.name == "where":
        make = _where_with_times if times else _where
        return make(streams, how)
    if times:
        return None
    others = {"impute": _impute, "Yahoo": _yahoo, "unaligned join": _unaligned_join}
    return others[workload.name](streams, how)


@dataclass(frozen=True, slots=True)
class How:
    """On how many threads, and whether as `plain` code (see `library`)."""

    threads: int
    plain: bool


@dataclass(frozen=True, slots=True)
class Dense:
    """A function that writes values for every cell but the first few.

    Such a cell is `period` ticks long, and an event `ticks`.
    """

    name: str
    types: tuple[type, ...] = (np.float32,)
    skipped: int = 0
    period: int = 1
    ticks: int = 1


_PANE = (np.float32, np.float32, np.float32)
DENSE = {
    "select": Dense("select_"),
    "tumbling sum": Dense("tumbling_sum", period=WINDOW),
    "sliding sum": Dense("sliding_sum"),
    "sliding max": Dense("sliding_max"),
    "aligned join": Dense("aligned_join"),
    "trading": Dense("trading", (np.bool_,)),
    "RSI": Dense("rsi", skipped=1),
    "z-score": Dense("z_score"),
    "resample": Dense("resample", period=5, ticks=4),
    "Pan-Tompkins": Dense("pan_tompkins", skipped=20),
    "vibration": Dense("vibration", _PANE, period=PANE),
    "fraud": Dense("fraud", (np.bool_,), skipped=1),
}
"""The workloads that need no bits."""


def _dense(dense: Dense, streams: Streams, how: How, *, times: bool) -> Peer:
    inputs = [stream.values for stream in streams.values()]
    events = len(inputs[0])
    most = -(-events * dense.ticks // dense.period)
    outputs = [_touched(most, each) for each in dense.types]
    work = _over_shares(dense.name, inputs, outputs, events, how)
    stamps = (_touched(most, np.int64), _touched(most, np.int64))
    period = np.array([dense.period])
    stamp = _over_shares("times", (period,), stamps, most, how)

    def run_both() -> list[int]:
        stamp()
        return work()

    def outcome(counts: list[int]) -> Outcome:
        kept = slice(dense.skipped, sum(counts))
        payload = tuple(array[kept] for array in outputs)
        if times:
            return Table(stamps[0][kept], stamps[1][kept], payload)
        return Cells(payload, dense.period, dense.skipped * dense.period)

    return Peer(run_both if times else work, outcome)


def _where(streams: Streams, how: How) -> Peer:
    x = streams["x"].values
    values, kept = _touched(len(x), np.float32), _bits(len(x))
    work = _over_shares("where", (x,), (values, kept), len(x), how)
    return Peer(
        work,
        lambda counts: Kept((_joined(work, values, counts),), _unpacked(kept, len(x))),
    )


def _where_with_times(streams: Streams, how: How) -> Peer:
    x = streams["x"].values
    types = (np.int64, np.int64, np.float32)
    arrays = tuple(_touched(len(x), each) for each in types)
    work = _over_shares("where_with_times", (x,), arrays, len(x), how)

    def outcome(counts: list[int]) -> Table:
        starts, ends, values = (_joined(work, array, counts) for array in arrays)
        return Table(starts, ends, (values,))

    return Peer(work, outcome)


def _impute(streams: Streams, how: How) -> Peer:
    x, valid = streams["x"].values, streams["x"].valid
    assert valid is not None
    packed = _bits(len(x))
    packed[: -(-len(x) // 8)] = np.packbits(valid, bitorder="little")
    values, begins, covered = _touched(len(x), np.float32), _bits(len(x)), _bits(len(x))
    outputs = (values, begins, covered)
    work = _over_shares("impute", (x, packed), outputs, len(x), how)

    def outcome(counts: list[int]) -> Table:
        payload = (_joined(work, values, counts),)
        bits = _unpacked(begins, len(x)), _unpacked(covered, len(x))
        return _snapshots(payload, *bits, period=1)

    return Peer(work, outcome)


def _yahoo(streams: Streams, how: How) -> Peer:
    x = streams["x"].values
    panes = -(-len(x) // PANE)
    values, begins = _touched(panes, np.int64), _bits(panes)
    work = _over_shares("yahoo", (x,), (values, begins), len(x), how)

    def outcome(counts: list[int]) -> Table:
        payload = (_joined(work, values, counts, PANE),)
        covered = np.ones(panes, np.bool_)
        return _snapshots(payload, _unpacked(begins, panes), covered, period=PANE)

    return Peer(work, outcome)


def _unaligned_join(streams: Streams, how: How) -> Peer:
    """Each thread merges a stretch of time; it ends where an event of `a` does."""
    a, b = streams["a"], streams["b"]
    assert a.ends is not None
    assert b.ends is not None
    last = min(a.ends[-1], b.ends[-1])
    cuts = a.ends[len(a.ends) * np.arange(1, how.threads) // how.threads]
    edges = [0, *sorted({int(cut) for cut in cuts if cut < last}), int(last)]
    types = (np.int64, np.int64, np.float32)
    outputs = tuple(_touched(len(a.ends) + len(b.ends), each) for each in types)
    pieces = []
    for low, high in pairwise(edges):
        i, j = (int(np.searchsorted(ends, low, "right")) for ends in (a.ends, b.ends))
        left = np.array([len(a.ends) - i, len(b.ends) - j])
        inputs = (a.ends[i:], a.values[i:], b.ends[j:], b.values[j:], left)
        own = tuple(array[i + j :] for array in outputs)
        pieces.append(Piece(inputs, own, low, high))

    def outcome(counts: list[int]) -> Table:
        found = zip(pieces, counts, strict=True)
        parts = [[array[:count] for array in piece.outputs] for piece, count in found]
        columns = zip(*parts, strict=True)
        starts, ends, values = (np.concatenate(column) for column in columns)
        return Table(starts, ends, (values,))

    return Peer(Work("unaligned_join", pieces, plain=how.plain), outcome)


def _over_shares(
    name: str,
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    cells: int,
    how: How,
) -> Work:
    """A function over whole arrays, its cells shared between threads."""
    parts = shares(cells, how.threads)
    pieces = [Piece(inputs, outputs, low, high) for low, high in parts]
    return Work(name, pieces, plain=how.plain)


def _touched(entries: int, kind: type) -> Array:
    return memory(entries + SPARE, kind)


def _bits(cells: int) -> Array:
    return np.zeros(-(-cells // 8) + SPARE, np.uint8)


def _unpacked(bits: Array, cells: int) -> Array:
    return np.unpackbits(bits, count=cells, bitorder="little").view(np.bool_)


def _joined(work: Work, array: Array, counts: Sequence[int], per: int = 1) -> Array:
    """Join what the pieces wrote; each has `per` cells for a result at most."""
    firsts = [piece.low // per for piece in work.pieces]
    found = zip(firsts, counts, strict=True)
    return np.concatenate([array[first : first + n] for first, n in found])


def _snapshots(
    payload: Payload, begins: Array, covered: Array, *, period: int
) -> Table:
    """A snapshot lasts until the next begins, or to the end of what is covered."""
    starts = np.flatnonzero(begins)
    over = np.flatnonzero(np.append(begins | ~covered, True))
    ends = over[np.searchsorted(over, starts, "right")]
    return Table(starts * period, ends * period, payload)
