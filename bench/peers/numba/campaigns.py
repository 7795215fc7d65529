"""The Yahoo query by campaign in Numba: counts in a matrix."""

import numpy as np

from bench.outcome import Array
from bench.peers.campaign_counts import keys_of, outcome_of
from bench.peers.numba.calls import compiled
from bench.peers.peer import Peer
from bench.peers.workspace import memory
from bench.workloads.campaigns import VIEW, WINDOW
from bench.workloads.streams import Stream


def count_views(x: Array, keys: Array, counts: Array) -> int:
    """The loop for Numba."""
    for low in range(0, len(x), WINDOW):
        row = counts[low // WINDOW]
        row[:] = 0
        for i in range(low, min(low + WINDOW, len(x))):
            row[keys[i]] += x[i] == VIEW
    return len(counts)


def peer(stream: Stream, *, plain: bool = False) -> Peer:
    """The loop over the data; `plain` leaves it as it is, which needs no Numba."""
    keys = keys_of(stream)
    size = -(-len(keys) // WINDOW), int(keys.max()) + 1
    counts = memory(size[0] * size[1], np.int32).reshape(size)
    fill = count_views if plain else compiled(count_views)
    return Peer(
        lambda: fill(stream.values, keys, counts), lambda _: outcome_of(stream, counts)
    )
