"""`python -m bench memory`: a thousand million events through the trading query.

Fifty times `--events` are made on the fly, and never there as a whole, in a process of
their own. A line for each tenth: how much memory it has, how much it ever had, and how
fast it is. For Linux, which tells what a process has.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

import tiltpy as tilt
from bench.leaks import resident
from bench.measure import BenchOptions
from bench.workloads.streams import Workload

TIMES = 50
BATCH = 1 << 20
LINES = 10
MOST = 500e6
"""Bytes that the process may have."""
GROWTH = 1.05
"""How much more it may have after the first tenth."""
TRADING = """\
input x : f32 sampled 1
~o[t] = mean(~x[t-20:t]) > mean(~x[t-50:t])
"""


def prices(events: int, seed: int) -> Iterator[NDArray[np.float32]]:
    """A signal of that many samples, a batch at a time."""
    noise = np.random.default_rng(seed).random(2 * BATCH, dtype=np.float32)
    for first in range(0, events, BATCH):
        begin = first // 977 % BATCH  # another part of it every time
        yield noise[begin : begin + min(BATCH, events - first)] + np.float32(1)


def lines(_chosen: Sequence[Workload] | None, options: BenchOptions) -> Iterator[str]:
    """The table of each number of workers, line by line."""
    events = str(TIMES * options.events)
    for workers in options.workers:
        command = [sys.executable, "-m", "bench.reports.memory", events]
        command += ["--workers", str(workers), "--seed", str(options.seed)]
        with subprocess.Popen(  # noqa: S603
            command, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            yield from (line.rstrip("\n") for line in process.stdout)


def measured(events: int, seed: int, workers: int) -> Iterator[str]:
    """A line for each tenth of the samples, and what they come to."""
    yield f"trading over {events:,} samples made on the fly, workers: {workers}"
    yield f"{'samples':>15} {'resident':>9} {'peak':>7} {'M/s':>7}"
    query = tilt.parse(TRADING)
    samples = tilt.sampled(prices(events, seed), 0, 1)
    began, done, peaks = time.perf_counter(), 0, list[float]()
    for part in query.stream(x=samples, workers=workers):
        done += part.num_rows
        if done >= events * (len(peaks) + 1) // LINES:
            peaks.append(peak())
            rate = done / (time.perf_counter() - began) / 1e6
            now, most = resident() / 1e6, peaks[-1] / 1e6
            yield f"{done:15,} {now:6.0f} MB {most:4.0f} MB {rate:7.0f}"
    assert done == events
    flat = peaks[-1] <= GROWTH * peaks[0] and peaks[-1] < MOST
    outcome = "the peak is flat" if flat else "THE PEAK IS NOT FLAT"
    yield f"{time.perf_counter() - began:.1f} s; {outcome}"


def peak() -> float:
    """The most bytes that the process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def main() -> None:
    """Measure in this process, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.reports.memory", description=__doc__
    )
    parser.add_argument("events", type=int)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=2)
    args = parser.parse_args()
    for line in measured(args.events, args.seed, args.workers):
        print(line, flush=True)


if __name__ == "__main__":
    main()
