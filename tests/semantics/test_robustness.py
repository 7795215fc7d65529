"""Whatever is asked of whatever data: an answer or an error, soon, never a crash."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compiled import NO_STRATEGIES, Setting
from tests.plain import check_engines, held, listed, steps
from tiltpy.passes.pipeline import PASS_NAMES
from tiltpy.runtime.arrays import pool as memory

UNOPTIMIZED = tilt.CompileOptions(
    disabled_passes=frozenset(PASS_NAMES),
    disabled_strategies=NO_STRATEGIES,
)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    began = time.perf_counter()
    yield
    assert time.perf_counter() - began < seconds


# Huge domains


@pytest.mark.covering(1)
@pytest.mark.parametrize("chunk", [None, 1, 10**6, 2**61])
@pytest.mark.parametrize(
    "text",
    [
        "~o[t] = ~x[t] != φ ? t : -t",
        "~o[t] = count(~x[t-2:t]) + t",
        "~a[t] = ~x[t] != φ ? t : -t\n~o[t] = sum(~a[t-10:t])\noutput ~o",
    ],
)
def test_a_snapshot_for_each_of_10_to_the_15_ticks(
    text: str, chunk: int | None
) -> None:
    query = tilt.parse(f"input x : i64\n{text}")
    frame = held([(0, 5, 1), (10**15 - 5, 10**15, 2)], "i64")
    with within(10.0), pytest.raises(tilt.DataError, match="uses t as a number"):
        query.run(x=frame, chunk=chunk)


@pytest.mark.covering(1)
@pytest.mark.parametrize("chunk", [None, 3])
@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("~o[t] = ~x[t] * 0 + t", 10),
        ("~o[t] = ~x[t] > 1 ? t : φ", 5),
        ("~a[t] = ~x[t] + t\n~o[t] = sum(~a[t-2:t])\noutput ~o", 11),
        ("~a[t] = ~x[t] + t\n~o[t] = ~x[t] + count(~a[t-2^58:t])\noutput ~o", 10),
    ],
)
def test_gaps_of_10_to_the_15_ticks_are_passed_over(
    text: str, rows: int, chunk: int | None
) -> None:
    query = tilt.parse(f"input x : i64\n{text}".replace("2^58", str(2**58)))
    frame = held([(0, 5, 1), (10**15 - 5, 10**15, 2)], "i64")
    assert query.run(x=frame, chunk=chunk).num_rows == rows


def test_a_finite_domain_bounds_the_work() -> None:
    text = """input x : i64
        d = TDom(0, 100, 1)
        ~a[d] = ~x[d] + d
        ~o[t] = sum(~a[t-10:t])
        output ~o"""
    with within(10.0):
        found = listed(tilt.parse(text).run(x=held([(0, 10**15, 1)], "i64")))
    assert found[:2] == [(0, 1, 2), (1, 2, 5)]
    assert found[-1] == (108, 109, 101)


def test_a_chunk_that_could_not_be_held_in_memory() -> None:
    query = tilt.parse("input x : i64\n~o[t] = ~x[t] * 0 + t")
    refused = pytest.raises(tilt.DataError, match="give a shorter chunk")
    with within(10.0), pytest.warns(tilt.TiltWarning, match="visits"), refused:
        query.run(x=held([(0, 1 << 36, 1)], "i64"), chunk=1 << 40)


@pytest.mark.parametrize("workers", [1, 2])
def test_results_that_do_not_fit_into_memory(
    monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """The system would end the process rather than say no."""
    limit = pa.total_allocated_bytes() + memory.POOL.in_use + 20_000_000
    monkeypatch.setattr(memory, "physical_memory", lambda: limit)
    query = tilt.parse("input x : i64\n~o[t] = ~x[t] + t")
    frame = held([(0, 10_000_000, 1)], "i64")
    with pytest.raises(tilt.DataError, match="do not fit into memory"):
        query.run(x=frame, chunk=100_000, workers=workers)
    assert query.run(x=frame, chunk=100_000, end=200_000).num_rows == 200_000


def test_results_keep_no_more_memory_than_they_need() -> None:
    query = tilt.parse("input x : i64\n~o[t] = ~x[t] == 7 ? ~x[t-1] : φ")
    frame = steps([i % 1000 for i in range(1_000_000)], "i64")
    before = pa.total_allocated_bytes() + memory.POOL.in_use
    result = query.run(x=frame)
    assert result.num_rows == 1000
    grown = pa.total_allocated_bytes() + memory.POOL.in_use - before
    # A bit for each cell says where the results are, until their times are wanted.
    assert grown < 200_000


@pytest.mark.parametrize("chunk", [None, 1, "1s", "1d"])
def test_seconds_apart_over_years_in_nanoseconds(chunk: int | str | None) -> None:
    draws = np.random.default_rng(1)
    stamps = np.cumsum(draws.integers(1, 60_000, 3000) * 10**9)
    frame = pa.table({"ts": pa.array(stamps, pa.timestamp("ns")), "x": stamps % 97})
    query = tilt.parse("unit ns\ninput x : i64 time ts point\n~o[t] = sum(~x[t-1h:t])")
    with within(20.0):
        found = query.run(x=frame, chunk=chunk).to_arrow().combine_chunks()
    assert found.equals(query.run(x=frame, workers=1).to_arrow().combine_chunks())


def test_a_long_gap_between_bursts() -> None:
    rows = [(i, i + 1, i) for i in range(50)]
    rows += [(2**60 + i, 2**60 + i + 1, i) for i in range(50)]
    query = tilt.parse("input x : i64\n~o[t] = count(~x[t-3:t])")
    expected = listed(query.run(x=held(rows, "i64")))
    assert len(expected) == 103
    for chunk in (1, 7, 2**40):
        assert listed(query.run(x=held(rows, "i64"), chunk=chunk)) == expected


# Large queries


@pytest.mark.parametrize("options", [tilt.CompileOptions(), UNOPTIMIZED])
def test_a_hundred_definitions_and_fifty_outputs(options: tilt.CompileOptions) -> None:
    lines = ["input x : f64", "input y : f64"]
    for i in range(100):
        before = f"~d{i - 1}" if i else "~x"
        if i % 3:
            lines.append(f"~d{i}[t] = {before}[t] * 0.5 + ~y[t-{i}]")
        else:
            lines.append(f"~d{i}[t] = mean({before}[t-{i + 2}:t]) + ~y[t]")
    lines.append("output " + ", ".join(f"~d{i}" for i in range(50, 100)))
    query = tilt.parse("\n".join(lines), options=options)
    frame = steps([i / 8 for i in range(200)])
    with within(30.0):
        result = query.run(x=frame, y=frame)
    assert len(result.keys()) == 50
    assert result["d99"].num_rows == 102
    assert listed(result["d99"])[0][:2] == (98, 99)


def deep(depth: int) -> dict[str, str]:
    """Expressions about as deep as they may be."""
    return {
        "parentheses": "(" * depth + "~x[t]" + ")" * depth,
        "minus": "-" * depth + "~x[t]",
        "sum": "+".join(["~x[t]"] * (depth + 1)),
        "calls": "abs(" * depth + "~x[t]" + ")" * depth,
        "second arguments": "max(~x[t], " * depth + "~x[t]" + ")" * depth,
        "elements": "sum("
        + "abs(" * (depth - 9)
        + "~x[t-3:t]"
        + ")" * (depth - 9)
        + ")",
        "conditions": "".join(f"~x[t] == {i}.0 ? {i} : " for i in range(depth - 9))
        + "0",
        "names": "{ a0 = ~x[t]\n"
        + "\n".join(f"a{i + 1} = a{i} + a{i}" for i in range(depth - 9))
        + f"\nreturn a{depth - 9} }}",
        "logic": "&&".join(f"~x[t] != {i}.0" for i in range(depth - 9)) + " ? 1 : 2",
    }


@pytest.mark.covering(1)
@pytest.mark.parametrize("shape", deep(199))
@pytest.mark.parametrize("options", [tilt.CompileOptions(), UNOPTIMIZED])
def test_the_deepest_expressions_go_all_the_way(
    shape: str, options: tilt.CompileOptions
) -> None:
    query = tilt.parse(f"input x : f64\n~o[t] = {deep(199)[shape]}", options=options)
    assert "machine code" in query.explain(llvm=True)
    assert query.run(x=steps([1.0, 2.0, 3.0])).num_rows > 0
    assert tilt.parse(str(query)).query == query.query


@pytest.mark.covering(1)
@pytest.mark.parametrize("shape", deep(199))
@pytest.mark.parametrize("depth", [250, 3000])
def test_what_is_deeper_is_refused_with_the_limit(shape: str, depth: int) -> None:
    with within(20.0), pytest.raises(tilt.QueryError, match="200 levels") as caught:
        tilt.parse(f"input x : f64\n~o[t] = {deep(depth)[shape]}")
    assert caught.value.code == "E0301"


def test_a_sum_of_five_thousand_terms_is_refused_with_the_limit() -> None:
    text = " + ".join(["~x[t]"] * 5_000)
    with within(30.0), pytest.raises(tilt.QueryError, match="200 levels"):
        tilt.parse(f"input x : f64\n~o[t] = {text}")


def test_fusing_a_chain_of_deep_definitions_stays_within_the_limit() -> None:
    lines = ["input x : f64"]
    for i in range(10):
        before = f"~d{i - 1}" if i else "~x"
        lines.append(
            f"~d{i}[t] = {before}[t]" + "".join(f" + {j}.0" for j in range(95))
        )
    query = tilt.parse("\n".join(lines))
    each = sum(range(95))
    assert listed(query.run(x=steps([1.0]))) == [(0, 1, 1.0 + 10 * each)]


@pytest.mark.parametrize(
    "text",
    [
        "~x[t] + " + "1" * 400,
        "~x[t] + " + "1" * 400 + ".5",
        "~x[t] + 1e400",
        "sum(~x[t - " + "9" * 400 + " : t])",
        "sum(~x[t - " + "9" * 400 + "s : t])",
        "~x[t] + 18446744073709551616",
    ],
)
def test_literals_out_of_range(text: str) -> None:
    with pytest.raises(tilt.QueryError) as caught:
        tilt.parse(f"input x : f64\n~o[t] = {text}")
    assert caught.value.code in ("E0203", "E0302")


@pytest.mark.parametrize(
    "text", ["0." + "1" * 400, "1e-400", "1" * 15 + "." + "0" * 400]
)
def test_long_literals_in_range(text: str) -> None:
    query = tilt.parse(f"input x : f64\n~o[t] = ~x[t] + {text}")
    assert listed(query.run(x=steps([0.0]))) == [(0, 1, float(text))]


# Overlapping events


@pytest.mark.parametrize("reduction", ["", "max", "count", "first", "sum", "var"])
def test_thousands_of_events_one_on_top_of_the_other(reduction: str) -> None:
    depth = 4000
    rows = [(i, 10 * depth - i, i) for i in range(depth)]
    text = f"{reduction}(~x[t-3:t])" if reduction else "~x[t]"
    query = tilt.parse(f"input x : i64\n~o[t] = {text}")
    found = listed(query.run(x=held(rows, "i64"), workers=1))
    assert found == listed(query.run(x=held(rows, "i64"), chunk=777, workers=2))
    if not reduction:
        up = [(i, i + 1, i) for i in range(depth - 1)]
        top = [(depth - 1, 9 * depth + 1, depth - 1)]
        down = [
            (s, s + 1, 10 * depth - 1 - s) for s in range(9 * depth + 1, 10 * depth)
        ]
        assert found == up + top + down


def test_all_events_at_once() -> None:
    rows = [(0, 5, i) for i in range(5000)]
    value = "{ n = count(~x[t-1:t]), top = ~x[t], low = min(~x[t-1:t]) }"
    found = tilt.parse(f"input x : i64\n~o[t] = {value}").run(x=held(rows, "i64"))
    assert listed(found) == [(0, 5, 5000, 4999, 0)]


# Samples off the tick


@pytest.mark.few(10)
@pytest.mark.parametrize("seed", range(40))
def test_periods_and_phases(seed: int) -> None:
    """Two regular inputs whose periods, phases and grids have nothing to do."""
    draws = Random(seed)  # noqa: S311
    rows = {}
    for name in ("x", "y"):
        period, phase = draws.choice((1, 2, 3, 5, 6)), draws.randint(-7, 7)
        rows[name] = [
            (phase + i * period, phase + (i + 1) * period, draws.randint(-64, 64) / 8)
            for i in range(draws.randint(1, 40))
        ]
    precision = draws.choice((1, 1, 2, 3, 6))
    domain = f"t = TDom(-∞, ∞, {precision}, offset={draws.randrange(precision)})"
    low, high = draws.randint(-12, 0), draws.randint(1, 6)
    text = f"""input x : f64
        input y : f64
        {domain}
        ~a[t] = ~x[t] - ~y[t-{draws.randint(0, 9)}]
        ~b[t] = sum(~x[t{low:+}:t+{high}]) + last(~y[t-{draws.randint(1, 9)}:t])
        ~c[t] = max(~y[t{low:+}:t+{high}])
        output ~a, ~b, ~c"""
    chunk = draws.choice((1, 4, 7, 13))
    settings = Setting(), Setting(chunk=chunk, workers=2), Setting(special_shapes=False)
    check_engines(text, rows, settings=settings)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_windows_over_samples_at_every_chunk_length(size: int) -> None:
    """The seams fall before, into and after the windows of the kernel for samples."""
    count = 2600
    values = [i * i % 1013 for i in range(count)]
    query = tilt.parse(f"input x : i64\n~o[t] = sum(~x[t-{size}:t])")
    totals = np.cumsum([0, *values])
    known = totals[1:] - totals[np.maximum(np.arange(1, count + 1) - size, 0)]
    for chunk in (None, 1, size - 1, size, size + 1, 1023, 1024, 1025, count - 1):
        if chunk == 0 or (chunk == 1 and size > 3):
            continue
        found = query.run(x=steps(values, "i64"), chunk=chunk).to_arrow()
        assert np.array_equal(found["end"].to_numpy(), np.arange(1, count + 1))
        assert np.array_equal(found["o"].to_numpy(), known), chunk
