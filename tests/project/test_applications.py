"""The applications of the examples against pandas and NumPy.

Each function here computes the same thing in another way: row by row, with windows of
pandas, or by reshaping. What the examples print is their own to assert.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import tiltpy as tilt
from tests import ROOT

EXAMPLES = ROOT / "examples"
COMPANIES = ("AAPL", "GOOG", "IBM", "MSFT")


def load(name: str) -> tilt.CompiledQuery:
    return tilt.load(EXAMPLES / "queries" / f"{name}.tilt")


def data(name: str) -> pa.Table:
    return pq.read_table(EXAMPLES / "data" / f"{name}.parquet")


def samples(
    result: pa.Table, column: str, first: int, count: int
) -> NDArray[np.float64]:
    """The value at each tick from `first` on, NaN where there is none."""
    values = np.full(count, np.nan)
    at = result["start"].to_numpy()
    lengths = result["end"].to_numpy() - at
    ticks = np.repeat(at + 1, lengths) + np.concatenate([np.arange(n) for n in lengths])
    values[ticks - first] = np.repeat(result[column].to_numpy(), lengths)
    return values


@pytest.mark.parametrize("company", COMPANIES)
def test_trends_of_figure_2_are_those_of_pandas(company: str) -> None:
    prices = data(company)
    found = load("figure2").run(stock=tilt.bind(prices, column="AdjClose")).to_arrow()

    days, short, _ = held_in(prices, 10)
    _, long, _ = held_in(prices, 20)
    expected = short / 10 - long / 20
    expected[expected <= 0] = np.nan
    at = table_of_days(found, "where")
    actual = samples(at, "where", days[0], len(days))
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-9)


Numbers = NDArray[np.int64]


def held_in(
    prices: pa.Table, width: int
) -> tuple[Numbers, NDArray[np.float64], Numbers]:
    """For each day the sum and the count of the prices held in the days before.

    A held price counts once, whichever part of its hold the window meets.
    """
    stamps = prices["Date"].to_numpy().astype("datetime64[D]").astype(int)
    starts, ends = stamps - 1, np.append(stamps[1:] - 1, stamps[-1])
    until = np.append(0, np.cumsum(prices["AdjClose"]))
    days = np.arange(starts[0] + 1, ends[-1] + 1)
    first = np.searchsorted(ends, days - width, side="right")
    last = np.searchsorted(starts, days)
    return days, until[last] - until[first], last - first


def table_of_days(found: pa.Table, column: str) -> pa.Table:
    """Dates as numbers of days."""
    dates = [found[name].cast(pa.int32()).cast(pa.int64()) for name in ("start", "end")]
    return pa.table({"start": dates[0], "end": dates[1], column: found[column]})


@pytest.mark.parametrize("company", COMPANIES)
def test_orders_are_where_averages_of_pandas_cross(company: str) -> None:
    prices = data(company)
    found = load("trading").run(price=tilt.bind(prices, column="AdjClose"))

    rows = prices.to_pandas().set_index("Date")["AdjClose"]
    rows.index = pd.DatetimeIndex(rows.index)
    up = rows.rolling("28D").mean() > rows.rolling("70D").mean()
    up = up[rows.rolling("70D").count() > rows.rolling("28D").count()]
    orders = rows[up.index][up.ne(up.shift()) & (up.index > up.index[0])]
    assert found.to_arrow()["end"].to_pylist() == [day.date() for day in orders.index]
    assert found.to_arrow()["buy"].to_pylist() == up[orders.index].tolist()
    assert found.to_arrow()["price"].to_pylist() == orders.tolist()


@pytest.mark.parametrize("company", COMPANIES)
def test_rsi_is_that_of_pandas(company: str) -> None:
    prices = data(company)["AdjClose"]
    found = load("rsi").run(price=tilt.sampled(prices, start=0, period=1)).to_arrow()

    change = prices.to_pandas().diff()
    gain = change.clip(lower=0).rolling(14).mean()
    loss = (-change).clip(lower=0).rolling(14).mean()
    expected = 100 - 100 / (1 + gain / loss)
    actual = samples(found, "rsi", 1, len(prices))
    np.testing.assert_allclose(actual, expected, rtol=1e-9)
    assert np.isfinite(actual).sum() == len(prices) - 14


def test_normalized_samples_are_those_of_numpy() -> None:
    ecg = data("ecg")["adu"]
    found = load("normalize").run(ecg=tilt.sampled(ecg, start=0, period=1)).to_arrow()

    windows = ecg.to_numpy().reshape(-1, 3600).astype(float)
    mean, std = windows.mean(axis=1), windows.std(axis=1)
    expected = (windows - mean[:, None]) / std[:, None]
    np.testing.assert_allclose(found["z"], expected.ravel(), rtol=1e-9, atol=1e-12)


def test_imputed_minutes_are_those_of_pandas() -> None:
    power = data("power")
    found = load("impute").run(watts=power).to_arrow()

    watts = power.to_pandas().set_index("minute")["watts"].astype(float)
    hours = watts.resample("h", closed="right", label="right").mean()
    own = hours.reindex(watts.index.ceil("h")).to_numpy()
    expected = watts.fillna(pd.Series(own, watts.index))
    assert watts.isna().sum() > 100
    assert 0 < expected.isna().sum() < watts.isna().sum()

    actual = pd.Series(
        np.repeat(
            found["filled"],
            (np.diff([found["start"], found["end"]], axis=0))[0]
            .astype("timedelta64[m]")
            .astype(int),
        )
    )
    np.testing.assert_allclose(actual, expected.dropna(), rtol=1e-12)


def test_resampled_signals_are_those_of_interpolation() -> None:
    ecg = data("ecg")["adu"]
    found = load("resample").run(ecg=tilt.sampled(ecg, start=0, period=25))

    old = np.arange(1, len(ecg) + 1) * 25
    resampled = found["resampled"].to_arrow()
    new = resampled["end"].to_numpy()
    assert list(np.unique(np.diff(new))) == [36]
    expected = np.interp(new, old, ecg.to_numpy())
    np.testing.assert_allclose(resampled["resampled"], expected, rtol=1e-9, atol=1e-9)

    restored = found["restored"].to_arrow()
    again = np.interp(restored["end"].to_numpy(), new, expected)
    np.testing.assert_allclose(restored["restored"], again, rtol=1e-9, atol=1e-9)
    assert len(restored) > len(ecg) - 4


def test_vibration_is_that_of_the_moments() -> None:
    ankle = data("gait")["ankle"]
    found = load("vibration").run(acceleration=tilt.sampled(ankle, start=0, period=1))

    windows = ankle.to_numpy()[: len(ankle) // 128 * 128].reshape(-1, 128).astype(float)
    swing = windows - windows.mean(axis=1, keepdims=True)
    rms = np.sqrt((swing**2).mean(axis=1))
    table = found.to_arrow().slice(0, len(windows))
    np.testing.assert_allclose(table["rms"], rms, rtol=1e-9)
    np.testing.assert_allclose(table["crest"], abs(swing).max(axis=1) / rms, rtol=1e-9)
    kurtosis = (swing**4).mean(axis=1) / rms**4 - 3
    np.testing.assert_allclose(table["kurtosis"], kurtosis, rtol=1e-9)


def test_suspect_sales_are_those_of_a_loop() -> None:
    sales = data("retail")
    found = load("fraud").run(quantity=tilt.bind(sales, column="quantity")).to_arrow()

    frame = sales.to_pandas()
    sold = frame["sold"].to_numpy()
    quantity = frame["quantity"].to_numpy()
    expected = []
    for minute in np.unique(sold):
        low, high = np.searchsorted(sold, [minute - np.timedelta64(10, "D"), minute])
        usual = quantity[low:high]
        usual = usual[usual > 0]
        largest = quantity[sold == minute].max()
        if len(usual) and largest > usual.mean() + 3 * usual.std():
            expected.append((minute, largest, usual.mean() + 3 * usual.std()))
    assert len(expected) > 50
    assert [row[0] for row in expected] == list(found["end"].to_numpy())
    assert [row[1] for row in expected] == found["quantity"].to_pylist()
    np.testing.assert_allclose(found["limit"], [row[2] for row in expected], rtol=1e-9)


def test_flights_of_an_hour_are_those_of_pandas() -> None:
    flights = data("flights")
    found = load("yahoo").run(carrier=flights).to_arrow()

    united = flights.to_pandas().set_index("scheduled")["carrier"] == "UA"
    expected = united.resample("h", closed="right", label="right").sum()
    actual = pd.Series(found["united"].to_numpy(), found["end"].to_numpy())
    # Hours without a flight make one snapshot, which ends with the last of them.
    assert 500 < len(actual) < len(expected)
    assert actual.reindex(expected.index).bfill().tolist() == expected.tolist()


def test_trends_by_symbol_are_those_of_pandas() -> None:
    prices = {company: data(company) for company in COMPANIES}
    named = [
        one.append_column("symbol", pa.array([company] * len(one)))
        for company, one in prices.items()
    ]
    stock = tilt.bind(pa.concat_tables(named).sort_by("Date"), column="AdjClose")
    found = load("trends").run(stock=stock).to_arrow()

    for company, one in prices.items():
        days, short, short_count = held_in(one, 10)
        _, long, long_count = held_in(one, 20)
        gap = short / short_count - long / long_count
        own = table_of_days(found.filter(pc.field("symbol") == company), "trend")
        actual = samples(own, "trend", days[0], len(days))
        known = ~np.isnan(actual)
        assert known.sum() > 1000
        assert (known == (gap > 0))[abs(gap) > 1e-9].all()
        np.testing.assert_allclose(actual[known], gap[known], rtol=1e-6, atol=1e-9)


def test_suspect_sales_of_customers_are_those_of_a_loop() -> None:
    sales = data("retail")
    quantity = tilt.bind(sales, column="quantity")
    found = load("customers").run(quantity=quantity).to_arrow()

    expected = []
    frame = sales.to_pandas()
    for customer, own in frame.groupby("customer", dropna=False):
        sold = own["sold"].to_numpy()
        pieces = own["quantity"].to_numpy()
        for minute in np.unique(sold):
            before = (sold >= minute - np.timedelta64(10, "D")) & (sold < minute)
            usual = pieces[before & (pieces > 0)]
            largest = pieces[sold == minute].max()
            if len(usual) and largest > usual.mean() + 3 * usual.std():
                known = None if np.isnan(customer) else int(customer)
                expected.append((known, minute, largest))
    expected.sort(key=lambda row: (row[0] is not None, row[0] or 0, row[1]))
    assert len(expected) > 100
    assert [row[0] for row in expected] == found["customer"].to_pylist()
    assert [row[1] for row in expected] == list(found["end"].to_numpy())
    assert [row[2] for row in expected] == found["quantity"].to_pylist()


def test_delays_and_weather_are_those_of_a_join_as_of() -> None:
    flights, weather = data("flights"), data("weather")
    delay = tilt.bind(flights, column="delay")
    found = (
        load("delays").run(delay=delay, weather=weather, end="2013-02-01").to_arrow()
    )

    joined = pd.merge_asof(
        flights.to_pandas().dropna(),
        weather.to_pandas(),
        left_on="scheduled",
        right_on="hour",
        by="origin",
        tolerance=pd.Timedelta("59min"),
    ).dropna()
    groups = joined.groupby(["origin", "hour"])
    expected = groups["delay"].agg(["count", "mean"])
    assert len(expected) == len(found)
    assert found["origin"].to_pylist() == list(expected.index.get_level_values(0))
    hours = expected.index.get_level_values(1) - pd.Timedelta("1min")
    assert list(found["start"].to_numpy()) == list(hours)
    assert found["flights"].to_pylist() == expected["count"].tolist()
    np.testing.assert_allclose(found["minutes"], expected["mean"], rtol=1e-12)
    for name in ("wind", "visibility"):
        reported = pc.struct_field(found["weather"].combine_chunks(), name)
        assert reported.to_pylist() == groups[name].first().tolist()


def test_beats_are_those_of_a_loop_and_of_another_detector() -> None:
    ecg = data("ecg")["adu"]
    found = load("pan_tompkins").run(ecg=tilt.sampled(ecg, start=0, period=1))
    table = found.to_arrow()
    ticks = [table[name].drop_null().to_numpy() for name in ("at", "missed")]
    beats = np.sort(np.concatenate(ticks)) - 1
    assert beats.tolist() == sorted(detected(ecg.to_numpy().astype(float)))

    known = data("ecg_beats")["sample"].to_numpy()
    distances = abs(beats[:, None] - known)
    assert (distances.min(axis=0) <= 36).mean() >= 0.98
    assert (distances.min(axis=1) <= 36).mean() >= 0.98


def about(signal: NDArray[np.float64], reach: int) -> NDArray[np.float64]:
    """The mean of as many samples on both sides of each."""
    sums = np.append(0, np.cumsum(signal))
    at = np.arange(len(signal))
    low = np.maximum(at - reach, 0)
    high = np.minimum(at + reach + 1, len(signal))
    return np.asarray((sums[high] - sums[low]) / (high - low))


def detected(ecg: NDArray[np.float64]) -> list[int]:
    """The detector of the example, from one peak to the next."""
    low = about(about(ecg, 3), 3)
    band = low - about(low, 20)
    slope = 2 * band[3:-1] + band[4:] - 2 * band[1:-3] - band[:-4]
    power = about(slope**2, 27)[np.clip(np.arange(len(ecg)) - 2, 0, len(slope) - 1)]
    strength = np.maximum(band, 0) * np.sqrt(power)
    padded = np.pad(band, 10, constant_values=-np.inf)
    highest = np.lib.stride_tricks.sliding_window_view(padded, 21).max(axis=1)

    beat, noise = strength[:720].max(), strength[:720].mean()
    last, pace = -np.inf, np.inf
    best, strongest = 0, -np.inf
    beats: list[int] = []

    def follow(at: int, one: float, part: int) -> None:
        nonlocal beat, last, pace, strongest
        gap = at - last
        if pace == np.inf:
            pace = gap
        elif 0.9 * pace < gap < 1.4 * pace:
            pace += (gap - pace) / 8
        beat += (one - beat) / part
        last, strongest = at, -np.inf
        beats.append(at)

    for at in np.flatnonzero(band == highest).tolist():
        limit = noise + 0.3 * (beat - noise)
        if at - last > 1.8 * pace and strongest > limit / 4:
            follow(best, strongest, 4)
            limit = noise + 0.3 * (beat - noise)
        if at - last < 72:
            continue
        if strength[at] > limit:
            follow(at, strength[at], 8)
        else:
            noise += (strength[at] - noise) / 8
            if strength[at] > strongest:
                best, strongest = at, strength[at]
    return beats
