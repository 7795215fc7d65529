"""The Yahoo query by campaign: tiltpy and its peers find what pandas finds."""

from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from bench.outcome import Table, difference, table_of
from bench.peers.c import campaigns as c_campaigns
from bench.peers.c.library import compiler
from bench.peers.numba import campaigns as numba_campaigns
from bench.peers.peer import Peer
from bench.peers.polars import campaigns as polars_campaigns
from bench.subject import Subject
from bench.workloads.campaigns import BY_CAMPAIGN, VIEW, WINDOW

EVENTS = 170_001
STREAM = BY_CAMPAIGN[1].make(EVENTS, 1)["x"]


@cache
def expected() -> Table:
    """Counts by campaign and window, where windows without a view are one."""
    assert STREAM.keys is not None
    rows = pd.DataFrame({"k": STREAM.keys.to_pandas(), "view": STREAM.values == VIEW})
    rows["at"] = rows.index
    rows["w"] = rows.index // WINDOW
    views = rows.groupby(["k", "w"])["view"].sum().to_dict()
    keyed = rows.groupby("k").agg({"at": "min", "w": ["min", "max"]})
    found: list[tuple[int, int, int, int]] = []
    for key, start, first, last_window in keyed.itertuples(name=None):
        begun, last = start, -1
        for window in range(first, last_window + 1):
            count = views.get((key, window), 0)
            end = (window + 1) * WINDOW
            if last == count == 0:
                found[-1] = (*found[-1][:2], end, 0)
            else:
                found.append((key, begun, end, count))
            last, begun = count, end
    keys, starts, ends, counts = map(np.array, zip(*found, strict=True))
    return Table(starts, ends, (counts,), pa.array(keys.astype(np.int32)))


def check(peer: Peer | None) -> None:
    assert peer is not None
    assert difference(expected(), peer.outcome(peer.run()), exact=True) is None


@pytest.mark.parametrize("workers", [1, 2])
def test_tiltpy_agrees(workers: int) -> None:
    found = table_of(Subject(BY_CAMPAIGN[1], {"x": STREAM}).run(workers))
    assert difference(expected(), found, exact=True) is None


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("threads", [1, 2])
def test_c_agrees(threads: int) -> None:
    check(c_campaigns.peer(STREAM, threads=threads))


def test_the_loop_for_numba_agrees() -> None:
    check(numba_campaigns.peer(STREAM, plain=True))


def test_polars_agrees() -> None:
    check(polars_campaigns.peer(STREAM))
