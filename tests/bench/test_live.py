"""Live queries of the benchmarks: pushes make the snapshots of runs."""

import pyarrow as pa
import pytest

import tiltpy as tilt
from bench.measure import BenchOptions
from bench.peers import bytewax_windows
from bench.reports import live, soak
from bench.workloads.live import ARRIVALS, LIVE, WINDOW, LiveWorkload


@pytest.mark.parametrize("workload", LIVE, ids=lambda one: one.name)
def test_pushes_make_the_snapshots_of_a_run(workload: LiveWorkload) -> None:
    query = tilt.parse(workload.query)
    for disorder in ARRIVALS:
        frames = workload.make(4_000, disorder, 1)
        pieces = live.cut(frames, 700)
        assert live.agrees(query, frames, pieces, disorder)
    if workload is LIVE[0]:
        assert not live.agrees(query, frames, pieces[1:], disorder)


def test_windows_of_bytewax_are_the_same() -> None:
    pytest.importorskip("bytewax")
    workload, disorder = LIVE[0], ARRIVALS[0]
    frames = workload.make(5_000, disorder, 1)
    ours, _ = live.push_all(
        tilt.parse(workload.query), live.cut(frames, 1_000), disorder
    )
    theirs = bytewax_windows.prepare(frames["x"], WINDOW, 100)()
    assert live.same_windows(pa.concat_tables(ours), theirs, WINDOW)
    assert not live.same_windows(pa.concat_tables(ours[:-1]), theirs, WINDOW)


def test_there_is_a_line_for_each_workload_and_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live, "PUSHES", 20)
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
