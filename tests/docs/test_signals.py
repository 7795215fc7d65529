"""The tasks of signals and of health beside NumPy, pandas and plain loops."""

import numpy as np
import pandas as pd

import tiltpy as tilt
from tests.docs.tasks import run_task
from tests.semantics.recipes import ROWS, agree, by_end

PAGE = "signals.md"


def noise(seed: int, count: int = 5 * ROWS) -> np.ndarray:
    return np.random.default_rng(seed).integers(-2000, 2000, count).astype(np.int16)


def low_pass(cut: float, rate: float, half: int) -> np.ndarray:
    n = np.arange(-half, half + 1)
    weights: np.ndarray = np.sinc(2 * cut / rate * n) * np.hamming(len(n))
    return np.asarray(weights / weights.sum())


def centred(values: np.ndarray, half: int) -> pd.Index:
    """The ticks at which a filter of samples from 1 on has all that it needs."""
    return pd.RangeIndex(half + 1, len(values) - half + 1)


def biquad(x: np.ndarray, low: float, high: float, rate: float) -> np.ndarray:
    """A band-pass filter by its difference equation."""
    centre, width = np.sqrt(low * high), high - low
    turn = 2 * np.pi * centre / rate
    alpha = np.sin(turn) / (2 * centre / width)
    y = np.zeros(len(x) + 2)
    padded = np.concatenate([[0.0, 0.0], x])
    for n in range(2, len(padded)):
        driven = alpha * (padded[n] - padded[n - 2])
        y[n] = driven + 2 * np.cos(turn) * y[n - 1] - (1 - alpha) * y[n - 2]
        y[n] /= 1 + alpha
    return y[2:]


def test_band_passes() -> None:
    ecg = noise(19)
    found = run_task(PAGE, "filters", tilt.sampled(ecg, 0, 1))
    weights = low_pass(15, 360, 45) - low_pass(5, 360, 45)
    fir = np.convolve(ecg, weights, "valid")
    agree(by_end(found["fir"]), pd.Series(fir, centred(ecg, 45)))
    iir = biquad(ecg, 5, 15, 360)
    agree(by_end(found["iir"]), pd.Series(iir, range(1, len(ecg) + 1)))


def test_peaks() -> None:
    ankle = (noise(20) // 100 * 100 + 1000).astype(np.int16)
    expected = {
        at + 1: value
        for at, value in enumerate(ankle)
        if value > 1500
        and value > ankle[max(at - 25, 0) : at].max(initial=-32768)
        and value >= ankle[at : at + 26].max()
        and at > 0
    }
    found = run_task(PAGE, "peaks.tilt", tilt.sampled(ankle, 0, 1))["step"]
    agree(by_end(found), pd.Series(expected))


def test_another_rate() -> None:
    x = noise(21) / 8
    found = run_task(PAGE, "resampled", tilt.sampled(x, 0, 4))["slower"]
    low = np.convolve(x, low_pass(40, 250, 20), "valid")
    at = 4 * centred(x, 20).to_numpy()
    grid = np.arange(-(-at[0] // 10) * 10, at[-1] + 1, 10)
    agree(by_end(found), pd.Series(np.interp(grid, at, low), grid))


def test_the_energy_of_bands() -> None:
    ankle = noise(22)
    found = run_task(PAGE, "spectrum", tilt.sampled(ankle, 0, 1))["bands"]
    bands = {
        name: biquad(ankle, low, high, 64) ** 2
        for name, low, high in (("walk", 0.5, 3), ("freeze", 3, 8))
    }
    seconds = np.arange(len(ankle)) // 64 * 64 + 64
    agree(by_end(found), pd.DataFrame(bands).groupby(seconds).sum() / 64)


def test_heart_rate_and_its_variability() -> None:
    gaps = np.random.default_rng(23).integers(600_000, 1_400_000, 4 * ROWS)
    frame = pd.DataFrame({"time": np.cumsum(gaps), "beat": True})
    interval = (frame.time.diff() / 1000).set_axis(frame.time)
    step = interval.diff()
    last = -(-frame.time.max() // 10_000_000) * 10_000_000
    expected = {}
    for end in range(10_000_000, last + 1, 10_000_000):
        window = interval.loc[end - 59_999_999 : end].dropna()
        steps = step.loc[end - 59_999_999 : end]
        rmssd = np.sqrt((steps**2).mean())
        expected[end] = 60000 / window.mean(), window.std(), rmssd
    found = run_task("health.md", "rhythm.tilt", frame)["rhythm"]
    windows = found.windows().to_pandas().set_index("time")
    agree(windows, pd.DataFrame(expected).T)
