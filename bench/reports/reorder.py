"""`python -m bench reorder`: rows out of order, into their order.

The reorder buffer beside a sorted and an unsorted buffer in numpy, at punctuations that
are more and less frequent; and beside one stable sort of all rows.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.measure import BenchOptions
from bench.peers.two_buffers import TwoBuffers
from bench.timing import Spread
from bench.workloads.disorder import DISORDERS, Disorder
from bench.workloads.streams import Workload
from tiltpy.runtime.arrivals.reorder import ReorderBuffer
from tiltpy.runtime.arrivals.waiting_rows import TimedRows
from tiltpy.types import ENDLESS

PUSHES = (100, 1_000, 10_000, 100_000)
"""Rows that are added between two releases."""
MOST = 1_000_000
"""Rows that are timed, at most, and"""
MOST_PUSHES = 2_000
"""pushes."""
FILLED = 3
"""Rows that fill the buffers, for each tick of the reorder latency."""


class Buffer(Protocol):
    """The interface of both buffers."""

    def add(self, starts: NDArray[np.int64], rows: pa.Table) -> None: ...

    def release(self, time: int) -> list[TimedRows]: ...


BUFFERS: dict[str, Callable[[], Buffer]] = {
    "tiltpy": ReorderBuffer,
    "two buffers": TwoBuffers,
}


@dataclass(frozen=True, slots=True)
class Push:
    """Rows that are added, and the time up to which rows are released then."""

    starts: NDArray[np.int64]
    rows: pa.Table
    time: int


def lines(chosen: Sequence[Workload] | None, options: BenchOptions) -> Iterator[str]:
    """A line for each disorder and size of a push."""
    del chosen
    names = [*BUFFERS, "argsort"]
    yield (
        f"{'million rows/s':<32}"
        + "".join(f"{name:>14}" for name in names)
        + (f"{'/two buffers':>14}{'/argsort':>14}")
    )
    for disorder in DISORDERS:
        for rows in PUSHES:
            yield _line(disorder, rows, options)


def _line(disorder: Disorder, rows: int, options: BenchOptions) -> str:
    label = f"{disorder.name}, {rows:,} a push"
    timed = min(options.events, MOST, rows * MOST_PUSHES)
    fill, *pushes = _draw_pushes(disorder, rows, timed, options.seed)
    count = sum(len(push.starts) for push in pushes)
    for ours, theirs in zip(
        *(_release_all(make(), fill, pushes) for make in BUFFERS.values()), strict=True
    ):
        if not ours.equals(theirs):
            return f"{label:<32}two buffers release other rows"
    seconds: dict[str, list[float]] = {name: [] for name in (*BUFFERS, "argsort")}
    for _ in range(options.repeat):
        for name, make in BUFFERS.items():
            seconds[name].append(_time_buffer(make(), fill, pushes))
        seconds["argsort"].append(_time_argsort(pushes))
    ours, *others = (np.array(each) for each in seconds.values())
    rates = [Spread(tuple(count / each / 1e6)) for each in (ours, *others)]
    ratios = [Spread(tuple(each / ours)) for each in others]
    return f"{label:<32}" + "".join(f"{each.show():>14}" for each in (*rates, *ratios))


def _draw_pushes(disorder: Disorder, rows: int, timed: int, seed: int) -> list[Push]:
    """Draw the rows that fill the buffers, then as many pushes as there are rows."""
    first = FILLED * disorder.reorder
    random = np.random.default_rng(seed)
    starts = disorder.draw(first + timed, random)
    values = random.normal(size=len(starts))
    complete = np.maximum.accumulate(starts) - disorder.reorder
    in_time = starts >= np.append(-ENDLESS, complete[:-1])
    pushes = []
    edges = [0, *range(first, len(starts), rows), len(starts)]
    for begin, stop in pairwise(edges):
        accepted = begin + np.flatnonzero(in_time[begin:stop])
        table = pa.table({"row": accepted, "value": values[accepted]})
        last = int(complete[stop - 1]) if stop else -ENDLESS
        pushes.append(Push(starts[accepted], table, last))
    return pushes


def _start(buffer: Buffer, fill: Push) -> None:
    if len(fill.starts):
        buffer.add(fill.starts, fill.rows)
        buffer.release(fill.time)


def _release_all(
    buffer: Buffer, fill: Push, pushes: Sequence[Push]
) -> Iterator[pa.Table]:
    """Yield what each push releases, and what is left at the end."""
    _start(buffer, fill)
    for push in pushes:
        buffer.add(push.starts, push.rows)
        yield _join(buffer.release(push.time))
    yield _join(buffer.release(ENDLESS))


def _join(pieces: list[TimedRows]) -> pa.Table:
    """Join pieces, with their starts as a column."""
    tables = [piece.rows.append_column("start", [piece.starts]) for piece in pieces]
    return pa.concat_tables(tables).combine_chunks() if tables else pa.table({})


def _time_buffer(buffer: Buffer, fill: Push, pushes: Sequence[Push]) -> float:
    _start(buffer, fill)
    began = time.process_time()
    for push in pushes:
        buffer.add(push.starts, push.rows)
        buffer.release(push.time)
    return time.process_time() - began


def _time_argsort(pushes: Sequence[Push]) -> float:
    starts = np.concatenate([push.starts for push in pushes])
    rows = pa.concat_tables([push.rows for push in pushes])
    columns = [column.to_numpy() for column in rows.columns]
    began = time.process_time()
    order = np.argsort(starts, kind="stable")
    for column in (starts, *columns):
        column.take(order)
    return time.process_time() - began
