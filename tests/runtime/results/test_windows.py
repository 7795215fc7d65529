"""A row for each window: of random grids, by key, as Polars and pandas have them."""

from dataclasses import replace
from random import Random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compiled import table_of
from tests.random.queries import Case, random_case
from tiltpy.errors import TiltError
from tiltpy.interpreter.evaluate import Snapshot, interpret
from tiltpy.ir.nodes import Query
from tiltpy.ir.print.query import format_query
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.types import Scalar, TDom

SEEDS = 60
HOUR = 3600


def expanded(rows: list[Snapshot], tdom: TDom, start: int, end: int) -> list[object]:
    """A row for each cell of `(start, end]`, by the slowest way there is."""
    windows: list[object] = []
    for g in range(tdom.ceil(start + 1), tdom.ceil(end) + 1, tdom.precision):
        label = g - tdom.precision + 1 if tdom.left else g
        low, high = max(g - tdom.precision, start), min(g, end)
        value = [r.value for r in rows if r.start <= low and high <= r.end]
        windows.append((label, value[0] if value else None))
    return windows


@pytest.mark.parametrize("first", range(0, SEEDS, 20))
def test_windows_are_the_cells_of_the_grid(first: int, *, deep: bool) -> None:
    for seed in range(first, first + (2000 if deep else 20)):
        random = Random(f"windows {seed}")  # noqa: S311
        case = random_case(seed, exact=True)
        name = case.query.outputs[-1]
        of = case.query.type_of(name)
        if not isinstance(of, Scalar) or of.is_float or case.bounds:  # no NaN
            continue
        case = replace(case, query=on_left_grids(case.query, random))
        definition = case.query.definition(name)
        assert definition is not None
        bounded = random.random() < 0.5
        case = replace(case, start=-7 if bounded else None, end=95 if bounded else None)
        meant = interpret(case.query, case.events, start=case.start, end=case.end)[name]
        start, end = -7, 95
        if not bounded:
            start, end = (meant[0].start, meant[-1].end) if meant else (0, 0)
        tdom = definition.tdom
        if isinstance(tdom.start, int):
            start = max(start, tdom.start)
        if isinstance(tdom.end, int):
            end = min(end, tdom.end)
        found = run_table(case, name).windows("label")
        listed = list(zip(*found.to_pydict().values(), strict=True))
        assert listed == expanded(meant, tdom, start, end), seed


def on_left_grids(query: Query, random: Random) -> Query:
    """Label the cells of some definitions by their first ticks."""
    definitions = tuple(
        replace(each, tdom=replace(each.tdom, left=random.random() < 0.5))
        for each in query.definitions
    )
    return replace(query, definitions=definitions)


def run_table(case: Case, name: str) -> OutputTable:
    """An output of a run of a query that was printed and read again."""
    frames = {
        declared.name: tilt.bind(
            table_of(declared, case.events[declared.name]),
            lifetime=tilt.interval("start", "end"),
        )
        for declared in case.query.inputs
    }
    query = tilt.parse(format_query(case.query))
    assert query.query == case.query
    return query.run(start=case.start, end=case.end, **frames)[name]  # type: ignore[arg-type]


def frame(random: Random, hours: int, rows: int) -> pl.DataFrame:
    """Rows at random seconds, some on the hour, some stamps shared; keys a to c."""
    times = [random.randrange(-hours * HOUR, hours * HOUR) for _ in range(rows)]
    times = [t - t % HOUR if random.random() < 0.3 else t for t in times]
    times += random.choices(times, k=rows // 5)
    numbered = sorted(times)
    columns = {
        "time": (pl.Series(numbered) * 1000).cast(pl.Datetime("ms")),
        "key": [random.choice("abc") for _ in numbered],
        "x": [random.randint(-50, 50) / 8 for _ in numbered],
    }
    return pl.DataFrame(columns)


@pytest.mark.parametrize("seed", range(8))
def test_left_cells_are_those_of_polars(seed: int) -> None:
    random = Random(f"left {seed}")  # noqa: S311
    rows = frame(random, random.choice((3, 40, 400)), random.choice((5, 60, 600)))
    every, times = random.choice((1, 2, 6, 24)), random.choice((1, 1, 2, 3))
    offset = random.choice((0, 0, 1, 5))
    window = f"~x[d - {every}h : d + {every * (times - 1)}h]"
    query = tilt.parse(f"""
        unit s
        input x : f64 point
        d = TDom(-∞, ∞, {every}h, {offset}h, left)
        ~o[d] = count({window}) > 0
            ? {{ n = count({window}), s = sum({window}), last = last({window}) }} : φ
    """)
    found = query.run(x=rows.select("time", "x"))["o"].windows()
    n, s, last = (
        pl.len().cast(pl.Int64).alias("n"),
        pl.col("x").sum(),
        pl.col("x").last(),
    )
    said = rows.group_by_dynamic(
        "time",
        every=f"{every}h",
        period=f"{every * times}h",
        offset=f"{offset}h",
        closed="left",
        label="left",
    ).agg(n, s.alias("s"), last.alias("last"))
    listed = pl.from_arrow(found)
    assert isinstance(listed, pl.DataFrame)
    assert listed.filter(pl.col("n").is_not_null()).equals(said)


@pytest.mark.parametrize("seed", range(8))
def test_left_cells_are_those_of_pandas(seed: int) -> None:
    random = Random(f"pandas {seed}")  # noqa: S311
    rows = frame(random, random.choice((3, 40, 400)), random.choice((5, 60, 600)))
    every = random.choice((1, 2, 6, 24))
    query = tilt.parse(f"""
        unit s
        input x : f64 point
        param w : duration = {every}h
        d = TDom(-∞, ∞, {every}h, left)
        g = TDom(-∞, ∞, {every}h)
        def bar(~x) = {{ n = count(~x[t-w : t]), s = mean(~x[t-w : t]) }}
        ~left[d] = bar(~x)
        ~right[g] = bar(~x)
    """)
    result = query.run(x=rows.select("time", "x"))
    series = rows.to_pandas().set_index("time")["x"]
    for side in ("left", "right"):
        binned = series.resample(
            f"{every}h",
            closed=side,
            label=side,
            origin="epoch",
        )
        found = result[side].windows().to_pandas().set_index("time")
        assert found.index.to_list() == binned.count().index.to_list()
        assert found["n"].to_list() == binned.count().to_list()
        np.testing.assert_array_equal(found["s"], binned.mean())


def test_each_key_has_its_own_windows() -> None:
    rows = frame(Random(3), 40, 60)  # noqa: S311
    query = tilt.parse("""
        unit s
        input x by key : { key: string, x: f64 } point
        d = TDom(-∞, ∞, 6h, left)
        ~n[d] = count(~x[d-6h : d])
    """)
    series = rows.to_pandas().set_index("time")
    said = [
        (key, label, n)
        for key, group in series.groupby("key")
        for label, n in group["x"].resample("6h", origin="epoch").count().items()
    ]
    for order in ("key", "time"):
        result = query.run(x=rows, order=order)
        found = result.windows("at").to_pydict()
        assert list(found) == ["key", "at", "n"]
        listed = list(
            zip(found["key"], map(pd.Timestamp, found["at"]), found["n"], strict=True)
        )
        assert listed == said


def test_windows_go_as_far_as_the_run() -> None:
    rows = pa.table({"time": pa.array([7200], pa.timestamp("s")), "x": [1.0]})
    query = tilt.parse("""
        unit s
        input x : f64 point
        d = TDom(-∞, ∞, 1h, left)
        ~s[d] = sum(~x[d-1h : d])
    """)
    found = query.run(x=rows, start=-1, end=5 * HOUR - 1).windows()
    assert found["s"].to_pylist() == [None, None, 1.0, None, None]
    hours = [time.hour for time in found["time"].to_pylist()]
    assert hours == [0, 1, 2, 3, 4]
    none = query.run(x=rows.slice(1), start=-1, end=2 * HOUR - 1).windows()
    assert none["s"].to_pylist() == [None, None]
    assert query.run(x=rows.slice(1)).windows().num_rows == 0
    (batch, *_) = query.stream(x=rows)
    assert batch.windows()["s"].to_pylist() == [1.0]


def test_what_has_no_windows_says_so() -> None:
    rows = pa.table({"time": pa.array([1, 2], pa.int64()), "x": [1.0, 2.0]})
    query = tilt.parse("input x : f64 point\n~time[t] = ~x[t]")
    with pytest.raises(TiltError, match="a column 'time' already"):
        query.run(x=rows).windows()
    assert query.run(x=rows).windows("at")["at"].to_pylist() == [1, 2]
    own = tilt.parse("input x : f64 point\ne = Rows(~x)\n~o[e] = ~x[e]\noutput ~o")
    with pytest.raises(TiltError, match=r"'o' has a row for each row .* no windows"):
        own.run(x=rows).windows()
    with pytest.raises(TiltError, match="no windows; take its snapshots"):
        query.read_inputs(x=rows)["x"].windows()
    far = pa.table({"time": pa.array([1, 2**60], pa.int64()), "x": [1.0, 2.0]})
    with pytest.raises(TiltError, match="give it a coarser precision"):
        query.run(x=far).windows("at")


def test_python_writes_left_cells() -> None:
    x = tilt.source("x", tilt.f64, tilt.point())
    d = tilt.TDom(precision="1d", offset="5h", left=True)
    made = tilt.compile(tilt.define("o", d, tilt.sum(x[d - "1d" : d])), unit="s")
    text = """
    unit s
    input x : f64 point
    d = TDom(-∞, ∞, 1d, 5h, left)
    ~o[d] = sum(~x[d-1d : d])
    """
    assert made.query == tilt.parse(text).query
    assert made.query.definitions[0].tdom == TDom(None, None, 86400, 5 * HOUR - 1, True)
