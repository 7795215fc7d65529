"""Cells of an input: the interpreter, machine code in all engines, and Polars."""

from datetime import datetime, timedelta
from random import Random

import polars as pl
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compiled import random_setting
from tests.engines.test_out_of_core import run_streamed
from tests.engines.test_partitions import Pieces
from tests.engines.test_rows import assert_meant
from tests.random.interval_cells import with_interval_cells
from tests.random.open_windows import random_open_case
from tests.random.queries import Case, random_case
from tests.random.row_queries import random_row_case
from tests.semantics.test_properties import check
from tiltpy.errors import DataError, QueryError, TiltError
from tiltpy.frontend.parse import parse
from tiltpy.ir.print.query import format_query
from tiltpy.ir.verify.invariants import verify_source

CASES, BATCH, DEEPER = 4, 4, 525
ENGINES = 6


def draw(seed: int, *, exact: bool) -> Case:
    """Draw a case over the cells of an input."""
    case = random_case(seed, exact=exact, specials=exact and seed % 3 == 0)
    if exact and seed % 4 == 3:
        case = random_open_case(seed) or case
    if seed % 6 == 1:
        case = random_row_case(seed, exact=exact)
    return with_interval_cells(case, seed)


@pytest.mark.parametrize("batch", range(CASES // BATCH))
def test_machine_code_equals_the_interpreter(batch: int, *, deep: bool) -> None:
    for start in range(batch * BATCH, CASES * (DEEPER if deep else 1), CASES):
        for seed in range(start, start + BATCH):
            exact = seed % 5 != 0
            case = draw(seed, exact=exact)
            verify_source(case.query)
            assert parse(format_query(case.query)) == case.query, seed
            setting = random_setting(Random(seed), span=80)  # noqa: S311
            difference = check(case, setting, exact=exact)
            assert difference is None, f"seed {seed}, {setting}\n{difference}"


@pytest.mark.parametrize("first", range(0, ENGINES, BATCH))
def test_streams_and_partitions_equal_the_interpreter(
    first: int, *, deep: bool
) -> None:
    for seed in range(first, first + BATCH * (DEEPER if deep else 1)):
        case = draw(5 * seed + 1, exact=True)
        random = Random(seed)  # noqa: S311
        setting = random_setting(random, span=80)
        streamed = run_streamed(case, setting, random)
        assert_meant(case, streamed, f"seed {seed}, {setting}")
        interval = random.choice((2, 5, 8, 13, 100))
        pieces = Pieces(case, interval, random.choice((None, interval)), None).run()
        assert_meant(case, pieces, f"seed {seed}, partitions of {interval}")


# Sessions of an exchange


def sessions(random: Random) -> pl.DataFrame:
    """Trading sessions with lunch breaks; no trade on weekends and on holidays."""
    rows = []
    day = datetime(2024, 3, 1)
    for _ in range(40):
        day += timedelta(days=1)
        if day.weekday() < 5 and random.random() < 0.9:
            for opens, closes in ((9, 11.5), (12.5, 15)):
                start, end = (day + timedelta(hours=h) for h in (opens, closes))
                rows.append((start, end, "morning" if opens == 9 else "afternoon"))
    return pl.DataFrame(rows, schema=["start", "end", "session"], orient="row")


def trades(random: Random, count: int) -> pl.DataFrame:
    """Trades at any time of the day, some of them at the bounds of sessions."""
    first = datetime(2024, 3, 1)
    times = [
        first + timedelta(minutes=random.randrange(42 * 1440)) for _ in range(count)
    ]
    prices = [random.randint(1, 800) / 8 for _ in times]
    keys = [random.choice("abc") for _ in times]
    frame = pl.DataFrame({"time": times, "key": keys, "price": prices})
    return frame.sort("time", maintain_order=True)


BARS = """
    unit s
    input session {by_session}: {{ session: string }} interval
    input trade {by}: {{ price: f64 }} point
    d = TDom(cells of ~session)
    ~bar[d] = {{
        session = ~session[d].session, opens = first(~trade[d - 1 cell : d].price),
        high = max(~trade[d - 1 cell : d].price),
        low = min(~trade[d - 1 cell : d].price),
        closes = last(~trade[d - 1 cell : d].price), n = count(~trade[d - 1 cell : d])
    }}
    ~mid[d] = median(~trade[d - 1 cell : d].price)
    output ~bar, ~mid
"""


def expected_bars(intervals: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The bars by Polars: each session beside its trades, by an inequality join."""
    inside = intervals.join_where(
        rows, pl.col("time") > pl.col("start"), pl.col("time") <= pl.col("end")
    )
    price = pl.col("price")
    bars = inside.sort("time", maintain_order=True).group_by("start").agg(
        price.first().alias("opens"), price.max().alias("high"),
        price.min().alias("low"), price.last().alias("closes"),
        pl.len().cast(pl.Int64).alias("n"), price.median().alias("mid"),
    )  # fmt: skip
    return intervals.join(bars, "start", how="left").sort("start")


def test_bars_of_sessions_are_those_of_an_inequality_join() -> None:
    random = Random(7)  # noqa: S311
    intervals = sessions(random)
    for count in (0, 5, 60, 3000):
        rows = trades(random, count).unique(["time"], keep="first", maintain_order=True)
        query = tilt.parse(BARS.format(by="", by_session=""))
        found = query.run(session=intervals, trade=rows)
        expected = expected_bars(intervals, rows)
        bar = found["bar"].to_polars()
        assert bar["start"].to_list() == expected["start"].to_list()
        assert bar["end"].to_list() == expected["end"].to_list()
        for name in ("session", "opens", "high", "low", "closes"):
            assert bar[name].to_list() == expected[name].to_list(), name
        assert bar["n"].to_list() == expected["n"].fill_null(0).to_list()
        windows = found["mid"].windows().to_pydict()
        seen = [n for n, mid in enumerate(expected["mid"]) if mid is not None]
        shown = expected[seen[0] : seen[-1] + 1] if seen else expected[:0]
        assert windows["mid"] == shown["mid"].to_list()
        assert windows["time"] == shown["start"].to_list()


@pytest.mark.parametrize("by_session", ["", "by key "])
def test_each_key_has_bars_of_sessions(by_session: str) -> None:
    random = Random(8)  # noqa: S311
    rows = trades(random, 900)
    shared = sessions(random)
    own = {key: sessions(random) if by_session else shared for key in "abc"}
    intervals = shared
    if by_session:
        named = [own[key].with_columns(key=pl.lit(key)) for key in "abc"]
        intervals = pl.concat(named).sample(fraction=1.0, shuffle=True, seed=4)
    query = tilt.parse(BARS.format(by="by key ", by_session=by_session))
    found = query.run(session=intervals, trade=rows)
    for key in "abc":
        alone = tilt.parse(BARS.format(by="", by_session=""))
        mine = alone.run(session=own[key], trade=rows.filter(pl.col("key") == key))
        for name in ("bar", "mid"):
            of_key = found[name].to_polars().filter(pl.col("key") == key).drop("key")
            assert of_key.equals(mine[name].to_polars()), (key, name)
    if by_session:
        with pytest.raises(TiltError, match="keys have each their own"):
            found["mid"].windows()


def test_windows_have_a_row_for_each_interval() -> None:
    intervals = pa.table(
        {"start": [0, 10, 30, 50], "end": [10, 20, 40, 60], "s": range(4)}
    )
    rows = pa.table({"time": [3, 25, 31, 45], "x": [1.0, 2.0, 4.0, 8.0]})
    query = tilt.parse("""
        unit s
        input s : i64 interval
        input x : f64 point
        d = TDom(cells of ~s)
        ~sum[d] = sum(~x[d - 1 cell : d])
    """)
    found = query.run(s=intervals, x=rows)["sum"]
    assert found.windows().to_pydict() == {"time": [0, 10, 30], "sum": [1.0, None, 4.0]}
    for start, end, labels in ((5, 55, [0, 10, 30, 50]), (22, 48, [30]), (22, 28, [])):
        cut = query.run(s=intervals, x=rows, start=start, end=end)["sum"]
        assert cut.windows()["time"].to_pylist() == labels, (start, end)
    cut = query.run(s=intervals, x=rows, start=5, end=35)["sum"]
    assert cut.to_arrow().to_pydict() == {
        "start": [5, 30], "end": [10, 35], "sum": [1.0, 4.0]
    }  # fmt: skip
    with pytest.raises(TiltError, match="a stream does not keep"):
        next(iter(query.stream(s=intervals, x=rows)))["sum"].windows()


def test_intervals_that_overlap_are_no_cells() -> None:
    query = tilt.parse("""
        unit s
        input s : i64 interval
        input x : f64 point
        d = TDom(cells of ~s)
        ~n[d] = count(~x[d - 1 cell : d])
    """)
    x = pa.table({"time": [1], "x": [1.0]})
    intervals = pa.table({"start": [20, 0, 15], "end": [30, 10, 21], "s": [1, 2, 3]})
    with pytest.raises(
        DataError, match=r"from 20 on begins before .* ends, at 21"
    ) as at:
        query.run(s=intervals, x=x)
    assert (at.value.input, at.value.row) == ("s", 0)
    hole = pa.table({"start": [0, 15, 20], "end": [10, 21, 30], "s": [1, None, 3]})
    assert query.run(s=hole, x=x)["n"].to_arrow()["start"].to_pylist() == [0, 20]
    halves = [intervals.slice(1, 2), intervals.slice(0, 1)]
    stream = query.stream(
        s=pa.RecordBatchReader.from_batches(
            intervals.schema, [half.to_batches()[0] for half in halves]
        ),
        x=x,
    )
    with pytest.raises(DataError, match="begins before the one before it ends"):
        list(stream)
    held = tilt.parse("""
        unit s
        input s : i64
        input x : f64 point
        d = TDom(cells of ~s)
        ~n[d] = count(~x[d - 1 cell : d])
    """)
    rows = pa.table({"time": [3, 9], "s": [1, 2]})
    with pytest.raises(DataError, match="holds without end"):
        held.run(s=tilt.bind(rows, lifetime=tilt.until_next()), x=x)
    limited = held.run(s=tilt.bind(rows, lifetime=tilt.until_next(max="4s")), x=x)
    assert limited["n"].to_arrow()["end"].to_pylist() == [6, 9]  # as far as the rows


def test_python_writes_the_same_query() -> None:
    session = tilt.source("session", tilt.i64, tilt.interval())
    x = tilt.source("x", tilt.f64, tilt.point())
    d = tilt.TDom(precision=tilt.cells_of(session))
    b = tilt.TDom("10s", None, tilt.cells_of(session))
    made = tilt.compile(
        tilt.define("a", d, tilt.sum(x[d - tilt.cells(2) : d])),
        tilt.define("b", b, tilt.last(x[b - tilt.cells(1) : b])),
        unit="s",
    )
    text = """
    unit s
    input session : i64 interval
    input x : f64 point
    d = TDom(cells of ~session)
    b = TDom(10s, ∞, cells of ~session)
    ~a[d] = sum(~x[d - 2 cells : d])
    ~b[b] = last(~x[b - 1 cell : b])
    """
    assert made.query == tilt.parse(text).query
    for wrong in (
        lambda: tilt.cells_of("session"),  # type: ignore[arg-type]
        lambda: tilt.cells_of(x[d]),
        lambda: tilt.TDom(precision=tilt.cells_of(session), left=True),
    ):
        with pytest.raises(TiltError, match=r"takes a source|nothing moves them"):
            wrong()


def test_elements_over_the_cells_do_not_see_the_present() -> None:
    query = tilt.parse("""
        unit s
        input s : i64 interval
        input x : f64 point
        d = TDom(cells of ~s)
        ~n[d] = count(v for v in ~x[d - 1 cell : d] if v > ~x[d])
    """)
    with pytest.raises(QueryError, match="over the cells of ~s in this version") as at:
        query.explain()
    assert (at.value.code, at.value.hint[:22]) == ("E0113", "give the window a dura")
