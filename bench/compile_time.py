"""`python -m bench.compile_time`: how long the trend query takes to compile and start.

Every number is of a fresh process: the stages of compiling after imports, the time in
the compiler when all it makes is on disk already, and a whole `tilt run` over a file.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pyarrow.parquet as pq

import tiltpy as tilt
from tiltpy.abi.layouts import Layout
from tiltpy.codegen.machine_code import host
from tiltpy.compiler.query_kernels import Compiler
from tiltpy.engines.local import bind_inputs
from tiltpy.frontend.text.grammar import parser
from tiltpy.ir.nodes import Query
from tiltpy.runtime.ingest.binding import InputBinding

EXAMPLES = Path(__file__).parent.parent / "examples"
QUERY = EXAMPLES / "queries" / "trend.tilt"
DATA = EXAMPLES / "data" / "AAPL.parquet"
COLUMN = "AdjClose"

Stages = dict[str, float]


def compile_once() -> Stages:
    """Seconds of each stage, from the text to machine code for the example's data.

    The first two happen once in a process, whatever the number of queries. Nothing is
    read from the disk but the grammar's tables.
    """
    began = time.perf_counter()
    parser()
    tables = time.perf_counter()
    host()
    target = time.perf_counter()
    query = tilt.load(QUERY).query
    parsed = time.perf_counter()
    layouts = _layouts(query)
    compiling = time.perf_counter()
    options = tilt.CompileOptions(cache=False)
    compiled = Compiler(query, options).compile_for(layouts)
    compiled.baseline_code.code()
    done = time.perf_counter()
    stages = {"parse": parsed - target, **compiled.seconds}
    total = parsed - target + done - compiling
    return {
        "grammar's tables (once)": tables - began,
        "LLVM's target (once)": target - tables,
        **stages,
        "all but once": total,
        "all": total + target - began,
    }


def find_once() -> Stages:
    """Seconds in the compiler where an earlier process left the query on disk."""
    query = tilt.load(QUERY).query
    layouts = _layouts(query)
    began = time.perf_counter()
    Compiler(query).compile_for(layouts).baseline_code.code()
    return {"found on disk": time.perf_counter() - began}


def _layouts(query: Query) -> dict[str, Layout]:
    """Those of the example's data."""
    binding = InputBinding(pq.read_table(DATA), column=COLUMN)
    bound = bind_inputs(query, {"stock": binding}, allow_sort=True)
    return {name: one.buffer.abi_layout() for name, one in bound.items()}


def run_once() -> float:
    """Seconds of a `tilt run` over a small file, from start to exit."""
    command = [sys.executable, "-m", "tiltpy.cli.main", "run", str(QUERY)]
    began = time.perf_counter()
    done = subprocess.run(  # noqa: S603
        [*command, "--input", f"stock={DATA}", "--column", COLUMN],
        check=True,
        capture_output=True,
    )
    seconds = time.perf_counter() - began
    assert done.stdout
    return seconds


HERE = {"compile": compile_once, "find": find_once}


def _fresh_process(which: str) -> Stages:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "bench.compile_time", "--here", which],
        check=True,
        capture_output=True,
        text=True,
    )
    stages: Stages = json.loads(done.stdout)
    return stages


def slowest_imports(count: int) -> list[str]:
    """The modules whose own code takes longest to import, as `-X importtime` says."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import tiltpy.cli.main"],
        check=True,
        capture_output=True,
        text=True,
    )
    rows = [line.split(":", 1)[1].split("|") for line in done.stderr.splitlines()[1:]]
    rows.sort(key=lambda row: -int(row[0]))
    return [
        f"{int(own) / 1000:8.1f} {int(total) / 1000:8.1f}  {name.strip()}"
        for own, total, name in rows[:count]
    ]


def _line(name: str, seconds: list[float]) -> str:
    found = [1000 * one for one in seconds]
    return f"{name:<26}{median(found):8.1f}{min(found):8.1f}{max(found):8.1f}"


def main() -> None:
    """Measure in fresh processes, print milliseconds."""
    arguments = argparse.ArgumentParser(
        prog="python -m bench.compile_time", description=__doc__
    )
    arguments.add_argument("--repeat", type=int, default=7)
    arguments.add_argument("--imports", type=int, nargs="?", const=15, metavar="COUNT")
    arguments.add_argument("--here", choices=HERE, help=argparse.SUPPRESS)
    args = arguments.parse_args()
    if args.here:
        print(json.dumps(HERE[args.here]()))
        return
    if args.imports:
        print(f"{'own ms':>8} {'all ms':>8}  module")
        print("\n".join(slowest_imports(args.imports)))
        return
    found = [_fresh_process("compile") for _ in range(args.repeat)]
    again = [_fresh_process("find") for _ in range(args.repeat + 1)][1:]
    starts = [run_once() for _ in range(args.repeat + 1)][1:]
    print(f"milliseconds, {args.repeat} processes  median   least    most")
    for name in found[0]:
        print(_line(name, [stages[name] for stages in found]))
    print(_line("found on disk", [stages["found on disk"] for stages in again]))
    print(_line("tilt run, warm", starts))


if __name__ == "__main__":
    main()
