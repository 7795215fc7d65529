"""`python -m bench growth`: processor time of a row as inputs and queries grow.

Each curve lets one thing grow: the rows, the ticks of a window, the keys, or the
definitions. Where costs are linear the line is flat. Below each stands Numba's loop for
the same workload, whose result is compared first.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import tiltpy as tilt
from bench.compare_offpath import Subject
from bench.measure import BenchOptions
from bench.outcome import difference
from bench.peers.numba.calls import compiled
from bench.peers.numba.offpath import chains, events, keyed, windows
from bench.peers.numba.offpath.calls import AtTimes, ByKey, Loop, OnGrid, Outputs
from bench.peers.offpath import table_of
from bench.peers.registry import missing
from bench.timing import Runner, Spread, take_turns
from bench.workloads.offpath import sampled
from bench.workloads.offpath.chains import outputs
from bench.workloads.offpath.draws import BETWEEN, points
from bench.workloads.offpath.keyed import HOUR, hourly_rows
from bench.workloads.offpath.rows import OffPath
from bench.workloads.streams import Workload

ROWS = 1_000_000
"""Rows where something else grows."""
TENS = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
ROWS_OF = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
TITLE, CELL = 30, 12


_POINT = "input x : f64 time ts point"


@dataclass(frozen=True, slots=True)
class Curve:
    """Sizes of one thing that grows; `at` makes the workload and the peer's loop."""

    title: str
    sizes: tuple[int, ...]
    at: Callable[[int], tuple[OffPath, Loop]]


def _mean_of(size: int, rows: int = ROWS) -> tuple[OffPath, Loop]:
    body = f"~out[t] = mean(~x[t-{size} : t])"
    workload = sampled.workload(f"mean of {size}", body, events=rows)
    return workload, OnGrid(windows.mean, sizes=(size,))


def _at_events(size: int, rows: int = ROWS) -> tuple[OffPath, Loop]:
    query = f"{_POINT}\n~out[t] = ~x[t] != φ ? mean(~x[t-{size} : t]) : φ"
    workload = OffPath(f"mean of {size}", "irregular", query, points, rows)
    return workload, AtTimes(events.mean, sizes=(size,))


def _by_key(keys: int) -> tuple[OffPath, Loop]:
    query = "input x by k : f64 time ts point\n"
    query += f"~out[t] = ~x[t] != φ ? mean(~x[t-{HOUR} : t]) : φ"
    make = hourly_rows(keys, fewest=1)
    workload = OffPath(f"mean by {keys} keys", "keyed", query, make, ROWS)
    return workload, ByKey(keyed.mean, sizes=(HOUR,))


def _outputs(count: int) -> tuple[OffPath, Loop]:
    workload = sampled.workload(f"{count} outputs", outputs(count), events=ROWS // 10)
    return workload, Outputs(chains.means, count)


CURVES = (
    Curve("rows, mean of 50", ROWS_OF, partial(_mean_of, 50)),
    Curve("rows at events, mean of 100", ROWS_OF, partial(_at_events, 100 * BETWEEN)),
    Curve("ticks of a mean", TENS, _mean_of),
    Curve("ticks of a mean at events", TENS, _at_events),
    Curve("keys, mean of an hour", TENS, _by_key),
    Curve("outputs, a mean each", (2, 5, 10, 20, 50, 100), _outputs),
)


def lines(chosen: Sequence[Workload] | None, options: BenchOptions) -> Iterator[str]:
    """For each curve its sizes, and nanoseconds of a row by tiltpy and by Numba."""
    del chosen
    peer = "Numba" in options.peers and missing("Numba") is None
    for curve in CURVES:
        sizes = [size for size in curve.sizes if size <= options.events]
        yield line(curve.title, [f"{size:,}" for size in sizes])
        steps = [measure(*curve.at(size), options, peer=peer) for size in sizes]
        for name in ("tiltpy", "Numba"):
            cells = [_cell(step.get(name)) for step in steps]
            if any(cells):
                yield line(f"  {name}, ns a row", cells)
        if curve.at is _outputs:
            compiled_in = [_compile_time(curve.at(size)[0]) for size in sizes]
            yield line("  to compile, ms", [f"{each:,.0f}" for each in compiled_in])


def measure(
    workload: OffPath, loop: Loop, options: BenchOptions, *, peer: bool
) -> dict[str, Spread]:
    """Nanoseconds of processor time for a row, of each runner."""
    inputs = workload.inputs(workload.events, options.seed)
    subject = Subject(workload, inputs)
    runners: dict[str, Runner] = {"tiltpy": subject.run}
    if peer:
        prepared = loop.prepare(inputs)
        fill = partial(compiled(loop.fill), *prepared.arguments)
        found = difference(
            table_of(subject.run()), prepared.outcome(fill()), exact=False
        )
        assert found is None, f"{workload.name}: {found}"
        runners["Numba"] = fill
    turns = take_turns(runners, options.repeat)
    rows = sum(map(len, inputs.values()))
    return {
        name: Spread(tuple(1e9 * one.processor / rows for one in seconds))
        for name, seconds in turns.items()
    }


def _compile_time(workload: OffPath) -> float:
    """Milliseconds of processor time until a query has run over few rows."""
    frames: dict[str, Any] = {
        name: rows.bind() for name, rows in workload.inputs(1000, 1).items()
    }
    began = time.process_time()
    options = tilt.CompileOptions(cache=False)
    query = tilt.parse(workload.query, name=workload.name, options=options)
    query.run(workers=1, **frames)
    return 1000 * (time.process_time() - began)


def _cell(spread: Spread | None) -> str:
    return "" if spread is None else f"{spread.median:,.2f}"


def line(title: str, cells: Sequence[str]) -> str:
    """A title, and cells of equal width."""
    return f"{title:<{TITLE}}" + "".join(f"{cell:>{CELL}}" for cell in cells)
