"""A process that compiles query after query does not grow.

Each cycle reads, compiles and runs queries that no cycle before it had, looks at their
results and drops everything. What the process keeps is measured from outside, as its
resident set: memory of LLVM's is on no list of Python's.
"""

import gc
import os
import resource
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

import tiltpy as tilt

WARM_UP, CYCLES, DEEP_CYCLES = 50, 50, 10_000
LIMIT, DEEP_LIMIT = 3 << 18, 10 << 20
QUERIES_ON_DISK = 26  # one of them a map
STATUS = Path("/proc/self/statm")

FRAME = pa.table(
    {"time": pa.array([1, 2, 5, 9], pa.int64()), "x": [1.0, 2.0, 3.0, 4.0]}
)
QUERIES = (
    "input x : f64 time time point\n~o[t] = sum(~x[t-{0}:t])",  # a sweep
    "input x : f64 time time until_next\n~o[t] = ~x[t] * {0}",  # a map
)


def cycle(number: int) -> None:
    """Compile, run and drop one query; few are maps, which take longer."""
    text = QUERIES[number % 25 == 0].format(number + 2)
    assert tilt.parse(text).run(x=FRAME, workers=1).to_arrow().num_rows > 0


def resident() -> int:
    """The bytes of memory that this process has (or had at most, where unknown)."""
    gc.collect()
    if not STATUS.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(STATUS.read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(cycles: int, queries: int) -> int:
    """The bytes that this process grows by while so many queries take turns."""
    for number in range(WARM_UP):
        cycle(number % queries)
    before, columns = resident(), pa.total_allocated_bytes()
    for number in range(WARM_UP, WARM_UP + cycles):
        cycle(number % queries)
    assert pa.total_allocated_bytes() == columns
    return resident() - before


def grown(cycles: int, queries: int, cache: Path) -> int:
    """The growth of a process of its own: what ran before leaves memory in pieces.

    And of a cache of its own, so that the first cycles compile: LLVM takes 30 MB then.
    """
    command = [
        sys.executable,
        "-m",
        "tests.codegen.test_leaks",
        str(cycles),
        str(queries),
    ]
    done = subprocess.run(  # noqa: S603
        command,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_compiling_and_dropping_queries_leaves_nothing(
    tmp_path: Path, *, deep: bool
) -> None:
    cycles = DEEP_CYCLES if deep else CYCLES
    found = grown(cycles, WARM_UP + cycles, tmp_path)
    limit = DEEP_LIMIT if deep else LIMIT
    assert found < limit, f"{found:,} bytes after {cycles:,} cycles"


def test_code_from_the_disk_leaves_nothing(tmp_path: Path, *, deep: bool) -> None:
    cycles = DEEP_CYCLES if deep else CYCLES
    found = grown(cycles, QUERIES_ON_DISK, tmp_path)
    assert found < LIMIT, f"{found:,} bytes after {cycles:,} cycles"


if __name__ == "__main__":
    print(growth(int(sys.argv[1]), int(sys.argv[2])))
