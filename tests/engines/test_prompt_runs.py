"""Runs over few rows that come again: one call, by an engine that stays for the next.

What they compute is compared with a query that has not run before.
"""

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import ref

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy.runtime.concurrency.idle_pool import MOST_IDLE

MEAN = "input x : f64 time ts point\n~out[t] = mean(~x[t-7 : t])"
BARS = """\
input x : f64 time ts point
w = TDom(-∞, ∞, 16)
~out[w] = sum(~x[w-16 : w])
"""
ROWS = """\
input x : f64 time ts point
input y : f64 time ts until_next
e = Rows(~x)
~change[e] = ~x[e] > 3.0 ? ~x[e] - ~y[e] : φ
~last[t] = ~y[t]
output ~change, ~last
"""
ALL_PAST = "input x : f64 time ts point\n~out[t] = ~x[t] != φ ? sum(~x[-∞ : t]) : φ"
BY_KEY = """\
input x by k : f64 time ts point
input y : f64 time ts until_next
e = Rows(~x)
~last[t] = mean(~x[t-9 : t]) - ~y[t]
~change[e] = ~x[e] > 3.0 ? ~x[e] - ~y[e] : φ
output ~last, ~change
"""
SAMPLES = """\
input x : f64
~change[t] = ~x[t] != ~x[t-1] ? ~x[t] : φ
~most[t] = max(~x[t-100 : t]) - min(~x[t-9 : t])
output ~change, ~most
"""
TEXTS = 'input x : string time ts point\n~out[t] = ~x[t] < "b" ? ~x[t] : φ'


class Metres(pa.ExtensionType):  # type: ignore[misc]
    """An extension type, which nobody can hash."""

    def __init__(self) -> None:
        super().__init__(pa.float64(), "tests.metres")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


def points(n: int, seed: int = 3, name: str = "x") -> pa.Table:
    random = np.random.default_rng(seed)
    times = random.integers(0, 1000) + np.cumsum(random.integers(0, 4, n))
    return pa.table({"ts": times, name: random.integers(0, 50, n) / 8})


def samples(n: int, seed: int) -> Any:
    values = np.random.default_rng(seed).integers(0, 5, n) / 8
    return tilt.sampled(values, start=seed, period=2)


def by_key(n: int, seed: int) -> pa.Table:
    keys = np.random.default_rng(seed).choice(["a", "b", "c", "d", "e"], n)
    return points(n, seed).append_column("k", pa.array(keys, pa.string()))


def texts(n: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    words = random.choice(["a", "b", "c", "ä"], n)
    return pa.table({"ts": np.arange(n) * 2, "x": pa.array(words, pa.string())})


FRAMES: dict[str, Callable[[int, int], dict[str, Any]]] = {
    MEAN: lambda n, seed: {"x": points(n, seed)},
    BARS: lambda n, seed: {"x": points(n, seed)},
    ROWS: lambda n, seed: {"x": points(n, seed), "y": points(n // 2, seed, "y")},
    BY_KEY: lambda n, seed: {"x": by_key(n, seed), "y": points(n // 2, seed, "y")},
    SAMPLES: lambda n, seed: {"x": samples(n, seed)},
    ALL_PAST: lambda n, seed: {"x": points(n, seed)},
    TEXTS: lambda n, seed: {"x": texts(n, seed)},
}


def list_tables(result: tilt.Result) -> list[pa.Table]:
    return [result[name].to_arrow() for name in result]


def run_anew(text: str, frames: dict[str, Any], **options: Any) -> list[pa.Table]:
    """Run a query that has not run before."""
    return list_tables(tilt.parse(text).run(**frames, **options))


@pytest.mark.parametrize("text", FRAMES)
def test_frames_that_follow_have_the_results_of_the_first_run(text: str) -> None:
    """Their rows, and so the domains, are others each time; some are many."""
    query = tilt.parse(text)
    for seed, rows in enumerate((500, 500, 700, 2, 1, 0, 9000, 6000, 40, 3, 50_000, 8)):
        frames = FRAMES[text](rows, seed)
        assert list_tables(query.run(**frames)) == run_anew(text, frames), rows


@pytest.mark.parametrize("text", FRAMES)
def test_bounds_and_options_are_those_of_each_run(text: str) -> None:
    query, frames = tilt.parse(text), FRAMES[text](300, 1)
    settings: list[dict[str, Any]] = [
        {}, {}, {}, {"start": 40}, {"start": 40}, {"start": 40, "end": 777},
        {"end": 10**6}, {"end": 10**6}, {"workers": 2}, {"chunk": 50}, {"end": 3}, {},
    ]  # fmt: skip
    for setting in settings:
        expected = run_anew(text, frames, **setting)
        assert list_tables(query.run(**frames, **setting)) == expected, setting


def test_threads_run_a_query_over_few_rows_at_once() -> None:
    query = tilt.parse(ROWS)
    frames = [FRAMES[ROWS](400, seed) for seed in range(12)]
    expected = [run_anew(ROWS, each) for each in frames]
    with ThreadPoolExecutor(4) as threads:
        for _ in range(5):
            results = threads.map(lambda each: list_tables(query.run(**each)), frames)
            assert list(results) == expected


@pytest.mark.parametrize("text", FRAMES)
def test_engines_go_with_their_query(text: str) -> None:
    """Nothing of them waits for the garbage collector."""
    query = tilt.parse(text)
    for seed in range(4):
        query.run(**FRAMES[text](50, seed))
    groups = [ref(group) for group in query._prepared._groups]
    gc.disable()
    try:
        del query
        assert [group() for group in groups] == [None] * len(groups)
    finally:
        gc.enable()


def test_few_engines_stay() -> None:
    query = tilt.parse(MEAN)
    for end in range(20):
        query.run(x=points(30), end=end)
    (group,) = query._prepared._groups
    assert 0 < len(group.idle) <= MOST_IDLE


@pytest.mark.parametrize(
    "frame",
    [
        pa.table({"ts": [1, None, 3], "x": [1.0, 2.0, 3.0]}),
        pa.table({"ts": [1, 2**63 - 1], "x": [1.0, 2.0]}),
        pa.table({"ts": [1, 2], "y": [1.0, 2.0], "z": [1.0, 2.0]}),
        pa.table({"ts": [1, 2, 3], "x": ["a", "b", "c"]}),
        pa.table({"ts": [1, 2, 3], "x": [1.0, 2.0, 3.0], "time": [1, 2, 3]}),
    ],
    ids=["no stamp", "a far stamp", "no values", "texts", "two times"],
)
def test_bad_frames_have_the_errors_of_the_first_run(frame: pa.Table) -> None:
    query, good = tilt.parse(MEAN.replace(" time ts", "")), points(3)
    for _ in range(3):
        query.run(x=good)
    with pytest.raises(tilt.TiltError) as first:
        tilt.parse(MEAN.replace(" time ts", "")).run(x=frame)
    with pytest.raises(tilt.TiltError) as again:
        query.run(x=frame)
    assert str(again.value) == str(first.value)
    assert list_tables(query.run(x=good)) == run_anew(MEAN, {"x": good})


@pytest.mark.parametrize(
    "frame",
    [
        pa.table({"ts": [5, 2, 9], "x": [1.0, 2.0, 3.0]}),
        pa.table({"ts": [1, 2, 3], "x": [1.0, None, 3.0]}),
        pa.table({"ts": [1, 1, 1], "x": [1.0, 2.0, 3.0]}),
        pa.concat_tables([points(5), points(7).slice(5)]),
        points(9).slice(4, 3),
        points(9).append_column("other", pa.array(["a"] * 9)),
        points(2).append_column(
            "other", pa.ExtensionArray.from_storage(Metres(), pa.array([1.5, 2.5]))
        ),
        points(4).to_batches()[0],
        pl.DataFrame(points(6)),
        pd.DataFrame({"ts": [3, 4, 8], "x": [1.0, 2.0, 4.0]}),
    ],
    ids=[
        "out of order", "a null", "ties", "two chunks", "a slice", "another column",
        "a type without a hash",
        "a batch", "polars", "pandas",
    ],
)  # fmt: skip
def test_frames_of_any_kind_follow(frame: object) -> None:
    query = tilt.parse(MEAN)
    for _ in range(3):
        query.run(x=points(3))
        result = list_tables(query.run(x=frame))
        assert result == run_anew(MEAN, {"x": frame})


@pytest.mark.parametrize("unit", ["s", "us"])
def test_stamps_count_other_units(unit: str) -> None:
    """A schema that comes again has the same stamps, in another query other ticks."""
    times = pa.array([10, 20, 35], pa.timestamp("us", tz="UTC"))
    frame = pa.table({"ts": times, "x": [1.0, 2.0, 4.0]})
    if unit == "s":
        stamps = pa.compute.multiply(times.cast(pa.int64()), 10**6)
        frame = frame.set_column(0, "ts", stamps.cast(times.type))
    query = tilt.parse(f"unit {unit}\n{MEAN}")
    for _ in range(4):
        assert list_tables(query.run(x=frame)) == run_anew(
            f"unit {unit}\n{MEAN}", {"x": frame}
        )


def test_frames_that_are_bound_and_change_are_read_again() -> None:
    frame = pd.DataFrame({"ts": [1, 2, 3], "x": [1.0, 2.0, 4.0]})
    query, bound = tilt.parse(MEAN), tilt.bind(frame)
    for number in range(5):
        frame.loc[1, "x"] += number
        assert list_tables(query.run(x=bound)) == run_anew(MEAN, {"x": frame.copy()})
