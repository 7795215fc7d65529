"""The Yahoo query by campaign: tiltpy and its peers find what pandas finds."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from bench import campaigns
from bench.c import compiler
from bench.campaigns import BY_CAMPAIGN, VIEW
from bench.outcome import Table, difference, table_of
from bench.peer import Peer
from bench.subject import Subject
from bench.workloads import CAMPAIGN_WINDOW, Stream

EVENTS = 170_001
STREAM = BY_CAMPAIGN[1].make(EVENTS, 1)["x"]


def expected(stream: Stream) -> Table:
    """Counts by campaign and window, where windows without a view are one."""
    assert stream.keys is not None
    rows = pd.DataFrame({"k": stream.keys.to_pandas(), "view": stream.values == VIEW})
    rows["w"] = rows.index // CAMPAIGN_WINDOW
    found: list[tuple[int, int, int, int]] = []
    for key, own in rows.groupby("k"):
        views = own.groupby("w")["view"].sum()
        last, start = -1, int(own.index[0])
        for window in range(int(own["w"].min()), int(own["w"].max()) + 1):
            count = int(views.get(window, 0))
            end = (window + 1) * CAMPAIGN_WINDOW
            if last == count == 0:
                found[-1] = (*found[-1][:2], end, 0)
            else:
                found.append((int(key), start, end, count))
            last, start = count, end
    keys, starts, ends, counts = map(np.array, zip(*found, strict=True))
    return Table(starts, ends, (counts,), pa.array(keys.astype(np.int32)))


EXPECTED = expected(STREAM)


def check(peer: Peer | None) -> None:
    assert peer is not None
    assert difference(EXPECTED, peer.outcome(peer.run()), exact=True) is None


@pytest.mark.parametrize("workers", [1, 2])
def test_tiltpy_agrees(workers: int) -> None:
    found = table_of(Subject(BY_CAMPAIGN[1], {"x": STREAM}).run(workers))
    assert difference(EXPECTED, found, exact=True) is None


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("threads", [1, 2])
def test_c_agrees(threads: int) -> None:
    check(campaigns.c_peer(STREAM, threads=threads))


def test_the_loop_for_numba_agrees() -> None:
    check(campaigns.numba_peer(STREAM, plain=True))


def test_polars_agrees() -> None:
    check(campaigns.polars_peer(STREAM))
