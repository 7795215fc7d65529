"""`python -m bench live`: rows pushed into a session, few at a time and many.

*Closed loop*: a push after the other; a number is million rows per second of processor
time, with the final snapshots of each push as an Arrow table. *Open loop*: rows arrive
at a rate, and a push takes all that have come since the one before; latencies are from
when a row was due to the end of the push that took it, so a push that is late makes all
rows late that wait for it. Before the closed loop, the snapshots of each way are
compared with those of `run` over all rows, through the same time: by key, zeros go on
behind the last row of a key.
"""

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import tiltpy as tilt
from bench.measure import BenchOptions
from bench.pushes import cut, push_all
from bench.reports import live_peers
from bench.reports.files import same_rows
from bench.reports.pieces import in_order
from bench.timing import Runner, take_turns
from bench.workloads.disorder import Disorder
from bench.workloads.live import ARRIVALS, LIVE, Frames, LiveWorkload
from bench.workloads.streams import Workload

SIZES = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
SHARE = 20
"""Of `--events`, a row in so many."""
PUSHES = 300
"""The most pushes of a run."""
RATES = (1_000, 10_000, 100_000, 1_000_000)
"""Rows a second that arrive."""
SECONDS = 1.0
"""The seconds for which rows arrive at each rate."""
TURNS = 3


def lines(chosen: Sequence[Workload] | None, options: BenchOptions) -> Iterator[str]:
    """A line for each workload and kind of disorder, of each loop."""
    del chosen
    rows = max(1, options.events // SHARE)
    sizes = [size for size in SIZES if size <= rows]
    yield "closed loop, million rows a second of processor time, by rows a push"
    yield f"{'':<44}" + "".join(f"{size:>14,}" for size in sizes)
    for workload in LIVE:
        for disorder in ARRIVALS:
            runners = _prepare_pushes(workload, disorder, sizes, rows, options.seed)
            label = f"{workload.name}, {disorder.name}"
            yield f"{label:<44}" + _closed(runners, min(TURNS, options.repeat))
    yield ""
    yield from live_peers.lines(options)
    yield ""
    yield "open loop, ms from when a row is due to its update, p50 / p99, by rows a s"
    yield f"{'':<44}" + "".join(f"{each:>20,}" for each in RATES)
    for workload in LIVE:
        for disorder in ARRIVALS:
            cells = [
                open_loop(workload, disorder, each, options.seed, rows).rjust(20)
                for each in RATES
            ]
            yield f"{f'{workload.name}, {disorder.name}':<44}" + "".join(cells)


def agrees(
    query: tilt.CompiledQuery, frames: Frames, pieces: Sequence[Frames], way: Disorder
) -> bool:
    """Tell whether pushes make the snapshots of a run over all rows."""
    tables, through = push_all(query, pieces, way)
    assert isinstance(through, int)
    expected = query.run(**frames, end=through, workers=1)["out"].to_arrow()
    return same_rows(expected, in_order(pa.concat_tables(tables)))


def _prepare_pushes(
    workload: LiveWorkload,
    disorder: Disorder,
    sizes: Sequence[int],
    rows: int,
    seed: int,
) -> dict[int, Runner | None]:
    """Prepare a run for each size; None where its snapshots are not those of a run."""
    query = tilt.parse(workload.query, name=workload.name)
    runners: dict[int, Runner | None] = {}
    for size in sizes:
        frames = workload.make(min(rows, max(2, size * PUSHES)), disorder, seed)
        pieces = cut(frames, size)
        right = agrees(query, frames, pieces, disorder)
        runners[size] = partial(push_all, query, pieces, disorder) if right else None
    return runners


def _count(runner: Runner) -> int:
    assert isinstance(runner, partial)
    return sum(len(frame) for piece in runner.args[1] for frame in piece.values())


def _closed(runners: dict[int, Runner | None], turns: int) -> str:
    right = {str(size): each for size, each in runners.items() if each is not None}
    seconds = take_turns(right, turns)
    cells = []
    for size in map(str, runners):
        if size not in right:
            cells.append("wrong")
            continue
        least = min(one.processor for one in seconds[size])
        cells.append(f"{_count(right[size]) / least / 1e6:.4g}")
    return "".join(cell.rjust(14) for cell in cells)


def open_loop(
    workload: LiveWorkload, disorder: Disorder, each: int, seed: int, most: int
) -> str:
    """Let rows arrive at a rate; the median of latencies and the 99th percentile."""
    rows = min(most, int(each * SECONDS))
    query = tilt.parse(workload.query, name=workload.name)
    frames = workload.make(rows, disorder, seed)
    each = each // len(frames)
    count = min(map(len, frames.values()))
    push_all(query, cut(frames, max(2, rows // 4)), disorder)  # compiles
    ways: dict[str, Any] = {
        name: tilt.ingress(reorder=disorder.reorder) for name in frames
    }
    latencies = np.zeros(count)
    with query.live(**ways) as live:
        begin, taken = time.perf_counter(), 0
        while taken < count:
            due = int((time.perf_counter() - begin) * each)
            stop = min(count, due)
            if stop <= taken:
                time.sleep(max(0.0, begin + (taken + 1) / each - time.perf_counter()))
                continue
            piece = {n: frame.slice(taken, stop - taken) for n, frame in frames.items()}
            live.push(**piece)["out"].final.to_arrow()
            now = time.perf_counter() - begin
            latencies[taken:stop] = now - np.arange(taken + 1, stop + 1) / each
            taken = stop
    middle, high = np.quantile(latencies, (0.5, 0.99)) * 1e3
    return f"{middle:.1f} / {high:.1f}"
