"""Runs: domains, chunks, workers, bounds by name, progress, interruption, sharing."""

import gc
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.plain import Rows, held, listed, steps
from tiltpy.inputs import BoundFrame

Snapshots = list[tuple[object, ...]]


def rows_with_gaps(count: int, seed: int = 0) -> list[tuple[int, int, float]]:
    draws = Random(seed)  # noqa: S311
    rows, time = [], 0
    for _ in range(count):
        time += draws.choice((0, 0, 1, 3))
        end = time + draws.randint(1, 4)
        rows.append((time, end, draws.randint(-64, 64) / 8))
        time = end
    return rows


QUERIES = {
    "map": "input x : f64\n~o[t] = ~x[t] * 2.0",
    "where": "input x : f64\n~o[t] = ~x[t] > 0.0 ? ~x[t] : φ",
    "sweep": "input x : f64\n~o[t] = ~x[t] - ~x[t-3]",
    "window": "input x : f64\n~o[t] = sum(~x[t-7:t+2])",
    "grid": "input x : f64\nt = TDom(-∞, ∞, 5, offset=2)\n~o[t] = max(~x[t-11:t])",
    "count": "input x : f64\n~o[t] = count(~x[t-4:t])",
    "time": "input x : f64\n~o[t] = exists(~x[t]) ? t : φ",
    "chain": """input x : f64
        ~y[t] = mean(~x[t-5:t])
        ~o[t] = ~y[t] - ~y[t-4]
        output ~o""",
    "finite": """input x : f64
        d = TDom(20, 90, 3)
        ~y[d] = ~x[d]
        ~o[t] = count(~y[t-9:t])
        output ~o""",
}
INPUTS = {
    "gaps": rows_with_gaps(60),
    "samples": [(i, i + 1, i / 8) for i in range(120)],
}


def cut(rows: Snapshots, start: int, end: int) -> Snapshots:
    """Snapshots cut to `(start, end]`."""
    found: Snapshots = []
    for low, high, *value in rows:
        assert isinstance(low, int)
        assert isinstance(high, int)
        if max(low, start) < min(high, end):
            found.append((max(low, start), min(high, end), *value))
    return found


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize("rows", INPUTS.values(), ids=INPUTS)
def test_a_run_over_a_stretch_is_the_larger_run_cut(text: str, rows: Rows) -> None:
    query, frame = tilt.parse(text), held(rows)
    large = listed(query.run(x=frame, start=-60, end=300))
    stretches = (
        (-60, -50), (-60, 0), (-1, 1), (0, 30), (17, 18), (17, 63), (50, 300),
        (250, 299), (40, 40),
    )  # fmt: skip
    for start, end in stretches:
        for chunk in (None, 1, 7):
            found = listed(query.run(x=frame, start=start, end=end, chunk=chunk))
            assert found == cut(large, start, end), (start, end, chunk)


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize("rows", INPUTS.values(), ids=INPUTS)
def test_chunks_and_workers_change_nothing(text: str, rows: Rows) -> None:
    query, frame = tilt.parse(text), held(rows)
    expected = listed(query.run(x=frame, workers=1))
    for chunk, workers in ((1, 1), (1, 2), (2, 64), (13, 3), (1000, 8), (2**62, 2)):
        assert listed(query.run(x=frame, chunk=chunk, workers=workers)) == expected


def test_a_domain_without_data() -> None:
    query = tilt.parse("input x : i64\n~o[t] = count(~x[t-2:t])")
    frame = steps([5, 6], "i64")
    assert listed(query.run(x=frame, start=100, end=200)) == [(100, 200, 0)]
    assert listed(query.run(x=frame, start=-9, end=-5)) == [(-9, -5, 0)]
    assert listed(query.run(x=frame, start=7, end=7)) == []
    # Only one bound is given, and it lies on the other side of the data.
    assert listed(query.run(x=frame, start=7)) == []
    assert listed(query.run(x=frame, end=-7)) == []


@pytest.mark.parametrize("chunk", [None, 1])
def test_empty_inputs(chunk: int | None) -> None:
    text = "input x : i64\ninput y : f64\n~o[t] = exists(~x[t]) ? 1.0 : ~y[t]"
    query, none, some = tilt.parse(text), held([]), steps([1.5, 2.5])
    expected = [(0, 1, 1.5), (1, 2, 2.5)]
    empty = held([], "i64")
    assert listed(query.run(x=empty, y=some, chunk=chunk)) == expected
    nothing = query.run(x=empty, y=none, chunk=chunk).to_arrow()
    assert nothing.num_rows == 0
    assert nothing.schema.names == ["start", "end", "o"]
    assert nothing.schema.types == [pa.int64(), pa.int64(), pa.float64()]
    nulls = held([(0, 1, None), (4, 5, None)], "i64")
    assert listed(query.run(x=nulls, y=some, chunk=chunk)) == expected


def test_rows_that_are_all_null() -> None:
    query = tilt.parse("input x : f64\n~o[t] = count(~x[t-3:t])")
    frame = steps([None, None, None])
    assert listed(query.run(x=frame)) == []
    assert listed(query.run(x=frame, start=0, end=3)) == [(0, 3, 0)]


def test_an_output_without_an_input() -> None:
    query = tilt.parse("input x : i64\n~o[t] = t * 2\n~p[t] = ~x[t]")
    result = query.run(x=steps([7], "i64"), start=0, end=3)
    assert listed(result["o"]) == [(0, 1, 2), (1, 2, 4), (2, 3, 6)]
    assert listed(result["p"]) == [(0, 1, 7)]
    assert listed(query.run(x=steps([7], "i64"))["o"]) == []


def test_finite_domains_in_every_shape_of_loop() -> None:
    """Implied times are not there to be cut by a kernel."""
    frame = steps([1, 2, 3, 4, 5, 6], "i64")
    rows = [(0, 3, 1), (3, 6, 2), (6, 9, 3)]
    for text, expected in {
        "~x[t]": [(2, 3, 3), (3, 4, 4), (4, 5, 5)],
        "sum(~x[t-1:t])": [(2, 3, 3), (3, 4, 4), (4, 5, 5)],
        "sum(~x[t-2:t])": [(2, 3, 5), (3, 4, 7), (4, 5, 9)],
    }.items():
        query = tilt.parse(f"input x : i64\nt = TDom(2, 5, 1)\n~o[t] = {text}")
        for chunk in (None, 1, 2):
            assert listed(query.run(x=frame, chunk=chunk)) == expected
    query = tilt.parse("input x : i64\nt = TDom(2, 7, 1)\n~o[t] = ~x[t] + 1")
    expected = [(2, 3, 2), (3, 6, 3), (6, 7, 4)]
    assert listed(query.run(x=held(rows, "i64"))) == expected
    found = listed(query.run(x=held(rows, "i64"), start=4))
    assert found == [(4, 6, 3), (6, 7, 4)]


# Bounds by name

BOUNDED = "input x : i64\nt = TDom(a, b, 1)\n~o[t] = ~x[t]"


def test_bounds_by_name() -> None:
    query, frame = tilt.parse(BOUNDED), held([(0, 9, 7)], "i64")
    assert listed(query.run(x=frame, a=2, b=5)) == [(2, 5, 7)]
    assert listed(query.run(x=frame, a=5, b=5)) == []
    assert listed(query.run(x=frame, a=2, b=5, start=3)) == [(3, 5, 7)]


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({}, "bound 'a' is not given"),
        ({"a": 1}, "bound 'b' is not given"),
        ({"a": 1, "b": "noon"}, "b=noon: expected ticks"),
        ({"a": 1, "b": 2.5}, "b=2.5: expected ticks"),
        ({"a": 1, "b": None}, "b=None: expected ticks"),
        ({"a": 1, "b": 2**62 + 1}, r"b=\d+ of ~o lies beyond"),
        (
            {"a": 6, "b": 5},
            "time domain of ~o starts at a=6, later than its end at b=5",
        ),
        ({"a": 1, "b": 2, "c": 3}, "input 'c': the query has no such input"),
    ],
)
def test_wrong_bounds_by_name(bounds: dict[str, object], message: str) -> None:
    with pytest.raises(tilt.TiltError, match=message):
        tilt.parse(BOUNDED).run(x=held([(0, 9, 7)], "i64"), **bounds)  # type: ignore[arg-type]


def test_bounds_called_start_and_end_are_those_of_the_run() -> None:
    query = tilt.parse("input x : i64\nt = TDom(start, end, 1)\n~o[t] = ~x[t]")
    frame = held([(0, 9, 7)], "i64")
    assert listed(query.run(x=frame, start=2, end=5)) == [(2, 5, 7)]
    with pytest.raises(tilt.DataError, match="bound 'end' is not given"):
        query.run(x=frame, start=2)


@pytest.mark.parametrize("name", ["workers", "chunk", "progress", "allow_sort"])
def test_names_that_run_has_for_itself(name: str) -> None:
    query = tilt.parse(f"input {name} : i64\n~o[t] = ~{name}[t]")
    with pytest.raises(tilt.TiltError, match=f"'{name}' is an argument of run"):
        query.run(**{name: steps([1], "i64")})  # type: ignore[arg-type]


# Progress and interruption

LONG = tilt.parse("input x : f64\n~o[t] = std(~x[t-1000:t]) + skew(~x[t-900:t])")


@pytest.fixture(scope="module")
def long_frame() -> BoundFrame:
    return steps([float(i % 97) for i in range(200_000)])


def test_progress_counts_chunks(long_frame: BoundFrame) -> None:
    for workers in (1, 2):
        seen: list[tuple[int, int]] = []
        LONG.run(
            x=long_frame,
            workers=workers,
            chunk=20_000,
            progress=lambda done, total, seen=seen: seen.append((done, total)),  # type: ignore[misc]
        )
        # It is told the same again where nothing happens for a while.
        news = [one for one in dict.fromkeys(seen) if one[0]]
        ((_, total),) = {(0, total) for _, total in news}
        assert total >= 10
        assert news == sorted(news)
        assert news[-1] == (total, total)


class StopItError(Exception):
    """Raised by a caller's progress."""


def at_work() -> bool:
    """Tell whether a thread of this process computes; those of a run stay, and wait."""
    before = time.process_time()
    time.sleep(0.3)
    return time.process_time() - before > 0.1


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_progress_stops_the_run(
    long_frame: BoundFrame, workers: int
) -> None:
    calls = []

    def progress(done: int, total: int) -> None:
        calls.append((done, total))
        raise StopItError

    with pytest.raises(StopItError) as caught:
        LONG.run(x=long_frame, workers=workers, chunk=500, progress=progress)
    # The error, and with it the frames of the run, are still there.
    assert caught.value is not None
    assert not at_work()
    assert len(calls) == 1


LONG_RUN = """
import os, signal, sys, time
import pyarrow as pa
import tiltpy as tilt

signal.signal(signal.SIGINT, signal.default_int_handler)
# Hours of work: a visit to each of 2^35 cells.
query = tilt.parse("input x : f64 interval\\n~o[t] = ~x[t] < 0.0 ? sqrt(t) : φ")
frame = pa.table({"start": [0], "end": [1 << 35], "x": [1.0]})
try:
    query.run(
        x=frame, workers=int(sys.argv[1]), progress=lambda *_: os.write(1, b"on\\n")
    )
except KeyboardInterrupt:
    before = time.process_time()
    time.sleep(1)
    print("idle" if time.process_time() - before < 0.3 else "at work")
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_stops_a_long_run(workers: int) -> None:
    # In a process of its own: what else handles signals here could swallow one.
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", LONG_RUN, str(workers)],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "on\n"
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert rest.splitlines()[-1] == "idle"
    assert process.returncode == 0


# Sharing


def test_one_query_in_many_threads(long_frame: BoundFrame) -> None:
    """The first run compiles, at the same time as the others."""
    text = "input x : f64\n~o[t] = mean(~x[t-50:t]) * {0}.0"
    for number in range(3):
        query = tilt.parse(text.format(number + 1))
        with ThreadPoolExecutor(4) as pool:
            runs = [
                pool.submit(query.run, x=long_frame, workers=w, chunk=c)
                for w, c in ((1, None), (2, 7001), (2, 20_000), (1, 50_000))
            ]
            tables = [each.result().to_arrow().combine_chunks() for each in runs]
        assert all(table.equals(tables[0]) for table in tables)


def test_a_later_run_changes_no_result() -> None:
    query = tilt.parse("input x : f64\n~y[t] = sum(~x[t-3:t])\n~o[t] = max(~y[t-2:t])")
    first = query.run(x=steps([1.0, 2.0, 3.0, 4.0] * 50), workers=1, chunk=9)
    before = listed(first)
    kept = first.to_arrow()
    for seed in range(5):
        query.run(x=held(rows_with_gaps(100, seed)), workers=1, chunk=9)
        gc.collect()
    assert listed(first) == before == [tuple(r.values()) for r in kept.to_pylist()]
