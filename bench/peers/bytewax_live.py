"""Live queries by Bytewax: the same rows, as objects that are made before."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.operators import windowing
from bytewax.testing import TestingSink, TestingSource, run_main

from bench.peers.live_peer import LivePeer, Values, by_window
from bench.workloads.live import MAP, SLIDING, WINDOWS, Frames, LiveWorkload

START = datetime(2026, 1, 1, tzinfo=UTC)
PATIENCE = timedelta(days=1)
"""Its watermark goes on by the wall clock, too; a tick is a second of its time."""
KEYED_ROWS = 10_000
"""The most rows by key: a batch seems to cost as much as there are keys."""
Row = tuple[str, datetime, float]


def prepare(workload: LiveWorkload, frames: Frames, batch: int) -> LivePeer | str:
    """Make a run whose source gives so many rows at once, or say why there is none."""
    if workload is SLIDING:
        return "no: its windows that slide by a tick are 1,000 for each row"
    table = frames["x"]
    keyed = "k" in table.column_names
    if keyed and len(table) > KEYED_ROWS:
        return "no: minutes"
    keys = table["k"].to_pylist() if keyed else [0] * len(table)
    values = [1.0] * len(table) if keyed else table["x"].to_pylist()
    times = [START + timedelta(seconds=t - 1) for t in table["ts"].to_pylist()]
    rows: list[Row] = list(zip(map(str, keys), times, values, strict=True))
    if workload is MAP:
        return LivePeer(lambda: _map(rows, batch), _rows)
    window = timedelta(seconds=WINDOWS[workload.name])
    return LivePeer(lambda: _fold(rows, batch, window), _windows)


def _map(rows: list[Row], batch: int) -> list[float]:
    made: list[float] = []
    flow = Dataflow("map")
    stream = op.input("in", flow, TestingSource(rows, batch_size=batch))
    mapped = op.map("map", stream, lambda row: row[2] * 2 + 1)
    op.output("out", mapped, TestingSink(made))
    run_main(flow)
    return made


def _fold(rows: list[Row], batch: int, window: timedelta) -> list[Any]:
    """Sum values by key and window."""
    made: list[Any] = []
    flow = Dataflow("windows")
    stream = op.input("in", flow, TestingSource(rows, batch_size=batch))
    by_key = op.key_on("key", stream, lambda row: row[0])
    windows = windowing.fold_window(
        "fold",
        by_key,
        windowing.EventClock(lambda row: row[1], PATIENCE),
        windowing.TumblingWindower(window, START),
        float,
        lambda total, row: total + row[2],
        lambda one, other: one + other,
    )
    op.output("out", windows.down, TestingSink(made))
    run_main(flow)
    return made


def _rows(made: list[float]) -> Values:
    return Values(np.arange(len(made)), np.array(made))


def _windows(made: list[tuple[str, tuple[int, float]]]) -> Values:
    keys = np.array([int(key) for key, _ in made])
    numbers = np.array([number for _, (number, _) in made])
    return by_window(keys, numbers, np.array([value for _, (_, value) in made]))
