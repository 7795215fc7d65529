"""The cookbook's recipes over random rows, beside pandas and plain loops."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from tests.semantics.recipes import ROWS, agree, at_its_end, by_end, rows, run_recipe


def recipe(output: str, frame: pd.DataFrame) -> pd.DataFrame:
    return by_end(run_recipe("cookbook.md", output, frame))


def by_loop(values: pd.Series, step: Callable[[float], float]) -> pd.Series:
    return pd.Series([step(value) for value in values], values.index)


def test_totals_and_lags() -> None:
    frame = rows(1, 5)[["time", "value"]].rename(columns={"value": "x"})
    x = frame.set_index("time").x
    agree(recipe("row", frame), pd.Series(range(1, ROWS + 1), x.index))
    agree(recipe("total", frame), x.cumsum())
    agree(recipe("change", frame), (x - x.shift(2)).dropna())


def test_steps_between_rows_that_share_timestamps() -> None:
    frame = rows(13, 5)[["time", "value"]].rename(columns={"value": "x"})
    frame.time = np.maximum(frame.time // 4, 1)
    agree(recipe("step", frame), frame.set_index("time").x.diff().dropna())


def test_rows_that_repeat_the_one_before() -> None:
    frame = rows(2, 5)[["time"]].assign(x=np.random.default_rng(2).integers(0, 3, ROWS))
    x = frame.set_index("time").x
    agree(recipe("changed", frame), x[x != x.shift()])


def test_gain_since_yesterdays_close() -> None:
    frame = rows(3, 20)[["time", "value"]].rename(columns={"value": "price"})
    price = frame.set_index("time").price
    midnight = (price.index - 1) // 24 * 24
    close = pd.merge_asof(
        pd.DataFrame({"time": midnight}), frame, on="time"
    ).price.to_numpy()
    agree(recipe("gain", frame), (price / close - 1).dropna())


def test_two_limits() -> None:
    rng = np.random.default_rng(7)
    frame = rows(7, 5)[["time"]].assign(heat=rng.integers(10, 40, ROWS) * 1.0)
    heat = frame.set_index("time").heat
    known = heat.map(lambda value: 1.0 if value > 30 else (0.0 if value < 20 else None))
    on = known.ffill().fillna(0.0).astype(bool)
    ticks = on.reindex(range(on.index[0], on.index[-1] + 1)).ffill()
    agree(recipe("on", frame), at_its_end(ticks))


def test_streaks_and_drawdowns() -> None:
    frame = rows(8, 5)[["time", "value"]].rename(columns={"value": "x"})
    x = frame.set_index("time").x
    falls = ~(x > x.shift())
    streak = (~falls).groupby(falls.cumsum()).cumsum()
    below = x / x.cummax() - 1
    agree(recipe("streak", frame), streak[1:])
    agree(recipe("below", frame), below)
    agree(recipe("worst", frame), below.cummin())


def test_time_since_the_last_of_a_kind() -> None:
    frame = rows(9, 9)[["time", "kind"]].rename(columns={"kind": "log"})
    log = frame.set_index("time").log
    last = log.index.to_series().where(log == "error").ffill()
    agree(recipe("ago", frame), (log.index - last).dropna())


def band_pass() -> Callable[[float], float]:
    before: list[tuple[float, float]] = [(0.0, 0.0), (0.0, 0.0)]

    def step(x: float) -> float:
        (_, y1), (x2, y2) = before[-1], before[-2]
        y = 0.25 * x - 0.25 * x2 + 0.5 * y1 - 0.5 * y2
        before.append((x, y))
        return y

    return step


def kalman() -> Callable[[float], float]:
    known: list[tuple[float, float]] = []

    def step(x: float) -> float:
        if not known:
            known.append((x, 2.0))
        else:
            level, variance = known[-1]
            precision = 1 / (variance + 1) + 1 / 2
            known.append(((level / (variance + 1) + x / 2) / precision, 1 / precision))
        return known[-1][0]

    return step


def test_filters() -> None:
    frame = rows(10, 5)[["time", "value"]].rename(columns={"value": "x"})
    x = frame.set_index("time").x
    agree(recipe("low", frame), x.ewm(alpha=0.25, adjust=False).mean())
    agree(recipe("band", frame), by_loop(x, band_pass()))
    agree(recipe("rounded", frame), by_loop(x, kalman()).round(2))
