"""A peer of live queries, and values in a form in which they can be compared."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.timing import Runner
from bench.workloads.live import MAP, SLIDING, WINDOWS, Frames, LiveWorkload

RELATIVE = 1e-9
"""Tolerance between means whose values were added up in another order."""
MOST_WINDOWS = 1 << 32
"""More windows than any key has."""


@dataclass(frozen=True, slots=True)
class Values:
    """Values by number: of a row, of a stamp, or of a window and its key."""

    numbers: NDArray[np.int64]
    values: NDArray[np.float64]

    def agree(self, other: "Values") -> bool:
        """Tell whether both have the same numbers, and the same values."""
        return np.array_equal(self.numbers, other.numbers) and np.allclose(
            self.values, other.values, rtol=RELATIVE, atol=0
        )


@dataclass(frozen=True, slots=True)
class LivePeer:
    """Another way to compute a live workload.

    `values` turns what `run` returned into values, which takes no part in the time.
    """

    run: Runner
    values: Callable[[Any], Values]


def by_window(
    keys: NDArray[np.int64], windows: NDArray[np.int64], values: NDArray[np.float64]
) -> Values:
    """Make values of windows and their keys, without those that are zero."""
    numbers = keys * MOST_WINDOWS + windows
    order = np.argsort(numbers, kind="stable")
    order = order[values[order] != 0]
    return Values(numbers[order], values[order])


def values_of(workload: LiveWorkload, frames: Frames, found: pa.Table) -> Values:
    """Make values of the final snapshots of a session: of rows that are in order."""
    out = found["out"].to_numpy().astype(np.float64)
    if workload is MAP:
        return Values(np.arange(len(out)), out)
    starts, ends = (found[name].to_numpy() for name in ("start", "end"))
    if workload is SLIDING:  # at the stamps of rows
        stamps = np.unique(frames["x"]["ts"].to_numpy())
        return Values(stamps, out[np.searchsorted(ends, stamps)])
    window = WINDOWS[workload.name]
    first, stop = starts // window, -(-ends // window)
    counts = stop - first
    rows = np.repeat(np.arange(len(out)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    keys = np.zeros(len(out), np.int64)
    if "k" in found.column_names:
        keys = found["k"].to_numpy().astype(np.int64)
    return by_window(keys[rows], first[rows] + within, out[rows])
