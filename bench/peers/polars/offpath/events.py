"""Polars expressions over events with stamps `ts`, and by key."""

import warnings
from collections.abc import Callable, Mapping

import polars as pl

from bench.workloads.offpath.irregular import BEFORE, PAUSE, ROWS, SECOND
from bench.workloads.offpath.keyed import HOUR, MINUTE

Frames = Mapping[str, pl.DataFrame]
Ask = Callable[[Frames], pl.DataFrame]

X, TS = pl.col("x"), pl.col("ts")
PRICE, SIZE = pl.col("price"), pl.col("size")


def at_events(out: pl.Expr, *keys: str, of: str = "x") -> Ask:
    """Ask for an expression at each row."""
    return lambda frames: frames[of].select(*keys, "ts", out=out)


def _by_time(x: pl.Expr, size: int) -> pl.Expr:
    return x.rolling_mean_by("ts", f"{size}i")


def _each_stamp(out: pl.Expr) -> Ask:
    """Of rows with one stamp the last one."""
    return lambda frames: (
        frames["x"].select("ts", out=out).unique("ts", keep="last", maintain_order=True)
    )


def _vwap() -> pl.Expr:
    paid = (PRICE * SIZE).rolling_sum_by("ts", f"{SECOND}i")
    return paid / SIZE.rolling_sum_by("ts", f"{SECOND}i")


def _bars(frames: Frames) -> pl.DataFrame:
    panes = frames["trade"].group_by_dynamic(
        "ts", every=f"{SECOND}i", closed="right", label="right"
    )
    return panes.agg(
        open=PRICE.first(),
        high=PRICE.max(),
        low=PRICE.min(),
        close=PRICE.last(),
        volume=SIZE.sum(),
    )


def _timeline(frames: Frames) -> pl.DataFrame:
    """Make a row of each run of equal states, up to the first stamp of the next."""
    runs = frames["x"].select(out=(X > 0).rle()).unnest("out")
    first = runs["len"].cum_sum() - runs["len"]
    start = frames["x"]["ts"].gather(first) - 1
    end = start.shift(-1, fill_value=frames["x"]["ts"][-1])
    return pl.DataFrame({"start": start, "end": end, "out": runs["value"]})


def _day_bars(zone: str) -> Ask:
    """Bars of the days of a time zone; each ends with the second before the next."""

    def ask(frames: Frames) -> pl.DataFrame:
        local = (TS * 1000).cast(pl.Datetime("ms", "UTC")).dt.convert_time_zone(zone)
        days = (
            frames["trade"].with_columns(day=local).group_by_dynamic("day", every="1d")
        )
        bars = days.agg(
            open=PRICE.first(),
            high=PRICE.max(),
            low=PRICE.min(),
            close=PRICE.last(),
            volume=SIZE.sum(),
        )
        day = pl.col("day")
        begin, end = day.dt.epoch("s") - 1, day.dt.offset_by("1d").dt.epoch("s") - 1
        return bars.with_columns(begin=begin, ts=end).drop("day")

    return ask


def _parts_of_strings(frames: Frames) -> pl.DataFrame:
    verb, path = pl.col("verb"), pl.col("path")
    return frames["request"].select(
        "ts",
        page=path.str.split("/").list.get(2).cast(pl.Int64),
        length=pl.concat_str([verb, pl.lit(" "), path]).str.len_chars(),
        get=verb.str.to_uppercase() == "GET",
    )


def _windows_of_trades(frames: Frames) -> pl.DataFrame:
    rolled = []
    for seconds in (1, 2, 5):
        span = f"{seconds * SECOND}i"
        rolled += [
            PRICE.rolling_mean_by("ts", span).alias(f"mean{seconds}"),
            PRICE.rolling_std_by("ts", span, ddof=0, min_samples=1).alias(
                f"std{seconds}"
            ),
            PRICE.rolling_min_by("ts", span).alias(f"min{seconds}"),
            PRICE.rolling_max_by("ts", span).alias(f"max{seconds}"),
        ]
    return frames["trade"].select("ts", *rolled)


def _as_of(frames: Frames) -> pl.DataFrame:
    joined = frames["trade"].join_asof(frames["quote"], on="ts")
    middle = (pl.col("bid") + pl.col("ask")) / 2
    return joined.select("ts", out=PRICE - middle)


def _as_of_by_key(frames: Frames) -> pl.DataFrame:
    with warnings.catch_warnings():
        # They are in order of time, which it does not check within keys.
        warnings.simplefilter("ignore", UserWarning)
        joined = frames["trade"].join_asof(frames["quote"], on="ts", by="k")
    return joined.select("k", "ts", out=pl.col("trade") - pl.col("quote"))


def _panes_by_key(out: pl.Expr) -> Ask:
    end = ((TS - 1) // HOUR + 1) * HOUR

    def ask(frames: Frames) -> pl.DataFrame:
        panes = frames["x"].group_by("k", end=end).agg(out=out, first=TS.min())
        return panes.rename({"end": "ts"})

    return ask


IRREGULAR: dict[str, Ask] = {
    "mean of 100 rows, one tie": _each_stamp(_by_time(X, ROWS)),
    "rows left out, mean 20": at_events(_by_time(X, 20)),
    "session start": at_events((TS.diff() > PAUSE).fill_null(value=True)),
    "row before": at_events(pl.when(TS.diff() < BEFORE).then(X.diff())),
    "mean of 1 rows": at_events(_by_time(X, ROWS // 100)),
    "mean of 3 rows": at_events(_by_time(X, 3 * ROWS // 100)),
    "vwap 1s at trades": at_events(_vwap(), of="trade"),
    "OHLCV bars of 1s": _bars,
    "OHLCV bars of UTC days": _day_bars("UTC"),
    "OHLCV bars of Berlin days": _day_bars("Europe/Berlin"),
    "as-of: trades and mid quotes": _as_of,
    "as-of over rows: tied trades": _as_of,
    "median 10s at trades": at_events(
        PRICE.rolling_median_by("ts", f"{10 * SECOND}i"), of="trade"
    ),
    "12 windows of trades": _windows_of_trades,
    "parts of strings": _parts_of_strings,
    "state timeline": _timeline,
}

MEANS_BY_KEY = {
    **dict.fromkeys(
        (
            "mean 1h at rows, 10 keys",
            "mean 1h at rows, 10,000 keys",
            "mean 1h at rows, Zipf",
            "mean 1h, strings, not bound",
            "mean 1h, shuffled, not bound",
            "mean 1h, order of time",
        ),
        at_events(_by_time(X, HOUR).over("k"), "k"),
    ),
    "mean 1h at rows, two columns": at_events(
        _by_time(X, HOUR).over("k", "venue"), "k", "venue"
    ),
}

KEYED: dict[str, Ask] = {
    **MEANS_BY_KEY,
    "300,000 keys, panes of 1h": _panes_by_key(X.sum()),
    "nunique 1h by key": _panes_by_key(X.n_unique()),
    "session start by key": at_events(
        (TS.diff() > 2 * MINUTE).fill_null(value=True).over("k"), "k"
    ),
    "row before by key": at_events(
        pl.when(TS.diff() < HOUR).then(X.diff()).over("k"), "k"
    ),
    "as-of by 500 symbols": _as_of_by_key,
    "as-of over rows by 500 symbols": _as_of_by_key,
}

PANES = {
    "OHLCV bars of 1s": SECOND,
    "300,000 keys, panes of 1h": HOUR,
    "nunique 1h by key": HOUR,
}
"""Ticks of a pane with rows, whose end is its stamp."""
