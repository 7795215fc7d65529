"""Tumbling windows by Bytewax: the same rows, as objects that are made before."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pyarrow as pa

START = datetime(2026, 1, 1, tzinfo=UTC)
PATIENCE = timedelta(days=1)
"""Its watermark goes on by the wall clock, too; a tick is a second of its time."""
Sums = dict[tuple[str, int], float]


def prepare(table: pa.Table, window: int, batch: int) -> Callable[[], Sums]:
    """Make a run that sums, or counts by key, and gives windows by key and number."""
    from bytewax import operators as op  # noqa: PLC0415 - optional
    from bytewax.dataflow import Dataflow  # noqa: PLC0415
    from bytewax.operators import windowing  # noqa: PLC0415
    from bytewax.testing import TestingSink, TestingSource, run_main  # noqa: PLC0415

    keyed = "k" in table.column_names
    keys = table["k"].to_pylist() if keyed else ["all"] * len(table)
    values = [1.0] * len(table) if keyed else table["x"].to_pylist()
    times = [START + timedelta(seconds=t - 1) for t in table["ts"].to_pylist()]
    rows = list(zip(map(str, keys), times, values, strict=True))

    def run() -> Sums:
        made: list[tuple[str, tuple[int, float]]] = []
        flow = Dataflow("windows")
        stream = op.input("in", flow, TestingSource(rows, batch_size=batch))
        by_key = op.key_on("key", stream, lambda row: row[0])
        windows = windowing.fold_window(
            "fold",
            by_key,
            windowing.EventClock(lambda row: row[1], PATIENCE),
            windowing.TumblingWindower(timedelta(seconds=window), START),
            float,
            lambda total, row: total + row[2],
            lambda one, other: one + other,
        )
        op.output("out", windows.down, TestingSink(made))
        run_main(flow)
        return {(key, number): value for key, (number, value) in made}

    return run
