"""`python -m bench small`: a query that runs again and again, over few rows each time.

A number is the processor time of a run, in microseconds, with an Arrow table of what it
gives: of tables that nobody has read before, of one that is bound, and of Polars over
the same Arrow tables. The rows are compared first.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import cycle
from typing import Any

import numpy as np
import pyarrow as pa

import tiltpy as tilt
from bench.measure import BenchOptions
from bench.reports.files import same_rows
from bench.timing import Runner, Spread, take_turns
from bench.workloads.streams import Workload

ROWS = (100, 1_000, 10_000, 30_000)
TABLES = 8
"""Tables that take turns."""
KEYS = 20
WINDOW = 100


@dataclass(frozen=True, slots=True)
class SmallWorkload:
    """A query, and what Polars computes from a frame, given its module."""

    name: str
    query: str
    polars: Callable[[Any, Any], Any]


def _filter(pl: Any, frame: Any) -> Any:
    return frame.filter(pl.col("x") > 0.5).select(out="x")


def _mean(pl: Any, frame: Any) -> Any:
    return frame.select(out=pl.col("x").rolling_mean_by("ts", f"{WINDOW}i"))


def _bars(pl: Any, frame: Any) -> Any:
    every = f"{WINDOW}i"
    bars = frame.group_by_dynamic("ts", every=every, closed="right", label="right")
    return bars.agg(out=pl.col("x").max()).select("out")


def _by_key(pl: Any, frame: Any) -> Any:
    mean = pl.col("x").rolling_mean_by("ts", f"{WINDOW}i").over("k")
    return frame.select("k", "ts", out=mean).sort("k", "ts").select("out")


_POINTS = "input x : f64 time ts point\n"
_BY_KEY = "input x by k : f64 time ts point\n"
_ROWS = "e = Rows(~x)\n"
SMALL = (
    SmallWorkload(
        "filter", f"{_POINTS}{_ROWS}~out[e] = ~x[e] > 0.5 ? ~x[e] : φ", _filter
    ),
    SmallWorkload(
        "sliding mean", f"{_POINTS}{_ROWS}~out[e] = mean(~x[e-{WINDOW} : e])", _mean
    ),
    SmallWorkload(
        "bars",
        f"{_POINTS}w = TDom(-∞, ∞, {WINDOW})\n~out[w] = max(~x[w-{WINDOW} : w])",
        _bars,
    ),
    SmallWorkload(
        f"mean by {KEYS} keys",
        f"{_BY_KEY}{_ROWS}~out[e] = mean(~x[e-{WINDOW} : e])",
        _by_key,
    ),
)


def lines(chosen: Sequence[Workload] | None, options: BenchOptions) -> Iterator[str]:
    """Yield a line for each workload and number of rows."""
    del chosen
    has_polars = find_spec("polars") is not None
    names = ["fresh", "bound", *(["Polars"] if has_polars else [])]
    yield f"{'us a run, one worker':<40}" + "".join(f"{n:>16}" for n in names)
    for workload in SMALL:
        for rows in ROWS:
            label = f"{workload.name}, {rows:,} rows"
            runners = _prepare(workload, rows, options.seed)
            if not has_polars:
                del runners["Polars"]
            expected = runners["fresh"]()
            wrong = [n for n in names[1:] if not same_rows(expected, runners[n]())]
            if wrong:
                yield f"{label:<40}{', '.join(wrong)}: other rows"
                continue
            for name in names:  # a query is quick once its rows have come twice
                for _ in range(3 * TABLES):
                    runners[name]()
            turns = take_turns(runners, options.repeat)
            times = {
                name: Spread(tuple(1e6 * each.processor for each in turns[name]))
                for name in names
            }
            yield f"{label:<40}" + "".join(f"{times[n].show():>16}" for n in names)


def _prepare(workload: SmallWorkload, rows: int, seed: int) -> dict[str, Runner]:
    """Prepare the runs over tables that take turns; the first one is the same table."""
    random = np.random.default_rng(seed)
    tables = [_draw(rows, random) for _ in range(TABLES)]
    query = tilt.parse(workload.query, name=workload.name)
    bound = tilt.bind(tables[0])
    fresh, others = cycle(tables), cycle(tables)

    def run(frame: object) -> pa.Table:
        return query.run(x=frame, workers=1)["out"].to_arrow().select(["out"])

    def run_polars() -> pa.Table:
        import polars as pl  # noqa: PLC0415 - optional

        frame = pl.from_arrow(next(others))
        return workload.polars(pl, frame).to_arrow()

    # Both begin with the first table, which is the one that is bound.
    return {
        "fresh": lambda: run(next(fresh)),
        "bound": lambda: run(bound),
        "Polars": run_polars,
    }


def _draw(rows: int, random: np.random.Generator) -> pa.Table:
    """Draw rows apart from one another, so that each window has some."""
    stamps = np.cumsum(random.integers(1, 60, rows))
    keys = random.integers(0, KEYS, rows)
    values = random.integers(0, 1 << 10, rows) / (1 << 10)
    return pa.table({"ts": stamps, "x": values, "k": keys})
