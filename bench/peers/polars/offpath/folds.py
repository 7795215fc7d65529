"""Polars expressions that go on from row to row, and sessions by key."""

import polars as pl

from bench.peers.polars.offpath.events import TS, Ask, Frames, X, at_events
from bench.workloads.offpath.folds import ALPHA, LAST, PAUSE


def _sessions(frames: Frames) -> pl.DataFrame:
    """Number the pauses of all rows, which lie key after key."""
    begins = (TS.diff() > PAUSE).fill_null(value=True) | (pl.col("k").diff() != 0)
    sessions = frames["x"].group_by("k", session=begins.cum_sum())
    found = sessions.agg(ts=TS.last(), begin=TS.first(), rows=pl.len())
    return found.drop("session")


FOLDS: dict[str, Ask] = {
    "running total": at_events(X.cum_sum()),
    "cumulative maximum": at_events(X.cum_max()),
    "mean of the last 20 rows": at_events(X.rolling_mean(LAST, min_samples=1)),
    "ema of rows": at_events(X.ewm_mean(alpha=ALPHA, adjust=False)),
    "sessions of 10,000 users": _sessions,
}
