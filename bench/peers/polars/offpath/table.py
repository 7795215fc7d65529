"""Expressions by workload, and the meaning of their columns.

A frame has the columns, times where they are not implied, and keys; those by key are in
order of key and time where tiltpy has bound them. What has a value but no time is a
cell; other results have the stamp `ts` of an event, or that of the end of a pane.
"""

from functools import partial

import numpy as np
import polars as pl

from bench.outcome import Cells, Outcome, Table
from bench.peers.keyed_rows import one_column
from bench.peers.peer import Peer
from bench.peers.polars.offpath.drawn import ask_of
from bench.peers.polars.offpath.events import IRREGULAR, KEYED, PANES, Ask
from bench.peers.polars.offpath.folds import FOLDS
from bench.peers.polars.offpath.sampled import CHAINS, PERIODS, SAMPLED
from bench.workloads.offpath.drawn import DRAWS
from bench.workloads.offpath.rows import Inputs, OffPath

DRAWN = {draw.name: ask for draw in DRAWS if (ask := ask_of(draw))}
STEPS = {draw.name: draw.step for draw in DRAWS if draw.window != "rolling"}
WIDTHS, GRIDS = PANES | STEPS, PERIODS | STEPS
ASKED: dict[str, Ask] = SAMPLED | CHAINS | IRREGULAR | KEYED | FOLDS | DRAWN


def peer(workload: OffPath, inputs: Inputs) -> Peer | None:
    """A workload's expression over frames that are there already."""
    ask = ASKED.get(workload.name)
    if ask is None:
        return None
    frames: dict[str, pl.DataFrame] = {}
    for name, rows in inputs.items():
        frame = pl.from_arrow(rows.table())
        assert isinstance(frame, pl.DataFrame)
        grouped = rows.keys and workload.bound and workload.order == "key"
        by_time = name in ("trade", "quote")  # a join as of wants them in order of time
        frames[name] = (
            frame.sort(*rows.keys, "ts") if grouped and not by_time else frame
        )
    return Peer(partial(ask, frames), partial(_outcome, workload, inputs))


def _outcome(workload: OffPath, inputs: Inputs, found: pl.DataFrame) -> Outcome:
    rows = next(iter(inputs.values()))
    if "start" in found.columns:
        return Table(
            found["start"].to_numpy().astype(np.int64),
            found["end"].to_numpy().astype(np.int64),
            (found["out"].to_numpy(),),
        )
    if "ts" not in found.columns and "row" not in found.columns:
        there = found.to_series(0).is_not_null().to_numpy()
        payload = tuple(column.to_numpy() for column in found)
        return Cells(payload, GRIDS.get(workload.name, 1), exists=there)
    if rows.keys:
        return _by_key(workload, found, list(rows.keys))
    if "row" in found.columns:  # cells that were kept, by their numbers
        ends = found["row"].to_numpy().astype(np.int64) + 1
        return Table(ends - 1, ends, (found["out"].to_numpy(),))
    known = found.drop_nulls()
    ends = known["ts"].to_numpy()
    begins = ends - WIDTHS.get(workload.name, 1)
    if "begin" in known.columns:  # panes of no constant length
        begins = known["begin"].to_numpy()
    starts = np.maximum(begins, rows.times()[0][0])
    fields = known.drop("ts", "begin", strict=False)
    payload = tuple(column.to_numpy() for column in fields)
    return Table(starts, ends, payload)


def _by_key(workload: OffPath, found: pl.DataFrame, keys: list[str]) -> Table:
    """In order of key, as tiltpy's are, or of time; panes begin with a key's rows."""
    known = found.drop_nulls()
    if workload.order == "key":
        known = known.sort(*keys, "ts")
    ends = known["ts"].to_numpy()
    starts = ends - WIDTHS.get(workload.name, 1)
    if "first" in known.columns:
        first = known.select(pl.col("first").min().over("k")).to_series()
        starts = np.maximum(starts, first.to_numpy() - 1)
    column = one_column([known[name].to_arrow() for name in keys])
    values = known.drop(*keys, "ts", "first", strict=False)
    payload = tuple(each.to_numpy() for each in values)
    return Table(starts, ends, payload, column)
