"""The benchmarks compare like with like: tiltpy's results are those of the peers.

Those in C have tests of their own.
"""

from functools import cache

import numpy as np
import pytest

from bench.outcome import Table, table_of
from bench.peers.c import unkeyed as c_peers
from bench.peers.duckdb import unkeyed as duckdb_peers
from bench.peers.numba import unkeyed as numba_peers
from bench.peers.peer import Peer
from bench.peers.polars import unkeyed as polars_peers
from bench.subject import Subject
from bench.workloads.streams import Stream, Workload
from bench.workloads.tuned import WORKLOADS

EVENTS = 2500
BY_NAME = {workload.name: workload for workload in WORKLOADS}
ORIGINALS = [workload for workload in WORKLOADS if workload.name == workload.base]
every_workload = pytest.mark.parametrize("workload", WORKLOADS, ids=list(BY_NAME))
every_original = pytest.mark.parametrize(
    "workload", ORIGINALS, ids=lambda one: one.name
)


@cache
def streams_of(workload: Workload) -> dict[str, Stream]:
    """A workload's data."""
    return workload.make(EVENTS, 1)


@cache
def result_of(workload: Workload) -> Table:
    """Return what tiltpy finds, once for all peers."""
    return table_of(Subject(workload, streams_of(workload)).run(1))


def check(workload: Workload, peer: Peer | None) -> None:
    """Compare a peer, which must know the workload."""
    assert peer is not None
    assert peer.disagreement(workload, result_of(workload)) is None


@pytest.mark.few(20)
@every_workload
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_the_loops_for_numba_agree(workload: Workload) -> None:
    check(workload, numba_peers.peer(workload, streams_of(workload), plain=True))


@every_original
def test_polars_agrees(workload: Workload) -> None:
    check(workload, polars_peers.peer(workload, streams_of(workload)))


@every_original
def test_duckdb_agrees(workload: Workload) -> None:
    check(workload, duckdb_peers.peer(workload, streams_of(workload)))


def test_the_others_have_no_twins() -> None:
    twin = BY_NAME["select, contiguous"]
    for module in (polars_peers, duckdb_peers, c_peers):
        assert module.peer(twin, streams_of(twin)) is None


@pytest.mark.parametrize("name", ["trading", "trading, contiguous"])
def test_compiled_loops_agree(name: str) -> None:
    workload = BY_NAME[name]
    check(workload, numba_peers.peer(workload, streams_of(workload)))


@every_workload
def test_data_depends_on_the_seed_alone(workload: Workload) -> None:
    once, again, other = (workload.make(100, seed) for seed in (1, 1, 2))
    for name, stream in once.items():
        np.testing.assert_array_equal(stream.values, again[name].values)
        for mine, same in zip(stream.times(), again[name].times(), strict=True):
            np.testing.assert_array_equal(mine, same)
        assert (stream.values != other[name].values).any()
