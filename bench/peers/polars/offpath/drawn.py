"""Polars expressions for the workloads that are drawn.

There is none for the first value of a rolling window, nor for windows beside a state.
"""

import polars as pl

from bench.peers.polars.offpath.events import TS, Ask, Frames, X
from bench.peers.polars.offpath.sampled import INDEX
from bench.workloads.offpath.drawn import Draw


def ask_of(draw: Draw) -> Ask | None:
    """The expression for a draw, if Polars has one."""
    if draw.use == "beside" or (
        draw.window == "rolling" and "first" in draw.aggregates
    ):
        return None
    if draw.window != "rolling":
        return _panes(draw)
    values = [_rolling(draw, aggregate) for aggregate in draw.aggregates]
    match draw.use:
        case "deviation":
            values = [X - values[0]]
        case "above":
            values = [values[0] < X]
    named = [value.alias(f"out{k}") for k, value in enumerate(values)]
    match draw.layout:
        case "sampled":
            return lambda frames: frames["x"].select(*named)
        case "keyed":
            by_key = [value.over("k") for value in named]
            return lambda frames: frames["x"].select("k", "ts", *by_key)
        case "point":
            return _at_stamps(named, ties=draw.ties)


def _at_stamps(values: list[pl.Expr], *, ties: bool) -> Ask:
    """Of rows with one stamp the last one."""

    def ask(frames: Frames) -> pl.DataFrame:
        found = frames["x"].select("ts", *values)
        if not ties:
            return found
        return found.unique("ts", keep="last", maintain_order=True)

    return ask


def _rolling(draw: Draw, aggregate: str) -> pl.Expr:
    """An aggregate of the last ticks; what is null takes no part."""
    column, name = X, aggregate
    options: dict[str, int] = {"ddof": 0} if aggregate == "std" else {}
    if aggregate == "count":
        there = X.is_not_null()
        column, name = pl.when(there).then(pl.lit(1, pl.Int64)), "sum"
    if draw.payload == "i32" and aggregate == "sum":
        column = X.cast(pl.Int64)
    if draw.layout == "sampled":
        method = getattr(column, f"rolling_{name}")
        found: pl.Expr = method(draw.size, min_samples=1, **options)
    else:
        method = getattr(column, f"rolling_{name}_by")
        found = method("ts", f"{draw.size}i", **options)
    return found


def _panes(draw: Draw) -> Ask:
    values = [
        _of_pane(aggregate).alias(f"out{k}")
        for k, aggregate in enumerate(draw.aggregates)
    ]
    match draw.layout:
        case "sampled":
            return _sample_panes(draw, values)
        case "point":
            return lambda frames: (
                frames["x"]
                .group_by_dynamic(
                    "ts", every=f"{draw.size}i", closed="right", label="right"
                )
                .agg(*values)
            )
        case "keyed":
            end = ((TS - 1) // draw.size + 1) * draw.size
            return lambda frames: (
                frames["x"]
                .group_by("k", end=end)
                .agg(*values, first=TS.min())
                .rename({"end": "ts"})
            )


def _sample_panes(draw: Draw, values: list[pl.Expr]) -> Ask:
    """Windows begin before the first sample, and end with the last one's pane."""
    every, period = f"{draw.step}i", f"{draw.size}i"
    offset = f"{draw.step - draw.size}i"

    def ask(frames: Frames) -> pl.DataFrame:
        rows = frames["x"].with_columns(i=INDEX)
        by = rows.group_by_dynamic("i", every=every, period=period, offset=offset)
        return by.agg(*values).drop("i").head(len(rows) // draw.step)

    return ask


def _of_pane(aggregate: str) -> pl.Expr:
    known = X.drop_nulls()
    match aggregate:
        case "std":
            return X.std(ddof=0)
        case "count":
            return X.count()
        case "first":
            return known.first()
        case _:
            found: pl.Expr = getattr(X, aggregate)()
            return found
