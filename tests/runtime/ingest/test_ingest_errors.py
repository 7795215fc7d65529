"""Data that do not fit a query: every error with its input, column and row."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

import tiltpy as tilt
from tests.frames import TRADE, check, events, m, read, ticks
from tiltpy import lifetimes
from tiltpy import types as ty
from tiltpy.errors import DataError
from tiltpy.runtime.ingest.binding import bind, complete_input


@pytest.mark.parametrize(
    ("values", "declared", "message"),
    [
        (["a"], ty.F64, "found string, expected f64; declare it as string, or cast it"),
        ([1], ty.I32, "found int64, expected i32; declare it as i64, or cast it"),
        ([1.5], ty.I64, "found double, expected i64; declare it as f64"),
        ([1.5], ty.F32, "found double, expected f32"),
        ([True], ty.I64, "found bool, expected i64; declare it as bool"),
        ([[1]], ty.I64, "found list<"),
        (pa.array([1], pa.decimal128(9, 2)), ty.F64, "decimals are no payload"),
        (pa.array([1], pa.uint64()), ty.I64, "declare it as u64, or cast it"),
        (pa.array([1], pa.timestamp("s")), ty.I64, "found timestamp[s]"),
    ],
    ids=str,
)
def test_other_types_are_refused(
    values: object, declared: ty.Scalar, message: str
) -> None:
    table = pa.table({"t": [1], "price": values})
    check(bind(table, time="t"), m(declared), message, column="price")


def test_integers_that_a_float_does_not_hold_are_refused() -> None:
    table = pa.table({"t": [1, 2], "price": [1, 2**53 + 1]})
    message = "found 9007199254740993, which f64 does not hold exactly"
    check(bind(table, time="t"), m(ty.F64), message, column="price", row=1)


def test_unclear_columns_are_listed() -> None:
    stamps = pa.array([1], pa.timestamp("s"))
    table = pa.table({"made": stamps, "sold": stamps, "v": [1]})
    check(table, m(), "'made', 'sold' could all be the time column; name it", unit="s")
    check(pa.table({"x": [1], "v": [1]}), m(), "none of 'x', 'v' is the time column")
    table = pa.table({"t": [1], "open": [1], "close": [2]})
    check(table, m(), "'open', 'close' could all be the payload; call it 'm', or")
    twice = pa.Table.from_arrays([*table.columns, table["open"]], ["t", "v", "w", "v"])
    check(twice, m(), "2 columns have this name; rename them", column="v")
    twice = pa.Table.from_arrays([stamps, stamps, pa.array([1])], ["a", "a", "v"])
    check(twice, m(), "2 columns have this name; rename them", column="a", unit="s")
    check(pa.table({"t": [1]}), m(), "none of 't' is the payload")
    check(bind(table, column="opne"), m(), "did you mean 'open'?", "opne")
    check(bind(table, time="tt"), m(), "no such column among 't', 'open', 'cl", "tt")
    table = pa.table({"t": [1], "prize": [1.0], "size": [1]})
    check(table, m(TRADE), "among 't', 'prize', 'size'; did you mean 'prize'?", "price")
    table = pa.table([[1], [2], [3]], names=["t", "v", "v"])
    check(bind(table, column="v"), m(), "2 columns have this name; rename", "v")
    frame = pd.DataFrame([[1, 2.0, 3.0]], columns=["t", "v", "v"])
    check(bind(frame, column="v"), m(), "2 columns have this name; rename", "v")
    check(ticks((1, 2)), m(lifetime=lifetimes.Interval()), "no such column", "start")


def test_what_is_declared_wins_and_must_agree() -> None:
    table = ticks((1, 2))
    bare = m(lifetime=None)
    assert events(read(bind(table, lifetime=lifetimes.Point()), bare).buffer) == [
        (0, 1, 2)
    ]
    assert read(bind(table, lifetime=lifetimes.Point())).buffer.n == 1
    check(table, bare, "its lifetime is given nowhere: declare or bind one of point")
    message = "the query declares the lifetime point, but duration 3 (ticks) is bound"
    check(bind(table, lifetime=lifetimes.FixedDuration(3)), m(), message)
    wrong = bind(table, lifetime="point")  # type: ignore[arg-type]
    for declared in (bare, m()):
        check(wrong, declared, "found the lifetime 'point', expected one that is made")
    message = "the query declares the time column 't', but 'm' is bound"
    check(bind(table, time="m"), m(time="t"), message)
    message = "the query declares the order 'a', but 'b', 'c' is bound"
    check(bind(table, order=["b", "c"]), m(order=("a",)), message)
    message = "an interval has its own two columns 'start' and 'end'"
    check(bind(table, time="t"), m(lifetime=lifetimes.Interval()), message)
    check(
        table,
        m(lifetime=lifetimes.FixedDuration(0)),
        "a lifetime lasts 1 to 2**59 ticks",
    )


def test_bad_frames() -> None:
    check([1, 2], m(), "found a list; make it a table first")
    check("a.csv", m(), "found the path of a file; read it first")
    check(None, m(), "expected a table (pyarrow, Polars, pandas, DuckDB")
    check(3, m(), "found an int; rows come in a table")
    check(pd.DataFrame, m(), "found the class DataFrame; give a table of it")
    check(
        pl.DataFrame({"t": [1]}).lazy(), m(), "a LazyFrame has no rows yet; collect it"
    )
    check(pl.Series([1, 2]), m(), "a polars Series is one column")
    check(pa.array([1, 2]), m(), "Arrow cannot read it")
    spark = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})
    check(spark(), m(), "a Spark DataFrame would be pulled to the driver")
    mixed = pd.DataFrame({"t": [1, 2], "m": [1, "x"]})
    check(
        mixed,
        m(),
        "tried to convert to int64; Conversion failed for column m with type object; "
        "give the column values of one type",
    )
    wide = pl.DataFrame({"t": [1], "m": pl.Series([1], dtype=pl.Int128)})
    check(wide, m(), "; cast the columns whose type Arrow does not have, like Int128")
    broken = type("Frame", (), {"__arrow_c_stream__": lambda _, __=None: 5})
    check(broken(), m(), "Arrow cannot read it")
    large = pd.DataFrame({"t": [1, 2], "m": np.array([1, 2**64 - 1], object)})
    check(
        large,
        m(),
        'too large to convert to C long; cast the column of such objects, to "UInt64"',
    )
    query = tilt.parse("input m : i64 time t point\n~o[t] = ~m[t]")
    with pytest.raises(DataError, match="found the class DataFrame; give a table of"):
        query.stream(m=pd.DataFrame)


def test_relations_that_duckdb_cannot_read() -> None:
    query = tilt.parse("input m : i64 time t point\n~o[t] = ~m[t]")
    rows = "case when i = 3 then error('three') else i end as m from range(5) r(i)"
    closed = duckdb.connect()
    for relation, message in (
        (duckdb.sql(f"select i as t, {rows}"), "three"),
        (closed.sql("select 1 as t, 2 as m"), "already been closed"),
    ):
        closed.close()
        pattern = f"input 'm': DuckDB cannot read it: .*{message}"
        for act in (
            lambda relation=relation: query.run(m=relation),
            lambda relation=relation: list(query.stream(m=relation)),
            lambda relation=relation: query.live().push(m=relation),
        ):
            with pytest.raises(DataError, match=pattern):
                act()


def test_datasets_say_how_they_become_tables() -> None:
    dataset = pads.dataset(ticks((1, 2)))
    check(dataset, m(), "_dataset.InMemoryDataset; make it a table first: to_table()")


def test_columns_of_pandas_may_be_numbered() -> None:
    frame = pd.DataFrame([[1, 5], [2, 7]])
    declared = m(time="0")
    assert read(bind(frame, column="1"), declared).buffer.n == 2
    assert read(bind(frame, column="1", time="0"), m()).buffer.n == 2


def test_broken_arrow_data() -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, ticks((1, 2)).schema) as stream:
        stream.write_table(ticks(*((i, i) for i in range(1000))))
    cut = pa.ipc.open_stream(sink.getvalue()[:9000])
    check(cut, m(), "Arrow cannot read it")
    codes = pa.array([0, 9, 1], pa.int8())
    coded = pa.DictionaryArray.from_arrays(codes, pa.array([5, 6]), safe=False)
    table = pa.table({"t": [1, 2, 3], "m": coded})
    check(table, m(), "the Arrow data are broken", "m")


def test_bad_times() -> None:
    stamps = pa.array([0, 1500, 1], pa.timestamp("ms", "Asia/Tokyo"))
    table = pa.table({"ts": stamps, "v": [1, 2, 3]})
    message = "stamp 1970-01-01 00:00:01.500 UTC is not a whole number of ticks of 1 s"
    check(table, m(), message, "ts", 1, "s")
    message = "the query has no unit and counts plain ticks; write `unit ms`"
    check(table, m(), message, "ts")
    whole = pa.array([5_000_000, 8_000_000, 10_000_000], pa.timestamp("us"))
    table = pa.table({"ts": whole, "v": [1, 2, 3]})
    check(table, m(), "counts plain ticks; write `unit s`", "ts")
    fine = pa.array([60_000_000_000, 90_000_000_000], pa.timestamp("ns"))
    table = pa.table({"ts": fine, "v": [1, 2]})
    message = 'write `unit s` in the query (in Python `compile(..., unit="s")`)'
    check(table, m(), message, "ts", 1, "m")
    nulls = pa.table({"ts": pa.array([1, None], pa.timestamp("s")), "v": [1, 2]})
    check(nulls, m(), "the time is null", "ts", 1, "s")
    check(pa.table({"t": [1, None], "v": [1, 2]}), m(), "the time is null", "t", 1)
    strings = pa.table({"Date": ["2024-01-01"], "v": [1]})
    check(strings, m(), "found string, expected times (timestamps, dates", "Date")
    floats = pa.table({"t": [1.0], "v": [1]})
    check(floats, m(), "found double, expected times", "t")


@pytest.mark.parametrize(
    ("lifetime", "low", "high"),
    [
        (lifetimes.Point(), 1 - ty.MAX_TIME, ty.MAX_TIME),
        (lifetimes.FixedDuration(100), 1 - ty.MAX_TIME, ty.MAX_TIME - 99),
        (lifetimes.Sampled(100), 100 - ty.MAX_TIME, ty.MAX_TIME),
    ],
)
def test_times_out_of_range(lifetime: lifetimes.Lifetime, low: int, high: int) -> None:
    declared = m(lifetime=lifetime)
    assert read(ticks((low, 1), (high, 2)), declared).buffer.n == 2
    for rows, row in (
        (((0, 1), (low - 1, 2), (1, 3)), 1),
        (((high + 1, 1), (3, 2)), 0),
        (((0, 1), (high + 1, 2)), 1),
    ):
        check(ticks(*rows), declared, "is too far from 0", "t", row)
    far = pa.table({"t": np.array([1, 2**63 + 5], "u8"), "m": [1, 2]})
    check(far, declared, "the time 9223372036854775813 is too far", "t", 1)
    days = pa.table({"t": pa.array([0, 2**31 - 1], pa.date32()), "m": [1, 2]})
    check(days, declared, "is too far from 0", "t", 1, "ns")
    assert read(days, declared, "ms").buffer.n == 2
    seconds = pa.table({"t": pa.array([-(2**62), 0], pa.timestamp("s")), "m": [1, 2]})
    check(seconds, declared, "is too far from 0", "t", 0, "ms")
    none = pa.table({"t": pa.nulls(2), "m": [1, 2]})
    check(none, declared, "the time is null; fill it in, or drop the row", "t", 0)
    least = pa.table({"t": pa.array([-(2**63), 0], pa.timestamp("us")), "m": [1, 2]})
    count = "-9223372036854775808 us from 1970"
    check(least, declared, f"the time {count} is too far from 0", "t", 0, "us")
    check(least, declared, f"stamp {count} is not a whole number", "t", 0, "s")


def test_events_that_end_before_they_start() -> None:
    declared = m(lifetime=lifetimes.Interval("from", "to"))
    table = pa.table({"from": [1, 5, 6], "to": [2, 5, 2], "v": [1, 2, 3]})
    check(table, declared, "ends at 5, not after its start 5 in 'from'", "to", 1)
    stamps = {n: table[n].cast(pa.timestamp("s")) for n in ("from", "to")}
    message = "ends at 1970-01-01 00:00:05, not after its start"
    check(pa.table({**stamps, "v": [1, 2, 3]}), declared, message, "to", 1, "s")
    mixed = pa.table({"from": [1], "to": pa.array([2], pa.timestamp("s")), "v": [1]})
    check(mixed, declared, "'from' is ticks and 'to' is timestamp", "to", unit="s")
    ends = pa.table({"from": [1], "to": pa.array([None], pa.int64()), "v": [1]})
    check(ends, declared, "the time is null", "to", 0)


def test_names_of_columns_are_text() -> None:
    with pytest.raises(DataError, match="expected a column's name, found 5"):
        complete_input(m(), bind(None, lifetime=lifetimes.Point(), column=5))  # type: ignore[arg-type]
