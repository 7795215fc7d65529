"""Polars and DuckDB from one Parquet file to another, each in a process of its own.

`python -m bench.peers.files PEER WORKLOAD FROM TO`: nothing of tiltpy is imported.
"""

import sys
from collections.abc import Callable
from typing import Final

CODEC: Final = "snappy"
"""The compression that tiltpy writes."""

_DUCKDB = {
    "filter": """SELECT ts - INTERVAL 1 microsecond AS "start", ts AS "end", price, size
        FROM {source} WHERE price > 1250""",
    "bars": """SELECT pane AS "start", pane + INTERVAL 1 minute AS "end",
        arg_min(price, ts) AS open, max(price) AS high, min(price) AS low,
        arg_max(price, ts) AS close, sum(size) AS volume
        FROM (SELECT *, time_bucket(INTERVAL 1 minute, ts - INTERVAL 1 microsecond)
              AS pane FROM {source}) GROUP BY pane ORDER BY pane""",
    "by key": """SELECT symbol, pane AS "start", pane + INTERVAL 1 hour AS "end",
        avg(price) AS mean
        FROM (SELECT *, time_bucket(INTERVAL 1 hour, ts - INTERVAL 1 microsecond)
              AS pane FROM {source}) GROUP BY symbol, pane ORDER BY symbol, pane""",
}


def run_duckdb(workload: str, source: str, target: str) -> None:
    """Copy the result of a statement."""
    import duckdb  # noqa: PLC0415 - optional

    statement = _DUCKDB[workload].format(source=f"'{source}'")
    duckdb.execute(
        f"COPY ({statement}) TO '{target}' (FORMAT parquet, CODEC '{CODEC}')"
    )


def run_polars(workload: str, source: str, target: str) -> None:
    """Sink a lazy frame, by the streaming engine."""
    import polars as pl  # noqa: PLC0415 - optional

    ts, price, size = pl.col("ts"), pl.col("price"), pl.col("size")
    tick = pl.duration(microseconds=1)
    frame = pl.scan_parquet(source)
    match workload:
        case "filter":
            rows = frame.filter(price > 1250)
            found = rows.select(start=ts - tick, end=ts, price=price, size=size)
        case "bars":
            panes = frame.select(ts, price, size).group_by_dynamic(
                "ts", every="1m", closed="right", label="right"
            )
            bars = panes.agg(
                open=price.first(),
                high=price.max(),
                low=price.min(),
                close=price.last(),
                volume=size.sum(),
            )
            times = {"start": ts.dt.offset_by("-1m"), "end": ts}
            found = bars.select(
                **times,
                **{n: pl.col(n) for n in ("open", "high", "low", "close")},
                volume=pl.col("volume"),
            )
        case _:
            pane = (ts - tick).dt.truncate("1h")
            means = frame.group_by("symbol", start=pane).agg(mean=price.mean())
            end = pl.col("start") + pl.duration(hours=1)
            found = means.sort("symbol", "start").select(
                "symbol", "start", end=end, mean="mean"
            )
    found.sink_parquet(target, compression=CODEC)


PEERS: dict[str, Callable[[str, str, str], None]] = {
    "Polars": run_polars,
    "DuckDB": run_duckdb,
}

if __name__ == "__main__":
    PEERS[sys.argv[1]](*sys.argv[2:])
