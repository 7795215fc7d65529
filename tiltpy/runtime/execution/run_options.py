"""Options of a run, given by the caller; none of them changes a result."""

import os
from collections.abc import Callable

from tiltpy.costs import DEFAULT_COSTS, Costs
from tiltpy.lean_dataclass import dataclass

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run, which change nothing but the rounding of inexact sums.

    `workers`: threads, by default one per CPU, which change no bit. `chunk`: the chunk
    interval in ticks. `allow_sort`: whether rows out of time order are sorted.
    `progress` is called with the chunks done and their number. `vector`,
    `preaggregate`: whether vector kernels and pre-aggregation are used wherever they
    can be, or never; by default where there are enough rows for them to pay. `costs`:
    where one kernel becomes cheaper than another, and how large chunks and batches are.
    """

    workers: int | None = None
    chunk: int | None = None
    allow_sort: bool = True
    progress: Progress | None = None
    vector: bool | None = None
    preaggregate: bool | None = None
    costs: Costs = DEFAULT_COSTS


def default_workers() -> int:
    """Count the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
