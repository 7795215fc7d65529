"""Runs over bound rows that take over the plan of one before that was alike."""

import gc
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any
from unittest.mock import patch
from weakref import ref
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy import prepared_query
from tiltpy.engines.local import plan_parts

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


@pytest.mark.parametrize(
    ("text", "rows"), [(TOTAL, points()), (KEYED, by_key(3)), (KEYED, by_key(4000))]
)
def test_a_plan_goes_with_its_rows(text: str, rows: pa.Table) -> None:
    bound, query = tilt.bind(rows), tilt.parse(text)
    query.run(x=bound)
    assert len(bound.known_runs) == 1
    place = ref(bound)
    del bound
    gc.collect()
    assert place() is None


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
    query = tilt.parse(JOIN)
    for gone in ("x", "y"):
        bound: dict[str, Any] = {name: tilt.bind(points()) for name in "xy"}
        query.run(**bound)
        known = bound["x"].known_runs
        assert len(known) == 1
        place = ref(bound.pop(gone))
        gc.collect()
        assert place() is None
        assert gone == "x" or known == []


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


# -- what is asked --------------------------------------------------------------------

WITH_ALL = """\
param w : duration = 3
input x : f64 time ts point
g = TDom(first, ∞, 2)
~out[g] = sum(~x[g-w : g])"""


def planned_runs(query: tilt.CompiledQuery, **arguments: Any) -> tuple[pa.Table, int]:
    """Run a query; also count how often a run was planned."""
    with patch.object(prepared_query, "plan_parts", wraps=plan_parts) as plan:
        table = query.run(**arguments).to_arrow()
    return table, plan.call_count


def test_what_is_asked_alike_is_planned_once() -> None:
    """Options, parameters and bounds count by their values."""
    rows, query = points(), tilt.parse(WITH_ALL)
    bound = tilt.bind(rows)
    settings: list[dict[str, Any]] = [
        {"first": 10**6}, {"first": 7}, {"first": 7, "params": {"w": 5}},
        {"first": 7, "end": datetime(2024, 1, 1), "params": {"w": 5}},
    ]  # fmt: skip
    for setting in settings[:3]:
        fresh = query.run(x=rows, **setting).to_arrow()
        for expected in (1, 0):
            again = {**setting, "x": bound}
            assert planned_runs(query, **again) == (fresh, expected)
    with pytest.raises(tilt.TiltError):
        query.run(x=bound, **settings[3])


def test_few_runs_are_remembered() -> None:
    bound, queries = tilt.bind(points()), [tilt.parse(TOTAL) for _ in range(3)]
    for query in queries:
        query.run(x=bound)
    assert [planned_runs(query, x=bound)[1] for query in queries[1:]] == [0, 0]
    assert planned_runs(queries[0], x=bound)[1] == 1


def test_a_value_of_another_type_is_looked_at() -> None:
    bound, query = tilt.bind(points()), tilt.parse(TOTAL)
    query.run(x=bound, workers=1, allow_sort=True)
    with pytest.raises(tilt.TiltError, match="expected a whole number"):
        query.run(x=bound, workers=1.0, allow_sort=True)  # type: ignore[arg-type]
    with pytest.raises(tilt.TiltError, match="expected True or False"):
        query.run(x=bound, workers=1, allow_sort=1)  # type: ignore[arg-type]


def test_frames_that_change_are_read_again() -> None:
    """Samples are read where they lie; keys and frames of pandas are looked at."""
    values = np.arange(50.0)
    samples, query = tilt.sampled(values, start=0, period=1), tilt.parse(SAMPLES)
    frame = pd.DataFrame({"ts": [1, 2, 3], "x": [1.0, 2.0, 4.0]})
    bound, total = tilt.bind(frame), tilt.parse(TOTAL)
    for _ in range(3):
        values += 1
        values[7] *= 3
        frame.loc[1, "x"] += 8
        fresh = query.run(x=tilt.sampled(values.copy(), start=0, period=1))
        assert query.run(x=samples).to_arrow() == fresh.to_arrow()
        assert total.run(x=bound).to_arrow() == total.run(x=frame.copy()).to_arrow()


def test_an_hour_that_comes_twice_is_told_apart() -> None:
    """Its datetimes are equal, but one is an hour later."""
    stamps = np.arange(1_729_900_000, 1_730_010_000, 600)
    rows = {"ts": pa.array(stamps, pa.timestamp("s")), "x": stamps / 8}
    bound, query = tilt.bind(pa.table(rows)), tilt.parse("unit s\n" + MEAN)
    hour = datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    first, second = (
        query.run(x=bound, start=hour.replace(fold=fold)).num_rows for fold in (0, 1)
    )
    assert first > second


@pytest.mark.parametrize("values", [np.arange(100.0)[::2], np.broadcast_to(7.0, 50)])
def test_arrays_may_lie_in_any_way(values: Any) -> None:
    text = SAMPLES.replace("~out", "input y : f64\n~out", 1)
    samples, query = np.arange(50.0), tilt.parse(text)
    expected = query.run(x=tilt.sampled(samples, start=0, period=1)).to_arrow()
    bound: dict[str, Any] = {
        "x": tilt.sampled(samples, 0, 1),
        "y": tilt.sampled(values, 0, 1),
    }
    for _ in range(2):
        assert query.run(**bound).to_arrow() == expected


TEXTS = pa.table({"ts": [1, 2, 3], "k": [1, 2, 1], "x": ["b", "a", "b"]})


def test_plans_with_codes_of_strings_are_not_kept() -> None:
    """They are made for a query, beside the rows, in each run."""
    text = 'input x by k : string time ts point\n~out[t] = ~x[t] < "b"'
    bound, query = tilt.bind(TEXTS), tilt.parse(text)
    expected = query.run(x=TEXTS).to_arrow()
    for _ in range(2):
        assert planned_runs(query, x=bound) == (expected, 1)
    assert bound.known_runs == []


def test_a_plan_of_one_call_encodes_strings_in_each_run() -> None:
    text = 'input x : string time ts point\n~out[t] = ~x[t] < "b"'
    bound, query = tilt.bind(TEXTS), tilt.parse(text)
    expected = query.run(x=TEXTS).to_arrow()
    assert [planned_runs(query, x=bound) for _ in range(3)] == [
        (expected, 1),
        (expected, 0),
        (expected, 0),
    ]


def test_each_run_warns_of_hidden_rows() -> None:
    tied = pa.table({"ts": [1, 1, 2], "x": [1.0, 2.0, 3.0]})
    bound, query = tilt.bind(tied), tilt.parse(TOTAL)
    for _ in range(3):
        with pytest.warns(tilt.TiltWarning, match="1 row of input 'x' hidden"):
            query.run(x=bound)


def test_inputs_of_one_frame_whose_keys_no_sample_has() -> None:
    """A binding forgets what it knows of so many; none of their folds has all keys."""
    numbers = range(4)
    lines = [f"input x{n} by k{n} : f64 time ts point" for n in numbers]
    lines.append("w = TDom(-∞, ∞, 1000)")
    lines += [f"~o{n}[w] = sum(~x{n}[w-1000 : w])" for n in numbers]
    lines.append("output " + ", ".join(f"~o{n}" for n in numbers))
    keys = np.arange(100_000) * 10**7
    keys[: 1 << 12] = keys[:: len(keys) >> 12] = keys[-(1 << 12) :] = 7
    frame = points(len(keys)).rename_columns(["ts", "value"])
    for n in numbers:
        frame = frame.append_column(f"k{n}", pa.array(keys))
    bound = tilt.bind(frame, column="value")
    inputs: dict[str, Any] = {f"x{n}": bound for n in numbers}
    result = tilt.parse("\n".join(lines)).run(**inputs)
    first, *others = (table.to_arrow().columns[1:] for table in result.values())
    assert all(
        [column.to_pylist() for column in other]
        == [column.to_pylist() for column in first]
        for other in others
    )


def test_keys_that_a_sample_has_not_are_found_in_each_run() -> None:
    """The first run learns of them; too many are not folded."""
    text = "input x by k : f64 time ts point\nw = TDom(-∞, ∞, 1000)\n"
    query = tilt.parse(text + "~out[w] = sum(~x[w-1000 : w])")
    for far in (-1_000, -(10**12)):
        keys = np.full(40_000, 7)
        keys[20_000] = far
        frame = points(40_000).append_column("k", pa.array(keys))
        bound, expected = tilt.bind(frame), query.run(x=frame).to_arrow()
        assert expected["k"][0].as_py() == far
        for planned in (None, 0, 0):
            table, count = planned_runs(query, x=bound)
            assert table == expected
            assert planned is None or count == planned
