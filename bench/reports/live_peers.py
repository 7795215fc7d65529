"""Live queries by a session and by its peers: the same rows, in order.

Each peer's values are compared with those of the session before anything is timed.
"""

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec

import pyarrow as pa

import tiltpy as tilt
from bench.measure import BenchOptions
from bench.peers.live_peer import LivePeer, values_of
from bench.pushes import cut, push_all
from bench.timing import Runner, Spread, Turns, take_turns
from bench.workloads.live import (
    ARRIVALS,
    BY_KEY,
    MAP,
    SLIDING,
    TUMBLING,
    Frames,
    LiveWorkload,
)

SIZES = (10, 1_000, 100_000)
"""Rows of a push."""
PUSHES = 1_000
"""The most pushes of a run, and"""
ROWS = 200_000
"""rows."""
TURNS = 3
COMPARED = (MAP, TUMBLING, SLIDING, BY_KEY)
Prepare = Callable[[LiveWorkload, Frames, int], LivePeer | str]


def _bytewax(workload: LiveWorkload, frames: Frames, batch: int) -> LivePeer | str:
    from bench.peers import bytewax_live  # noqa: PLC0415 - optional

    return bytewax_live.prepare(workload, frames, batch)


def _csp(
    workload: LiveWorkload, frames: Frames, batch: int, *, replays: bool
) -> LivePeer:
    from bench.peers import csp_live  # noqa: PLC0415 - optional

    return csp_live.prepare(workload, frames, batch, replays=replays)


PEERS: dict[str, tuple[str, Prepare]] = {
    "Bytewax": ("bytewax", _bytewax),
    "csp, row by row": ("csp", partial(_csp, replays=False)),
    "csp, replay": ("csp", partial(_csp, replays=True)),
}
"""The module that each needs, and how it is prepared."""


def lines(options: BenchOptions) -> Iterator[str]:
    """Yield a line for each workload and runner, with a column for each size."""
    sizes = [size for size in SIZES if size <= options.events]
    yield (
        "peers, rows in order, million rows a second of processor time "
        "(tiltpy / peer), by rows a push"
    )
    yield f"{'':<36}" + "".join(f"{size:>20,}" for size in sizes)
    for workload in COMPARED:
        cells: dict[str, list[str]] = {}
        for size in sizes:
            for name, cell in _compare(workload, size, options).items():
                cells.setdefault(name, []).append(cell)
        for name, row in cells.items():
            label = f"{workload.name}, {name}"
            if len(set(row)) == 1:  # a reason
                yield f"{label:<36}{row[0]}"
            else:
                yield f"{label:<36}" + "".join(cell.rjust(20) for cell in row)


def _compare(
    workload: LiveWorkload, size: int, options: BenchOptions
) -> dict[str, str]:
    """Time a session and its peers over pushes of a size; what is said of each."""
    rows = min(size * PUSHES, ROWS, options.events)
    frames = workload.make(rows, ARRIVALS[0], options.seed)
    query = tilt.parse(workload.query, name=workload.name)
    ours = partial(push_all, query, cut(frames, size), ARRIVALS[0])
    runners: dict[str, Runner] = {"tiltpy": ours}
    said = {"tiltpy": ""}
    for name, (module, prepare) in PEERS.items():
        if find_spec(module) is None:
            said[name] = f"not installed: pip install {module}"
            continue
        peer = prepare(workload, frames, size)
        if isinstance(peer, str):
            said[name] = peer
        elif not agrees(workload, frames, ours(), peer):
            said[name] = "wrong"
        else:
            runners[name] = peer.run
    turns = take_turns(runners, min(TURNS, options.repeat))
    return said | {name: _cell(rows, turns, name) for name in runners}


def agrees(
    workload: LiveWorkload,
    frames: Frames,
    ours: tuple[list[pa.Table], object],
    peer: LivePeer,
) -> bool:
    """Tell whether a peer has the values of a session."""
    tables, _ = ours
    expected = values_of(workload, frames, pa.concat_tables(tables))
    return expected.agree(peer.values(peer.run()))


def _cell(rows: int, turns: dict[str, Turns], name: str) -> str:
    """Show the median rate of a runner, and how many times that tiltpy's is."""
    rate = Spread(tuple(rows / each.processor / 1e6 for each in turns[name])).median
    if name == "tiltpy":
        return f"{rate:.3g}"
    pairs = zip(turns["tiltpy"], turns[name], strict=True)
    ratio = Spread(tuple(b.processor / a.processor for a, b in pairs)).median
    return f"{rate:.3g} ({ratio:.2g}x)"
