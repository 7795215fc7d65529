"""`python -m bench pieces`: a stream of pieces beside a run over all rows.

Both have `--events` / 4 rows in memory, and one worker. A number is the processor time
of the stream over that of the run.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

import tiltpy as tilt
from bench.measure import BenchOptions
from bench.reports.files import SHARE, same_rows
from bench.timing import Runner, speedup, take_turns
from bench.workloads.files import PIECES, FileWorkload, trades
from bench.workloads.streams import Workload

SIZES = (10_000, 100_000, 1_000_000)
"""Rows of a piece."""
RUN = "run"


def lines(chosen: Sequence[Workload] | None, options: BenchOptions) -> Iterator[str]:
    """A line for each workload: ns a row of the run, and what pieces take of it."""
    del chosen
    events = max(1, options.events // SHARE)
    table = trades(events, options.seed)
    yield (
        f"{f'processor time, {events:,} rows':<30}{'run, ns a row':>15}"
        + "".join(f"{f'{size:,} a piece':>20}" for size in SIZES)
    )
    for workload in PIECES:
        yield _line(workload, table, options.repeat)


def _line(workload: FileWorkload, table: pa.Table, repeat: int) -> str:
    query = tilt.parse(workload.query, name=workload.name)
    runners: dict[str, Runner] = {RUN: partial(run, query, table)}
    for size in SIZES:
        runners[f"{size}"] = partial(stream, query, table, size)
    expected = run(query, table)
    wrong = [n for n, r in runners.items() if not same_rows(expected, in_order(r()))]
    if wrong:
        return f"{workload.name:<30} not the rows of a run in pieces of {wrong}"
    turns = take_turns(runners, repeat)
    rate = min(one.processor for one in turns[RUN]) / len(table) * 1e9
    ratios = [
        speedup(turns[RUN], turns[f"{size}"], one_thread=True).show() for size in SIZES
    ]
    cells = f"{rate:15.1f}" + "".join(f"{ratio:>20}" for ratio in ratios)
    return f"{workload.name:<30}{cells}"


def run(query: tilt.CompiledQuery, table: pa.Table) -> pa.Table:
    """Run over rows that nobody has looked at before."""
    return query.run(trade=tilt.bind(table), workers=1)["out"].to_arrow()


def stream(query: tilt.CompiledQuery, table: pa.Table, size: int) -> pa.Table:
    """Run over pieces of so many rows, and keep what comes out."""
    pieces = (table.slice(first, size) for first in range(0, len(table), size))
    results = query.stream(trade=pieces, workers=1)
    return pa.concat_tables([result["out"].to_arrow() for result in results])


def in_order(table: object) -> pa.Table:
    """Order rows by key as a run does; each key's are in order of time."""
    assert isinstance(table, pa.Table)
    keys = table.column_names[: table.column_names.index("start")]
    if not keys:
        return table
    return table.sort_by([(name, "ascending") for name in [*keys, "start"]])
