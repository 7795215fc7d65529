"""The tasks of operations beside pandas, NumPy and plain loops."""

import numpy as np
import pandas as pd

from tests.docs.tasks import random_numbers, readings, run_task
from tests.semantics.recipes import ROWS, agree, at_its_end, by_end, by_window

PAGE = "operations.md"


def test_the_rate_of_a_counter() -> None:
    total = np.cumsum(random_numbers(11, 0, 50)) % 500
    frame = readings(11, 29)[["time"]].assign(total=total)
    counter = frame.set_index("time").total
    grown = counter.diff().where(counter >= counter.shift(), counter)
    grid = np.arange(-(-counter.index[0] // 30) * 30, counter.index[-1] + 30, 30)
    last_minute = [grown[1:].loc[end - 59 : end].sum() / 60 for end in grid]
    found = run_task(PAGE, "rate.tilt", frame)["measured"].windows().to_pandas()
    expected = pd.Series(last_minute, grid).loc[found.time[0] :]
    agree(found.set_index("time"), expected)


def test_a_percentile_every_minute() -> None:
    frame = readings(14, 60, value="took")[["time", "took"]]
    took = frame.set_index("time").took
    minutes = range(-(-took.index[0] // 60) * 60, took.index[-1] + 60, 60)
    windows = [took.loc[end - 299 : end] for end in minutes]
    expected = pd.DataFrame(
        {q: [np.quantile(window, q) for window in windows] for q in (0.5, 0.99)},
        minutes,
    )
    agree(by_window(run_task(PAGE, "percentiles", frame)["latency"]), expected)


def test_the_burn_of_an_error_budget() -> None:
    rng = np.random.default_rng(15)
    failed = rng.random(4 * ROWS) < np.repeat(rng.choice([0, 0.2], ROWS // 25), 100)
    time = np.cumsum(rng.integers(1, 60, len(failed)))
    errors = pd.Series(failed, time)
    minutes = range(-(-time[0] // 60) * 60, time[-1] + 60, 60)
    burn = pd.Series(
        {
            end: min(errors.loc[end - width + 1 : end].mean() for width in (3600, 300))
            for end in minutes
        }
    )
    frame = pd.DataFrame({"time": time, "failed": failed})
    found = run_task(PAGE, "paging", frame)
    agree(by_window(found["burn"]), burn / 0.001)
    runs = at_its_end(burn / 0.001 >= 14.4)
    assert by_end(found["page"]).index.tolist() == runs.index[runs].tolist()
    assert runs.sum() > 3


def test_deployments_beside_error_spikes() -> None:
    deploy = readings(16, 1800, kind="deploy")[["time", "deploy"]]
    error = readings(17, 300, kind="error")[["time", "error"]]
    error.time = error.time // 60 * 60 + random_numbers(17, 0, 2)
    error = error.sort_values("time")
    errors = error.set_index("time").error
    first, last = errors.index[0], max(errors.index[-1], deploy.time.max())
    steps = pd.Series(1, errors.index).groupby(level=0).sum()
    counts = (
        steps.reindex(range(first, last + 1), fill_value=0)
        .rolling(300, min_periods=1)
        .sum()
    )
    spike = counts >= 3
    begins = spike.index[spike & ~spike.shift(fill_value=False)].to_series(name="time")
    expected = pd.merge_asof(
        begins.reset_index(drop=True).to_frame(),
        deploy.assign(at=deploy.time),
        on="time",
        tolerance=900,
    ).set_index("time")
    found = by_end(run_task(PAGE, "suspect.tilt", deploy, error)["suspect"])
    suspects, expected_ones = found.pop("deploy"), expected.pop("deploy")
    assert suspects.isna().any()
    assert suspects.fillna("").tolist() == expected_ones.fillna("").tolist()
    before = found.before.dt.total_seconds().to_frame()
    agree(before, expected.index.to_series() - expected["at"])


def test_how_much_of_a_fleet_is_down() -> None:
    rng = np.random.default_rng(18)
    parts, ticks = [], []
    for _ in range(4):
        stamps = np.sort(rng.choice(1000, 100, replace=False))
        down = rng.random(99) < 0.4
        parts.append(
            pd.DataFrame({"down": down, "start": stamps[:-1], "end": stamps[1:]})
        )
        states = pd.Series(np.repeat(down, np.diff(stamps)) * 1.0)
        ticks.append(states.set_axis(range(stamps[0] + 1, stamps[-1] + 1)))
    percent = 100 * pd.concat(ticks, axis=1).sort_index().mean(axis=1)
    frame = pd.concat(parts, ignore_index=True)
    found = by_end(run_task(PAGE, "fleet.tilt", frame)["level"])
    agree(found, at_its_end(percent))
