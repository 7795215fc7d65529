"""The tasks of sensors beside pandas and plain loops."""

import numpy as np
import pandas as pd

from tests.docs.tasks import every_tick, random_numbers, readings, run_task, seconds_of
from tests.semantics.recipes import ROWS, agree, at_its_end, by_end, by_window

PAGE = "sensors.md"


def test_gaps_are_filled_whole_or_not_at_all() -> None:
    minute = np.cumsum(random_numbers(7, 1, 90))
    frame = pd.DataFrame({"minute": minute, "watts": random_numbers(7, -99, 99)})
    held, line = {}, {}
    watts = frame.set_index("minute").watts
    for (at, value), (later, then) in zip(
        watts.items(), [*watts.items()][1:], strict=False
    ):
        held[at] = value
        if 1 < later - at <= 60:
            held[later - 1] = value
        for each in range(at, later if later - at <= 60 else at + 1):
            line[each] = value + (then - value) * (each - at) / (later - at)
    held[minute[-1]] = line[minute[-1]] = watts.iloc[-1]
    found = run_task(PAGE, "filled.tilt", frame.astype({"watts": "int16"}))
    agree(by_end(found["held"]), pd.Series(held))
    agree(by_end(found["line"]), pd.Series(line))


def test_means_of_whole_minutes() -> None:
    frame = readings(8, 90, value="humidity")[["time", "humidity"]]
    minutes = frame.groupby(frame.time // 60 * 60).humidity.agg(["mean", "count"])
    agree(by_window(run_task(PAGE, "minutes", frame)["minute"]), minutes)


def test_an_alert_after_ten_minutes() -> None:
    rng = np.random.default_rng(9)
    minute = np.sort(rng.choice(9 * ROWS, 8 * ROWS, replace=False))
    watts = 4000 + 500 * np.sin(np.arange(len(minute)) / 25)
    watts += rng.integers(-60, 60, len(minute))
    frame = pd.DataFrame({"minute": minute, "watts": watts.astype("int16")})
    high = frame[frame.watts > 4000]
    number = (high.minute.diff() != 1).cumsum()
    runs = high.groupby(number).agg({"minute": ["min", "max"], "watts": "max"})
    runs.columns = pd.Index(["from", "to", "peak"])
    runs["from"] -= 1
    runs = runs[runs.to - runs["from"] >= 10]
    found = by_end(run_task(PAGE, "alert.tilt", frame)["alert"])
    found["from"] = seconds_of(found["from"]) // 60
    agree(found, runs.set_index("to"))


def test_a_switch_that_settles() -> None:
    closed = random_numbers(6, 0, 1).astype(bool)
    frame = readings(6, 5)[["time"]].assign(closed=closed)
    ticks = every_tick(frame, "closed")
    run = (ticks != ticks.shift()).cumsum()
    stable = ticks.groupby(run).cumcount() >= 2
    position = ticks[stable].reindex(ticks.index).ffill().dropna()
    found = run_task(PAGE, "debounced.tilt", frame)["position"]
    agree(by_end(found), at_its_end(position))


def test_a_mean_weighted_by_time() -> None:
    frame = readings(10, 90, value="level")[["time", "level"]]
    last = frame.time.max() // 60 * 60 + 59
    held = every_tick(frame, "level", until=last, most=60)
    assert held.isna().any()
    hours = held.index // 60 * 60
    found = run_task(PAGE, "level.tilt", frame)
    agree(by_window(found["weighted"]), held.groupby(hours).mean().dropna())
    ticks = pd.Series(held.index, held.index)
    stamp = ticks.where(ticks.isin(frame.time)).ffill()
    rows = held.to_frame("level").assign(hour=hours, stamp=stamp).dropna()
    plain = rows.drop_duplicates(["hour", "stamp"]).groupby("hour")["level"].mean()
    agree(by_window(found["plain"]), plain)


def test_states_and_the_time_spent_in_them() -> None:
    modes = np.random.default_rng(11).choice(["idle", "run", "fault"], ROWS)
    frame = readings(11, 30)[["time"]].assign(mode=modes)
    last = frame.time.max() // 60 * 60 + 59
    state = every_tick(frame, "mode", until=last)
    spent = pd.DataFrame({name: state == name for name in ("idle", "run", "fault")})
    result = run_task(PAGE, "states.tilt", frame)
    agree(by_window(result["spent"]), spent.groupby(state.index // 60 * 60).sum())

    before = state.shift()
    changes = state[(state != before) & before.notna()]
    found = by_end(result["change"])
    assert found.index.tolist() == changes.index.tolist()
    assert found["to"].tolist() == changes.tolist()
    assert found["from"].tolist() == before[changes.index].tolist()
