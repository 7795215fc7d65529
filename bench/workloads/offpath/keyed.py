"""Rows by key off the path: few keys and a million, strings, no order, joins."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from bench.workloads.offpath.draws import kinds, names_of, numbers, walk, zipf
from bench.workloads.offpath.rows import Array, Inputs, Layout, Make, OffPath, Rows
from bench.workloads.offpath.sampled import MILLION

MINUTE = 60_000_000
"""Microseconds."""
HOUR = 60 * MINUTE

LAYOUTS: tuple[tuple[str, Layout], ...] = (("trade", "point"), ("quote", "until_next"))

Draw = Callable[[int, np.random.Generator], Array]


def hourly_rows(
    keys: int, hourly: float = 30, values: Draw = numbers, fewest: int = 50
) -> Make:
    """Rows `hourly` of each key on average, so many keys if each has `fewest` rows."""

    def make(events: int, random: np.random.Generator) -> Inputs:
        distinct = max(1, min(keys, events // fewest))
        codes = random.integers(0, distinct, events)
        return {"x": _keyed(codes, values(events, random), distinct * hourly)}

    return make


def _keyed(codes: Array, values: Array, hourly: float) -> Rows:
    """Events of one tick at equal distances, `hourly` of all keys together."""
    ends = np.arange(1, len(codes) + 1, dtype=np.int64) * int(HOUR / hourly)
    return Rows("point", {"x": values}, ends, keys={"k": pa.array(codes)})


def _skewed(events: int, random: np.random.Generator) -> Inputs:
    distinct = max(1, min(10_000, events // 50))
    codes = zipf(events, distinct, random)
    return {"x": _keyed(codes, numbers(events, random), distinct * 30)}


def _two_columns(events: int, random: np.random.Generator) -> Inputs:
    rows = hourly_rows(100)(events, random)["x"]
    venues = names_of(random.integers(0, 10, events)).dictionary_encode()
    return {"x": replace(rows, keys={**rows.keys, "venue": venues})}


def _strings(events: int, random: np.random.Generator) -> Inputs:
    rows = hourly_rows(1000)(events, random)["x"]
    return {"x": replace(rows, keys={"k": names_of(rows.keys["k"].to_numpy())})}


def _shuffled(events: int, random: np.random.Generator) -> Inputs:
    rows = hourly_rows(1000)(events, random)["x"]
    assert rows.ends is not None
    return {"x": replace(rows, ends=random.permutation(rows.ends))}


def _quotes(events: int, random: np.random.Generator) -> Inputs:
    """Trades of 500 symbols, and as many quotes, which hold until the next."""
    count = events // 2
    symbols = max(1, min(500, count // 20))
    trade, quote = (
        Rows(
            layout,
            {name: walk(count, random)},
            np.arange(1, count + 1, dtype=np.int64) * 2 + (name == "quote"),
            keys={"k": pa.array(random.integers(0, symbols, count))},
        )
        for name, layout in LAYOUTS
    )
    return {"trade": trade, "quote": quote}


_BY = "input x by k : f64 time ts point"
_MEAN = f"~out[t] = ~x[t] != φ ? mean(~x[t-{HOUR} : t]) : φ"
_HOURLY = f"w = TDom(-∞, ∞, {HOUR})\n"


def workload(
    name: str,
    body: str,
    make: Make,
    *,
    inputs: str = _BY,
    events: int = MILLION,
    few: int = 200,
    coarse: int = MINUTE,
) -> OffPath:
    """A workload over events `x` by the key `k`, by default."""
    return OffPath(name, "keyed", f"{inputs}\n{body}\n", make, events, few, coarse)


MEANS = (
    workload("mean 1h at rows, 10 keys", _MEAN, hourly_rows(10)),
    workload("mean 1h at rows, 10,000 keys", _MEAN, hourly_rows(10_000)),
    workload("mean 1h at rows, Zipf", _MEAN, _skewed),
    workload(
        "mean 1h at rows, two columns",
        _MEAN,
        _two_columns,
        inputs="input x by k, venue : f64 time ts point",
    ),
    replace(workload("mean 1h, strings, not bound", _MEAN, _strings), bound=False),
    replace(workload("mean 1h, shuffled, not bound", _MEAN, _shuffled), bound=False),
    workload("mean 1h at rows, 10^6 keys", _MEAN, hourly_rows(MILLION, fewest=1)),
    replace(workload("mean 1h, order of time", _MEAN, hourly_rows(100)), order="time"),
)

BY_KEY = (
    workload(
        "300,000 keys, panes of 1h",
        f"{_HOURLY}~out[w] = sum(~x[w-{HOUR} : w])",
        hourly_rows(300_000, hourly=1, fewest=3),
    ),
    workload(
        "count, sum, max of 1h each 5m",
        f"""\
w = TDom(-∞, ∞, {5 * MINUTE})
~out[w] = {{
    count = count(~x[w-{HOUR} : w]), sum = sum(~x[w-{HOUR} : w]),
    max = max(~x[w-{HOUR} : w])
}}""",
        hourly_rows(10_000),
    ),
    workload(
        "nunique 1h by key",
        f"{_HOURLY}~out[w] = nunique(~x[w-{HOUR} : w])",
        hourly_rows(1000, 300, kinds),
        inputs="input x by k : i64 time ts point",
    ),
    workload(
        "session start by key",
        f"~out[t] = session_start(~x, {2 * MINUTE})",
        hourly_rows(1000),
    ),
    workload(
        "row before by key",
        f"~out[t] = ~x[t] - last(~x[t-{HOUR} : t-1])",
        hourly_rows(1000),
    ),
    workload(
        "as-of by 500 symbols",
        "~out[t] = ~trade[t] - ~quote[t]",
        _quotes,
        coarse=1,
        inputs="""\
input trade by k : f64 time ts point
input quote by k : f64 time ts until_next""",
    ),
    workload(
        "as-of over rows by 500 symbols",
        "e = Rows(~trade)\n~out[e] = ~trade[e] - ~quote[e]",
        _quotes,
        coarse=1,
        inputs="""\
input trade by k : f64 time ts point
input quote by k : f64 time ts until_next""",
    ),
)

KEYED = (*MEANS, *BY_KEY)
