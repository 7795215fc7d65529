"""`python -m bench.leaks`: what a compiled query leaves behind when it is dropped.

Compiles, runs and drops a query again and again, each time another one so that nothing
could be kept for its text, and prints how much the process has grown since the cycles
that warm it up. For Linux, which tells what a process has.
"""

import argparse
import gc
import os
from pathlib import Path

import pyarrow as pa

import tiltpy as tilt

WARM_UP = 100
REPORTS = 10
FRAME = pa.table({"start": [0, 1, 4], "end": [1, 2, 6], "x": [1.0, 2.0, 3.0]})


def cycle(number: int) -> None:
    """Compile a query that was not there before, run it, drop it."""
    query = tilt.parse(
        f"input x : f64 interval (start, end)\n~out[t] = sum(~x[t-3 : t]) + {number}\n"
    )
    assert query.run(x=FRAME, workers=1).num_rows > 0


def resident() -> int:
    """The bytes of memory that the process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def growth(cycles: int) -> float:
    """The bytes that the process grows by in some cycles."""
    gc.collect()
    before = resident()
    for number in range(cycles):
        cycle(number)
    gc.collect()
    return resident() - before


def main() -> None:
    """Warm up, then print the growth at ten points on the way."""
    parser = argparse.ArgumentParser(prog="python -m bench.leaks", description=__doc__)
    parser.add_argument("--cycles", type=int, default=10_000)
    args = parser.parse_args()
    growth(WARM_UP)
    done, grown = 0, 0.0
    for part in range(1, REPORTS + 1):
        step = args.cycles * part // REPORTS - done
        grown += growth(step)
        done += step
        each = grown / max(1, done) / 1024
        print(f"{done:7,} cycles: {grown / 2**20:7.2f} MiB, {each:6.2f} KiB each")


if __name__ == "__main__":
    main()
