"""Runs over bound rows that take over the plan of the run before."""

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy.engines import local

KEYED = "input x by k : f64 time ts point\n~out[t] = mean(~x[t-20 : t])"
TOTAL = "input x : f64 time ts point\n~out[t] = ~x[t] != φ ? sum(~x[-∞ : t]) : φ"
MEAN = "input x : f64 time ts point\n~out[t] = mean(~x[t-7 : t])"
SAMPLES = "input x : f64\n~out[t] = mean(~x[t-7 : t]) - ~x[t]"


def points(n: int = 6000) -> pa.Table:
    random = np.random.default_rng(3)
    times = np.cumsum(random.integers(1, 4, n))
    return pa.table({"ts": times, "x": random.integers(0, 50, n) / 8})


def by_key(keys: int, n: int = 6000) -> pa.Table:
    random = np.random.default_rng(4)
    return points(n).append_column("k", pa.array(random.integers(0, keys, n)))


@pytest.mark.parametrize("keys", [3, 4000])
def test_a_plan_by_key_serves_runs_that_are_alike_alone(keys: int) -> None:
    frame, query = by_key(keys), tilt.parse(KEYED)
    bound = tilt.bind(frame)
    settings: list[dict[str, Any]] = [
        {}, {}, {"order": "time"}, {"start": 500}, {"start": 500, "end": 900},
        {"workers": 2}, {"workers": 1}, {},
    ]  # fmt: skip
    for setting in settings:
        expected = query.run(x=frame, **setting).to_arrow()
        assert query.run(x=bound, **setting).to_arrow() == expected


def test_threads_run_one_plan_by_key() -> None:
    bound, query = tilt.bind(by_key(4000)), tilt.parse(KEYED)
    expected = query.run(x=bound).to_arrow()
    with ThreadPoolExecutor(4) as threads:
        runs = list(threads.map(lambda _: query.run(x=bound).to_arrow(), range(20)))
    assert all(run == expected for run in runs)


@pytest.mark.parametrize("keys", [3, 4000])
def test_a_plan_by_key_goes_with_its_rows(keys: int) -> None:
    gc.collect()
    before = len(local._LAST_PLANS)
    bound, query = tilt.bind(by_key(keys)), tilt.parse(KEYED)
    query.run(x=bound)
    assert len(local._LAST_PLANS) == before + 1
    del bound
    gc.collect()
    assert len(local._LAST_PLANS) == before


def test_a_plan_serves_runs_that_are_alike_alone() -> None:
    bound, query, other = tilt.bind(points()), tilt.parse(TOTAL), tilt.parse(MEAN)
    settings: list[dict[str, Any]] = [
        {}, {}, {"start": 500}, {"start": 500, "end": 900}, {"chunk": 64},
        {"workers": 2}, {"workers": 1}, {},
    ]  # fmt: skip
    for setting in settings:
        for each in (query, other, query):
            expected = each.run(x=points(), **setting)
            assert each.run(x=bound, **setting).to_arrow() == expected.to_arrow()


def test_results_of_one_plan_share_no_memory() -> None:
    for text, rows in (
        (TOTAL, tilt.bind(points())),
        (SAMPLES, tilt.sampled(points().select(["x"]), start=0, period=1)),
    ):
        query = tilt.parse(text)
        first = query.run(x=rows)
        table, again = first.to_arrow(), query.run(x=rows).to_arrow()
        values = [part["out"].combine_chunks().buffers()[1] for part in (table, again)]
        assert values[0].address != values[1].address
        assert table == again


def test_threads_run_one_plan() -> None:
    bound, query = tilt.bind(points()), tilt.parse(TOTAL)
    expected = query.run(x=bound).to_arrow()
    with ThreadPoolExecutor(4) as threads:
        runs = list(threads.map(lambda _: query.run(x=bound).to_arrow(), range(40)))
    assert all(run == expected for run in runs)


def test_a_plan_goes_with_its_rows() -> None:
    gc.collect()
    before = len(local._LAST_PLANS)
    bound, query = tilt.bind(points()), tilt.parse(TOTAL)
    query.run(x=bound)
    assert len(local._LAST_PLANS) == before + 1
    del bound
    gc.collect()
    assert len(local._LAST_PLANS) == before


JOIN = """\
input x : f64 time ts point
input y : f64 time ts point
~out[t] = sum(~x[t-9 : t]) + sum(~y[t-4 : t])"""


def test_a_plan_serves_runs_over_the_rows_of_all_its_inputs() -> None:
    tables = [points(5000), points(6000), points(7000)]
    bound, query = [tilt.bind(table) for table in tables], tilt.parse(JOIN)
    for x, y in ((0, 1), (0, 1), (0, 2), (1, 2), (0, 1), (0, 0), (0, 0), (1, 0)):
        expected = query.run(x=tables[x], y=tables[y]).to_arrow()
        assert query.run(x=bound[x], y=bound[y]).to_arrow() == expected


def test_a_plan_goes_with_the_rows_of_any_input() -> None:
    gc.collect()
    before = len(local._LAST_PLANS)
    query = tilt.parse(JOIN)
    for gone in ("x", "y"):
        bound: dict[str, Any] = {name: tilt.bind(points()) for name in "xy"}
        query.run(**bound)
        assert len(local._LAST_PLANS) == before + 1
        del bound[gone]
        gc.collect()
        assert len(local._LAST_PLANS) == before


def test_results_of_many_outputs_share_no_memory_with_the_next_run() -> None:
    """Small outputs of one run lie in one piece of memory."""
    lines = "\n".join(f"~o{n}[t] = sum(~x[t-{n + 1} : t])" for n in range(9))
    query = tilt.parse("input x : f64 time ts point\n" + lines)
    for rows in (0, 1, 20, 6000):
        bound = tilt.bind(points(rows))
        first = query.run(x=bound)
        again = query.run(x=bound)
        expected = query.run(x=points(rows))
        tables = [[o.to_arrow() for o in r.values()] for r in (first, again, expected)]
        assert tables[0] == tables[1] == tables[2]
        addresses = [
            buffer.address
            for table in (*tables[0], *tables[1])
            for chunk in table.columns[2].chunks
            if len(chunk) and (buffer := chunk.buffers()[1]) is not None
        ]
        assert len(set(addresses)) == len(addresses)
        assert bool(addresses) == bool(rows)
