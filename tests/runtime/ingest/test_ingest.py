"""Frames of every library into snapshot buffers, and what is refused."""

import datetime as dt
from collections.abc import Callable

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiltpy as tilt
from tests.frames import TRADE, check, events, m, read, ticks
from tiltpy import lifetimes
from tiltpy import types as ty
from tiltpy.abi.layouts import TimeLayout
from tiltpy.runtime.arrow.read_frame import read_chosen
from tiltpy.runtime.arrow.select_columns import Choice, choose_columns
from tiltpy.runtime.arrow.timestamps import PLAIN_TICKS, StampType
from tiltpy.runtime.ingest.binding import bind
from tiltpy.runtime.ingest.payload import widens

# What is accepted

STAMPS = [dt.datetime(1970, 1, 1, 0, 0, s) for s in (1, 2, 5)]
DATA = {"ts": STAMPS, "v": [10.0, 20.0, 30.0]}


def capsule_of(table: pa.Table, method: str) -> object:
    """An object of an unknown library that has one of the two methods."""
    source = table if method == "__arrow_c_stream__" else table.to_batches()[0]

    def export(_: object, requested_schema: object = None) -> object:
        return getattr(source, method)(requested_schema)

    return type("Frame", (), {method: export})()


def duck(table: pa.Table) -> duckdb.DuckDBPyRelation:
    connection = duckdb.connect()
    connection.register("source", table)
    return connection.sql("select * from source")


FRAMES: dict[str, Callable[[], object]] = {
    "table": lambda: pa.table(DATA),
    "batch": lambda: pa.table(DATA).to_batches()[0],
    "reader": lambda: pa.table(DATA).to_reader(),
    "struct array": lambda: pa.table(DATA).to_struct_array().chunk(0),
    "polars": lambda: pl.DataFrame(DATA),
    "pandas": lambda: pd.DataFrame(DATA),
    "pandas index": lambda: pd.DataFrame(DATA).set_index("ts"),
    "pandas unnamed": lambda: pd.DataFrame({"v": DATA["v"]}, pd.DatetimeIndex(STAMPS)),
    "pandas filtered": lambda: pd.DataFrame(DATA)[lambda f: f.v > 0].iloc[[0, 1, 2]],
    "duckdb": lambda: duck(pa.table(DATA)),
    "stream": lambda: capsule_of(pa.table(DATA), "__arrow_c_stream__"),
    "array": lambda: capsule_of(pa.table(DATA), "__arrow_c_array__"),
    "chunked": lambda: pa.concat_tables(pa.table(DATA).slice(i, 1) for i in range(3)),
    "sliced": lambda: pa.concat_tables([pa.table(DATA)] * 2).combine_chunks()[3:6],
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
def test_frames_of_every_library(frame: Callable[[], object]) -> None:
    found = read(frame(), m(ty.F64), "s")
    assert events(found.buffer) == [(0, 1, 10.0), (1, 2, 20.0), (4, 5, 30.0)]
    assert found.buffer.layout is TimeLayout.INTERVALS
    assert found.stamps.kind == "timestamp"
    assert found.stamps.zone is None


def test_frames_without_rows() -> None:
    for frame in (
        pl.DataFrame(DATA).clear().cast({"v": pl.Int64}),
        pd.DataFrame({"ts": [], "v": []}),
        pa.table({"ts": pa.array([]), "v": pa.array([])}),
    ):
        for lifetime in (lifetimes.Point(), lifetimes.UntilNext()):
            found = read(bind(frame, time="ts"), m(ty.I64, lifetime), "s")
            assert (found.buffer.n, found.buffer.bounds()) == (0, None)
            assert found.buffer.columns[0].values.dtype == np.int64
            assert found.stamps.kind == "timestamp"
    typed = pl.DataFrame(DATA).clear().cast({"v": pl.String})
    check(typed, m(), "found string_view, expected i64", "v", unit="s")


def test_same_types_are_not_copied() -> None:
    start, end = np.array([0, 5, 7]), np.array([5, 6, 9])
    value = np.array([1.0, 2.0, 3.0])
    buffer = read(
        pa.table({"start": start, "end": end, "v": value}),
        m(ty.F64, lifetimes.Interval()),
    ).buffer
    assert buffer.starts is not None
    assert buffer.ends is not None
    assert np.shares_memory(buffer.starts, start)
    assert np.shares_memory(buffer.ends, end)
    assert np.shares_memory(buffer.columns[0].values, value)
    stamps = pl.Series("ts", STAMPS, dtype=pl.Datetime("ms"))
    frame = pl.DataFrame([stamps, pl.Series("v", value)])
    buffer = read(frame, m(ty.F64), "ms").buffer
    assert buffer.ends is not None
    assert np.shares_memory(buffer.ends, stamps.to_physical().to_numpy())


# Times


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize("tick", ["ns", "us", "ms", "s", "m"])
def test_units_and_zones(unit: ty.Unit, zone: str | None, tick: ty.Unit) -> None:
    seconds = pa.array([60, 120, 300]).cast(pa.timestamp("s"))
    stamps = pa.array(seconds.cast(pa.timestamp(unit)).cast("i8"))
    stamps = stamps.cast(pa.timestamp(unit, zone))
    found = read(pa.table({"ts": stamps, "v": [1, 2, 3]}), unit=tick)
    scale = 60 * 10**9 // ty.NANOSECONDS[tick]
    assert [end for _, end, _ in events(found.buffer)] == [scale, 2 * scale, 5 * scale]
    assert found.stamps == StampType("timestamp", unit, zone)


@pytest.mark.parametrize("zone", ["+02:00", "-02:00", "Etc/GMT+2", "EST5EDT", ""])
def test_zones_that_are_known(zone: str) -> None:
    stamps = pa.array([60], pa.timestamp("s", zone))
    query = tilt.parse("unit s\ninput v : i64 time ts point\n~o[t] = ~v[t]")
    result = query.run(v=pa.table({"ts": stamps, "v": [1]}))
    assert result["o"].to_arrow().schema.field("end").type.tz == (zone or None)
    assert "1 snapshot" in str(result)
    assert len(result["o"].to_pandas()) == len(result["o"].to_polars()) == 1


@pytest.mark.parametrize(
    ("zone", "hint"),
    [
        ("Mars/Olympus", 'like "Europe/Berlin"'),
        ("utc", 'did you mean "UTC"'),
        ("+2", 'like "Europe/Berlin"'),
        ("+25:00", "cast it to a zone that is known"),
        ("Europe/Berlim", 'did you mean "Europe/Berlin"'),
    ],
)
def test_zones_that_nobody_could_write(zone: str, hint: str) -> None:
    """No result could show its times: neither as text, nor in another library."""
    stamps = pa.array([60], pa.timestamp("s", zone))
    frame = pa.table({"ts": stamps, "v": [1]})
    check(frame, m(), "whose time zone is unknown", "ts", unit="s")
    check(frame, m(), hint, "ts", unit="s")


@pytest.mark.parametrize("type", [pa.date32(), pa.date64()])
def test_dates(type: pa.DataType) -> None:
    days = pa.array([dt.date(1970, 1, 2), dt.date(1969, 12, 31)]).cast(type)
    frame = pa.table({"Date": days, "v": [1, 2]})
    for tick, day in (("d", 1), ("h", 24), ("s", 86400)):
        found = read(frame, unit=tick)  # type: ignore[arg-type]
        assert events(found.buffer) == [(-day - 1, -day, 2), (day - 1, day, 1)]
        assert found.stamps.precision == "d"


@pytest.mark.parametrize("type", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_integers_are_ticks(type: str) -> None:
    frame = pa.table({"t": np.array([3, 9], type), "v": [1, 2]})
    for unit in (None, "s"):
        found = read(frame, unit=unit)
        assert events(found.buffer) == [(2, 3, 1), (8, 9, 2)]
        assert found.stamps == PLAIN_TICKS


def test_intervals_of_two_units() -> None:
    frame = pa.table(
        {
            "start": pa.array([1, 2], pa.timestamp("s", "UTC")),
            "end": pa.array([1500, 3000], pa.timestamp("ms", "Asia/Tokyo")),
            "v": [1, 2],
        }
    )
    found = read(frame, m(lifetime=lifetimes.Interval()), "ms")
    assert events(found.buffer) == [(1000, 1500, 1), (2000, 3000, 2)]
    assert found.stamps == StampType("timestamp", "ms", "UTC")


# Lifetimes


@pytest.mark.parametrize(
    ("lifetime", "expected", "layout"),
    [
        (lifetimes.Point(), [(0, 1), (1, 2), (5, 6)], TimeLayout.INTERVALS),
        (lifetimes.FixedDuration(3), [(0, 3), (1, 4), (5, 8)], TimeLayout.OVERLAPPING),
        (
            lifetimes.UntilNext(),
            [(0, 1), (1, 5), (5, ty.ENDLESS)],
            TimeLayout.CONTIGUOUS,
        ),
        (lifetimes.UntilNext(2), [(0, 1), (1, 3), (5, 7)], TimeLayout.INTERVALS),
        (lifetimes.Sampled(1), [(0, 1), (1, 2), (5, 6)], TimeLayout.INTERVALS),
        (lifetimes.Sampled(2), [(-1, 1), (0, 2), (4, 6)], TimeLayout.OVERLAPPING),
    ],
)
def test_lifetimes(
    lifetime: lifetimes.Lifetime, expected: list[tuple[int, int]], layout: TimeLayout
) -> None:
    buffer = read(ticks((1, 7), (2, 8), (6, 9)), m(lifetime=lifetime)).buffer
    assert events(buffer) == [
        (*pair, value) for pair, value in zip(expected, (7, 8, 9), strict=True)
    ]
    assert buffer.layout is layout


def test_the_last_row_holds_without_end_and_moves_no_domain() -> None:
    frame = ticks((1, 7), (4, 8))
    for lifetime, next_stamp, expected, domain_end in (
        (lifetimes.UntilNext(), None, ty.ENDLESS, 4),
        (lifetimes.UntilNext(), 9, 8, 8),
        (lifetimes.UntilNext(3), None, 6, 4),
        (lifetimes.UntilNext(3), 9, 6, 6),
        (lifetimes.UntilNext(3), 6, 5, 5),
    ):
        buffer = read(frame, m(lifetime=lifetime), next_stamp=next_stamp).buffer
        assert events(buffer)[-1] == (3, expected, 8)
        assert buffer.bounds() == (0, domain_end)


def test_rows_with_one_stamp_overlap_until_the_next_greater_one() -> None:
    frame = ticks((1, 1), (1, 2), (4, 3), (6, 4), (6, 5))
    buffer = read(frame, m(lifetime=lifetimes.UntilNext())).buffer
    assert events(buffer) == [
        (0, 3, 1),
        (0, 3, 2),
        (3, 5, 3),
        (5, ty.ENDLESS, 4),
        (5, ty.ENDLESS, 5),
    ]
    assert buffer.layout is TimeLayout.OVERLAPPING
    assert buffer.fifo
    assert buffer.bounds() == (0, 6)


def test_regular_rows_are_sampled() -> None:
    frame = ticks(*((5 * i, i) for i in range(50)))
    for lifetime, start in (
        (lifetimes.Sampled(5), -5),
        (lifetimes.FixedDuration(5), -1),
    ):
        buffer = read(frame, m(lifetime=lifetime)).buffer
        assert buffer.layout is TimeLayout.SAMPLED
        assert (buffer.start, buffer.period, buffer.n) == (start, 5, 50)
    buffer = read(frame, m(lifetime=lifetimes.UntilNext()), next_stamp=250).buffer
    assert (buffer.layout, buffer.bounds()) == (TimeLayout.SAMPLED, (-1, 249))


LIFETIMES = st.sampled_from(
    [
        lifetimes.Point(),
        lifetimes.FixedDuration(3),
        lifetimes.UntilNext(),
        lifetimes.UntilNext(2),
        lifetimes.Sampled(2),
    ]
)


def end_of(stamp: int, stamps: list[int], lifetime: lifetimes.Lifetime) -> int:
    """A row's end, straight from the table of lifetimes in the semantics."""
    match lifetime:
        case lifetimes.FixedDuration(ticks):
            return stamp - 1 + ticks
        case lifetimes.UntilNext(longest):
            later = [other - 1 for other in stamps if other > stamp]
            held = min(later, default=ty.ENDLESS)
            return min(held, stamp - 1 + longest) if longest else held
        case _:
            return stamp


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.none() | st.integers(0, 5)), max_size=9),
    LIFETIMES,
)
def test_events_against_the_definition(
    rows: list[tuple[int, int | None]], lifetime: lifetimes.Lifetime
) -> None:
    stamps = [stamp for stamp, _ in rows]
    before = lifetime.period if isinstance(lifetime, lifetimes.Sampled) else 1
    expected = [
        (stamp - before, end_of(stamp, stamps, lifetime), value)
        for stamp, value in sorted(rows, key=lambda row: row[0])
        if value is not None
    ]
    frame = ticks(*rows, type=pa.int64()).cast(
        pa.schema([("t", pa.int64()), ("m", pa.int64())])
    )
    buffer = read(frame, m(lifetime=lifetime)).buffer
    assert [row for row in events(buffer) if row[2] is not None] == expected
    if expected:
        last = max(end for _, end, _ in expected)
        if isinstance(lifetime, lifetimes.UntilNext):  # the last rows move no domain
            last = min(last, max(stamps))
        assert buffer.bounds() == (expected[0][0], last)


# Nulls


def test_null_rows_between_events_stay_as_bits() -> None:
    rows = [(i, None if i in (0, 3, 9) else i) for i in range(10)]
    buffer = read(ticks(*rows)).buffer
    assert buffer.layout is TimeLayout.SAMPLED
    assert buffer.abi_layout().nullable == (True,)
    assert events(buffer) == [(i - 1, i, None if i == 3 else i) for i in range(1, 9)]
    assert not read(ticks((1, None), (2, 5), (3, None))).buffer.abi_layout().nullable[0]
    assert read(ticks((1, None), (2, None), type=pa.int64())).buffer.n == 0


def test_a_null_row_ends_the_hold_before_it() -> None:
    rows = ticks((1, 10), (4, None), (8, 20), (9, None))
    buffer = read(rows, m(lifetime=lifetimes.UntilNext())).buffer
    assert events(buffer) == [(0, 3, 10), (3, 7, None), (7, 8, 20)]
    assert buffer.bounds() == (0, 8)


def test_null_rows_among_overlapping_events_go() -> None:
    rows = ticks((1, 10), (2, None), (3, 20), (20, 5))
    buffer = read(rows, m(lifetime=lifetimes.FixedDuration(4))).buffer
    assert events(buffer) == [(0, 4, 10), (2, 6, 20), (19, 23, 5)]
    assert buffer.abi_layout().nullable == (False,)


def test_null_fields_stand_and_null_structs_are_no_events() -> None:
    wide = pa.table({"t": [1, 2, 3], "price": [1.5, None, None], "size": [1, 2, None]})
    expected = [(0, 1, 1.5, 1), (1, 2, None, 2), (2, 3, None, None)]
    assert events(read(wide, m(TRADE)).buffer) == expected
    nested = pa.table(
        {
            "t": [2, 1, 3],
            "trade": [{"size": 2, "price": None}, None, {"size": 3, "price": 1.0}],
        }
    )
    found = read(nested, m(TRADE, lifetimes.UntilNext())).buffer
    assert events(found) == [(1, 2, None, 2), (2, ty.ENDLESS, 1.0, 3)]


# Payload types

WIDENINGS = [
    (pa.int8(), ty.I64),
    (pa.uint8(), ty.I16),
    (pa.uint32(), ty.I64),
    (pa.int16(), ty.F32),
    (pa.int32(), ty.F64),
    (pa.float16(), ty.F32),
    (pa.float32(), ty.F64),
    (pa.dictionary(pa.int8(), pa.int32()), ty.I64),
    (pa.run_end_encoded(pa.int32(), pa.int64()), ty.I64),
    *((pa.type_for_alias(n), t) for n, t in (("uint64", ty.U64), ("float", ty.F32))),
]


@pytest.mark.parametrize(("found", "declared"), WIDENINGS, ids=str)
def test_lossless_widening(found: pa.DataType, declared: ty.Scalar) -> None:
    values = pa.array([1, 2, 3]).cast(getattr(found, "value_type", found))
    if pa.types.is_dictionary(found):
        values = values.dictionary_encode()
    if pa.types.is_run_end_encoded(found):
        values = pa.compute.run_end_encode(values)
    buffer = read(pa.table({"t": [1, 2, 3], "v": values}), m(declared)).buffer
    assert buffer.columns[0].values.tolist() == [1, 2, 3]


def test_widening_keeps_every_value() -> None:
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"):
        info = np.iinfo(name)
        for scalar in (*ty.SCALARS.values(),):
            if scalar is ty.BOOL:
                continue
            if scalar.is_float:
                exact = all(
                    int(np.dtype(f"f{scalar.bits // 8}").type(v)) == v
                    for v in (info.max, info.min, info.max - 1)
                )
            else:
                low, high = ty.int_range(scalar)
                exact = low <= info.min and info.max <= high
            assert widens(pa.type_for_alias(name), scalar) == exact, (name, scalar)


def test_bools_take_a_byte() -> None:
    table = pa.table({"t": [1, 2, 3, 4], "v": [False, True, None, True]})
    buffer = read(table.slice(1), m(ty.BOOL)).buffer
    assert events(buffer) == [(1, 2, 1), (2, 3, None), (3, 4, 1)]
    assert buffer.columns[0].values.dtype == np.uint8


# Choosing columns


def test_columns_are_found_or_named() -> None:
    table = pa.table({"a": [1, 2], "b": [3, 4], "m": [5, 6]})
    for binding in (bind(table, time="a"), bind(table, time="a", column="m")):
        assert [row[2] for row in events(read(binding).buffer)] == [5, 6]
    found = read(bind(table, time="b", column="a"))
    assert events(found.buffer) == [(2, 3, 1), (3, 4, 2)]
    assert read(bind(table, column="b"), m(time="a")).buffer.n == 2
    named = pa.table({"TIMESTAMP": [1], "x": [2]})
    assert events(read(named).buffer) == [(0, 1, 2)]
    field = pa.table({"time": [4.5], "date": [1]})
    struct = ty.Struct((("time", ty.F64),))
    assert events(read(field, m(struct)).buffer) == [(0, 1, 4.5)]


def test_a_struct_column_may_hold_the_fields() -> None:
    trade = [{"price": 1.5, "size": 2, "venue": "x"}]
    table = pa.table({"t": [1], "other": [7], "trade": trade})
    assert events(read(table, m(TRADE)).buffer) == [(0, 1, 1.5, 2)]
    assert events(read(bind(table, column="trade"), m(TRADE)).buffer) == [
        (0, 1, 1.5, 2)
    ]
    check(bind(table, column="other"), m(TRADE), "expected a struct column", "other")
    price = ty.Struct((("prices", ty.F64),))
    message = "no such column in the struct column 'trade' among 'price', 'size'"
    check(bind(table, column="trade"), m(price), message, "prices")


# Order


def test_rows_out_of_order_are_sorted_stably() -> None:
    rows = ticks((5, 1), (2, 2), (5, 3), (2, None), (2, 4), (9, 5))
    buffer = read(rows, m(ty.I64, lifetimes.FixedDuration(2))).buffer
    assert [row[2] for row in events(buffer)] == [2, 4, 1, 3, 5]
    check(rows, m(), "belongs before the one above it", "t", 1, allow_sort=False)
    check(rows.slice(2), m(), "belongs before", "t", 1, allow_sort=False)
    in_order = ticks((1, 1), (1, 2), (2, 3))
    assert read(in_order, allow_sort=False).buffer.n == 3


def test_order_columns_break_ties() -> None:
    table = pa.table(
        {
            "t": [1, 1, 1, 1, 0],
            "m": [10, 20, 30, 40, 50],
            "seq": pa.array(["b", None, "a", "a", "z"], pa.string_view()),
            "n": [0, 0, 2, 1, 0],
        }
    )
    buffer = read(table, m(order=("seq", "n"))).buffer
    assert [row[2] for row in events(buffer)] == [50, 20, 40, 30, 10]
    buffer = read(bind(table, order="n", column="m")).buffer
    assert [row[2] for row in events(buffer)] == [50, 10, 20, 40, 30]
    declared = m(order=("seq", "n"))
    check(table, declared, "belongs before", "t", 1, allow_sort=False)
    check(table, m(order=("sequ",)), "did you mean 'seq'?", "sequ")
    lists = pa.table({"t": [1, 1], "m": [1, 2], "seq": [[1], [2]]})
    check(lists, m(order=("seq",)), "rows cannot be ordered by list", "seq")
    months = pa.array([(1, 2, 3)] * 2, pa.month_day_nano_interval())
    lists = pa.table({"t": [1, 1], "m": [1, 2], "seq": months})
    check(lists, m(order=("seq",)), "rows cannot be ordered by month_day", "seq")


@given(st.lists(st.tuples(st.integers(0, 4), st.none() | st.integers(0, 2))))
def test_sorting_against_python(keys: list[tuple[int, int | None]]) -> None:
    table = pa.table(
        {
            "t": pa.array([t for t, _ in keys], pa.int64()),
            "m": pa.array(range(len(keys)), pa.int64()),
            "k": pa.array([k for _, k in keys], pa.int64()),
        }
    )
    found = [row[2] for row in events(read(table, m(order=("k",))).buffer)]
    places = range(len(keys))
    filled = [(t, -1 if k is None else k) for t, k in keys]
    assert found == sorted(places, key=filled.__getitem__)


# Columns that no query uses


@pytest.mark.parametrize("library", [pl.DataFrame, pd.DataFrame])
def test_only_the_columns_in_use_are_read(
    library: Callable[[dict[str, list[int]]], object],
) -> None:
    frame = library({"t": [3, 1], "a": [0, 0], "m": [5, 7], "o": [1, 2]})

    def choose(schema: pa.Schema) -> Choice:
        assert schema.names == ["t", "a", "m", "o"]
        return choose_columns(m(order=("o",)), None, schema)

    table, choice = read_chosen("m", frame, choose)
    assert table.column_names == ["t", "m", "o"] == choice.columns
    assert events(read(frame, m(order=("o",))).buffer) == [(0, 1, 7), (2, 3, 5)]


def test_a_relation_computes_the_columns_in_use() -> None:
    text = """select t, t * 2 as m, 'x' as "a ""quoted"" name",
        error('never asked for') as unused from range(3) as r(t)"""
    found = read(duckdb.sql(text), m(time="t")).buffer
    assert events(found) == [(-1, 0, 0), (0, 1, 2), (1, 2, 4)]
    named = duckdb.sql(text.replace("t * 2 as m", "t * 3 as p"))
    binding = bind(named, column="p")
    assert events(read(binding, m(time="t")).buffer)[-1] == (1, 2, 6)


def test_an_index_comes_with_the_columns() -> None:
    index = pd.Index([1, 2, 4], name="time")
    frame = pd.DataFrame({"m": [1, 2, 3], "unused": [1, 2, 3]}, index=index)
    assert events(read(frame, m(time="time")).buffer) == [
        (0, 1, 1),
        (1, 2, 2),
        (3, 4, 3),
    ]


@pytest.mark.parametrize("indexed", [False, True])
def test_columns_that_nobody_reads_may_have_one_name(indexed: bool) -> None:
    """Arrow reads no such frame of pandas, but one of its own."""
    rows = [[1, 2.0, 3, 4], [5, 6.0, 7, 8], [6, 7.0, 8, 9]]
    frame = pd.DataFrame(rows, columns=["t", "v", "w", "w"])
    query = tilt.parse("input v : f64 time t point\n~o[t] = ~v[t]\noutput ~o")
    expected = query.run(v=pa.table({"t": [1, 5, 6], "v": [2.0, 6.0, 7.0]}))[
        "o"
    ].to_arrow()
    given = frame.set_index("t") if indexed else frame
    assert query.run(v=given)["o"].to_arrow().equals(expected)


@pytest.mark.parametrize("stamps", [[1, 2, 3], [1, 5, 9], [1, 5, 6]])
def test_an_index_of_equal_steps_is_the_time(stamps: list[int]) -> None:
    """Arrow would leave it out."""
    frame = pd.DataFrame({"v": [2.0, 6.0, 7.0]}, index=pd.Index(stamps, name="t"))
    frame.index = pd.RangeIndex(1, 4, name="t") if stamps == [1, 2, 3] else frame.index
    query = tilt.parse("input v : f64 time t point\n~o[t] = ~v[t]\noutput ~o")
    expected = query.run(v=frame.reset_index())["o"].to_arrow()
    assert query.run(v=frame)["o"].to_arrow().equals(expected)
