"""Polars expressions over signals: a row is a sample, times are implied."""

from collections.abc import Callable, Mapping

import polars as pl

from bench.workloads.offpath.chains import OUTPUTS, WINDOWS
from bench.workloads.offpath.sampled import GAP, SHARES

Frames = Mapping[str, pl.DataFrame]
Ask = Callable[[Frames], pl.DataFrame]

X = pl.col("x")
INDEX = pl.int_range(pl.len(), dtype=pl.Int64)
BAR = ("open", "high", "low", "close", "volume")


def _select(*expressions: pl.Expr, of: str = "x") -> Ask:
    """Expressions over the frame of an input, each a column."""
    named = [each.alias(f"out{i}") for i, each in enumerate(expressions)]
    return lambda frames: frames[of].select(*named)


def _mean(x: pl.Expr, size: int) -> pl.Expr:
    return x.rolling_mean(size, min_samples=1)


def _sum(x: pl.Expr, size: int) -> pl.Expr:
    return x.rolling_sum(size, min_samples=1)


def _tumble(out: pl.Expr) -> Ask:
    def ask(frames: Frames) -> pl.DataFrame:
        by = frames["x"].with_columns(i=INDEX).group_by_dynamic("i", every="1000i")
        return by.agg(out=out).drop("i")

    return ask


def _hop(out: pl.Expr) -> Ask:
    """Windows begin before the first sample, and end with the last one's pane."""

    def ask(frames: Frames) -> pl.DataFrame:
        rows = frames["x"].with_columns(i=INDEX)
        by = rows.group_by_dynamic("i", every="60i", period="3600i", offset="-3540i")
        return by.agg(out=out).drop("i").head(-(-len(rows) // 60))

    return ask


def _rates(*periods: int) -> Ask:
    def ask(frames: Frames) -> pl.DataFrame:
        parts = list(frames.values())
        ratios = [period // periods[0] for period in periods]
        count = min(r * len(part) for r, part in zip(ratios, parts, strict=True))
        index = pl.int_range(count, eager=True)
        a, *slow = (
            part.to_series().gather(index // ratio)
            for ratio, part in zip(ratios, parts, strict=True)
        )
        product = a * slow[0]
        return pl.DataFrame({"out": product + slow[1] if len(slow) > 1 else product})

    return ask


def _top(frames: Frames) -> pl.DataFrame:
    best = X.top_k(5).sort(descending=True)
    listed = _tumble(best)(frames)
    return listed.select(pl.col("out").list.get(i).alias(f"top{i}") for i in range(5))


def _changes(frames: Frames) -> pl.DataFrame:
    rows = frames["x"].select(row=INDEX, out=X)
    return rows.filter(pl.col("out") != pl.col("out").shift(1))


def _scalars(links: int) -> pl.Expr:
    found = X
    for link in range(links):
        found = found * 0.5 + link
    return found


def _conditionals(frames: Frames) -> pl.DataFrame:
    frame = frames["x"].lazy()
    for i in range(10):
        frame = frame.select(pl.when(X.gt(i)).then(X * 0.5).otherwise(X + i).alias("x"))
    return frame.collect()


def _chained(links: int, size: int) -> Ask:
    def ask(frames: Frames) -> pl.DataFrame:
        column = frames["x"].to_series()
        for _ in range(links):
            column = column.rolling_mean(size, min_samples=1)
        return pl.DataFrame({"out": column})

    return ask


def _wilder(change: pl.Expr) -> pl.Expr:
    """Average the first 14, then take a 14th of each."""
    row = pl.int_range(pl.len())
    begun = pl.when(row <= 14).then(change.slice(1, 14).mean()).otherwise(change)
    average = begun.ewm_mean(alpha=1 / 14, adjust=False)
    return pl.when(row >= 14).then(average)


def _indicators(frames: Frames) -> pl.DataFrame:
    middle, spread = _mean(X, 20), 2 * X.rolling_std(20, min_samples=1, ddof=0)
    line = X.ewm_mean(alpha=2 / 13) - X.ewm_mean(alpha=2 / 27)
    up, moved = _wilder(X.diff().clip(lower_bound=0)), _wilder(X.diff().abs())
    rsi = pl.when(moved == 0).then(50.0).otherwise(100 * up / moved)
    return frames["x"].select(
        sma=middle,
        lower=middle - spread,
        upper=middle + spread,
        rsi=rsi,
        line=line,
        signal=line.ewm_mean(alpha=2 / 10),
    )


SAMPLED: dict[str, Ask] = {
    **{
        f"{name}, {share}": ask
        for name, ask in {
            "ffill": _select(X.forward_fill(GAP - 1)),
            "last": _select(X.forward_fill(GAP - 1)),
            "asof": _select(X.forward_fill(GAP - 1)),
            "mean 50": _select(_mean(X, 50)),
        }.items()
        for share in SHARES
    },
    "interpolate, 1 % nulls": _select(X.interpolate()),
    **{
        f"mean and max of {size:,}": _select(
            _mean(X, size), X.rolling_max(size, min_samples=1)
        )
        for size in (100_000, 1_000_000)
    },
    "vwap 20 of bars": _select(
        _sum(pl.col("close") * pl.col("volume"), 20) / _sum(pl.col("volume"), 20),
        of="bar",
    ),
    "10 means of a struct": _select(
        *(_mean(pl.col(name), size) for size in (10, 50) for name in BAR), of="bar"
    ),
    "three rates, a*b+c": _rates(10, 100, 600),
    "two rates, 1:60": _rates(1, 60),
    "change detection": _changes,
    "hop 60 of 3600, mean": _hop(X.mean()),
    "hop 60 of 3600, mean, 1 % nulls": _hop(X.mean()),
    "hop 60 of 3600, max, 1 % nulls": _hop(X.max()),
    "hop 60 of 3600, count, 1 % nulls": _hop(X.count()),
    "tumbling top 5 of 1000": _top,
    "tumbling median of 1000": _tumble(X.median()),
    "tumbling nunique of 1000": _tumble(X.n_unique()),
    "median 15": _select(X.rolling_median(15, min_samples=1)),
    "median 101": _select(X.rolling_median(101, min_samples=1)),
    "rank in 100": _select(X.rolling_rank(100, method="min", min_samples=1)),
    "rank in 5000": _select(X.rolling_rank(5000, method="min", min_samples=1)),
    "quantile 0.9 of 1000": _select(
        X.rolling_quantile(0.9, "linear", window_size=1000, min_samples=1)
    ),
}

CHAINS: dict[str, Ask] = {
    "chain of 30 scalars": _select(_scalars(30)),
    "chain of 10 conditionals": _conditionals,
    "windows of windows, 3": _chained(3, 20),
    f"{WINDOWS} chained windows": _chained(WINDOWS, 5),
    f"{OUTPUTS} outputs": _select(*(_mean(X, i + 2) for i in range(OUTPUTS))),
    "ema 0.05 of the library": _select(X.ewm_mean(alpha=0.05)),
    "SMA, Bollinger, RSI, MACD": _indicators,
}

PERIODS = {
    "three rates, a*b+c": 10,
    **{name: 60 for name in SAMPLED if name.startswith("hop ")},
    **{name: 1000 for name in SAMPLED if name.startswith("tumbling ")},
}
"""Ticks of a cell, where it is not one."""
