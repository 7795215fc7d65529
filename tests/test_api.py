"""The public API as its users meet it: their frames, their times, their mistakes."""

import datetime as dt
import traceback
from collections.abc import Callable
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.plain import listed
from tiltpy.inputs import BoundFrame
from tiltpy.short_tracebacks import short_traceback
from tiltpy.types import Unit

DAY = dt.datetime(2024, 3, 1, tzinfo=dt.UTC)
STAMPS = [DAY + dt.timedelta(seconds=s) for s in (0, 1, 2, 5, 9)]
VALUES = [1.0, 2.0, 4.0, 8.0, 16.0]
ARROW = pa.table({"ts": pa.array(STAMPS, pa.timestamp("us", "UTC")), "x": VALUES})
TEXT = "unit s\ninput x : f64 time ts point\n~total[t] = sum(~x[t-3s:t])"


def in_seconds(result: tilt.Result) -> list[tuple[object, ...]]:
    """Rows with times as seconds of the day."""
    found = []
    for start, end, *value in listed(result):
        assert isinstance(start, dt.datetime)
        assert isinstance(end, dt.datetime)
        times = ((time - DAY).total_seconds() for time in (start, end))
        found.append((*times, *value))
    return found


TOTALS = [
    (-1.0, 0.0, 1.0), (0.0, 1.0, 3.0), (1.0, 2.0, 7.0), (2.0, 3.0, 6.0),
    (3.0, 4.0, 4.0), (4.0, 7.0, 8.0), (8.0, 9.0, 16.0),
]  # fmt: skip


# Frames


FRAMES: dict[str, Callable[[], object]] = {
    "pyarrow": lambda: ARROW,
    "record batches": lambda: pa.RecordBatchReader.from_batches(
        ARROW.schema, ARROW.to_batches(max_chunksize=2)
    ),
    "Polars": lambda: pl.from_arrow(ARROW),
    "pandas": ARROW.to_pandas,
    "pandas over Arrow": lambda: ARROW.to_pandas(types_mapper=pd.ArrowDtype),
    "DuckDB": lambda: duckdb.sql("select * from ARROW"),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_any_frame_goes_in(frame: Callable[[], object]) -> None:
    assert in_seconds(tilt.parse(TEXT).run(x=frame())) == TOTALS


def test_a_result_goes_anywhere() -> None:
    result = tilt.parse(TEXT).run(x=ARROW)
    sums = [row[2] for row in TOTALS]
    assert result.to_arrow().schema.names == ["start", "end", "total"]
    assert result.to_polars()["total"].to_list() == sums
    assert result.to_pandas()["total"].tolist() == sums
    assert pa.table(result)["total"].to_pylist() == sums
    assert pl.DataFrame(result)["total"].to_list() == sums
    relation = duckdb.sql("select sum(total) from result")
    assert relation is not None
    assert relation.fetchall() == [(sum(sums),)]
    assert result["total"].points().column_names == ["time", "total"]


def test_a_result_is_an_input() -> None:
    first = tilt.parse(TEXT).run(x=ARROW)
    again = tilt.parse("unit s\ninput total : f64\n~o[t] = ~total[t] * 2.0")
    frame = tilt.bind(first, lifetime=tilt.interval("start", "end"))
    doubled = [(start, end, 2 * value) for start, end, value in TOTALS]
    assert in_seconds(again.run(total=frame)) == doubled


def test_an_index_is_a_column_too() -> None:
    frame = ARROW.to_pandas().set_index("ts")
    assert in_seconds(tilt.parse(TEXT).run(x=frame)) == TOTALS


def test_lazy_frames_say_what_to_do() -> None:
    with pytest.raises(tilt.DataError, match="collect"):
        tilt.parse(TEXT).run(x=pl.LazyFrame({"ts": STAMPS, "x": VALUES}))


def test_binding_what_the_query_leaves_open() -> None:
    open_text = "unit s\ninput x : f64\n~total[t] = sum(~x[t-3s:t])"
    table = ARROW.rename_columns(["when", "how much"])
    query = tilt.parse(open_text)
    frame = tilt.bind(table, time="when", lifetime=tilt.point(), column="how much")
    assert in_seconds(query.run(x=frame)) == TOTALS
    held = tilt.bind(table, time="when", lifetime=tilt.until_next(), column="how much")
    assert in_seconds(query.run(x=held))[0] == (-1.0, 0.0, 1.0)
    long = tilt.bind(
        table, time="when", lifetime=tilt.duration("2s"), column="how much"
    )
    assert in_seconds(query.run(x=long))[:2] == [(-1.0, 0.0, 1.0), (0.0, 1.0, 3.0)]
    with pytest.raises(tilt.DataError, match="lifetime"):
        query.run(x=table)
    declared = tilt.parse(TEXT)
    with pytest.raises(tilt.DataError, match="declares the time column 'ts'"):
        declared.run(x=tilt.bind(ARROW, time="x"))


def test_ties_are_broken_by_the_order_that_is_bound() -> None:
    table = pa.table({"ts": [5, 5, 5], "x": [1, 2, 3], "seq": [3, 1, 2]})
    query = tilt.parse("input x : i64 time ts until_next\n~o[t] = ~x[t]")
    assert listed(query.run(x=table, end=9)) == [(4, 9, 3)]
    frame = tilt.bind(table, order="seq")
    assert listed(query.run(x=frame, end=9)) == [(4, 9, 1)]


def test_rows_out_of_order() -> None:
    mixed = ARROW.take([3, 0, 4, 2, 1])
    assert in_seconds(tilt.parse(TEXT).run(x=mixed)) == TOTALS
    with pytest.raises(tilt.DataError) as caught:
        tilt.parse(TEXT).run(x=mixed, allow_sort=False)
    assert (caught.value.input, caught.value.column, caught.value.row) == ("x", "ts", 1)


# Queries in Python


def test_the_same_query_in_python() -> None:
    x = tilt.source("x", tilt.f64, tilt.point(), time="ts")
    t = tilt.TDom(precision="1s")
    total = tilt.define("total", t, tilt.sum(x[t - "3s" : t]))
    query = tilt.compile(total)
    assert in_seconds(query.run(x=ARROW)) == TOTALS
    assert query.query == tilt.parse(TEXT).query
    assert repr(query) == "<query ~x -> ~total>"


def test_several_outputs() -> None:
    x = tilt.source("x", tilt.f64, tilt.point(), time="ts")
    t = tilt.TDom(precision="1s")
    parts = tilt.struct(low=tilt.min(x[t - "3s" : t]), high=tilt.max(x[t - "3s" : t]))
    ends = tilt.define("ends", t, parts)
    up = tilt.define("up", t, tilt.when(x[t] > 3.0, x[t]))
    result = tilt.compile(ends, up).run(x=ARROW)
    assert list(result) == ["ends", "up"]
    assert result["up"].to_polars()["up"].to_list() == [4.0, 8.0, 16.0]
    assert result["ends"].to_arrow().column_names == ["start", "end", "low", "high"]
    with pytest.raises(tilt.TiltError, match="choose one of them"):
        result.to_arrow()
    with pytest.raises(KeyError, match="did you mean 'ends'"):
        result["end"]


def test_a_query_from_a_file_with_parameters(tmp_path: Path) -> None:
    path = tmp_path / "total.tilt"
    path.write_text(
        TEXT.replace("3s", "span").replace(
            "~total", "param span : duration = 1h\n~total", 1
        )
    )
    assert in_seconds(tilt.load(path, params={"span": "3s"}).run(x=ARROW)) == TOTALS
    with pytest.raises(tilt.TiltError, match="no parameter 'spam'"):
        tilt.load(path, params={"spam": "3s"})
    with pytest.raises(tilt.TiltError, match="not readable"):
        tilt.load(tmp_path / "other.tilt")


# Times


@pytest.mark.parametrize(
    "moment",
    [
        "2024-03-01T00:00:01", "2024-03-01 00:00:01", "2024-03-01T00:00:01Z",
        "2024-03-01T01:00:01+01:00", "2024-03-01T00:00:01.000000000", "1709251201",
        1709251201, np.int64(1709251201), STAMPS[1], STAMPS[1].replace(tzinfo=None),
        STAMPS[1].astimezone(ZoneInfo("Asia/Tokyo")), pd.Timestamp(STAMPS[1]),
    ],
    ids=repr,
)  # fmt: skip
def test_moments(moment: str | int | dt.datetime) -> None:
    query = tilt.parse(TEXT)
    cut = [(1.0, 2.0, 7.0), (2.0, 3.0, 6.0)]
    assert in_seconds(query.run(x=ARROW, start=moment))[:2] == cut
    assert in_seconds(query.run(x=ARROW, end=moment)) == TOTALS[:2]


def test_dates_are_midnights() -> None:
    query = tilt.parse(TEXT)
    for date in ("2024-03-01", dt.date(2024, 3, 1)):
        assert in_seconds(query.run(x=ARROW, start=date)) == TOTALS[1:]


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (1.5, "expected ticks"), (True, "expected ticks"), ("soon", "expected ticks"),
        (b"2024", "expected ticks"), ([1], "expected ticks"), ("", "expected ticks"),
        ("2024-13-01", "expected ticks"), (dt.time(1), "expected ticks"),
        (float("nan"), "expected ticks"), (pd.NaT, "is not a time"),
        ("2024-03-01T00:00:00.5", "not a whole number of the query's ticks"),
        (pd.Timestamp("2024-03-01 00:00:00.000000001"), "not a whole number"),
        (dt.datetime(2024, 3, 1, microsecond=1, tzinfo=dt.UTC), "not a whole number"),
    ],
)  # fmt: skip
def test_what_is_no_moment(start: object, message: str) -> None:
    with pytest.raises(tilt.TiltError, match=message):
        tilt.parse(TEXT).run(x=ARROW, start=start)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "chunk",
    [
        1, "1s", "1h30m", dt.timedelta(seconds=3), pd.Timedelta("4s"), "2", 10**30,
        np.timedelta64(3, "s"),
    ],
)  # fmt: skip
def test_chunks(chunk: int | str | dt.timedelta | np.timedelta64) -> None:
    assert in_seconds(tilt.parse(TEXT).run(x=ARROW, chunk=chunk)) == TOTALS


@pytest.mark.parametrize(
    ("chunk", "message"),
    [
        (0, "chunk=0: expected a whole number, 1 or more"), ("0s", "1 or more"),
        (-5, "1 or more"), (1.5, "expected ticks"), (True, "expected ticks"),
        ("1.5s", "not a whole number"), ("fast", "expected ticks"),
        (pd.Timedelta("1ns"), "not a whole"), (np.timedelta64(3, "M"), "numpy's"),
        (dt.timedelta(microseconds=1), "not a whole number"),
    ],
)  # fmt: skip
def test_what_is_no_chunk(chunk: object, message: str) -> None:
    with pytest.raises(tilt.TiltError, match=message):
        tilt.parse(TEXT).run(x=ARROW, chunk=chunk)  # type: ignore[arg-type]


@pytest.mark.parametrize("workers", [0, -1, 1.5, "2"])
def test_what_is_no_number_of_workers(workers: object) -> None:
    with pytest.raises(tilt.TiltError, match="expected a whole number, 1 or more"):
        tilt.parse(TEXT).run(x=ARROW, workers=workers)  # type: ignore[arg-type]


def test_plain_ticks_have_no_dates() -> None:
    query = tilt.parse("input x : i64 time ts point\n~o[t] = ~x[t]")
    table = pa.table({"ts": [1, 2], "x": [1, 2]})
    assert listed(query.run(x=table, start=1)) == [(1, 2, 2)]
    with pytest.raises(tilt.TiltError, match="counts in plain ticks"):
        query.run(x=table, start="2024-03-01")
    with pytest.raises(tilt.DataError, match="plain ticks"):
        query.run(x=ARROW)


# Mistakes


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ({}, "input 'x': nothing is bound to it"),
        ({"x": ARROW, "y": ARROW}, "input 'y': the query has no such input; it has x"),
        ({"prices": ARROW}, "input 'prices': the query has no such input"),
        ({"x": None}, "input 'x': expected a table"),
        ({"x": 3}, "input 'x': found an int; rows come in a table"),
        ({"x": [1, 2]}, "input 'x': found a list; make it a table"),
        ({"x": pa.table({"x": VALUES})}, "'ts'"),
        ({"x": ARROW.drop_columns(["x"])}, "input 'x'"),
        ({"x": pa.table({"ts": ARROW["ts"], "x": ["a"] * 5})}, "found string"),
    ],
)
def test_wrong_frames(frames: dict[str, object], message: str) -> None:
    with pytest.raises(tilt.DataError, match=message):
        tilt.parse(TEXT).run(**frames)  # type: ignore[arg-type]


def test_wrong_outputs_and_options() -> None:
    x, t = tilt.source("x", tilt.f64), tilt.TDom()
    with pytest.raises(tilt.TiltError, match="at least one output"):
        tilt.compile()
    with pytest.raises(tilt.TiltError, match="made by define"):
        tilt.compile(x[t] + 1)  # type: ignore[arg-type]
    options = tilt.CompileOptions(disabled_passes=frozenset({"go_faster"}))
    query = tilt.compile(tilt.define("o", t, x[t]), options=options)
    with pytest.raises(tilt.TiltError, match="no pass go_faster to leave out"):
        query.explain()


# Explain

TREND = """unit s
input x : f64 time ts until_next
input y : f64 time ts point
~fast[t] = mean(~x[t-10s:t]) + ~y[t+3s]
~slow[t] = mean(~x[t-1m:t])
~trend[t] = ~fast[t] > ~slow[t] ? ~fast[t] - ~slow[t] + f64(2) * 3.0 : φ
output ~trend"""


def test_explain_shows_every_stage() -> None:
    text = tilt.parse(TREND).explain()
    places = [
        "== query ==",
        "~fast[t] = ",
        "== after fold_constants ==",
        "+ 6.0",
        "== after fuse_operators ==",
        "== boundaries ==",
        "~trend over (Ts, Te] needs ~x over (Ts - 60, Te]",
        "~trend over (Ts, Te] needs ~y over (Ts, Te + 3]",
        "== layouts ==",
        "~x: contiguous",
        "== plan ==",
        "== sweep kernel ==",
        "== compile time ==",
    ]
    found = [text.find(place) for place in places]
    assert -1 not in found, places[found.index(-1)]
    assert found == sorted(found)
    times = text[found[-1] :].splitlines()[1:]
    stages = [line.rsplit(maxsplit=2)[0].strip() for line in times if line]
    assert stages[0] == "passes"
    assert stages[-1] == "in all"
    assert {"lowering", "emit LLVM IR", "optimize", "machine code"} <= set(stages)
    assert all(line.endswith(" ms") for line in times if line)


def test_explain_with_code() -> None:
    query = tilt.parse(TREND)
    assert "define" not in query.explain()
    assert "define" in query.explain(llvm=True)
    assert "ret" in query.explain(asm=True)


def frame_of(unit: Unit, stamps: list[int]) -> pa.Table:
    times = pa.array(stamps, pa.timestamp(unit))
    return pa.table({"ts": times, "x": [float(stamp) for stamp in stamps]})


@pytest.mark.parametrize(
    ("stamps", "layout"),
    [
        ([0, 1, 2, 3], "sampled"),
        ([0, 5, 9], "intervals"),
        ([0, 0, 1], "overlapping"),
    ],
)
def test_explain_with_data_shows_its_layout(stamps: list[int], layout: str) -> None:
    frames: dict[str, object] = {"x": frame_of("s", stamps)}
    text = tilt.parse(TEXT).explain(inputs=frames)
    assert f"~x: {layout}" in text
    with pytest.raises(tilt.DataError, match="no such input"):
        tilt.parse(TEXT).explain(inputs={"y": ARROW})


def test_a_bound_frame_is_no_frame() -> None:
    bound = tilt.bind(ARROW, time="ts")
    assert isinstance(bound, BoundFrame)
    with pytest.raises(tilt.DataError, match="expected a table"):
        tilt.parse(TEXT).run(x=tilt.bind(bound, time="ts"))


def refused_run() -> None:
    tilt.parse("input x : f64\n~y[t] = ~x[t]").run(x=3)


def refused_text() -> None:
    tilt.parse("~y[t] = ~x[t]")


def refused_file() -> None:
    tilt.load("there/is/no.tilt")


def refused_push() -> None:
    tilt.parse("input x : f64 time at point\n~y[t] = ~x[t]").live().push(x=3)


@pytest.mark.parametrize(
    "call", [refused_run, refused_text, refused_file, refused_push]
)
def test_a_traceback_ends_at_the_callers_line(call: Callable[[], None]) -> None:
    """Below it there is the entry of the API alone, which raises."""
    with pytest.raises(tilt.TiltError) as caught:
        call()
    *_, own, entry = traceback.extract_tb(caught.tb)
    assert (own.filename, own.name) == (__file__, call.__name__)
    assert Path(entry.filename).name == "short_tracebacks.py"


def test_a_traceback_keeps_the_callers_own_functions() -> None:
    @short_traceback
    def entry() -> None:
        refused_text()

    with pytest.raises(tilt.QueryError) as caught:
        entry()
    names = [frame.name for frame in traceback.extract_tb(caught.tb)]
    assert names[1:] == ["call", "entry", "refused_text"]
