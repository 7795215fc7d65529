"""The last row of `until_next` holds without end, and moves no output's end.

Property tests hold such rows in every kernel (`random_held`); here are the ways in:
joins, keys, streams, bounds of events, and times that are far away.
"""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
from tests.compare import assert_same
from tests.compiled import NO_STRATEGIES, Setting, run_compiled
from tests.plain import listed
from tests.random.queries import Case
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import FOREVER, Event, LastEvent, interpret

JOIN = """
input trade {by}: f64 time ts point
input quote {by}: f64 time ts until_next
~o[t] = ~trade[t] - ~quote[t]
"""


def frame(**columns: object) -> pa.Table:
    return pa.table(columns)


TRADES = frame(k=["a", "b", "a", "b", "a"], ts=[2, 3, 6, 8, 50], trade=[1.0] * 5)
QUOTES = frame(k=["a", "b", "a"], ts=[1, 2, 5], quote=[0.25, 0.5, 0.75])


def test_an_as_of_join_keeps_what_comes_after_the_last_row() -> None:
    found = tilt.parse(JOIN.format(by="")).run(trade=TRADES, quote=QUOTES)
    assert listed(found) == [
        *[(1, 2, 0.5), (2, 3, 0.5), (5, 6, 0.25), (7, 8, 0.25), (49, 50, 0.25)]
    ]
    by_key = tilt.parse(JOIN.format(by="by k "))
    found = by_key.run(trade=TRADES, quote=QUOTES)
    assert listed(found) == [
        *[("a", 1, 2, 0.75), ("a", 5, 6, 0.25), ("a", 49, 50, 0.25)],
        *[("b", 2, 3, 0.5), ("b", 7, 8, 0.5)],
    ]


def test_an_as_of_join_in_python() -> None:
    trade = tilt.source("trade", tilt.f64, time="ts", lifetime=tilt.point(), by="k")
    quote = tilt.source(
        "quote", tilt.f64, time="ts", lifetime=tilt.until_next(max=10), by="k"
    )
    t = tilt.TDom()
    out = tilt.define("o", t, trade[t] - quote[t])
    found = tilt.compile(out).run(trade=TRADES, quote=QUOTES)
    assert listed(found) == [
        *[("a", 1, 2, 0.75), ("a", 5, 6, 0.25), ("b", 2, 3, 0.5), ("b", 7, 8, 0.5)]
    ]


def test_a_held_row_moves_no_end() -> None:
    query = tilt.parse("input x : i64 time ts until_next\n~o[t] = ~x[t]")
    x = frame(ts=[1, 4], x=[10, 20])
    assert listed(query.run(x=x)) == [(0, 3, 10), (3, 4, 20)]
    assert listed(query.run(x=x, end=9)) == [(0, 3, 10), (3, 9, 20)]
    assert listed(query.run(x=x, start=100, end=109)) == [(100, 109, 20)]
    assert listed(query.read_inputs(x=x)) == [(0, 3, 10), (3, 4, 20)]
    ahead = tilt.parse("input x : i64 time ts until_next\n~o[t] = ~x[t+5]")
    assert listed(ahead.run(x=x)) == [(0, 4, 20)]
    null = frame(ts=[1, 4, 7], x=pa.array([10, 20, None]))
    assert listed(query.run(x=null, end=9)) == [(0, 3, 10), (3, 6, 20)]


@pytest.mark.parametrize("special", [True, False])
def test_the_end_of_a_row_that_holds_on_is_phi(special: bool) -> None:
    text = """
    input x : {kind} time ts until_next{most}
    ~o[t] = {{ now = end(~x[t]), late = end(~x[t-4]), from = start(~x[t]) }}
    """
    options = tilt.CompileOptions(
        disabled_strategies=frozenset() if special else NO_STRATEGIES
    )
    stamps, rows = [1, 4], {"x": [10, 20], "y": [1, 2]}

    def found(kind: str, most: str = "") -> list[tuple[object, ...]]:
        query = tilt.parse(text.format(kind=kind, most=most), options=options)
        return listed(query.run(x=frame(ts=stamps, **rows), end=9))

    cells = [(0, 3, 3, None, 0), (3, 4, None, None, 3), (4, 7, None, 3, 3)]
    assert found("i64") == [*cells, (7, 9, None, None, 3)]
    assert found("{ x: i64, y: i64 }") == [*cells, (7, 9, None, None, 3)]
    most = [(0, 1, 1, None, 0), (1, 3, None, None, None), (3, 4, 4, None, 3)]
    assert found("i64", " max 1")[:3] == most


def test_folds_over_bounds_see_a_held_row_cut_to_the_window() -> None:
    query = tilt.parse("""
    reduction ticks(v: i64, start, end) {
        init = 0
        acc = state + (end - start)
        result = state
    }
    input x : i64 time ts until_next
    input g : i64 time ts point
    ~o[t] = ~g[t] != φ ? ticks(~x[t-4 : t]) : φ
    """)
    x, g = frame(ts=[1, 4], x=[10, 20]), frame(ts=[3, 5, 100], g=[1, 1, 1])
    assert listed(query.run(x=x, g=g)) == [(2, 3, 3), (4, 5, 4), (99, 100, 4)]


# Streams, files, chunks


def random_rows(random: Random, last: int) -> list[int]:
    return sorted(random.randrange(-20, last) for _ in range(random.randrange(1, 12)))


def batches(random: Random, table: pa.Table) -> pa.RecordBatchReader:
    size = random.randrange(1, 5)
    return pa.RecordBatchReader.from_batches(
        table.schema, table.to_batches(max_chunksize=size)
    )


QUERIES = (
    "~o[t] = ~a[t] + ~b[t]",
    "~o[t] = ~b[t] != φ ? ~b[t] - ~a[t-3] : φ",
    "~o[t] = sum(~a[t-7 : t]) + count(~b[t-2 : t+2])",
    "t = TDom(-∞, ∞, 3, offset=1)\n~o[t] = { e = end(~a[t+2]), s = max(~a[t-5:t]) }",
)


def check_streams(seed: int, folder: Path) -> None:
    random = Random(seed)  # noqa: S311 - tests, not secrets
    most = random.choice(("", "", " max 4"))
    text = (
        f"input a : i64 time ts until_next{most}\n"
        f"input b : i64 time ts {random.choice(('until_next', 'point'))}\n"
        + random.choice(QUERIES)
    )
    data: dict[str, pa.Table] = {}
    for name, last in zip("ab", random.sample((5, 40), 2), strict=True):
        stamps = random_rows(random, last)
        values = [random.choice((None, *range(9))) for _ in stamps]
        column = pa.array(values, pa.int64())
        data[name] = frame(**{"ts": pa.array(stamps, pa.int64()), name: column})
    start, end = random.choice(((None, None), (None, 50), (-3, None), (45, 60)))
    query = parsed(text)
    whole = listed(query.run(**data, start=start, end=end))
    cut = query.run(
        **data, start=start, end=end, chunk=random.randrange(1, 9), workers=2
    )
    assert listed(cut) == whole, (seed, text)

    def readers() -> Mapping[str, pa.RecordBatchReader]:
        return {name: batches(random, table) for name, table in data.items()}

    pieces = [
        row
        for r in query.stream(**readers(), start=start, end=end)
        for row in listed(r)
    ]
    assert pieces == whole, (seed, text)
    if seed % 10 == 0:
        path = folder / "o.parquet"
        query.run_to(path, **readers(), start=start, end=end)
        assert pq.read_table(path).num_rows == len(whole)


PARSED: dict[str, tilt.CompiledQuery] = {}


def parsed(text: str) -> tilt.CompiledQuery:
    return PARSED.setdefault(text, tilt.parse(text))


def test_streams_and_chunks_hold_the_last_row(tmp_path: Path, *, deep: bool) -> None:
    for seed in range(2000 if deep else 20):
        check_streams(seed, tmp_path)


# Far times

FAR = 2**62


SETTINGS = (
    Setting(),
    Setting(vector=True),
    Setting(vector=True, chunk=7, small=True),
    Setting(special_shapes=False),
)


@pytest.mark.parametrize("first", [-FAR + 1, -(2**61) - 300, FAR - 700])
@pytest.mark.parametrize("gap", [0, 2])
def test_dense_rows_at_the_ends_of_time(first: int, gap: int) -> None:
    """Differences of times do not wrap, though the last row ends later than all."""
    stamps = [first + 2 * i + (i % 3 == 0) for i in range(300)]
    events = [
        Event(stamp - 1, later - 1, value)
        for value, (stamp, later) in enumerate(pairwise(stamps))
    ]
    events.append(LastEvent(stamps[-1] - 1, FOREVER, 299))
    del events[100 : 100 + gap]
    query = parse("input x : i64\n~o[t] = sum(~x[t-2:t]) * 2 + ~x[t-1]")
    low, high = max(first - 100, -FAR), min(first + 700, FAR)
    case = Case(query, {"x": events}, low, high, {})
    meant = interpret(query, case.events, start=low, end=high)
    for setting in SETTINGS:
        assert_same(run_compiled(case, setting), meant, query, exact=True)
