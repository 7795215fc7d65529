"""The Yahoo query by campaign in C: counts in a matrix."""

import numpy as np

from bench.peers.c.library import compiler
from bench.peers.c.work import Piece, Work, shares
from bench.peers.campaign_counts import keys_of, outcome_of
from bench.peers.peer import Peer
from bench.peers.workspace import memory
from bench.workloads.campaigns import WINDOW
from bench.workloads.streams import Stream


def peer(stream: Stream, *, threads: int = 1, plain: bool = False) -> Peer | None:
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
