"""`python -m bench latency`: the greatest rate of rows that a session keeps up with.

Figure 9 of the paper, live. Rows are due at a steady rate. A batch is pushed when its
last row is due, or as soon as the push before has ended. The latency of a batch is from
when its first row was due, by the schedule, to the end of its push: it is filled, waits
for the session, and is computed. So a session that falls behind makes all later batches
late, and no batch is left out because the one before was slow.

A rate is kept within a bound where 99 % of the batches are, and where pushes together
take no longer than their rows to come. Rates are tried from what pushes without a pause
reach downwards; each number is of a run at that rate.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tiltpy as tilt
from bench.measure import BenchOptions
from bench.pushes import cut
from bench.reports.live import agrees
from bench.timing import geometric_mean
from bench.workloads.live import ARRIVALS, LIVE, Frames
from bench.workloads.streams import Workload

SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
"""Rows of a batch."""
BOUNDS = (0.001, 0.01, 0.1, 1.0)
HEADLINE = 0.01
"""The bound of the one number that is printed last."""
SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
"""Of the rate of pushes without a pause."""
SECONDS = 0.4
"""The time of a run at a rate, and"""
PUSHES = 3_000
"""the most pushes of it."""
WARM = 3
"""Pushes before time counts: a session begins with them."""
TRIES = 2
"""Runs at a rate, of which the better one counts: other processes disturb."""
LEAST = 5
"""The fewest batches of a size that are timed."""
SHARE = 2
"""Of `--events`, a row in so many."""
CHECKED = 20_000
"""Rows over which snapshots are compared with those of a run."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A run at a rate, in rows a second: its latency in seconds.

    That is endless where the session has fallen behind.
    """

    rate: float
    latency: float


def lines(chosen: Sequence[Workload] | None, options: BenchOptions) -> Iterator[str]:
    """Yield a line for each workload and size of a batch, and one of the best."""
    del chosen
    rows = max(1, options.events // SHARE)
    sizes = [size for size in SIZES if size * (WARM + LEAST) <= rows]
    yield "million rows a second that are kept within a bound, by rows a batch"
    yield f"{'':<42}" + "".join(f"{1000 * bound:>9,.0f} ms" for bound in BOUNDS)
    best: list[float] = []
    for workload in LIVE:
        frames = workload.make(rows, ARRIVALS[0], options.seed)
        query = tilt.parse(workload.query, name=workload.name)
        some = {name: frame.slice(0, CHECKED) for name, frame in frames.items()}
        if not agrees(query, some, cut(some, 1_000), ARRIVALS[0]):
            yield f"{workload.name}: wrong"
            continue
        kept = dict.fromkeys(BOUNDS, 0.0)
        for size in sizes:
            found = find_rates(query, frames, size)
            yield _line(f"{workload.name}, {size:,} a batch", found)
            kept = {bound: max(kept[bound], found[bound]) for bound in BOUNDS}
        yield _line(f"{workload.name}, the best", kept)
        best.append(kept[HEADLINE])
    within = [rate / 1e6 for rate in best if rate]
    mean = f"{geometric_mean(within):.3g}" if within else "no"
    yield (
        f"\n{mean} million rows a second within {1000 * HEADLINE:.0f} ms: the mean of "
        f"the best of {len(within)} of {len(LIVE)} workloads"
    )


def _line(label: str, found: Mapping[float, float]) -> str:
    cells = (f"{found[bound] / 1e6:.3g}" if found[bound] else "-" for bound in BOUNDS)
    return f"{label:<42}" + "".join(cell.rjust(12) for cell in cells)


def find_rates(
    query: tilt.CompiledQuery, frames: Frames, size: int
) -> dict[float, float]:
    """Find the greatest rate within each bound; zero where none that is tried is."""
    pieces = cut(frames, size)[: PUSHES + WARM]
    found = dict.fromkeys(BOUNDS, 0.0)
    run_at(query, pieces[: 2 * WARM], size, np.inf)  # compiles
    capacity = run_at(query, pieces, size, np.inf).rate
    for rate in (share * capacity for share in SHARES):
        left = [bound for bound, kept in found.items() if not kept]
        if not any(size / rate < bound for bound in left):
            break  # longer to fill a batch, and longer still at lower rates
        count = WARM + max(LEAST, int(SECONDS * rate / size))
        runs = [run_at(query, pieces[:count], size, rate) for _ in range(TRIES)]
        latency = min(run.latency for run in runs)
        found |= {bound: rate for bound in left if latency <= bound}
    return found


def run_at(
    query: tilt.CompiledQuery, pieces: Sequence[Frames], size: int, rate: float
) -> Trial:
    """Push batches whose rows are due at a rate; without a pause if it is endless."""
    timed = pieces[WARM:]
    with query.live() as live:
        for piece in pieces[:WARM]:
            _push(live, piece)
        period = size / rate
        latencies: list[float] = []
        begin, busy = time.perf_counter(), 0.0
        for number, piece in enumerate(timed):
            start = _wait(begin + (number + 1) * period)
            _push(live, piece)
            end = time.perf_counter()
            busy += end - start
            latencies.append(end - (begin + number * period))
            if busy > SECONDS and number + 1 >= LEAST:
                break
    count = len(latencies)
    behind = rate != np.inf and busy > count * period
    latency = np.inf if behind else float(np.quantile(latencies, 0.99, method="higher"))
    return Trial(size * count / busy, latency)


def _push(live: Any, piece: Frames) -> None:
    live.push(**piece)["out"].final.to_arrow()


def _wait(until: float) -> float:
    """Wait for a time, asleep but for the last millisecond; returns the time."""
    left = until - time.perf_counter()
    if left > 0.002:
        time.sleep(left - 0.001)
    while (now := time.perf_counter()) < until:
        pass
    return now
