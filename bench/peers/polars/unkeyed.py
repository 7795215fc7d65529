"""The peers in Polars: the idiomatic expression for every sampled workload.

A frame holds the samples in order and no times; rows are counted where a query needs
to know which block they are in. Polars uses all cores.
"""

from collections.abc import Callable, Mapping
from functools import partial

import polars as pl

from bench.outcome import Cells, Kept, Outcome, Table
from bench.peers.peer import Peer
from bench.workloads.streams import Stream, Workload

Streams = Mapping[str, Stream]
Ask = Callable[[pl.DataFrame], pl.DataFrame]

X = pl.col("x")
BEFORE = X.shift(1)
INDEX = pl.int_range(pl.len(), dtype=pl.Int32)


def _selected(*expressions: pl.Expr) -> Ask:
    return lambda frame: frame.select(*expressions)


def _where(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(X > 0)


def _per(size: int, *expressions: pl.Expr) -> Ask:
    def ask(frame: pl.DataFrame) -> pl.DataFrame:
        numbered = frame.with_columns(index=INDEX)
        return numbered.group_by_dynamic("index", every=f"{size}i").agg(*expressions)

    return ask


def _mean(expression: pl.Expr, size: int) -> pl.Expr:
    return expression.rolling_mean(size, min_samples=1)


def _sum(expression: pl.Expr, size: int) -> pl.Expr:
    return expression.rolling_sum(size, min_samples=1)


def _rsi() -> pl.Expr:
    change = X.diff()
    up = _mean(change.clip(lower_bound=0), 14)
    return 100 - 100 / (1 + up / _mean((-change).clip(lower_bound=0), 14))


def _pan_tompkins(frame: pl.DataFrame) -> pl.DataFrame:
    low, high, slope = pl.col("low"), pl.col("high"), pl.col("slope")
    derivative = (2 * high + high.shift(1) - high.shift(3) - 2 * high.shift(4)) / 8
    return (
        frame.select(low=_sum(_sum(X, 6), 6))
        .select(high=low.shift(16) - _mean(low, 32))
        .select(slope=derivative)
        .select(out=_mean(slope * slope, 30))
    )


def _resample(frame: pl.DataFrame) -> pl.DataFrame:
    times = pl.int_range(5, 4 * pl.len() + 1, 5, dtype=pl.UInt32)
    row = (times - 1) // 4
    ahead = (4 * row + 4 - times).cast(pl.Float32)
    here, before = X.gather(row), X.gather(row - 1)
    return frame.select(out=here + (before - here) * ahead / 4)


def _join(a: pl.DataFrame, b: pl.DataFrame) -> pl.DataFrame:
    """A row for each end of either stream, with what both are then."""
    ends = pl.concat([a.select("end"), b.select("end")]).unique().sort("end")
    joined = ends.join_asof(a, on="end", strategy="forward").join_asof(
        b, on="end", strategy="forward"
    )
    start = pl.col("end").shift(1, fill_value=0).alias("start")
    return joined.select(start, "end", out=pl.col("a") + pl.col("b")).drop_nulls()


BLOCK = (INDEX // 10_000).set_sorted()
RMS = (X * X).mean().sqrt()
DEVIATION = BEFORE.rolling_std(10, min_samples=1, ddof=0)

ASKED: dict[str, Ask] = {
    "select": _selected(X + 1),
    "where": _where,
    "tumbling sum": _per(1000, X.sum()),
    "sliding sum": _selected(_sum(X, 1000)),
    "sliding max": _selected(X.rolling_max(1000, min_samples=1)),
    "aligned join": _selected(pl.col("a") + pl.col("b")),
    "trading": _selected(_mean(X, 20) > _mean(X, 50)),
    "RSI": _selected(_rsi()),
    "z-score": _selected((X - X.mean().over(BLOCK)) / X.std(ddof=0).over(BLOCK)),
    "impute": _selected(X.fill_null(X.mean().over(BLOCK))),
    "resample": _resample,
    "Pan-Tompkins": _pan_tompkins,
    "vibration": _per(
        100, X.kurtosis().alias("kurtosis"), RMS.alias("rms"), X.abs().max() / RMS
    ),
    "fraud": _selected(X.gt(_mean(BEFORE, 10) + 3 * DEVIATION)),
    "Yahoo": _per(100, (X == 1).sum()),
}

PERIODS = {"tumbling sum": 1000, "vibration": 100, "Yahoo": 100, "resample": 5}
"""Ticks between the results, where it is not one."""


def peer(workload: Workload, streams: Streams) -> Peer | None:
    """A workload's expression over a frame that is there already."""
    if workload.name == "unaligned join":
        a, b = (
            pl.DataFrame({"end": stream.ends, name: stream.values})
            for name, stream in streams.items()
        )
        return Peer(partial(_join, a, b), _table)
    if workload.family != "sampled":
        return None
    frame = pl.DataFrame(
        {name: pl.Series(stream.column()) for name, stream in streams.items()}
    )
    outcome = partial(_outcome, workload.base, frame)
    return Peer(partial(ASKED[workload.base], frame), outcome)


def _outcome(name: str, frame: pl.DataFrame, found: pl.DataFrame) -> Outcome:
    columns = [column for column in found.columns if column != "index"]
    payload = tuple(found[column].to_numpy() for column in columns)
    if name == "where":
        return Kept(payload, frame.select(X > 0).to_series().to_numpy())
    valid = found[columns[0]].is_not_null().to_numpy()
    return Cells(payload, PERIODS.get(name, 1), exists=valid)


def _table(found: pl.DataFrame) -> Outcome:
    starts, ends, values = (column.to_numpy() for column in found.get_columns())
    return Table(starts, ends, (values,))
