"""Snapshot buffers as Arrow tables: types of times, chunks, nulls, other libraries."""

import builtins
import datetime as dt
from collections.abc import Callable
from typing import Literal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiltpy as tilt
from tests.frames import TRADE, events, m, read
from tiltpy import lifetimes
from tiltpy import types as ty
from tiltpy.errors import DataError, TiltError
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer, pack_validity
from tiltpy.runtime.arrays.time_layout import lay_out
from tiltpy.runtime.arrow.timestamps import (
    PLAIN_TICKS,
    OutputStamp,
    StampType,
    from_ticks,
    output_stamp,
)
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.runtime.results.result import Result
from tiltpy.runtime.results.table import format_of

PLAIN = OutputStamp(pa.int64(), 1, None)


def buffer(
    starts: list[int], ends: list[int], *columns: Column | list[float]
) -> SnapshotBuffer:
    found = (c if isinstance(c, Column) else Column(np.array(c)) for c in columns)
    return lay_out(np.array(starts), np.array(ends), tuple(found))


def scalar(*pieces: SnapshotBuffer, stamp: OutputStamp = PLAIN) -> OutputTable:
    return OutputTable(format_of("avg", ty.F64, stamp), pieces)


SAMPLED = buffer([0, 5, 10], [5, 10, 15], [1.0, 2.0, 3.0])
CONTIGUOUS = buffer([0, 5, 6], [5, 6, 15], [1.0, 2.0, 3.0])
INTERVALS = buffer([0, 5, 8], [5, 6, 15], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("piece", [SAMPLED, CONTIGUOUS, INTERVALS], ids=str)
@pytest.mark.parametrize("first", [0, 1, 3])
def test_tables_of_every_layout(piece: SnapshotBuffer, first: int) -> None:
    table = scalar(piece.slice(first, 3)).to_arrow()
    table.validate(full=True)
    assert table.column_names == ["start", "end", "avg"]
    assert [tuple(row.values()) for row in table.to_pylist()] == events(piece)[first:]


def test_pieces_are_chunks_and_values_are_shared() -> None:
    other = buffer([20], [21], [4.0])
    output = scalar(INTERVALS, INTERVALS.slice(1, 1), other)
    table = output.to_arrow()
    assert output.to_arrow() is table
    assert table.column("avg").num_chunks == 2
    assert (output.num_rows, len(output)) == (4, 4)
    shared = table.column("avg").chunk(0).to_numpy()
    assert np.shares_memory(shared, INTERVALS.columns[0].values)
    ends = table.column("end").chunk(0).to_numpy()
    assert INTERVALS.ends is not None
    assert np.shares_memory(ends, INTERVALS.ends)


def test_tables_without_rows_have_their_schema() -> None:
    stamp = OutputStamp(pa.timestamp("ms", "UTC"), 1, "ms")
    for pieces in ((), (SnapshotBuffer.empty(TRADE),)):
        output = OutputTable(format_of("x", TRADE, stamp), pieces)
        assert output.to_arrow().schema == output.schema
        assert output.to_arrow().num_rows == 0
        assert output.schema.names == ["start", "end", "price", "size"]
        assert output.schema.types[:2] == [stamp.type, stamp.type]
        assert pl.DataFrame(output).height == 0


def test_fields_may_be_null_and_scalars_are_not() -> None:
    bits = pack_validity(np.array([1, 0, 1], np.uint8))
    flags = Column(np.array([1, 1, 0], np.uint8), bits)
    struct = ty.Struct((("price", ty.F64), ("up", ty.BOOL)))
    piece = buffer([0, 1, 2], [1, 2, 3], [1.0, 2.0, 3.0], flags)
    for first in (0, 1):
        part = piece.slice(first, 3)
        table = OutputTable(format_of("x", struct, PLAIN), [part]).to_arrow()
        table.validate(full=True)
        assert table["up"].to_pylist() == [True, None, False][first:]
        assert table["price"].to_pylist() == [1.0, 2.0, 3.0][first:]
    holes = buffer([0, 1, 2], [1, 2, 3], Column(np.array([1.0, 2.0, 3.0]), bits))
    output = scalar(holes, holes.slice(1, 2))
    assert output.num_rows == 2
    assert output.to_arrow().to_pylist() == [
        {"start": 0, "end": 1, "avg": 1.0},
        {"start": 2, "end": 3, "avg": 3.0},
    ]


@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40),
    st.integers(0, 12),
    st.data(),
)
def test_bitmaps_at_any_offset(
    rows: list[tuple[bool, bool]], offset: int, data: st.DataObject
) -> None:
    bits = np.packbits([0] * offset + [v for _, v in rows], bitorder="little")
    flags = np.array([flag for flag, _ in rows], np.uint8)
    starts = list(range(len(rows)))
    column = Column(flags, bits, offset)
    piece = buffer(starts, [s + 1 for s in starts], column)
    first = data.draw(st.integers(0, len(rows)))
    struct = ty.Struct((("b", ty.BOOL),))
    table = OutputTable(
        format_of("x", struct, PLAIN), [piece.slice(first, len(rows))]
    ).to_arrow()
    table.validate(full=True)
    assert table["b"].to_pylist() == [f if v else None for f, v in rows][first:]


# Times

MILLIS = StampType("timestamp", "ms")
NANOS_BERLIN = StampType("timestamp", "ns", "Europe/Berlin")
SECONDS_BERLIN = StampType("timestamp", "s", "Europe/Berlin")
SECONDS_UTC = StampType("timestamp", "s", "UTC")
DATE = StampType("date", "d")


@pytest.mark.parametrize(
    ("stamps", "tick", "expected", "factor"),
    [
        ((PLAIN_TICKS,), None, pa.int64(), 1),
        ((PLAIN_TICKS, PLAIN_TICKS), "s", pa.int64(), 1),
        ((), None, pa.int64(), 1),
        ((), "m", pa.timestamp("s"), 60),
        ((MILLIS,), "s", pa.timestamp("ms"), 1000),
        ((MILLIS,), "us", pa.timestamp("us"), 1),
        ((DATE,), "d", pa.date32(), 1),
        ((DATE, StampType("date", "ms")), "d", pa.date32(), 1),
        ((DATE,), "h", pa.timestamp("s"), 3600),
        ((DATE, MILLIS), "d", pa.timestamp("ms"), 86_400_000),
        ((NANOS_BERLIN, SECONDS_BERLIN), "s", NANOS_BERLIN, 10**9),
        ((SECONDS_UTC, SECONDS_BERLIN), "s", SECONDS_UTC, 1),
        ((StampType("timestamp", "s"), SECONDS_BERLIN), "s", SECONDS_UTC, 1),
    ],
)
def test_types_of_output_times(
    stamps: tuple[StampType, ...],
    tick: ty.Unit | None,
    expected: pa.DataType | StampType,
    factor: int,
) -> None:
    if isinstance(expected, StampType):
        expected = pa.timestamp(expected.unit, expected.zone)
    named = {f"x{i}": stamp for i, stamp in enumerate(stamps)}
    assert output_stamp(named, tick) == OutputStamp(expected, factor, tick)


def test_ticks_and_timestamps_do_not_mix() -> None:
    with pytest.raises(DataError, match="input 'b' has integer ticks and input 'a'"):
        output_stamp({"a": MILLIS, "b": PLAIN_TICKS}, "s")


def test_times_that_do_not_fit() -> None:
    stamp = output_stamp({"x": StampType("timestamp", "ns")}, "d")
    last = (2**63 - 1) // stamp.factor
    assert len(from_ticks(np.array([-last, last]), stamp, "avg")) == 2
    piece = buffer([0], [last + 1], [1.0])
    message = rf"output 'avg': the time {last + 1} \(ticks of 1 d\) does not fit"
    with pytest.raises(DataError, match=message):
        scalar(piece, stamp=stamp).to_arrow()
    with pytest.raises(DataError, match=r"does not fit into date32\[day\]"):
        from_ticks(np.array([2**31]), output_stamp({"x": DATE}, "d"), "avg")


FRAMES: list[Callable[[], object]] = [
    lambda: pl.DataFrame({"ts": [dt.datetime(2024, 3, 31, h) for h in (0, 1, 5)]}),
    lambda: pl.DataFrame({"ts": [dt.date(2024, 1, d) for d in (1, 2, 5)]}),
    lambda: pd.DataFrame(
        {"ts": pd.date_range("2024-03-31", periods=3, freq="2h", tz="Europe/Berlin")}
    ),
    lambda: pa.table({"ts": pa.array([-7, 1, 9], pa.timestamp("ns", "UTC"))}),
    lambda: pa.table({"ts": pa.array([-7, 1, 9], pa.int64())}),
]


@pytest.mark.parametrize("frame", FRAMES)
def test_times_return_as_they_came(frame: Callable[[], object]) -> None:
    source = pa.table(frame())
    source = source.append_column("m", pa.array([1, 2, 3]))
    unit: ty.Unit = "d" if pa.types.is_date(source["ts"].type) else "ns"
    found = read(source, m(time="ts"), unit)
    stamp = output_stamp({"m": found.stamps}, unit)
    points = OutputTable(format_of("m", ty.I64, stamp), [found.buffer]).points("ts")
    assert points.column_names == ["ts", "m"]
    assert points.column("m").equals(source.column("m"))
    expected = source.column("ts")
    if unit == "ns" and pa.types.is_timestamp(expected.type):
        expected = expected.cast(pa.timestamp("ns", expected.type.tz))
    assert points.column("ts").equals(expected)


# The ways out


def test_results_go_where_arrow_goes() -> None:
    result = Result([scalar(INTERVALS)])
    rows = [(0, 5, 1.0), (5, 6, 2.0), (8, 15, 3.0)]
    for found in (result, result["avg"]):
        assert [tuple(r.values()) for r in found.to_arrow().to_pylist()] == rows
        assert found.to_polars().rows() == rows
        assert list(found.to_pandas().itertuples(index=False, name=None)) == rows
        assert pl.DataFrame(found).rows() == rows
        assert pa.table(found).num_rows == found.num_rows == 3
        assert found.points().column_names == ["time", "avg"]
        assert found.schema.names == ["start", "end", "avg"]
        query = duckdb.connect()
        query.register("found", found)
        assert query.sql("select * from found").fetchall() == rows
        shown = "3 snapshots (start: int64, end: int64, avg: double)"
        assert repr(found) == f"<output 'avg': {shown}>"


def test_a_result_is_bound_again() -> None:
    output = scalar(INTERVALS)
    buffer = read(output, m(ty.F64, lifetimes.Interval())).buffer
    assert events(buffer) == events(INTERVALS)


def test_several_outputs_are_chosen_by_name() -> None:
    result = Result(
        [scalar(INTERVALS), OutputTable(format_of("low", ty.F64, PLAIN), [SAMPLED])]
    )
    assert list(result) == ["avg", "low"]
    assert list(result.items()) == list(
        zip(result.keys(), result.values(), strict=True)
    )
    assert ("low" in result, "high" in result) == (True, False)
    assert result["low"].to_arrow().num_rows == 3
    with pytest.raises(TiltError, match="the outputs are 'avg', 'low'; choose one"):
        result.to_arrow()
    with pytest.raises(TiltError, match="among 'avg', 'low'; did you mean 'avg'"):
        result["avgs"]
    with pytest.raises(KeyError):
        result["avgs"]


def test_notebooks_show_the_first_rows() -> None:
    starts = list(range(25))
    piece = buffer(starts, [s + 1 for s in starts], [s / 2 for s in starts])
    shown = Result([scalar(piece), scalar(INTERVALS)])._repr_html_()
    assert shown.startswith("<p>avg: 3 snapshots</p><table><tr><th>start: int64</th>")
    stamp = output_stamp({"x": NANOS_BERLIN}, "ns")
    far = buffer([1], [2**62], Column(np.zeros(1), np.zeros(1, np.uint8)))
    struct = ty.Struct((("a", ty.F64),))
    shown = OutputTable(format_of("x", struct, stamp), [far])._repr_html_()
    assert "<td>1970-01-01 01:00:00.000000001+0100</td>" in shown
    assert "<td>φ</td>" in shown
    shown = OutputTable(format_of("<x>", ty.F64, PLAIN), [piece])._repr_html_()
    assert shown.startswith("<p>&lt;x&gt;: 25 snapshots</p>")
    assert shown.count("<tr>") == 11
    assert shown.endswith("<td>4.5</td></tr></table><p>and 15 more</p>")


def test_points_need_a_free_name() -> None:
    struct = ty.Struct((("time", ty.F64),))
    output = OutputTable(format_of("x", struct, PLAIN), [INTERVALS])
    with pytest.raises(TiltError, match="has a column 'time' already"):
        output.points()
    assert output.points("stamp").column_names == ["stamp", "time"]


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_missing_libraries_are_named(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = builtins.__import__

    def refuse(name: str, *arguments: object) -> object:
        if name == library:
            raise ImportError(name)
        return original(name, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", refuse)
    output = scalar(INTERVALS)
    with pytest.raises(TiltError, match=f"pip install {library}"):
        getattr(output, f"to_{library}")()


def test_points_of_keys_keep_them() -> None:
    query = tilt.parse("input x by k : f64 time ts point\n~y[t] = 2 * ~x[t]")
    rows = pa.table({"k": ["b", "a", "b"], "ts": [1, 2, 3], "x": [1.0, 2.0, 3.0]})
    output = query.run(x=rows)["y"]
    assert output.points().to_pydict() == {
        "k": ["a", "b", "b"],
        "time": [2, 1, 3],
        "y": [4.0, 2.0, 6.0],
    }
    with pytest.raises(TiltError, match=r"'y' has a column 'k' already"):
        output.points("k")


@pytest.mark.parametrize("order", ["key", "time"])
def test_workers_share_a_large_table(order: Literal["key", "time"]) -> None:
    rows = np.arange(700_000)
    table = pa.table({"k": rows % 7, "t": rows // 7 * 3, "x": rows * 7 % 1001})
    query = tilt.parse("input x by k : i64 time t point\n~o[t] = ~x[t] > 9 ? ~x[t] : φ")
    found, alone = (
        query.run(x=table, workers=workers, order=order).to_arrow()
        for workers in (2, 1)
    )
    assert found == alone
    assert found.num_rows == np.count_nonzero(table["x"].to_numpy() > 9)
    by = ("start", "k") if order == "time" else ("k", "start")
    sorted_table = found.sort_by([(name, "ascending") for name in by])
    assert found == sorted_table


def test_workers_share_a_table_of_cells() -> None:
    values = np.arange(2_000_000) * 7 % 1001
    samples = tilt.sampled(pa.array(values), start=0, period=5)
    query = tilt.parse("input x : i64 sampled 5\n~o[t] = ~x[t] % 3 == 0 ? ~x[t] : φ")
    found, alone = (
        query.run(x=samples, workers=workers).to_arrow() for workers in (2, 1)
    )
    cells = np.flatnonzero(values % 3 == 0)
    assert found["o"].to_numpy().tolist() == values[cells].tolist()
    assert np.array_equal(found["start"].to_numpy(), cells * 5)
    assert np.array_equal(found["end"].to_numpy(), cells * 5 + 5)
    assert found == alone
