"""The Yahoo query by campaign: how many views each has in windows of 10,000 events.

An event has one of three types and belongs to a campaign, drawn by chance; there is one
at each tick. Peers in C and Numba count in a matrix, a row for each window and a column
for each campaign, whose times are found afterwards: as tiltpy's are when they are asked
for.
"""

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from bench.c import Piece, Work, compiler, memory, shares
from bench.outcome import Array, Outcome, Table
from bench.peer import Peer
from bench.workloads import CAMPAIGN_WINDOW as WINDOW
from bench.workloads import Stream, Workload

TYPES = 3
VIEW = 1
CAMPAIGNS = (100, 10_000)

_QUERY = f"""\
input x by k : i32 sampled 1
w = TDom(-∞, ∞, {WINDOW})
~out[w] = count(v for v in ~x[w-{WINDOW} : w] if v == {VIEW})
output ~out
"""


def _make(campaigns: int, events: int, seed: int) -> dict[str, Stream]:
    random = np.random.default_rng(seed)
    values = random.integers(0, TYPES, events, dtype=np.int32)
    keys = random.integers(0, campaigns, events, dtype=np.int32)
    return {"x": Stream(values, keys=pa.array(keys))}


BY_CAMPAIGN = tuple(
    Workload(
        f"Yahoo by {count:,} campaigns", _QUERY, partial(_make, count), "keyed", "Yahoo"
    )
    for count in CAMPAIGNS
)
"""A campaign has 33 views in a window, or one in three windows."""


def keys_of(stream: Stream) -> Array:
    """The campaign of each event."""
    assert stream.keys is not None
    found: Array = stream.keys.to_numpy()
    return found


def c_peer(stream: Stream, *, threads: int = 1, plain: bool = False) -> Peer | None:
    """The loop in C, if there is a compiler."""
    if compiler() is None:
        return None
    keys = keys_of(stream)
    campaigns = int(keys.max()) + 1
    counts = memory(-(-len(keys) // WINDOW) * campaigns, np.int32)
    inputs = (stream.values, keys, np.array([campaigns]))
    pieces = [
        Piece(inputs, (counts,), low, high) for low, high in shares(len(keys), threads)
    ]
    work = Work("yahoo_by_campaign", pieces, plain=plain)
    return Peer(work, lambda _: outcome_of(stream, counts.reshape(-1, campaigns)))


def count_views(x: Array, keys: Array, counts: Array) -> int:
    """The loop for Numba."""
    for low in range(0, len(x), WINDOW):
        row = counts[low // WINDOW]
        row[:] = 0
        for i in range(low, min(low + WINDOW, len(x))):
            row[keys[i]] += x[i] == VIEW
    return len(counts)


def numba_peer(stream: Stream, *, plain: bool = False) -> Peer:
    """The loop over the data; `plain` leaves it as it is, which needs no Numba."""
    from bench.numba_peers import compiled  # noqa: PLC0415 - optional

    keys = keys_of(stream)
    size = -(-len(keys) // WINDOW), int(keys.max()) + 1
    counts = memory(size[0] * size[1], np.int32).reshape(size)
    fill = count_views if plain else compiled(count_views)
    return Peer(
        lambda: fill(stream.values, keys, counts), lambda _: outcome_of(stream, counts)
    )


def polars_peer(stream: Stream) -> Peer:
    """Rows by window and campaign; those without an event are none."""
    import polars as pl  # noqa: PLC0415 - optional

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


def outcome_of(stream: Stream, counts: Array) -> Table:
    """A matrix of counts, by window and campaign, as snapshots.

    A campaign's begin with its first event, and end with the window that has its last.
    Windows without a view that follow each other are one.
    """
    keys = keys_of(stream)
    windows, campaigns = counts.shape
    last_rows, first_rows = np.full(campaigns, -1), np.full(campaigns, len(keys))
    last_rows[keys] = np.arange(len(keys))
    first_rows[keys[::-1]] = np.arange(len(keys))[::-1]
    window = np.arange(windows)
    first, last = first_rows // WINDOW, last_rows // WINDOW
    inside = (window >= first[:, None]) & (window <= last[:, None])
    by_campaign = np.ascontiguousarray(counts.T)
    begins = inside.copy()
    begins[:, 1:] &= (by_campaign[:, 1:] > 0) | (by_campaign[:, :-1] > 0)
    begins[np.arange(campaigns), np.minimum(first, windows - 1)] = last_rows >= 0
    key, place = np.nonzero(begins)
    starts = np.maximum(place * WINDOW, first_rows[key])
    next_key = np.append(key[1:], -1)
    next_place = np.append(place[1:], 0)
    ends = np.where(next_key == key, next_place, last[key] + 1) * WINDOW
    found = by_campaign[key, place].astype(np.int64)
    return Table(starts, ends, (found,), pa.array(key.astype(np.int32)))
