"""Live queries of the benchmarks: pushes make the snapshots of runs."""

import numpy as np
import pytest

import tiltpy as tilt
from bench.measure import BenchOptions
from bench.peers.live_peer import LivePeer
from bench.pushes import cut, push_all
from bench.reports import latency, live, live_peers, soak
from bench.workloads.live import ARRIVALS, LIVE, TUMBLING, LiveWorkload


@pytest.mark.parametrize("workload", LIVE, ids=lambda one: one.name)
def test_pushes_make_the_snapshots_of_a_run(workload: LiveWorkload) -> None:
    query = tilt.parse(workload.query)
    for disorder in ARRIVALS:
        frames = workload.make(4_000, disorder, 1)
        pieces = cut(frames, 700)
        assert live.agrees(query, frames, pieces, disorder)
    if workload is TUMBLING:
        assert not live.agrees(query, frames, pieces[1:], disorder)


@pytest.mark.few(6)
@pytest.mark.parametrize("name", live_peers.PEERS)
@pytest.mark.parametrize("workload", live_peers.COMPARED, ids=lambda one: one.name)
def test_peers_have_the_values_of_a_session(workload: LiveWorkload, name: str) -> None:
    module, prepare = live_peers.PEERS[name]
    pytest.importorskip(module)
    frames = workload.make(5_000, ARRIVALS[0], 1)
    query = tilt.parse(workload.query)
    tables, through = push_all(query, cut(frames, 1_000), ARRIVALS[0])
    peer = prepare(workload, frames, 100)
    if isinstance(peer, str):
        assert peer.startswith("no: ")
        return
    assert live_peers.agrees(workload, frames, (tables, through), peer)
    wrong = workload.make(5_000, ARRIVALS[0], 2)
    other = prepare(workload, wrong, 100)
    assert isinstance(other, LivePeer)
    assert not live_peers.agrees(workload, frames, (tables, through), other)


def test_there_is_a_line_for_each_workload_and_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live, "PUSHES", 20)
    monkeypatch.setattr(live_peers, "PUSHES", 20)
    monkeypatch.setattr(live, "RATES", (1_000,))
    monkeypatch.setattr(live, "SECONDS", 0.05)
    found = list(live.lines(None, BenchOptions(4_000, 1, 1, (1,), ())))
    for workload in LIVE:
        assert sum(line.startswith(workload.name) for line in found) >= 4
    assert "wrong" not in "".join(found)
    assert any(" / " in line for line in found[-len(LIVE) :])


@pytest.mark.parametrize("workload", LIVE, ids=lambda each: each.name)
def test_the_state_of_a_soak_is_flat(
    workload: LiveWorkload, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak, "ROWS", 4_000)
    options = BenchOptions(80_000, 2, 1, (1,), ())
    seen = list(soak.soak(workload, ARRIVALS[1], options))
    assert [rows for rows, _, _ in seen] == list(range(8_000, 80_001, 8_000))
    assert all(late == 0 for _, late, _ in seen)
    sizes = [state for _, _, state in seen]
    assert max(sizes[5:]) < 1.2 * max(sizes[:5])


def test_a_rate_is_kept_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A push of ten rows takes more than a nanosecond, and less than a minute."""
    query = tilt.parse(TUMBLING.query)
    pieces = cut(TUMBLING.make(200, ARRIVALS[0], 1), 10)
    assert latency.run_at(query, pieces, 10, 1e10).latency == np.inf
    monkeypatch.setattr(latency, "WARM", 18)
    kept = latency.run_at(query, pieces, 10, 20.0)
    assert 0.5 <= kept.latency < 60
    endless = latency.run_at(query, pieces, 10, np.inf)
    assert endless.rate > 0
    assert endless.latency < 60


def test_there_is_a_best_rate_for_each_workload(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(latency, "SECONDS", 0.01)
    monkeypatch.setattr(latency, "PUSHES", 10)
    monkeypatch.setattr(latency, "SIZES", (10, 1_000))
    monkeypatch.setattr(latency, "SHARES", (0.5,))
    monkeypatch.setattr(latency, "TRIES", 1)
    found = list(latency.lines(None, BenchOptions(25_000, 1, 1, (1,), ())))
    for workload in LIVE:
        assert sum(line.startswith(f"{workload.name}, ") for line in found) == 3
    assert "wrong" not in "".join(found)
    assert found[-1].endswith(f" of {len(LIVE)} workloads")
