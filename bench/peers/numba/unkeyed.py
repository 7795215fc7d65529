"""The peers in Numba: which loop stands for which workload without keys."""

from functools import partial
from typing import Any

import numpy as np

from bench.outcome import Outcome
from bench.peers.numba import blocks, cursors, points, sampled
from bench.peers.numba.calls import (
    AtPoints,
    Keeping,
    OnGrid,
    Streams,
    Ticks,
    WithTimes,
    compiled,
)
from bench.peers.peer import Peer
from bench.workloads.streams import Workload
from bench.workloads.tuned import EVERY

Loop = OnGrid | WithTimes
THREE = (np.float32, np.float32, np.float32)
BOOL = (np.bool_,)
INTEGER = (np.int64,)

SAMPLED: dict[str, Loop] = {
    "select": OnGrid(sampled.select),
    "where": Keeping(sampled.where),
    "tumbling sum": OnGrid(sampled.tumbling_sum, period=1000),
    "sliding sum": OnGrid(sampled.sliding_sum),
    "sliding max": OnGrid(sampled.sliding_max),
    "aligned join": OnGrid(sampled.aligned_join),
    "trading": OnGrid(sampled.trading, BOOL),
    "RSI": OnGrid(sampled.rsi, skipped=1),
    "z-score": OnGrid(sampled.z_score),
    "impute": OnGrid(sampled.impute),
    "resample": OnGrid(sampled.resample, period=5),
    "Pan-Tompkins": OnGrid(sampled.pan_tompkins, skipped=20),
    "vibration": OnGrid(sampled.vibration, THREE, period=100),
    "fraud": OnGrid(sampled.fraud, BOOL, skipped=1),
    "Yahoo": OnGrid(sampled.yahoo, INTEGER, period=100),
}

DURATIONS: dict[str, Loop] = {
    "select": WithTimes(blocks.select),
    "where": WithTimes(blocks.where),
    "tumbling sum": WithTimes(blocks.tumbling_sum),
    "sliding sum": WithTimes(cursors.sliding_sum, most=2),
    "sliding max": WithTimes(cursors.sliding_max, most=2),
    "unaligned join": WithTimes(cursors.join),
    "trading": WithTimes(cursors.trading, BOOL, most=3),
    "RSI": WithTimes(cursors.rsi, most=4),
    "z-score": WithTimes(blocks.z_score, most=2),
    "impute": WithTimes(blocks.impute, most=3),
    "vibration": WithTimes(blocks.vibration, THREE),
    "fraud": WithTimes(cursors.fraud, BOOL, most=3),
    "Yahoo": WithTimes(blocks.yahoo, INTEGER),
}

POINTS: dict[str, Loop] = {
    "select": Ticks(blocks.select),
    "where": Ticks(blocks.where),
    "tumbling sum": Ticks(blocks.tumbling_sum),
    "sliding sum": AtPoints(points.sliding_sum, sizes=(1000,)),
    "sliding max": AtPoints(points.sliding_max, sizes=(1000,)),
    "unaligned join": AtPoints(points.join),
    "trading": AtPoints(points.trading, BOOL, sizes=(20, 50)),
    "z-score": Ticks(blocks.z_score),
    "vibration": Ticks(blocks.vibration, THREE),
    "fraud": AtPoints(points.fraud, BOOL),
    "Yahoo": Ticks(blocks.yahoo, INTEGER),
}

SPARSE: dict[str, Loop] = {
    **POINTS,
    "sliding sum": AtPoints(points.sliding_sum, sizes=(1000 * EVERY,)),
    "sliding max": AtPoints(points.sliding_max, sizes=(1000 * EVERY,)),
    "trading": AtPoints(points.trading, BOOL, sizes=(20 * EVERY, 50 * EVERY)),
}


def loop_of(workload: Workload) -> Loop | None:
    """The loop that stands for a workload."""
    if workload.family == "points":
        sparse = workload.name.endswith("sparse")
        return (SPARSE if sparse else POINTS).get(workload.base)
    table = SAMPLED if workload.family == "sampled" else DURATIONS
    return table.get(workload.base)


def peer(workload: Workload, streams: Streams, *, plain: bool = False) -> Peer | None:
    """The loop over the data; `plain` leaves it as it is, which needs no Numba."""
    loop = loop_of(workload)
    if loop is None:
        return None
    arrays = loop.memory(sum(len(stream.values) for stream in streams.values()))
    fill = loop.fill if plain else compiled(loop.fill)
    run = partial(fill, *loop.inputs(streams), *arrays)

    def outcome(count: Any) -> Outcome:
        return loop.outcome(arrays, count)

    return Peer(run, outcome)
