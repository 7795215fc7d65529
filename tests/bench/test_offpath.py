"""The workloads off the path find what they mean, and their peers find the same."""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

import tiltpy as tilt
from bench import __main__
from bench.outcome import Table, difference
from bench.peers.duckdb import offpath as duckdb_offpath
from bench.peers.numba.offpath import table as numba_offpath
from bench.peers.offpath import table_of
from bench.peers.peer import Peer
from bench.peers.polars.offpath import table as polars_offpath
from bench.workloads.catalogue import ALL
from bench.workloads.offpath.catalogue import OFFPATH
from bench.workloads.offpath.drawn import DRAWN
from bench.workloads.offpath.rows import Inputs, OffPath, Rows
from tests import GOLDEN
from tests.compare import first_difference
from tests.compiled import snapshots
from tests.lowering.sweep.test_golden_kernels import check_golden
from tiltpy.interpreter.evaluate import FOREVER, Event, LastEvent, Snapshot, Value
from tiltpy.interpreter.keys import Key, interpret_by_key

BY_NAME = {workload.name: workload for workload in OFFPATH}
NAMES = [workload.name for workload in OFFPATH]
every_workload = pytest.mark.parametrize("workload", OFFPATH, ids=NAMES)
interpreted = pytest.mark.parametrize(
    "workload", [one for one in OFFPATH if one.few], ids=lambda one: one.name
)


def values_of(rows: Rows) -> list[Value | None]:
    """The payload of each row: a value, a struct of several, or None for a null."""
    if len(rows.columns) > 1:
        names, columns = zip(*rows.columns.items(), strict=True)
        listed = zip(*(column.tolist() for column in columns), strict=True)
        return [dict(zip(names, row, strict=True)) for row in listed]
    (column,) = rows.columns.values()
    there = [True] * len(rows) if rows.valid is None else rows.valid.tolist()
    return [
        v if known else None for v, known in zip(column.tolist(), there, strict=True)
    ]


def events_of(rows: Rows) -> dict[Key, list[Event]]:
    """The events of each key, in order, as the interpreter takes them."""
    keys = [column.to_pylist() for column in rows.keys.values()]
    keyed: dict[Key, list[tuple[int, int, Value | None]]] = {}
    starts, ends = (times.tolist() for times in rows.times())
    for i, value in enumerate(values_of(rows)):
        key = tuple(column[i] for column in keys)
        keyed.setdefault(key, []).append((starts[i], ends[i], value))
    return {
        key: list(_held(rows, sorted(some, key=_begin))) for key, some in keyed.items()
    }


def _begin(row: tuple[int, int, Value | None]) -> int:
    return row[0]


def _held(rows: Rows, some: Sequence[tuple[int, int, Value | None]]) -> Iterator[Event]:
    if rows.layout == "until_next":
        for (start, _, value), (following, _, _) in pairwise(some):
            assert value is not None
            yield Event(start, following, value)
        start, _, value = some[-1]
        assert value is not None
        yield LastEvent(start, FOREVER, value)
        return
    for start, end, value in some:
        if value is not None:
            yield Event(start, end, value)


def run(workload: OffPath, inputs: Inputs) -> tilt.Result:
    query = tilt.parse(workload.query, name=workload.name, options=QUICKLY)
    frames: dict[str, Any] = {name: rows.bind() for name, rows in inputs.items()}
    return query.run(workers=1, order=workload.order, **frames)


def by_key(output: tilt.OutputTable) -> Iterator[tuple[Key, Snapshot]]:
    """The rows of a result, in its order."""
    table = output.to_arrow()
    columns = [table[name].to_pylist() for name in output.keys]
    for i, row in enumerate(snapshots(output)):
        yield tuple(column[i] for column in columns), row


@pytest.mark.few(12)
@interpreted
def test_results_are_what_the_query_means(workload: OffPath) -> None:
    workload = workload.coarser()
    inputs = workload.inputs(workload.few, 3)
    result = run(workload, inputs)
    query = tilt.parse(workload.query).query
    events = {name: events_of(rows) for name, rows in inputs.items()}
    for name, keyed in interpret_by_key(query, events).items():
        meant = [(key, row) for key, some in keyed.items() for row in some]
        assert meant
        if workload.order == "time":
            meant.sort(key=lambda pair: pair[1][:2])
        keys, rows = zip(*meant, strict=True)
        found_keys, found = zip(*by_key(result[name]), strict=True)
        assert first_difference(found, rows, query, name, exact=False) is None
        assert found_keys == keys


QUICKLY = tilt.CompileOptions(optimize=False)
"""Few rows do not pay for more."""
EVENTS = 3000
"""Events over which peers are compared: most windows slide in them."""
MANY = {"mean and max of 100,000": 120_000}


PEERS: dict[str, Callable[[OffPath, Inputs], Peer | None]] = {
    "Numba": partial(numba_offpath.peer, plain=True),
    "Polars": polars_offpath.peer,
    "DuckDB": duckdb_offpath.peer,
}
COMPARED = numba_offpath.LOOPS | polars_offpath.ASKED | duckdb_offpath.QUERIES


def disagreement(peer: Peer, expected: Table) -> str | None:
    return difference(expected, peer.outcome(peer.run()), exact=False)


@pytest.mark.few(40)
@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_all_peers_agree(name: str) -> None:
    workload = BY_NAME[name]
    inputs = workload.inputs(MANY.get(name, EVENTS), 5)
    expected = table_of(run(workload, inputs))
    peers = {each: make(workload, inputs) for each, make in PEERS.items()}
    found = {n: disagreement(peer, expected) for n, peer in peers.items() if peer}
    assert found == dict.fromkeys(found)


def test_compiled_loops_agree() -> None:
    workload = BY_NAME["overlapping, max of 600"]
    inputs = workload.inputs(EVENTS, 5)
    peer = numba_offpath.peer(workload, inputs)
    assert peer is not None
    assert disagreement(peer, table_of(run(workload, inputs))) is None


def test_every_workload_has_a_name_of_its_own_and_a_peer() -> None:
    names = [*NAMES, *(workload.name for workload in ALL)]
    assert len(set(names)) == len(names)
    assert set(COMPARED) == set(NAMES)


def test_the_draws_are_those_that_are_listed(*, update_golden: bool) -> None:
    listed = "\n".join(f"{one.name}\n\n{one.query}\n" for one in DRAWN)
    check_golden(GOLDEN / "bench" / "drawn.txt", listed, update=update_golden)


@every_workload
def test_data_depends_on_the_seed_alone(workload: OffPath) -> None:
    once, again, other = (workload.inputs(100, seed) for seed in (1, 1, 2))
    for name, rows in once.items():
        assert rows.table() == again[name].table()
        assert rows.table() != other[name].table()


def test_a_table_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ("--events", "5000", "--repeat", "2", "--peers", "polars,duckdb")
    names = ("change detection", "session start")
    monkeypatch.setattr(sys, "argv", ["bench", *names, *small])
    assert __main__.main() == 0
    header, changes, sessions, *means = capsys.readouterr().out.splitlines()[2:]
    assert header.split()[-4:] == ["tiltpy", "Polars", "DuckDB", "/best"]
    assert len(changes.removeprefix(names[0]).split()) == 2 * 2 + 1
    assert len(sessions.removeprefix(names[1]).split()) == 3 * 2 + 1
    assert [line.split(":")[0] for line in means] == [
        *("mean, sampled", "mean, irregular", "mean, all")
    ]


def test_a_wrong_peer_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = polars_offpath.ASKED["median 101"]
    monkeypatch.setitem(polars_offpath.ASKED, "change detection", other)
    small = ("--events", "5000", "--repeat", "2", "--peers", "polars")
    monkeypatch.setattr(sys, "argv", ["bench", "change detection", *small])
    assert __main__.main() == 1
    assert "Polars does not agree on change detection" in capsys.readouterr().out
