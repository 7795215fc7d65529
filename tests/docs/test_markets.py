"""The tasks of the markets beside pandas."""

import numpy as np
import pandas as pd

from tests.docs.tasks import random_numbers, readings, run_task
from tests.semantics.recipes import agree, by_end

PAGE = "markets.md"
NEW_YORK = "America/New_York"


def test_the_volume_weighted_average_price() -> None:
    frame = readings(1, 40, value="price", user="symbol")
    frame["size"] = random_numbers(1, 1, 8)
    bars = frame.assign(
        end=frame.time // 300 * 300 + 299, paid=frame.price * frame["size"]
    )
    sums = bars.groupby(["symbol", "end"])[["paid", "size"]].sum()
    found = run_task(PAGE, "vwap.tilt", frame)["vwap"]
    agree(by_end(found), sums.paid / sums["size"])


def test_the_quote_at_each_trade() -> None:
    trade, quote = (
        readings(seed, 9, value=name, user="symbol")
        for seed, name in ((2, "price"), (3, "bid"))
    )
    trade["size"], quote["ask"] = 1, quote.bid + random_numbers(3, 1, 3)
    trade.time, quote.time = trade.time // 4, quote.time // 4
    keys = ["time", "symbol"]
    joined = pd.merge_asof(
        trade[[*keys, "price"]],
        quote[[*keys, "bid", "ask"]],
        on="time",
        by="symbol",
        tolerance=10,
    ).sort_values("symbol", kind="stable")
    assert joined.bid.isna().any()
    assert joined.duplicated(keys).any()
    agree(
        by_end(run_task(PAGE, "quoted.tilt", trade, quote)["quoted"]),
        joined.set_index(["symbol", "time"])[["price", "bid", "ask"]],
    )


def test_realized_volatility() -> None:
    frame = readings(4, 500, value="price")
    last = -(-frame.time.max() // 3600) * 3600
    minutes = pd.DataFrame({"time": range(60, last + 1, 60)})
    sampled = pd.merge_asof(
        minutes, frame[["time", "price"]], on="time", tolerance=299
    ).set_index("time")
    assert sampled.price.isna().any()
    growth = np.log(sampled.price / sampled.price.shift()).dropna()
    hours = (growth**2).groupby(-(-growth.index // 3600) * 3600).sum()
    found = run_task(PAGE, "realized", frame)["volatility"]
    agree(by_end(found), np.sqrt(hours * 252 * 6.5))


def test_crossing_averages_of_bars() -> None:
    frame = readings(5, 7, value="close", time="Date")
    weeks = (frame.Date - 4) // 7 * 7 + 10
    close = frame.groupby(weeks).close.last()
    fast, slow = (close.ewm(span=n, adjust=False).mean() for n in (12, 26))
    above = fast > slow
    crosses = above[(above != above.shift()) & (np.arange(len(close)) > 0)]
    found = run_task(PAGE, "crossover", frame[["Date", "close"]])
    agree(by_end(found["gap"]), fast / slow - 1)
    assert len(crosses) > 2
    assert by_end(found["cross"])["cross"].to_dict() == {
        end: 1 if up else -1 for end, up in crosses.items()
    }


def test_bars_of_exchange_days() -> None:
    frame = readings(6, 17000, value="price")
    frame.time += 1_709_000_000  # from February 27, 2024
    frame["size"] = random_numbers(6, 1, 8)
    times = pd.to_datetime(frame.time, unit="s", utc=True).dt.tz_convert(NEW_YORK)
    regular = frame.set_index(pd.DatetimeIndex(times))
    regular = regular.between_time("09:30", "16:00", inclusive="left")
    bars = regular.price.resample("D").ohlc()
    bars["volume"] = regular["size"].resample("D").sum()
    ends = (bars.index + pd.DateOffset(days=1)).tz_convert("UTC")
    bars.index = ends.astype("datetime64[s, UTC]").astype("int64") - 1
    agree(by_end(run_task(PAGE, "days.tilt", frame)["bar"]), bars.dropna())
