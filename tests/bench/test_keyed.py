"""The benchmarks with keys: tiltpy and all peers find what pandas finds."""

from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from bench.outcome import Table, difference, table_of
from bench.peers.c import keyed as c_keyed
from bench.peers.c import library
from bench.peers.duckdb import keyed as duckdb_keyed
from bench.peers.grouped import grouped, in_order
from bench.peers.numba import keyed as numba_keyed
from bench.peers.peer import EXACT, Peer
from bench.peers.polars import keyed as polars_keyed
from bench.subject import Subject
from bench.workloads.keyed import KEYED, RECENT, TEN_DAYS
from bench.workloads.streams import Stream, Workload

EVENTS = 2500
every_workload = pytest.mark.parametrize("workload", KEYED, ids=lambda one: one.name)


@cache
def stream_of(workload: Workload) -> Stream:
    """A workload's rows."""
    return workload.make(EVENTS, 1)["x"]


@cache
def expected(workload: Workload) -> Table:
    """Rolling windows of pandas, key after key."""
    stream = stream_of(workload)
    assert stream.keys is not None
    rows = pd.DataFrame({"k": stream.keys.to_pandas(), "end": stream.ends})
    rows["x"] = stream.values.astype(float)
    rows = rows.sort_values(["k", "end"])
    rows.index = pd.to_datetime(rows["end"], unit="s")
    by_key = rows.groupby("k")["x"]
    match workload.base:
        case "fraud":
            before = by_key.rolling(f"{TEN_DAYS}s", closed="left")
            limit = (before.mean() + 3 * before.std(ddof=0)).to_numpy()
            out = np.where(np.isnan(limit), None, rows["x"] > limit)
        case "mean":
            out = by_key.rolling(f"{RECENT}s").mean().to_numpy()
        case _:
            short = by_key.rolling(20, min_periods=1).mean().to_numpy()
            out = short > by_key.rolling(50, min_periods=1).mean().to_numpy()
    return in_order(pa.table({"k": rows["k"], "end": rows["end"], "out": out}))


def check(workload: Workload, peer: Peer | None) -> None:
    """Compare a peer with pandas."""
    assert peer is not None
    found = peer.outcome(peer.run())
    exact = workload.base in EXACT
    assert difference(expected(workload), found, exact=exact) is None


@every_workload
@pytest.mark.parametrize("workers", [1, 2])
def test_tiltpy_agrees(workload: Workload, workers: int) -> None:
    subject = Subject(workload, {"x": stream_of(workload)})
    exact = workload.base in EXACT
    for result in (subject.run(workers), subject.with_grouping(workers)()):
        found = table_of(result)
        assert difference(expected(workload), found, exact=exact) is None


@every_workload
def test_the_loops_for_numba_agree(workload: Workload) -> None:
    check(workload, numba_keyed.peer(workload, stream_of(workload), plain=True))


def test_compiled_loops_agree() -> None:
    check(KEYED[0], numba_keyed.peer(KEYED[0], stream_of(KEYED[0])))


@every_workload
@pytest.mark.skipif(library.compiler() is None, reason="no C compiler")
def test_c_agrees(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    check(workload, c_keyed.peer(workload, stream_of(workload)))
    monkeypatch.setattr(library, "FLAGS", (*library.FLAGS, "-O1"))
    check(workload, c_keyed.peer(workload, stream_of(workload), plain=True))


@every_workload
def test_polars_agrees_whether_keys_come_in_order_or_not(workload: Workload) -> None:
    check(workload, polars_keyed.peer(workload, stream_of(workload)))
    check(workload, polars_keyed.peer(workload, stream_of(workload), mixed=True))


@every_workload
def test_duckdb_agrees(workload: Workload) -> None:
    check(workload, duckdb_keyed.peer(workload, stream_of(workload)))


@every_workload
def test_rows_come_in_order_of_time(workload: Workload) -> None:
    stream = stream_of(workload)
    assert stream.ends is not None
    assert stream.keys is not None
    assert (np.diff(stream.ends) >= 0).all()
    rows = grouped(stream)
    assert len(rows.distinct) == len(stream.keys.unique())
    for low, high in zip(rows.offsets[:-1], rows.offsets[1:], strict=True):
        assert (np.diff(rows.ends[low:high]) > 0).all()


def test_keys_are_many_few_and_one() -> None:
    def keys(name: str, events: int) -> list[int]:
        (workload,) = (one for one in KEYED if one.name == name)
        rows = grouped(workload.make(events, 1)["x"])
        return [int(count) for count in np.diff(rows.offsets)]

    assert keys("mean by session", 5_000) == [10] * 500
    assert keys("trading by symbol", 100_000) == [992] * 100
    assert keys("trading, one key", 5_000) == [4992]
    customers = keys("fraud by customer", 5_000)
    assert len(customers) == 50
    assert min(customers) < 100 < max(customers)


def test_other_keys_are_no_agreement() -> None:
    mine = Table(np.array([0]), np.array([1]), (np.array([True]),), pa.array(["a"]))
    other = Table(mine.starts, mine.ends, mine.payload, pa.array(["b"]))
    assert difference(mine, other, exact=True) == "keys[0] is a, the peer has b"
