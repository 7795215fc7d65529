"""`python -m bench files`: from one Parquet file to another, by `tilt run` and peers.

Each run is a process of its own, which reads a file of `--events` / 4 trades and writes
another: processor seconds of the whole process, start included. All write Snappy.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bench.measure import BenchOptions
from bench.peers import files as peers
from bench.timing import Runner, Spread, take_turns
from bench.workloads.files import FILES, FileWorkload, trades
from bench.workloads.streams import Workload

ROOT = Path(__file__).parents[2]
SHARE = 4
OURS = "tilt run"


def lines(chosen: Sequence[Workload] | None, options: BenchOptions) -> Iterator[str]:
    """A line for each workload: processor seconds, and ours over the best peer's."""
    del chosen
    events = max(1, options.events // SHARE)
    with TemporaryDirectory() as folder:
        source = Path(folder, "trades.parquet")
        pq.write_table(trades(events, options.seed), source)
        names = [OURS, *(name for name in peers.PEERS if name in options.peers)]
        title = f"processor s, {events:,} rows"
        yield f"{title:<30}" + "".join(f"{name:>14}" for name in [*names, "/best"])
        for workload in FILES:
            yield _line(workload, source, names, options.repeat)


def _line(
    workload: FileWorkload, source: Path, names: Sequence[str], repeat: int
) -> str:
    """Check the files of all, then time them."""
    targets = {name: source.with_name(f"{name}.parquet") for name in names}
    commands = {
        name: _command(name, workload, source, target)
        for name, target in targets.items()
    }
    bytecode = str(source.with_name("bytecode"))
    runners: dict[str, Runner] = {
        name: partial(_run, command, bytecode) for name, command in commands.items()
    }
    for runner in runners.values():
        runner()
    expected = pq.read_table(targets[OURS])
    files = {name: pq.read_table(target) for name, target in targets.items()}
    wrong = [n for n in names if not same_rows(expected, files[n], cut=True)]
    runners = {name: run for name, run in runners.items() if name not in wrong}
    turns = take_turns(runners, repeat)
    seconds = {n: Spread(tuple(t.children for t in some)) for n, some in turns.items()}
    cells = [seconds[n].show() if n in seconds else "wrong" for n in names]
    others = [spread.median for name, spread in seconds.items() if name != OURS]
    if others:
        cells.append(f"{seconds[OURS].median / min(others):.2f}")
    return f"{workload.name:<30}" + "".join(f"{cell:>14}" for cell in cells)


def _command(
    name: str, workload: FileWorkload, source: Path, target: Path
) -> list[str]:
    if name != OURS:
        module = [sys.executable, "-m", peers.__name__]
        return [*module, name, workload.name, str(source), str(target)]
    query = source.with_name("query.tilt").with_stem(workload.name)
    query.write_text(workload.query)
    command = [sys.executable, "-m", "tiltpy.cli.main", "run", str(query), "--quiet"]
    return [*command, "--input", f"trade={source}", "--output", str(target)]


def _run(command: list[str], bytecode: str) -> None:
    """Run a command; what it imports is compiled once, as where it is installed."""
    environment = dict(os.environ)
    if environment.pop("PYTHONDONTWRITEBYTECODE", None):
        environment["PYTHONPYCACHEPREFIX"] = bytecode
    subprocess.run(command, check=True, cwd=ROOT, env=environment)  # noqa: S603


def same_rows(ours: pa.Table, theirs: pa.Table, *, cut: bool = False) -> bool:
    """Tell whether two tables have the same rows, in the same order of columns.

    With `cut` the first pane of ours, or of each key, may start later: with the data.
    """
    if ours.column_names != theirs.column_names or len(ours) != len(theirs):
        return False
    for name in ours.column_names:
        mine, other = ours[name], theirs[name].cast(ours[name].type)
        differs = np.flatnonzero(pc.not_equal(mine, other).to_numpy())
        if cut and name == "start":
            firsts = np.isin(differs, _first_rows(ours))
            later = pc.greater(mine.take(differs), other.take(differs)).to_numpy()
            differs = differs[~(firsts & later)]
        if len(differs):
            return False
    return True


def _first_rows(table: pa.Table) -> NDArray[np.int64]:
    """Find the first row of each key, in a table that is in order of keys."""
    changes = np.zeros(len(table), np.bool_)
    changes[:1] = True
    for name in table.column_names[: table.column_names.index("start")]:
        column = table[name].to_numpy()
        changes[1:] |= column[1:] != column[:-1]
    rows: NDArray[np.int64] = np.flatnonzero(changes)
    return rows
