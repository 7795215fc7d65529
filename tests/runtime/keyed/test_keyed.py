"""Runs by key as users make them: any frame, any keys, in text, Python and files."""

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tiltpy as tilt
from tests.costs import costing
from tiltpy.costs import KeyCosts
from tiltpy.interpreter.evaluate import FOREVER, Event, LastEvent
from tiltpy.interpreter.keys import Key, interpret_by_key

TEXT = """
unit s
input trades by symbol : { price: f64, size: i64 } time ts point
input quote by symbol : f64 time ts until_next max 20s
input rate : f64 time ts until_next
w = TDom(-∞, ∞, 7s)
~volume[w] = sum(p * s for {price: p, size: s} in ~trades[w-7s : w])
~moving[t] = ~trades[t] != φ ? mean(~trades[t-30s : t].price) : φ
~spread[t] = ~trades[t].price - ~quote[t]
~cost[t] = ~trades[t].price * ~rate[t]
~dear[t] = {
    usual = mean(~rate[t-15s : t])
    return ~quote[t] > usual ? { price = ~quote[t], since = start(~quote[t]) } : φ
}
~double[t] = 2 * ~rate[t]
output ~volume, ~moving, ~spread, ~cost, ~dear, ~double
"""
KEYED = ("volume", "moving", "spread", "cost", "dear")
SYMBOLS = ("b", "a", None, "é", "Z")
"""Keys of both inputs; others are in one of them only."""
Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """Rows in order of time."""

    trades: pa.Table
    quote: pa.Table
    rate: pa.Table

    def frames(self) -> dict[str, Any]:
        return {"trades": self.trades, "quote": self.quote, "rate": self.rate}


@cache
def data(rows: int = 400) -> Data:
    """Random rows: small multiples of 1/8, some null, some of one stamp."""
    random = Random(rows)  # noqa: S311

    def columns(name: str, count: int, *more: str) -> dict[str, list[Any]]:
        return {
            "ts": sorted(random.randrange(rows) for _ in range(count)),
            name: [random.randrange(-80, 80) / 8 for _ in range(count)],
            "symbol": [random.choice((*SYMBOLS, *more)) for _ in range(count)],
        }

    trades = columns("price", rows, "traded")
    trades["size"] = [random.randrange(1, 9) for _ in range(rows)]
    quote = columns("quote", rows // 2, "quoted")
    quote["quote"] = [None if random.random() < 0.2 else v for v in quote["quote"]]
    rate = columns("rate", rows // 9)
    del rate["symbol"]
    return Data(pa.table(trades), pa.table(quote), pa.table(rate))


def points(rows: Rows) -> list[Event]:
    return [
        Event(row["ts"] - 1, row["ts"], {n: row[n] for n in ("price", "size")})
        for row in rows
    ]


def held(name: str, most: int | None = None) -> Callable[..., Any]:
    """Return a lifetime: until the next stamp, if there is one."""

    def events(rows: Rows) -> list[Event]:
        stamps = sorted({row["ts"] for row in rows})
        ends = [*(at - 1 for at in stamps[1:]), FOREVER]
        until = dict(zip(stamps, ends, strict=True))
        longest = math.inf if most is None else most
        return [
            (LastEvent if at == stamps[-1] else Event)(
                at - 1, int(min(until[at], at - 1 + longest)), row[name]
            )
            for row in rows
            if (at := row["ts"]) is not None and row[name] is not None
        ]

    return events


def by_symbol(table: pa.Table, events: Callable[[Rows], Any]) -> dict[Key, Any]:
    found: dict[Key, Rows] = {}
    for row in table.to_pylist():
        found.setdefault((row["symbol"],), []).append(row)
    return {key: events(rows) for key, rows in found.items()}


@cache
def meant(given: Data, **span: Any) -> dict[str, Rows]:
    """Return what the outputs are: the unkeyed meaning, for each key."""
    found = interpret_by_key(
        tilt.parse(TEXT).query,
        {
            "trades": by_symbol(given.trades, points),
            "quote": by_symbol(given.quote, held("quote", most=20)),
            "rate": held("rate")(given.rate.to_pylist()),
        },
        **span,
    )
    return {
        name: [
            {"symbol": key[0] if key else "", "start": one.start, "end": one.end}
            | (one.value if isinstance(one.value, dict) else {name: one.value})
            for key, snapshots in keys.items()
            for one in snapshots
        ]
        for name, keys in found.items()
    }


def listed(result: tilt.Result) -> dict[str, Rows]:
    """The rows of all outputs; of one without key, the key is empty."""
    found = {name: one.to_arrow().to_pylist() for name, one in result.items()}
    assert [name for name, one in found.items() if "symbol" in one[0]] == list(KEYED)
    return found | {"double": [{"symbol": ""} | row for row in found["double"]]}


# Frames


def of_duckdb(table: pa.Table) -> object:
    return duckdb.connect().from_arrow(table)


FRAMES: dict[str, Callable[[pa.Table], object]] = {
    "pyarrow": lambda table: table,
    "batches": lambda table: table.to_reader(max_chunksize=17),
    "dictionaries": lambda table: (
        table.set_column(
            table.schema.get_field_index("symbol"),
            "symbol",
            table["symbol"].dictionary_encode(),
        )
        if "symbol" in table.column_names
        else table
    ),
    "polars": pl.from_arrow,
    "pandas": lambda table: table.to_pandas(),
    "duckdb": of_duckdb,
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_keyed_runs_over_frames_of_every_library(
    frame: Callable[[pa.Table], object],
) -> None:
    given = data()
    frames: dict[str, Any] = {n: frame(table) for n, table in given.frames().items()}
    result = tilt.parse(TEXT).run(**frames)
    assert listed(result) == meant(given)


def test_rows_in_any_order() -> None:
    """Those of one stamp stay in their order."""
    given = data()
    random = Random(3)  # noqa: S311
    order = list(range(len(given.trades)))
    random.shuffle(order)
    order.sort(key=lambda row: given.trades["ts"][row].as_py() // 50, reverse=True)
    trades = given.trades.take(order)
    again = Data(trades, given.quote, given.rate)
    result = tilt.parse(TEXT).run(**again.frames())
    assert listed(result) == meant(again)


# What changes no result


@pytest.mark.covering(1)
@pytest.mark.parametrize("many", [1, 60, 1 << 15], ids=["alone", "some", "batches"])
@pytest.mark.parametrize(
    ("chunk", "workers"), [(None, 2), (1, 1), (13, 2), ("1h", 3)], ids=str
)
def test_chunks_and_workers(many: int, chunk: int | str | None, workers: int) -> None:
    given = data()
    options = costing(keys=KeyCosts(shared_rows=many))
    result = tilt.parse(TEXT, options=options).run(
        **given.frames(), chunk=chunk, workers=workers
    )
    assert listed(result) == meant(given)


@pytest.mark.parametrize("many", [1, 60, 1 << 15], ids=["alone", "some", "batches"])
@pytest.mark.parametrize("memoized_keys", [0, 1 << 13])
def test_runs_over_bound_frames_are_alike(many: int, memoized_keys: int) -> None:
    """The second takes over what the first has prepared, and its memory is its own."""
    given = data()
    options = costing(keys=KeyCosts(shared_rows=many, memoized_keys=memoized_keys))
    query = tilt.parse(TEXT, options=options)
    bound: dict[str, Any] = {n: tilt.bind(f) for n, f in given.frames().items()}
    results = [query.run(**bound) for _ in range(3)]
    others = query.run(**bound, start=50, end=333)
    assert [listed(result) for result in results] == [meant(given)] * 3
    expected = meant(given, start=50, end=333)
    assert listed(others)["moving"] == expected["moving"]


@pytest.mark.parametrize("span", [{"start": 50}, {"end": 333}, {"start": 7, "end": 8}])
@pytest.mark.parametrize("many", [1, 1 << 15], ids=["alone", "batches"])
def test_a_part_of_time(span: dict[str, Any], many: int) -> None:
    options = costing(keys=KeyCosts(shared_rows=many))
    result = tilt.parse(TEXT, options=options).run(**data().frames(), **span)
    found = {name: one.to_arrow().to_pylist() for name, one in result.items()}
    expected = meant(data(), **span)
    assert {name: found[name] for name in KEYED} == {n: expected[n] for n in KEYED}
    assert expected["volume"]


def test_a_hot_key_among_cold_ones() -> None:
    """One key has a vector kernel and chunks, the others some rows each."""
    random = Random(5)  # noqa: S311
    rows = sorted((t, "hot", random.randrange(800) / 8) for t in range(50_000))
    rows += [(t * 9, f"cold {t % 37}", t / 8) for t in range(1000)]
    ts, keys, values = zip(*sorted(rows, key=lambda row: row[0]), strict=True)
    table = pa.table({"k": keys, "ts": ts, "x": values})
    text = "unit s\ninput x {}: f64 time ts point\n~o[t] = mean(~x[t-20s : t])"
    by, alone = tilt.parse(text.format("by k ")), tilt.parse(text.format(""))
    found = by.run(x=table).to_arrow()
    assert by.run(x=table, workers=2, chunk=997).to_arrow() == found
    for key in ("hot", "cold 0", "cold 36"):
        own = found.filter(pc.field("k") == key).drop_columns("k")
        rows_of_key = table.filter(pc.field("k") == key).drop_columns("k")
        assert own == alone.run(x=rows_of_key).to_arrow()
    assert found["k"].unique().to_pylist() == sorted(set(keys))


# The order of rows


def test_in_order_of_time() -> None:
    result = tilt.parse(TEXT).run(**data().frames(), order="time")
    for name, rows in meant(data()).items():
        in_time = sorted(rows, key=lambda row: (row["start"], row["end"]))  # stable
        assert listed(result)[name] == in_time


@pytest.mark.parametrize(
    "type",
    [pa.date32(), pa.timestamp("s"), pa.timestamp("ns", "Europe/Paris")],
    ids=str,
)
def test_in_order_of_time_of_any_type(type: pa.DataType) -> None:
    days = [dt.datetime(2024, 1, day, tzinfo=dt.UTC) for day in (3, 1, 2, 1)]
    times = (
        pa.array(days, pa.timestamp("ns", "UTC")).cast(pa.timestamp("ns")).cast(type)
    )
    table = pa.table({"k": ["a", "a", "b", "b"], "d": times, "x": [1, 2, 3, 4]})
    query = tilt.parse("unit d\ninput x by k : i64 time d point\n~o[t] = ~x[t]")
    found = query.run(x=table, order="time").to_arrow()
    assert found["o"].to_pylist() == [2, 4, 3, 1]
    assert found["k"].to_pylist() == ["a", "b", "b", "a"]


# Types of keys

NAN = math.nan
DAY = dt.date(2024, 2, 29)
KEYS: dict[str, tuple[pa.Array, list[Any]]] = {
    "i8": (pa.array([3, -128, None, 3, 127], pa.int8()), [None, -128, 3, 127]),
    "u64": (pa.array([2**64 - 1, 0, None, 0], pa.uint64()), [None, 0, 2**64 - 1]),
    "i64": (pa.array([2**63 - 1, -(2**63), 0]), [-(2**63), 0, 2**63 - 1]),
    "bool": (pa.array([True, None, False, True]), [None, False, True]),
    "string": (pa.array(["b", "", None, "é", "B", "b"]), [None, "", "B", "b", "é"]),
    "large": (pa.array(["😀", "\uffff"], pa.large_string()), ["\uffff", "😀"]),
    "view": (
        pa.array(["b" * 20, None, "a" * 20], pa.string_view()),
        [None, "a" * 20, "b" * 20],
    ),
    "codes": (pa.array(["b", None, "a", "b"]).dictionary_encode(), [None, "a", "b"]),
    "twice": (
        pa.DictionaryArray.from_arrays(
            pa.array([0, 2, 1, None]), pa.array(["a", None, "a"])
        ),
        [None, "a"],
    ),
    "numbers": (pa.array([7, 3, 7]).dictionary_encode(), [3, 7]),
    "date": (
        pa.array([DAY, None, dt.date(1969, 1, 1)]),
        [None, dt.date(1969, 1, 1), DAY],
    ),
    "time": (
        pa.array([3, 1, None, 1], pa.timestamp("s")),
        [None, dt.datetime(1970, 1, 1, 0, 0, 1), dt.datetime(1970, 1, 1, 0, 0, 3)],
    ),
    "float": (
        pa.array([0.0, NAN, 1.5, -0.0, None, -math.inf, -NAN, math.inf]),
        [None, -math.inf, 0.0, 1.5, math.inf, NAN],
    ),
    "f32": (pa.array([NAN, 0.5, NAN], pa.float32()), [0.5, NAN]),
    "null": (pa.nulls(3), [None]),
}


@pytest.mark.parametrize(("keys", "expected"), KEYS.values(), ids=KEYS)
def test_keys_of_every_type_stand_in_their_order(
    keys: pa.Array, expected: list[Any]
) -> None:
    """A count for each key: that of the rows whose key is the same."""
    rows = len(keys)
    table = pa.table({"k": keys, "ts": range(1, rows + 1), "x": range(rows)})
    query = tilt.parse(
        "unit s\ninput x by k : i64 time ts point\n~n[t] = count(~x[t-9s : t])"
    )
    found = query.run(x=table, start=rows - 1, end=rows).to_arrow()
    assert repr(found["k"].to_pylist()) == repr(expected)
    values = [
        repr(key + 0.0 if isinstance(key, float) else key).replace("-nan", "nan")
        for key in keys.to_pylist()
    ]
    assert found["n"].to_pylist() == [values.count(repr(key)) for key in expected]
    value_type = (
        keys.type.value_type if pa.types.is_dictionary(keys.type) else keys.type
    )
    text = pa.types.is_large_string(value_type) or pa.types.is_string_view(value_type)
    assert found.schema.field("k").type == (pa.string() if text else value_type)
