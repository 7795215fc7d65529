"""The tasks of the reference over random rows, beside pandas, NumPy and plain loops."""

from collections import Counter

import numpy as np
import pandas as pd

import tiltpy as tilt
from tests.semantics.recipes import (
    ROWS,
    agree,
    at_its_end,
    by_end,
    by_window,
    rows,
    run_recipe,
)

NEW_YORK = "America/New_York"


def recipe(output: str, *frames: pd.DataFrame) -> tilt.OutputTable:
    return run_recipe("tasks.md", output, *frames)


def readings(seed: int, most: int, **names: str) -> pd.DataFrame:
    """Random rows, some of whose columns have other names."""
    return rows(seed, most).rename(columns={"time": "ts", **names})


def every_tick(frame: pd.DataFrame, column: str) -> pd.Series:
    """The value that holds at each tick, from the first row to the last."""
    held = frame.set_index("ts")[column]
    return held.reindex(range(held.index[0], held.index[-1] + 1)).ffill()


# Markets


def test_the_volume_weighted_average_price() -> None:
    frame = readings(1, 40, value="price", user="symbol")
    frame["size"] = np.random.default_rng(1).integers(1, 9, ROWS)
    bars = frame.assign(
        end=frame.ts // 300 * 300 + 299, paid=frame.price * frame["size"]
    )
    sums = bars.groupby(["symbol", "end"])[["paid", "size"]].sum()
    agree(by_end(recipe("vwap", frame)), sums.paid / sums["size"])


def test_the_quote_at_each_trade() -> None:
    trade, bid = (
        readings(seed, 9, value=name, user="symbol")
        for seed, name in ((2, "trade"), (3, "bid"))
    )
    trade.ts, bid.ts = trade.ts // 4, bid.ts // 4
    columns = ["ts", "symbol"]
    joined = pd.merge_asof(
        trade[[*columns, "trade"]],
        bid[[*columns, "bid"]],
        on="ts",
        by="symbol",
        tolerance=10,
    ).sort_values("symbol", kind="stable")
    assert joined.bid.isna().any()
    assert joined.duplicated(columns).any()
    agree(
        by_end(recipe("quoted", trade, bid)),
        joined.set_index(["symbol", "ts"])[["trade", "bid"]],
    )


def test_realized_volatility() -> None:
    frame = readings(4, 500, value="price")
    minutes = pd.DataFrame({"ts": range(60, frame.ts.max() + 3600, 60)})
    price = (
        pd.merge_asof(minutes, frame[["ts", "price"]], on="ts").set_index("ts").price
    )
    squares = np.log(price / price.shift()) ** 2
    hours = -(-squares.index // 3600) * 3600
    expected = 100 * np.sqrt(squares.groupby(hours).sum())
    last = -(-frame.ts.max() // 3600) * 3600
    agree(by_end(recipe("rounded", frame)), expected.loc[:last].round())


def test_crossing_averages_of_bars() -> None:
    frame = readings(5, 7, value="trade")
    close = frame.groupby(frame.ts // 5 * 5 + 4).trade.last()
    fast, slow = (close.ewm(alpha=alpha, adjust=False).mean() for alpha in (0.5, 0.25))
    above = fast > slow
    crosses = (above != above.shift()) & (np.arange(len(close)) > 0)
    agree(by_end(recipe("cross", frame)), above[crosses].map({True: 1, False: -1}))


def test_bars_of_exchange_days() -> None:
    frame = readings(6, 17000, value="price")
    frame.ts += 1_709_000_000  # from February 27, 2024
    frame["size"] = np.random.default_rng(6).integers(1, 9, ROWS)
    times = pd.to_datetime(frame.ts, unit="s", utc=True).dt.tz_convert(NEW_YORK)
    regular = frame.set_index(pd.DatetimeIndex(times))
    regular = regular.between_time("09:30", "16:00", inclusive="left")
    bars = regular.price.resample("D").ohlc()
    bars["volume"] = regular["size"].resample("D").sum()
    ends = (bars.index + pd.DateOffset(days=1)).tz_convert("UTC")
    bars.index = ends.astype("datetime64[s, UTC]").astype("int64") - 1
    agree(by_end(recipe("bar", frame)), bars.dropna())


# Sensors


def test_gaps_are_filled_whole_or_not_at_all() -> None:
    steps = np.random.default_rng(7).integers(1, 7, ROWS)
    frame = readings(7, 1, value="x").assign(ts=20 * np.cumsum(steps))
    held, line = {}, {}
    x = frame.set_index("ts").x
    for (ts, value), (later, then) in zip(x.items(), [*x.items()][1:], strict=False):
        held[ts] = value
        if 20 < later - ts <= 60:
            held[later - 20] = value
        for grid in range(ts, later if later - ts <= 60 else ts + 1, 20):
            line[grid] = value + (then - value) * (grid - ts) / (later - ts)
    held[x.index[-1]] = line[x.index[-1]] = x.iloc[-1]
    agree(by_end(recipe("held", frame)), pd.Series(held))
    agree(by_end(recipe("line", frame)), pd.Series(line))


def test_means_by_minute() -> None:
    frame = readings(8, 90, value="x")
    minutes = frame.groupby(frame.ts // 60 * 60).x.mean()
    agree(by_window(recipe("mean", frame)), minutes)


def test_episodes_above_a_threshold() -> None:
    frame = readings(9, 9, value="heat").assign(
        heat=75 + 10 * np.random.default_rng(9).random(ROWS)
    )
    heat = every_tick(frame, "heat")
    hot = heat[heat > 80]
    number = (hot.index.to_series().diff() != 1).cumsum()
    runs = hot.groupby(number).agg(lambda run: [run.index[0], run.index[-1], run.max()])
    expected = pd.DataFrame(runs.tolist(), columns=["from", "to", "peak"])
    long = (expected.to - expected["from"] >= 9) & (expected.to < heat.index[-1])
    found = by_end(recipe("alert", frame))
    for name in ("from", "to"):
        found[name] = found[name].astype("datetime64[s]").astype("int64") // 60
    agree(found, expected[long].set_index("to", drop=False))


def test_the_mean_of_what_holds() -> None:
    frame = readings(10, 30, value="x")
    last = frame.ts.max() // 60 * 60 + 59
    whole = pd.concat([frame, frame.tail(1).assign(ts=last)])
    held = every_tick(whole.drop_duplicates("ts"), "x")
    agree(by_window(recipe("level", frame)), held.groupby(held.index // 60 * 60).mean())


def test_states_and_the_time_spent_in_them() -> None:
    modes = np.random.default_rng(11).choice(["idle", "run", "off"], ROWS)
    frame = readings(11, 30).assign(mode=modes)
    last = frame.ts.max() // 60 * 60 + 59
    whole = pd.concat([frame, frame.tail(1).assign(ts=last)]).drop_duplicates("ts")
    state = every_tick(whole, "mode")
    spent = pd.DataFrame({name: state == name for name in ("idle", "run")})
    agree(
        by_window(recipe("spent", frame)), spent.groupby(state.index // 60 * 60).sum()
    )

    before = state.shift()
    changes = state[(state != before) & before.notna()]
    found = by_end(recipe("change", frame))
    assert found.index.tolist() == changes.index.tolist()
    assert found["to"].tolist() == changes.tolist()
    assert found["from"].tolist() == before[changes.index].tolist()


# The web


def test_distinct_users_of_a_day() -> None:
    names = np.random.default_rng(12).integers(0, 60, ROWS).astype(str)
    frame = readings(12, 60).assign(view=names)
    view = frame.set_index("ts").view
    hours = range(-(-view.index[0] // 60) * 60, view.index[-1] + 60, 60)
    users = [view.loc[hour - 1439 : hour].nunique() for hour in hours]
    agree(by_window(recipe("users", frame)), pd.Series(users, hours))


def test_the_three_pages_that_were_seen_most() -> None:
    pages = np.random.default_rng(13).choice([*"aabbbcde"], ROWS)
    frame = readings(13, 9).assign(view=pages)
    expected = []
    for hour, views in frame.groupby(frame.ts // 60 * 60).view:
        ranks = [*Counter(views).most_common(3), (None, None), (None, None)][:3]
        row: dict[str, object] = {"time": hour}
        for rank, (page, count) in enumerate(ranks, 1):
            row |= {f"mode{rank}": page, f"count{rank}": count}
        expected.append(row)
    assert len(expected) > 20
    assert recipe("top", frame).windows().to_pylist() == expected


# Operations


def test_a_percentile_every_minute() -> None:
    frame = readings(14, 60, value="took")
    took = frame.set_index("ts").took
    minutes = range(-(-took.index[0] // 60) * 60, took.index[-1] + 60, 60)
    p99 = [np.quantile(took.loc[end - 299 : end], 0.99) for end in minutes]
    agree(by_window(recipe("p99", frame)), pd.Series(p99, minutes))


def test_the_burn_of_an_error_budget() -> None:
    failed = np.random.default_rng(15).random(ROWS) < 0.15
    frame = readings(15, 6).assign(failed=failed)
    errors = frame.set_index("ts").failed
    page = {}
    for end in range(errors.index[0], errors.index[-1] + 1):
        long, short = (errors.loc[end - width + 1 : end].mean() for width in (60, 5))
        page[end] = long >= 0.1 and short >= 0.1
    runs = at_its_end(pd.Series(page))
    agree(by_end(recipe("page", frame)), runs[runs])


def test_deployments_beside_error_spikes() -> None:
    deploy, error = readings(16, 30, kind="deploy"), readings(17, 6, kind="error")
    errors = error.set_index("ts").error
    spike = pd.Series(
        {
            end: len(errors.loc[end - 4 : end]) >= 3
            for end in range(errors.index[0], errors.index[-1] + 1)
        }
    )
    begins = spike.index[spike & ~spike.shift(fill_value=False)].to_series(name="ts")
    expected = pd.merge_asof(
        begins.reset_index(drop=True).to_frame(),
        deploy[["ts", "deploy"]].assign(at=deploy.ts),
        on="ts",
        tolerance=15,
    ).set_index("ts")
    found = by_end(recipe("suspect", deploy, error))
    suspects, expected_ones = found.pop("deploy"), expected.pop("deploy")
    assert suspects.fillna("").tolist() == expected_ones.fillna("").tolist()
    agree(found, expected.index.to_series() - expected["at"])


def test_how_much_of_a_fleet_is_down() -> None:
    rng = np.random.default_rng(18)
    parts, ticks = [], []
    for host in "abcd":
        stamps = np.sort(rng.choice(1000, 100, replace=False))
        down = rng.random(99) < 0.4
        parts.append(
            pd.DataFrame(
                {"host": host, "down": down, "start": stamps[:-1], "end": stamps[1:]}
            )
        )
        states = pd.Series(np.repeat(down, np.diff(stamps)) * 1.0)
        ticks.append(states.set_axis(range(stamps[0] + 1, stamps[-1] + 1)))
    found = recipe("down", pd.concat(parts, ignore_index=True)).windows().to_pandas()
    agree(
        found.set_index("time").dropna(),
        100 * pd.concat(ticks, axis=1).sort_index().mean(axis=1),
    )


# Signals


def samples(seed: int, period: int) -> pd.DataFrame:
    frame = readings(seed, 1, value="x")
    return frame.assign(ts=period * np.arange(1, ROWS + 1), x=frame.x - 80)


def test_a_band_pass_by_weights() -> None:
    frame = samples(19, 10)
    band = np.convolve(frame.x, [0.25, 0.0, -0.5, 0.0, 0.25], "valid")
    agree(by_end(recipe("band", frame)), pd.Series(band, frame.ts[4:]))


def test_peaks() -> None:
    x = np.random.default_rng(20).integers(0, 40, ROWS) / 8
    frame = samples(20, 1).assign(x=x)
    values = frame.set_index("ts").x
    highest = values.rolling(5, center=True, min_periods=1).max()
    agree(by_end(recipe("peak", frame)), values[(values > 2) & (values == highest)])


def test_another_rate() -> None:
    frame = samples(21, 4).rename(columns={"x": "s"})
    grid = np.arange(10, 4 * ROWS + 1, 10)
    line = pd.Series(np.interp(grid, frame.ts, frame.s), grid)
    agree(by_end(recipe("slower", frame.rename(columns={"s": "x"}))), line)


def test_the_energy_of_two_bands() -> None:
    frame = samples(22, 250)
    bands = {
        name: np.convolve(frame.x, [0.5, weight], "valid") ** 2
        for name, weight in (("low", 0.5), ("high", -0.5))
    }
    energy = pd.DataFrame(bands, frame.ts[1:])
    agree(
        by_end(recipe("energy", frame)),
        energy.groupby(-(-energy.index // 1000) * 1000).sum(),
    )


def test_heart_rate_and_its_variability() -> None:
    gaps = np.random.default_rng(23).integers(600, 1400, 4 * ROWS)
    frame = pd.DataFrame({"ts": np.cumsum(gaps), "beat": True})
    interval = frame.ts.diff().set_axis(frame.ts)
    minute = -(-interval.index // 60000) * 60000
    expected = pd.DataFrame(
        {
            "rate": 60000 / interval.groupby(minute).mean(),
            "sdnn": interval.groupby(minute).std(),
            "rmssd": np.sqrt((interval.diff() ** 2).groupby(minute).mean()),
        }
    )
    agree(by_end(recipe("rhythm", frame)), expected)
