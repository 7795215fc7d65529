"""Regular signals off the path: gaps, rates, long, hopping and whole windows."""

import numpy as np

from bench.workloads.offpath.draws import (
    bars,
    categories,
    gaps,
    numbers,
    prices,
    samples,
    signal,
)
from bench.workloads.offpath.rows import Inputs, Make, OffPath, Rows

MILLION = 1_000_000
SHARES = {"1 % nulls": 0.01, "30 % nulls": 0.3}
GAP = 10
"""Samples that a gap may be long, to be filled."""

FILLED = {
    "ffill": f"ffill(~x, {GAP})",
    "interpolate": f"interpolate(~x, {GAP})",
    "last": f"last(~x[t-{GAP} : t])",
    "first": f"first(~x[t-{GAP} : t])",
    "asof": f"asof(~x, {GAP})",
    "mean 50": "mean(~x[t-50 : t])",
}


def workload(
    name: str,
    body: str,
    make: Make = signal,
    *,
    events: int = 2 * MILLION,
    few: int = 160,
    coarse: int = 1,
    inputs: str = "input x : f64 sampled 1",
) -> OffPath:
    """A workload over signals, `x` of doubles by default."""
    query = f"{inputs}\n{body}\n"
    return OffPath(name, "sampled", query, make, events, few, coarse)


def _gapped() -> list[OffPath]:
    return [
        workload(f"{name}, {title}", f"~out[t] = {body}", gaps(share))
        for name, body in FILLED.items()
        for title, share in SHARES.items()
    ]


def _rates(*periods: int) -> Make:
    """Signals `a`, `b`, ... of these periods, of which the first has all events."""

    def make(events: int, random: np.random.Generator) -> Inputs:
        ticks = events * periods[0]
        return {
            name: Rows("sampled", {name: numbers(ticks // each, random)}, period=each)
            for name, each in zip("abc", periods, strict=False)
        }

    return make


def _pair(events: int, random: np.random.Generator) -> Inputs:
    """Two signals that vary together, with a sample of both at each tick."""
    x = numbers(events // 2, random)
    y = x + 2 * numbers(events // 2, random)
    return {name: Rows("sampled", {name: each}) for name, each in (("x", x), ("y", y))}


def _every(period: int) -> Make:
    def make(events: int, random: np.random.Generator) -> Inputs:
        return {"x": samples(events, random, period)}

    return make


def _hop(reduction: str) -> str:
    return f"w = TDom(-∞, ∞, 60)\n~out[w] = {reduction}(~x[w-3600 : w])"


def _tumble(expression: str) -> str:
    return f"w = TDom(-∞, ∞, 1000)\n~out[w] = {expression}"


_BAR = (
    "input bar : { open: f64, high: f64, low: f64, close: f64, volume: f64 } sampled 1"
)
LONG = tuple(
    workload(
        f"mean and max of {size:,}",
        f"~out[t] = {{ mean = mean(~x[t-{size} : t]), max = max(~x[t-{size} : t]) }}",
        events=3 * MILLION,
        coarse=size // 100,
    )
    for size in (100_000, 1_000_000)
)
"""Windows that no cache holds."""

SEVERAL = (
    workload(
        "7 aggregates of 300",
        """\
~out[t] = {
    sum = sum(~x[t-300 : t]), mean = mean(~x[t-300 : t]), std = std(~x[t-300 : t]),
    min = min(~x[t-300 : t]), max = max(~x[t-300 : t]),
    first = first(~x[t-300 : t]), last = last(~x[t-300 : t])
}""",
        coarse=10,
    ),
    workload(
        "vwap 20 of bars",
        "~out[t] = vwap(~bar.close, ~bar.volume, 20)",
        bars,
        inputs=_BAR,
    ),
    workload(
        "10 means of a struct",
        "~out[t] = {\n"
        + ",\n".join(
            f"    {column}{size} = mean(~bar[t-{size} : t].{column})"
            for size in (10, 50)
            for column in ("open", "high", "low", "close", "volume")
        )
        + "\n}",
        bars,
        inputs=_BAR,
        events=MILLION,
        few=150,
    ),
    workload(
        "correlation 100",
        "~out[t] = correlation(~x, ~y, 100)",
        _pair,
        inputs="input x : f64 sampled 1\ninput y : f64 sampled 1",
        coarse=10,
    ),
    workload(
        "deacc alone, 300",
        """\
reduction total(v: i64) {
    init = { sum = 0, rows = 0 }
    acc = { sum = state.sum + v, rows = state.rows + 1 }
    deacc = { sum = state.sum - v, rows = state.rows - 1 }
    result = state.sum // state.rows
}
~out[t] = total(~x[t-300 : t])""",
        categories,
        inputs="input x : i64 sampled 1",
        coarse=10,
    ),
)

RATES = (
    workload(
        "three rates, a*b+c",
        "~out[t] = ~a[t] * ~b[t] + ~c[t]",
        _rates(10, 100, 600),
        inputs="\n".join(
            f"input {name} : f64 sampled {period}"
            for name, period in (("a", 10), ("b", 100), ("c", 600))
        ),
    ),
    workload(
        "two rates, 1:60",
        "~out[t] = ~a[t] * ~b[t]",
        _rates(1, 60),
        inputs="input a : f64 sampled 1\ninput b : f64 sampled 60",
    ),
    workload(
        "resample 3 to 7 by lines",
        "g = TDom(-∞, ∞, 7)\n~out[g] = resample_linear(~x, 3)",
        _every(3),
        inputs="input x : f64 sampled 3",
    ),
    workload("change detection", "~out[t] = ~x[t] != ~x[t-1] ? ~x[t] : φ", prices),
)

HOPS = (
    workload("hop 60 of 3600, mean", _hop("mean"), few=900, coarse=10),
    workload(
        "hop 60 of 3600, mean, 1 % nulls", _hop("mean"), gaps(0.01), few=900, coarse=10
    ),
    workload(
        "hop 60 of 3600, max, 1 % nulls", _hop("max"), gaps(0.01), few=900, coarse=10
    ),
    workload(
        "hop 60 of 3600, count, 1 % nulls",
        _hop("count"),
        gaps(0.01),
        few=900,
        coarse=10,
    ),
)

WHOLE = (
    workload("tumbling top 5 of 1000", _tumble("topk(~x[w-1000 : w], 5)"), coarse=10),
    workload("tumbling median of 1000", _tumble("median(~x[w-1000 : w])"), coarse=10),
    workload(
        "tumbling nunique of 1000",
        _tumble("nunique(~x[w-1000 : w])"),
        categories,
        inputs="input x : i64 sampled 1",
        coarse=10,
    ),
    workload("median 15", "~out[t] = median(~x[t-15 : t])"),
    workload("median 101", "~out[t] = median(~x[t-101 : t])", events=MILLION // 2),
    workload("rank in 100", "~out[t] = rank(~x, 100)", events=MILLION),
    workload(
        "rank in 5000", "~out[t] = rank(~x, 5000)", events=MILLION // 2, coarse=10
    ),
    workload(
        "equal values in 5000",
        "~out[t] = count(v for v in ~x[t-5000 : t] if v == ~x[t])",
        categories,
        inputs="input x : i64 sampled 1",
        coarse=10,
    ),
    workload(
        "quantile 0.9 of 1000",
        "~out[t] = quantile(~x[t-1000 : t], 0.9)",
        events=MILLION // 2,
        coarse=10,
    ),
    workload(
        "mode 500",
        "~out[t] = mode(~x[t-500 : t])",
        categories,
        inputs="input x : i64 sampled 1",
        events=MILLION // 2,
        coarse=10,
    ),
    workload(
        "nunique 500",
        "~out[t] = nunique(~x[t-500 : t])",
        categories,
        inputs="input x : i64 sampled 1",
        coarse=10,
    ),
)

SAMPLED = (*_gapped(), *LONG, *SEVERAL, *RATES, *HOPS, *WHOLE)
