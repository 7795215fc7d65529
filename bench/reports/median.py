"""`python -m bench median`: medians of rolling windows, the longer the slower?

Tiltpy keeps the values of a window in a tree, so that ten times as many cost a level or
less; a sorted list of them, which others keep, costs as much as it has entries.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tiltpy as tilt
from bench.measure import BenchOptions, tiltpy
from bench.timing import Runner, rate, take_turns
from bench.workloads.streams import Workload

MOST = 1_000_000
"""Events, at most: the slowest peer takes seconds for them."""
WINDOWS = (10, 100, 1_000, 10_000, 100_000)
Values = NDArray[np.float64]
PEERS = ("Polars", "pandas")


def lines(chosen: Sequence[Workload] | None, options: BenchOptions) -> Iterator[str]:
    """A line for each window: million events a second, of tiltpy and of its peers."""
    del chosen
    events = min(options.events, MOST)
    values = np.random.default_rng(options.seed).normal(size=events)
    peers = [name for name in PEERS if find_spec(name.lower())]
    names = [*map(tiltpy, options.workers), *peers]
    yield f"million events/s of {events:,}" + "".join(f"{n:>14}" for n in names)
    for window in WINDOWS:
        if window <= events:
            runners = _runners(values, window, options.workers, peers)
            wrong = _wrong(runners)
            if wrong:
                yield f"window {window:,}: {wrong} finds other medians"
                continue
            turns = take_turns(runners, options.repeat)
            cells = [rate(events, turns[name]).show() for name in names]
            line = "".join(f"{cell:>14}" for cell in cells)
            yield f"{f'window of {window:,}':<{19 + len(f'{events:,}')}}" + line


def _runners(
    values: Values, window: int, workers: Sequence[int], peers: Sequence[str]
) -> dict[str, Runner]:
    query = tilt.parse(
        f"input x : f64 sampled 1\n~out[t] = median(~x[t-{window} : t])", name="median"
    )
    samples = tilt.sampled(values, start=0, period=1)
    ask: dict[str, Runner] = {
        tiltpy(number): partial(query.run, x=samples, workers=number)
        for number in workers
    }
    for name in peers:
        ask[name] = partial(ROLLING[name](values), window)
    return ask


def _polars(values: Values) -> Callable[[int], object]:
    import polars as pl  # noqa: PLC0415 - optional

    series = pl.Series("out", values)
    return lambda window: series.rolling_median(window, min_samples=1)


def _pandas(values: Values) -> Callable[[int], object]:
    import pandas as pd  # noqa: PLC0415 - optional

    series = pd.Series(values)
    return lambda window: series.rolling(window, min_periods=1).median()


ROLLING = {"Polars": _polars, "pandas": _pandas}


def _wrong(runners: dict[str, Runner]) -> str | None:
    """The first peer that finds other medians than tiltpy."""
    ours, *others = runners
    expected = _medians(runners[ours]())
    for name in others:
        if not np.allclose(_medians(runners[name]()), expected, rtol=1e-12, atol=1e-12):
            return name
    return None


def _medians(found: Any) -> Values:
    column = found.to_arrow()["out"] if isinstance(found, tilt.Result) else found
    medians: Values = column.to_numpy()
    return medians
