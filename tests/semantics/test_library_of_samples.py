"""Ranks, deviations, weighted moments and counters of the library, each against others.

SciPy's and pandas' functions, and Prometheus' rule for `rate` as its source has it.
"""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.semantics.test_library import CLEAN, X, over, per_tick, run, same

Samples = Sequence[tuple[int, float]]


def test_rank_is_that_of_pandas() -> None:
    ranks = pd.Series(CLEAN, dtype=float).rolling(9, min_periods=1).rank(method="min")
    expected = [
        None if value is None else int(rank)
        for value, rank in zip(CLEAN, ranks, strict=True)
    ]
    same(per_tick(run("rank(~x, 9)", x=CLEAN)), expected)


def test_deviations() -> None:
    def mad(values: Sequence[float]) -> float:
        return float(np.median(np.abs(np.array(values) - np.median(values))))

    def mean_deviation(values: Sequence[float]) -> float:
        return float(np.mean(np.abs(np.array(values) - np.mean(values))))

    same(per_tick(run("mad(~x, 8)", x=X)), over(8, mad))
    same(per_tick(run("mean_deviation(~x, 8)", x=X)), over(8, mean_deviation))


def test_clip() -> None:
    expected = [None if v is None else float(np.clip(v, 9.5, 11)) for v in X]
    same(per_tick(run("clip(~x[t], 9.5, 11)", x=X)), expected)
    found = per_tick(run("sum(clip(v, 9.5, 11) for v in ~x[t-5 : t])", x=CLEAN))
    inside = [None if v is None else float(np.clip(v, 9.5, 11)) for v in CLEAN]
    same(found, over(5, lambda values: float(np.sum(values)), inside))


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.9])
def test_ewm_var_is_that_of_pandas(alpha: float) -> None:
    series = pd.Series(CLEAN, dtype=float)
    expected = series.ewm(alpha=alpha, adjust=True, ignore_na=True).var(bias=True)
    found = per_tick(run(f"ewm_var(~x, {alpha})", x=CLEAN))
    nothing = per_tick(run("ewm_var(~x, 0.5)", x=[None] * len(CLEAN)))
    assert nothing == [None] * len(CLEAN)
    for value, wanted in zip(found, expected, strict=True):
        if value is not None:
            assert value == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    assert sum(value is not None for value in found) == len(CLEAN) - 1


def prometheus_rate(samples: Samples, start: int, end: int) -> float | None:
    """The rate of samples within (start, end], as `extrapolatedRate` computes it."""
    inside = [(time, value) for time, value in samples if start < time <= end]
    if len(inside) < 2:
        return None
    (first_time, first), (last_time, last) = inside[0], inside[-1]
    result, previous = last - first, first
    for _, value in inside[1:]:
        if value < previous:
            result += previous
        previous = value
    to_start, to_end = float(first_time - start), float(end - last_time)
    sampled = float(last_time - first_time)
    average = sampled / (len(inside) - 1)
    threshold = average * 1.1
    if to_start >= threshold:
        to_start = average / 2
    if result > 0 and first >= 0:
        to_start = min(to_start, sampled * (first / result))
    if to_end >= threshold:
        to_end = average / 2
    return result * (sampled + to_start + to_end) / sampled / (end - start)


@pytest.mark.parametrize("seed", range(4))
def test_rate_is_that_of_prometheus(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stamps = np.cumsum(rng.integers(5, 40, 60)) + 100
    growth = rng.integers(0, 9, 60).astype(float)
    values, total = [], float(rng.integers(0, 20))
    for more in growth:
        total = more if rng.random() < 0.1 else total + more
        values.append(total)
    frame = pa.table({"time": pa.array(stamps, pa.timestamp("s")), "x": values})
    text = "unit s\ninput x : f64 point\nt = TDom(-∞, ∞, 7s)\n~o[t] = rate(~x, 90s)"
    table = tilt.parse(text).run(x=frame).to_arrow()
    found = {
        int(end.timestamp()): value
        for end, value in zip(
            table["end"].cast(pa.timestamp("s", "UTC")).to_pylist(),
            table["o"].to_pylist(),
            strict=True,
        )
    }
    samples = list(zip(stamps.tolist(), values, strict=True))
    seen = 0
    for time in range(7 * (int(stamps[0]) // 7), int(stamps[-1]), 7):
        expected = prometheus_rate(samples, time - 90, time)
        if expected is None:
            assert time not in found
        else:
            seen += 1
            assert math.isclose(found[time], expected, rel_tol=1e-12), time
    assert seen > 100


def test_rate_of_rows_that_share_a_stamp_is_no_rate() -> None:
    text = "unit s\ninput x : f64 point\nt = TDom(-∞, ∞, 10s)\n~o[t] = rate(~x, 10s)"
    stamps = pa.array([5, 5, 12, 12, 18], pa.timestamp("s"))
    frame = pa.table({"time": stamps, "x": [1.0, 2.0, 4.0, 5.0, 8.0]})
    table = tilt.parse(text).run(x=frame).to_arrow()
    assert [end.second for end in table["end"].to_pylist()] == [20]
    assert table["o"].to_pylist() == [pytest.approx(4 / 6)]
