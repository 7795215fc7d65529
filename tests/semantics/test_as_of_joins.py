"""As-of joins over rows with shared stamps: those of Polars, DuckDB and pandas.

A row out for each row of the left side, whatever stamps are shared: `~bid[e]` is the
backward join, `~bid[e-1s]` the strict one, `max` a tolerance, `~bid[e : next]` the
forward join, and `by` joins key by key.
"""

import warnings
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tiltpy as tilt

polars = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
pandas = pytest.importorskip("pandas")

TEXT = """
unit s
input trades{by} : {{ price: f64 }} time ts point
input bid{by} : f64 time ts until_next{most}
e = Rows(~trades)
~o[e] = {{ price = ~trades[e].price, bid = {bid} }}
"""
JOIN = """
SELECT trade.ts, trade.price, quote.bid
FROM trade ASOF LEFT JOIN quote ON {using}trade.ts {sign} quote.ts ORDER BY {order}
"""
RUNS: tuple[dict[str, Any], ...] = (
    {"workers": 1},
    {"workers": 2, "chunk": 3},
    {"workers": 1, "chunk": 10},
)


def columns(random: Random, name: str, *, keys: int) -> dict[str, Any]:
    """Rows in order of time, some of which share a stamp."""
    draw = np.random.default_rng(random.randrange(10**9))
    count = random.choice((0, 1, 5, 40, 300))
    span = random.choice((5, 50, 1000))
    rows = {"ts": np.sort(draw.integers(0, span, count))}
    rows[name] = draw.integers(0, 9, count).astype(float)
    if keys:
        rows["k"] = draw.integers(0, keys, count)
    return rows


def table(rows: dict[str, Any]) -> pa.Table:
    return pa.table({**rows, "ts": pa.array(rows["ts"], pa.timestamp("s"))})


def joined(
    text: str, trades: dict[str, Any], quotes: dict[str, Any], **run: Any
) -> list[tuple[Any, ...]]:
    found = tilt.parse(text).run(trades=table(trades), bid=table(quotes), **run)
    rows = found["o"].to_arrow()
    stamps = rows["end"].cast(pa.int64()).to_pylist()
    prices, bids = rows["price"].to_pylist(), rows["bid"].to_pylist()
    return list(zip(stamps, prices, bids, strict=True))


@pytest.mark.parametrize("by_key", [False, True])
def test_as_of_joins_are_those_of_polars(*, by_key: bool, deep: bool) -> None:
    for seed in range(3000 if deep else 15):
        random = Random(seed)  # noqa: S311
        keys = random.choice((1, 3, 20)) if by_key else 0
        trades = columns(random, "price", keys=keys)
        quotes = columns(random, "bid", keys=keys)
        kind = random.choice(("backward", "backward", "strict", "forward"))
        tolerance = random.choice((None, None, 1, 3, 10))
        bid, most = "~bid[e]", f" max {tolerance}s"
        options: dict[str, Any] = {"by": "k"} if by_key else {}
        options["strategy"] = "forward" if kind == "forward" else "backward"
        options["allow_exact_matches"] = kind != "strict"
        if tolerance is not None:
            options["tolerance"] = tolerance if kind != "backward" else tolerance - 1
        if kind == "strict":
            bid = "~bid[e-1s]"
        elif kind == "forward":
            within = "" if tolerance is None else f" within {tolerance}s"
            bid, most = f"~bid[e : next{within}]", ""
        text = TEXT.format(
            by=" by k" if by_key else "",
            most="" if tolerance is None else most,
            bid=bid,
        )
        if kind == "forward":  # of one stamp the last in tie order
            last = polars.DataFrame(quotes).unique(
                [*(["k"] if by_key else []), "ts"], keep="last", maintain_order=True
            )
        else:
            last = polars.DataFrame(quotes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = polars.DataFrame(trades).join_asof(last, on="ts", **options)
        if by_key:
            expected = expected.sort("k", maintain_order=True)
        rows = expected.select("ts", "price", "bid").rows()
        for run in RUNS:
            assert joined(text, trades, quotes, **run) == rows, f"seed {seed}, {run}"


def test_as_of_joins_are_those_of_duckdb(*, deep: bool) -> None:
    for seed in range(1000 if deep else 8):
        random = Random(f"duckdb {seed}")  # noqa: S311
        keys = random.choice((0, 4))
        trades = columns(random, "price", keys=keys)
        quotes = columns(random, "bid", keys=keys)
        # DuckDB takes any of several quotes of one stamp.
        trade = polars.DataFrame(trades).with_row_index("n")
        stamp = ["k", "ts"] if keys else ["ts"]
        quote = polars.DataFrame(quotes)
        quote = quote.unique(stamp, keep="last", maintain_order=True)
        using = "trade.k = quote.k AND " if keys else ""
        order = "trade.k, trade.n" if keys else "trade.n"
        for sign, bid in ((">=", "~bid[e]"), (">", "~bid[e-1s]")):
            join = JOIN.format(using=using, sign=sign, order=order)
            tables = duckdb.connect()
            tables.register("trade", trade)
            tables.register("quote", quote)
            rows = tables.sql(join).fetchall()
            text = TEXT.format(by=" by k" if keys else "", most="", bid=bid)
            held = quote.to_dict(as_series=False)
            assert joined(text, trades, held) == rows, f"seed {seed}, {sign}"


def test_the_example_of_pandas_keeps_its_five_rows() -> None:
    """The quotes and trades of its documentation of `merge_asof`."""
    times = ["023", "023", "030", "041", "048", "049", "072", "075"]
    quotes = pandas.DataFrame(
        {
            "time": pandas.to_datetime([f"2016-05-25 13:30:00.{ms}" for ms in times]),
            "ticker": ["GOOG", "MSFT", "MSFT", "MSFT", "GOOG", "AAPL", "GOOG", "MSFT"],
            "bid": [720.50, 51.95, 51.97, 51.99, 720.50, 97.99, 720.50, 52.01],
            "ask": [720.93, 51.96, 51.98, 52.00, 720.93, 98.01, 720.88, 52.03],
        }
    )
    times = ["023", "038", "048", "048", "048"]
    trades = pandas.DataFrame(
        {
            "time": pandas.to_datetime([f"2016-05-25 13:30:00.{ms}" for ms in times]),
            "ticker": ["MSFT", "MSFT", "GOOG", "GOOG", "AAPL"],
            "price": [51.95, 51.95, 720.77, 720.92, 98.0],
            "quantity": [75, 155, 100, 100, 100],
        }
    )
    query = tilt.parse(
        """
        unit ms
        input trades by ticker : { price: f64, quantity: i64 } time time point
        input quotes by ticker : { bid: f64, ask: f64 } time time until_next
        e = Rows(~trades)
        ~o[e] = {
            price = ~trades[e].price, quantity = ~trades[e].quantity,
            bid = ~quotes[e].bid, ask = ~quotes[e].ask,
        }
        """
    )
    expected = pandas.merge_asof(trades, quotes, on="time", by="ticker")
    expected = expected.sort_values(["ticker", "time"], kind="stable")
    found = query.run(trades=trades, quotes=quotes)["o"].to_pandas()
    assert len(found) == 5
    names = ["ticker", "price", "quantity", "bid", "ask"]
    pandas.testing.assert_frame_equal(
        found[names], expected[names].reset_index(drop=True), check_dtype=False
    )
    assert list(found["end"]) == list(expected["time"])
