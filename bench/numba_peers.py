"""The peers in Numba: which loop stands for which workload, and how it is called.

Loops write to memory that they are given, the same in each run: a run costs no page
faults. Their inputs are laid out as they like them, beforehand.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np

from bench import numba_blocks as blocks
from bench import numba_cursors as cursors
from bench import numba_points as points
from bench import numba_sampled as sampled
from bench.outcome import Array, Cells, Kept, Outcome, Payload, Table
from bench.peer import Peer
from bench.workloads import EVERY, Stream, Workload

Fill = Callable[..., int]
"""A loop: inputs, then outputs; returns how many results there are."""
Streams = Mapping[str, Stream]
Inputs = tuple[Array | int | None, ...]


@dataclass(frozen=True, slots=True)
class OnGrid:
    """A loop whose result has no times: cells of a period, the first ones left out."""

    fill: Fill
    types: tuple[type, ...] = (np.float32,)
    period: int = 1
    skipped: int = 0

    def inputs(self, streams: Streams) -> Inputs:
        """The values, and whether there are any where some are missing."""
        found: list[Array] = []
        for stream in streams.values():
            found.append(stream.values)
            if stream.valid is not None:
                found.append(stream.valid)
        return tuple(found)

    def memory(self, rows: int) -> Payload:
        """Arrays for the results over so many rows."""
        return tuple(np.empty(rows + 1, each) for each in self.types)

    def outcome(self, arrays: Payload, count: int) -> Outcome:
        """What the loop wrote."""
        payload = tuple(array[:count] for array in arrays)
        return Cells(payload, self.period, self.skipped * self.period)


@dataclass(frozen=True, slots=True)
class Keeping(OnGrid):
    """A loop that writes a byte a cell first, and the values of those it keeps."""

    def memory(self, rows: int) -> Payload:
        """Arrays for the results over so many rows."""
        return np.zeros(rows, np.bool_), *OnGrid.memory(self, rows)

    def outcome(self, arrays: Payload, count: int) -> Outcome:
        """What the loop wrote."""
        return Kept(tuple(array[:count] for array in arrays[1:]), arrays[0])


@dataclass(frozen=True, slots=True)
class WithTimes:
    """A loop over starts, ends and values that writes such too.

    `most`: results for each row, at most.
    """

    fill: Fill
    types: tuple[type, ...] = (np.float32,)
    most: int = 1

    def inputs(self, streams: Streams) -> Inputs:
        """Starts (a view of the ends before, if they are these), ends and values."""
        found: list[Array | None] = []
        for stream in streams.values():
            if stream.starts is None:
                assert stream.ends is not None
                edges = np.concatenate([[0], stream.ends])
                found += [edges[:-1], edges[1:], stream.values]
            else:
                found += [stream.starts, stream.ends, stream.values]
        return tuple(found)

    def memory(self, rows: int) -> Payload:
        """Arrays for the results over so many rows."""
        size = self.most * rows + 2
        times = (np.empty(size, np.int64), np.empty(size, np.int64))
        return *times, *(np.empty(size, each) for each in self.types)

    def outcome(self, arrays: Payload, count: int) -> Outcome:
        """What the loop wrote."""
        starts, ends, *payload = (array[:count] for array in arrays)
        return Table(starts, ends, tuple(payload))


@dataclass(frozen=True, slots=True)
class AtPoints(WithTimes):
    """The same for events of one tick, which need no starts, and sizes of windows."""

    sizes: tuple[int, ...] = ()

    def inputs(self, streams: Streams) -> Inputs:
        """Ends and values, then the sizes."""
        pairs = ((stream.ends, stream.values) for stream in streams.values())
        return *(array for pair in pairs for array in pair), *self.sizes


@dataclass(frozen=True, slots=True)
class Ticks(WithTimes):
    """A loop that is told that all events last one tick by starts that are None."""

    def inputs(self, streams: Streams) -> Inputs:
        """None, ends and values."""
        (stream,) = streams.values()
        return None, stream.ends, stream.values


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


def compiled(fill: Fill) -> Fill:
    """A loop as machine code, with IEEE's division."""
    import numba  # noqa: PLC0415 - optional, and slow to import

    return cast(Fill, numba.njit(fill, error_model="numpy"))
