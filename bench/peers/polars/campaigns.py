"""The Yahoo query by campaign in Polars: rows by window and campaign."""

from typing import Any

import numpy as np
import polars as pl

from bench.outcome import Outcome
from bench.peers.campaign_counts import keys_of, outcome_of
from bench.peers.peer import Peer
from bench.workloads.campaigns import VIEW, WINDOW
from bench.workloads.streams import Stream


def peer(stream: Stream) -> Peer:
    """Count views; windows without an event are no rows."""
    keys = keys_of(stream)
    frame = pl.DataFrame({"k": keys, "x": stream.values})
    window = pl.int_range(pl.len(), dtype=pl.Int64) // WINDOW
    by = frame.lazy().group_by(window.alias("w"), "k")
    asked = by.agg((pl.col("x") == VIEW).sum().alias("out"))

    def outcome(found: Any) -> Outcome:
        counts = np.zeros((-(-len(keys) // WINDOW), int(keys.max()) + 1), np.int32)
        rows, columns, values = (found[name].to_numpy() for name in found.columns)
        counts[rows, columns] = values
        return outcome_of(stream, counts)

    return Peer(asked.collect, outcome)
