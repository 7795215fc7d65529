"""The workloads off the path find what they mean, and their peers find the same."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest

import tiltpy as tilt
from bench.workloads.offpath.catalogue import OFFPATH
from bench.workloads.offpath.rows import Inputs, OffPath, Rows
from tests.compare import first_difference
from tests.compiled import snapshots
from tiltpy.interpreter import FOREVER, Event, LastEvent, Snapshot, Value
from tiltpy.interpreter_keys import Key, interpret_by_key

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
    query = tilt.parse(workload.query, name=workload.name)
    frames: dict[str, Any] = {name: rows.bind() for name, rows in inputs.items()}
    return query.run(workers=1, order=workload.order, **frames)


def by_key(output: tilt.OutputTable) -> Iterator[tuple[Key, Snapshot]]:
    """The rows of a result, in its order."""
    table = output.to_arrow()
    columns = [table[name].to_pylist() for name in output.keys]
    for i, row in enumerate(snapshots(output)):
        yield tuple(column[i] for column in columns), row


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
