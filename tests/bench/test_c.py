"""The C that the benchmarks compare with is right, at every seam."""

import platform
from functools import cache

import numpy as np
import pytest

from bench.outcome import Array, Cells, Kept, Outcome, Table, difference, table_of
from bench.peers.c import library, work
from bench.peers.c import unkeyed as c_peers
from bench.peers.c.bandwidth import bandwidth
from bench.subject import Subject
from bench.workloads.streams import Stream, Workload
from bench.workloads.tuned import BLOCK, PANE, WORKLOADS

IN_C = [workload for workload in WORKLOADS if workload.name == workload.base]
BY_NAME = {workload.name: workload for workload in WORKLOADS}
ROUNDED = {"RSI", "z-score", "impute", "Pan-Tompkins", "vibration", "fraud"}
SEVERAL = 2 * work.BETWEEN_THREADS + 12_345
"""Cells for three threads, the last with a part of a block and of a vector."""

needs_compiler = pytest.mark.skipif(library.compiler() is None, reason="no C compiler")
in_c = pytest.mark.parametrize("workload", IN_C, ids=lambda workload: workload.name)


def outcome_of(
    workload: Workload,
    streams: dict[str, Stream],
    *,
    threads: int = 1,
    times: bool = False,
) -> Outcome:
    """Return what C finds."""
    peer = c_peers.peer(workload, streams, threads=threads, times=times)
    assert peer is not None
    return peer.outcome(peer.run())


def check(workload: Workload, streams: dict[str, Stream]) -> Table:
    """Check that tiltpy finds what C does."""
    right = table_of(Subject(workload, streams).run(1))
    exact = workload.name not in ROUNDED
    assert difference(right, outcome_of(workload, streams), exact=exact) is None
    return right


@pytest.mark.few(8)
@needs_compiler
@in_c
def test_few_events(workload: Workload) -> None:
    for events in (2, 15, 17, 333):
        check(workload, workload.make(events, events))


@needs_compiler
@pytest.mark.parametrize("name", ["z-score", "impute", "sliding sum", "sliding max"])
def test_several_blocks(name: str) -> None:
    check(BY_NAME[name], BY_NAME[name].make(2 * BLOCK + 77, 1))


def arrays(outcome: Outcome) -> list[Array]:
    """All that an outcome holds."""
    match outcome:
        case Table():
            return [outcome.starts, outcome.ends, *outcome.payload]
        case Kept():
            return [outcome.kept, *outcome.payload]
        case Cells():
            return [*outcome.payload]


@needs_compiler
@in_c
def test_threads_change_nothing(workload: Workload) -> None:
    streams = workload.make(SEVERAL, 1)
    alone = arrays(outcome_of(workload, streams))
    for threads in (2, 3):
        shared = arrays(outcome_of(workload, streams, threads=threads))
        for mine, other in zip(alone, shared, strict=True):
            np.testing.assert_array_equal(mine, other)


@needs_compiler
@pytest.mark.parametrize("name", [*c_peers.DENSE, "where"])
def test_times_are_those_of_the_cells(name: str) -> None:
    workload = BY_NAME[name]
    streams = workload.make(SEVERAL, 2)
    implied = outcome_of(workload, streams)
    written = outcome_of(workload, streams, threads=2, times=True)
    assert isinstance(written, Table)
    assert difference(written, implied, exact=True) is None


@needs_compiler
def test_gaps_in_blocks_that_are_missing_altogether() -> None:
    valid = np.random.default_rng(1).random(5 * BLOCK) > 0.5
    valid[:2] = valid[-1] = True
    valid[BLOCK - 7 : 2 * BLOCK + 9] = False
    valid[3 * BLOCK - 1 : 3 * BLOCK + 1] = False
    values = np.arange(len(valid), dtype=np.float32) % 1024
    right = check(BY_NAME["impute"], {"x": Stream(values, valid=valid)})
    assert BLOCK in right.ends
    assert 2 * BLOCK in right.starts


@needs_compiler
def test_panes_without_events_share_a_snapshot() -> None:
    values = np.zeros(10 * PANE + 50, np.int32)
    values[3 * PANE : 4 * PANE : 3] = values[7 * PANE] = 1
    right = check(BY_NAME["Yahoo"], {"x": Stream(values)})
    assert right.starts.tolist() == [0, 300, 400, 700, 800]
    assert right.ends.tolist() == [300, 400, 700, 800, 1100]


@needs_compiler
def test_empty_panes_share_a_snapshot_across_threads() -> None:
    values = np.zeros(SEVERAL, np.int32)
    values[5 * PANE] = 1
    found = outcome_of(BY_NAME["Yahoo"], {"x": Stream(values)}, threads=3)
    assert isinstance(found, Table)
    assert found.starts.tolist() == [0, 500, 600]


@needs_compiler
def test_equal_values_deviate_by_nothing() -> None:
    values = np.full(333, 0.1, np.float32)
    right = check(BY_NAME["fraud"], {"x": Stream(values)})
    assert not right.payload[0].any()


@pytest.fixture(params=["x86-64", "haswell"])
def older_processor(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The functions as they are where vectors are shorter."""
    if platform.machine() != "x86_64":
        pytest.skip("another processor")
    flags = (*library.FLAGS, f"-march={request.param}", "-O1")  # which is compiled soon
    monkeypatch.setattr(library, "FLAGS", flags)
    monkeypatch.setattr(library, "library", cache(library.library.__wrapped__))


@needs_compiler
@pytest.mark.few(1)
@pytest.mark.usefixtures("older_processor")
def test_older_processors_find_the_same() -> None:
    for workload in IN_C:
        check(workload, workload.make(1200, 3))


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "COMPILERS", ("no-such-compiler",))
    assert c_peers.peer(IN_C[0], IN_C[0].make(10, 1)) is None
    with pytest.raises(RuntimeError, match="no C compiler found, looked for no-such"):
        library.library.__wrapped__()


@needs_compiler
def test_what_the_compiler_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "FLAGS", (*library.FLAGS, "-fno-such-flag"))
    with pytest.raises(RuntimeError, match="no-such-flag"):
        library.library.__wrapped__()


@needs_compiler
def test_bandwidth_is_measured() -> None:
    found = bandwidth(2, megabytes=1, repeat=2)
    assert found.read > 0
    assert found.copied > 0


def test_shares_are_whole_blocks_and_cover_all() -> None:
    assert work.shares(10, 3) == [(0, 10)]
    parts = work.shares(SEVERAL, 2)
    assert [low % work.BETWEEN_THREADS for low, _ in parts] == [0, 0]
    assert parts[0][1] == parts[1][0]
    assert parts[-1][1] == SEVERAL
