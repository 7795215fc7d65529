"""Jobs that are hit: `python -m tests.spark.faults FOLDER STRIKES STRIKES ...`.

Executors are processes here. Each fault strikes while some rows of a task have been
handed on and others have not: the task kills the Python workers of its executor, or the
executor, or it dawdles until Spark starts it a second time elsewhere. Every run must
give what the local engine does, in which ties are settled by a column of order.

A fault strikes once in a run: who makes its marker strikes, later attempts do not.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from tests.spark.sessions import start, start_cluster
from tiltpy.api import parse
from tiltpy.inputs import bind
from tiltpy.spark import tilt_transform

Fault = Literal["worker killed", "executor killed", "attempt too slow"]
FAULTS: tuple[Fault, ...] = get_args(Fault)
Batches = Iterator[pa.RecordBatch]
Job = Callable[[DataFrame], DataFrame]

DAWDLING = 100.0
"""Seconds that an attempt dawdles if nobody ends it: its copy takes a few."""

SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100",
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "1s",
    "spark.speculation": "true",
    "spark.speculation.minTaskRuntime": "2s",
    "spark.speculation.quantile": "0.5",
}
ROWS, SYMBOLS, FILES = 4_000, 8, 4
QUERY = """
input quotes by symbol : { price: f64, seq: i64 } time ts until_next max 9
~out[t] = {
    now = last(q.price for q in ~quotes[t-1 : t])
    return { first = first(q.seq for q in ~quotes[t-5 : t]), last = ~quotes[t].seq,
             rise = now - mean(q.price for q in ~quotes[t-40 : t]) }
}
output ~out
"""
"""Which of the rows of one time is the first, and which the last, is seen in it."""
JOB: Job = tilt_transform(QUERY, order="seq", chunk=64)


@dataclass(frozen=True, slots=True)
class Striking:
    """A step of a job that passes rows on, and strikes once behind a first batch."""

    fault: Fault
    marker: str

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            yield batch
            if batch.num_rows and self._is_first():
                self._strike()

    def _is_first(self) -> bool:
        with suppress(FileExistsError):
            Path(self.marker).touch(exist_ok=False)
            return True
        return False

    def _strike(self) -> None:
        daemon = os.getppid()
        match self.fault:
            case "worker killed":
                for worker in children(daemon):
                    os.kill(worker, signal.SIGKILL)
            case "executor killed":
                os.kill(parent(daemon), signal.SIGKILL)
                time.sleep(DAWDLING)
            case "attempt too slow":
                time.sleep(DAWDLING)
        survived(self.marker).touch()


def survived(marker: str) -> Path:
    """Return what is there if an attempt that was to be ended went on."""
    return Path(f"{marker}.survived")


def parent(process: int) -> int:
    """The process that started a process."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def children(process: int) -> list[int]:
    """The processes that a process has started, this one last."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if parent(int(path.name)) == process:
                found.append(int(path.name))
    return sorted(found, key=lambda number: number == os.getpid())


def rows() -> pa.Table:
    """Prices of symbols, up to seven of one at one time; `seq` tells them apart."""
    random = np.random.default_rng(5)
    symbols = random.integers(0, SYMBOLS, ROWS)
    return pa.table(
        {
            "ts": random.integers(0, 500, ROWS),
            "symbol": pa.array([f"S{number}" for number in symbols]),
            "seq": random.permutation(ROWS),
            "price": random.integers(0, 800, ROWS) / 8,
        }
    )


def write_rows(folder: Path) -> None:
    """Several files of rows, in no order."""
    folder.mkdir()
    made = rows()
    for number in range(FILES):
        part = made.slice(number * ROWS // FILES, ROWS // FILES)
        pq.write_table(part, folder / f"{number}.parquet")


def meant() -> pa.Table:
    """Return what the local engine finds."""
    bound = bind(rows(), order="seq")
    return in_order(parse(QUERY).run(quotes=bound, chunk=64)["out"].to_arrow())


def collected(frame: DataFrame) -> pa.Table:
    """All rows of a result, in one order."""
    return in_order(frame.toArrow())


def in_order(found: pa.Table) -> pa.Table:
    return found.combine_chunks().sort_by(
        [(name, "ascending") for name in found.column_names]
    )


Stage = Literal["before", "after"]
STRIKES = tuple(product(FAULTS, get_args(Stage)))
"""Each fault, in a stage before the shuffle and in one after it."""

AND = " and "
"""Between the names of strikes in one run."""


def name_of(fault: Fault, stage: Stage) -> str:
    return f"{fault} {stage} the shuffle"


def hit(
    job: Job, frame: DataFrame, strikes: Sequence[tuple[Striking, Stage]]
) -> pa.Table:
    """Return what a job finds if faults strike before its shuffle, or after it."""

    def struck(frame: DataFrame, when: Stage) -> DataFrame:
        for strike, stage in strikes:
            if stage == when:
                frame = frame.mapInArrow(strike, frame.schema)
        return frame

    return collected(struck(job(struck(frame, "before")), "after"))


def main(folder: Path, runs: Sequence[Sequence[tuple[Fault, Stage]]]) -> None:
    """Run a job with each of some sets of strikes."""
    write_rows(folder / "rows")
    session = start(start_cluster(folder), folder, SETTINGS)
    frame = session.read.parquet(str(folder / "rows"))
    expected = meant()
    for number, several in enumerate(runs):
        begun = time.monotonic()
        strikes = [
            (Striking(fault, str(folder / f"fault-{number}-{place}")), stage)
            for place, (fault, stage) in enumerate(several)
        ]
        found = hit(JOB, frame, strikes)
        for strike, stage in strikes:
            what = name_of(strike.fault, stage)
            assert Path(strike.marker).exists(), f"no {what}"
            assert not survived(strike.marker).exists(), what
        what = AND.join(name_of(*strike) for strike in several)
        assert found.equals(expected), what
        print(f"{what}: the same ({time.monotonic() - begun:.1f} s)", flush=True)
    session.stop()


if __name__ == "__main__":
    by_name = {name_of(*strike): strike for strike in STRIKES}
    sets = [[by_name[word] for word in words.split(AND)] for words in sys.argv[2:]]
    main(Path(sys.argv[1]), sets)
