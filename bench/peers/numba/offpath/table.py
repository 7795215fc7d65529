"""Loops by workload, and the peer that they are."""

from functools import partial
from typing import Any

import numpy as np

from bench.outcome import Outcome
from bench.peers.numba.calls import compiled
from bench.peers.numba.offpath import (
    chains,
    drawn,
    events,
    folds,
    gaps,
    keyed,
    states,
    whole,
    windows,
)
from bench.peers.numba.offpath.calls import (
    DOUBLE,
    INTEGER,
    AtTimes,
    ByKey,
    Loop,
    OnGrid,
    Outputs,
)
from bench.peers.peer import Peer
from bench.workloads.offpath.chains import OUTPUTS, WINDOWS
from bench.workloads.offpath.drawn import DRAWS
from bench.workloads.offpath.folds import ALPHA, GAIN, LAST, MIDDLE, PEAK
from bench.workloads.offpath.folds import PAUSE as BETWEEN_SESSIONS
from bench.workloads.offpath.irregular import BEFORE, PAUSE, ROWS, SECOND
from bench.workloads.offpath.keyed import HOUR, MINUTE
from bench.workloads.offpath.rows import Inputs, OffPath
from bench.workloads.offpath.sampled import GAP, SHARES

BOOL = (np.bool_,)

FILLED = {
    "ffill": OnGrid(gaps.last, sizes=(GAP,), gaps=True),
    "interpolate": OnGrid(gaps.interpolate, sizes=(GAP,), gaps=True),
    "last": OnGrid(gaps.last, sizes=(GAP,), gaps=True),
    "first": OnGrid(gaps.first, sizes=(GAP,), gaps=True),
    "asof": OnGrid(gaps.last, sizes=(GAP,), gaps=True),
    "mean 50": OnGrid(gaps.mean, sizes=(50,), gaps=True),
}

SAMPLED: dict[str, Loop] = {
    **{f"{name}, {share}": loop for name, loop in FILLED.items() for share in SHARES},
    "mean and max of 100,000": OnGrid(windows.mean_and_max, 2 * DOUBLE, (100_000,)),
    "mean and max of 1,000,000": OnGrid(windows.mean_and_max, 2 * DOUBLE, (1_000_000,)),
    "7 aggregates of 300": OnGrid(windows.seven, 7 * DOUBLE, (300,)),
    "vwap 20 of bars": OnGrid(windows.vwap, sizes=(20,)),
    "10 means of a struct": Outputs(windows.ten_means, 10, (10, 50)),
    "correlation 100": OnGrid(windows.correlation, sizes=(100,), gaps=True),
    "deacc alone, 300": OnGrid(windows.integer_mean, INTEGER, (300,)),
    "three rates, a*b+c": OnGrid(windows.three_rates, period=10),
    "two rates, 1:60": OnGrid(windows.two_rates),
    "resample 3 to 7 by lines": OnGrid(windows.resample, period=7),
    "change detection": OnGrid(gaps.change, gaps=True),
    "hop 60 of 3600, mean": OnGrid(gaps.hop_dense, period=60),
    "hop 60 of 3600, mean, 1 % nulls": OnGrid(gaps.hop_mean, period=60),
    "hop 60 of 3600, max, 1 % nulls": OnGrid(gaps.hop_max, period=60),
    "hop 60 of 3600, count, 1 % nulls": OnGrid(gaps.hop_count, INTEGER, period=60),
    "tumbling top 5 of 1000": OnGrid(
        whole.tumbling_top, 5 * DOUBLE, (1000,), period=1000
    ),
    "tumbling median of 1000": OnGrid(
        whole.tumbling_median, sizes=(1000,), period=1000
    ),
    "tumbling nunique of 1000": OnGrid(
        whole.tumbling_nunique, INTEGER, (1000,), period=1000
    ),
    "median 15": OnGrid(whole.quantile, sizes=(15, 0.5)),
    "median 101": OnGrid(whole.quantile, sizes=(101, 0.5)),
    "quantile 0.9 of 1000": OnGrid(whole.quantile, sizes=(1000, 0.9)),
    "mode 500": OnGrid(whole.mode, INTEGER, (500,)),
    "equal values in 5000": OnGrid(whole.equal_values, INTEGER, (5000,)),
    "nunique 500": OnGrid(whole.nunique, INTEGER, (500,)),
}

CHAINS: dict[str, Loop] = {
    "chain of 30 scalars": OnGrid(chains.scalars, sizes=(30,)),
    "chain of 10 conditionals": OnGrid(chains.conditionals, sizes=(10,)),
    "windows of windows, 3": OnGrid(chains.means_of_means, sizes=(3, 20)),
    f"{WINDOWS} chained windows": OnGrid(chains.means_of_means, sizes=(WINDOWS, 5)),
    f"{OUTPUTS} outputs": Outputs(chains.means, OUTPUTS),
    "ema 0.05 of the library": OnGrid(chains.ema, sizes=(0.05,)),
    "SMA, Bollinger, RSI, MACD": OnGrid(chains.indicators, 6 * DOUBLE),
}

IRREGULAR: dict[str, Loop] = {
    "select, one tie": AtTimes(events.select),
    "row before, one tie": AtTimes(events.row_before, sizes=(BEFORE,)),
    "mean of 100 rows, one tie": AtTimes(events.mean, sizes=(ROWS,)),
    "std of 100 rows, one tie": AtTimes(events.deviation, sizes=(ROWS,)),
    "rows left out, mean 20": AtTimes(events.mean, sizes=(20,)),
    "session start": AtTimes(events.session_start, BOOL, (PAUSE,)),
    "row before": AtTimes(events.row_before, sizes=(BEFORE,)),
    "mean of 1 rows": AtTimes(events.mean, sizes=(ROWS // 100,)),
    "mean of 3 rows": AtTimes(events.mean, sizes=(3 * ROWS // 100,)),
    "mean of a minute each second": AtTimes(events.mean_each, sizes=(600, 10), most=3),
    "vwap 1s at trades": AtTimes(events.vwap, sizes=(SECOND,)),
    "OHLCV bars of 1s": AtTimes(events.bars, 5 * DOUBLE, (SECOND,)),
    "as-of: trades and mid quotes": AtTimes(states.as_of),
    "as-of over rows: tied trades": AtTimes(states.as_of),
    "median 10s at trades": AtTimes(events.median, sizes=(10 * SECOND,)),
    "interval join": AtTimes(states.join),
    "time-weighted mean of 60": AtTimes(states.time_mean, sizes=(60, 10), most=3),
    "overlapping, count alive": AtTimes(states.count_alive, INTEGER, most=2),
    "overlapping, max of 600": AtTimes(states.most_alive, sizes=(600,), most=2),
}

KEYED: dict[str, Loop] = {
    **{
        f"mean 1h at rows, {keys}": ByKey(keyed.mean, sizes=(HOUR,))
        for keys in ("10 keys", "10,000 keys", "Zipf", "two columns", "10^6 keys")
    },
    "300,000 keys, panes of 1h": ByKey(keyed.panes, sizes=(HOUR,)),
    "count, sum, max of 1h each 5m": ByKey(
        keyed.hops, INTEGER + 2 * DOUBLE, (HOUR, 5 * MINUTE), most=3
    ),
    "session start by key": ByKey(keyed.session_start, BOOL, (2 * MINUTE,)),
    "row before by key": ByKey(keyed.row_before, sizes=(HOUR,)),
    "as-of by 500 symbols": ByKey(keyed.as_of),
    "as-of over rows by 500 symbols": ByKey(keyed.as_of),
}
"""Where rows are grouped in each run, or go out in order of time, there is no loop."""

FOLDS: dict[str, Loop] = {
    "running total": AtTimes(folds.total),
    "cumulative maximum": AtTimes(folds.highest),
    "mean of the last 20 rows": AtTimes(folds.last_mean, sizes=(LAST,)),
    "ema of rows": AtTimes(folds.ema, sizes=(ALPHA,)),
    "biquad of rows": AtTimes(folds.biquad, sizes=(GAIN, MIDDLE, PEAK)),
    "sessions of 10,000 users": ByKey(folds.sessions, 2 * INTEGER, (BETWEEN_SESSIONS,)),
}

DRAWN = {draw.name: drawn.loop_of(draw) for draw in DRAWS}

LOOPS = SAMPLED | CHAINS | IRREGULAR | KEYED | FOLDS | DRAWN


def peer(workload: OffPath, inputs: Inputs, *, plain: bool = False) -> Peer | None:
    """The loop over the rows; `plain` leaves it as it is, which needs no Numba."""
    loop = LOOPS.get(workload.name)
    if loop is None:
        return None
    prepared = loop.prepare(inputs)
    fill = loop.fill if plain else compiled(loop.fill)

    def outcome(count: Any) -> Outcome:
        return prepared.outcome(count)

    return Peer(partial(fill, *prepared.arguments), outcome)
