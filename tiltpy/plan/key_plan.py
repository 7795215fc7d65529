"""The plan of a run by key: runs of their own, batches, and the keys of vector kernels.

A key with very many rows is a run of its own; others share batches. All is decided by
the rows alone, never by the workers.
"""

from collections.abc import Iterator
from itertools import groupby, pairwise
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from tiltpy.costs import KeyCosts
from tiltpy.lean_dataclass import dataclass
from tiltpy.plan.nodes import Refusal

Work = NDArray[np.int64]
"""The rows, or cells, to visit for each key."""
Mask = NDArray[np.bool_]
"""Whether something is so of each key."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyTask:
    """Keys that are computed together, or one that is a run of its own (`alone`).

    Successive keys may be `concatenated` in time, all with `few` rows. `subset` is the
    first of the keys that are planned together with those of the task, if not all are.
    """

    keys: NDArray[np.int64]
    alone: bool
    rows: int
    concatenated: bool = False
    few: bool = False
    subset: int = -1


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Successive keys, from `first` up to `stop`, and whether they are concatenated.

    If so, they may all have `few` rows.
    """

    first: int
    stop: int
    concatenated: bool
    few: bool = False


def count_joined(rows: int, workers: int, costs: KeyCosts) -> int:
    """Count the batches that share a call, of so many rows in all."""
    if workers == 1:
        return costs.joined_batches
    calls = costs.worker_calls * workers
    return max(1, min(costs.joined_batches, rows // (costs.batch_rows * calls)))


@dataclass(frozen=True, slots=True)
class LoopStarts:
    """The loops that a call for a key starts, and how many may start in a batch.

    Where they would be more, the rows of keys are concatenated.
    """

    loops: int
    most: int

    def are_many(self, keys: int) -> bool:
        """Tell whether calls for so many keys of a batch start too many."""
        return keys * self.loops > self.most


def plan_key_ranges(
    offsets: Work, counts: Work, starts: LoopStarts, costs: KeyCosts, joined: int = 1
) -> Iterator[KeyRange]:
    """Divide all keys into ranges, those of few rows each into batches.

    `offsets` count the rows before each key, and all; `counts` those of each. Keys are
    concatenated where calls for those of a batch would make too many `starts`; up to
    `joined` such batches share a range.
    """
    for (concatenated, few), some in groupby(
        _each_key_range(offsets, counts, starts, costs),
        attrgetter("concatenated", "few"),
    ):
        ranges = list(some)
        for number in range(0, len(ranges), joined):
            first, last = ranges[number], ranges[number : number + joined][-1]
            yield KeyRange(first.first, last.stop, concatenated, few)


def _each_key_range(
    offsets: Work, counts: Work, starts: LoopStarts, costs: KeyCosts
) -> Iterator[KeyRange]:
    """Divide all keys into ranges, each batch into one of its own."""
    keys, rows = len(offsets) - 1, int(offsets[-1] - offsets[0])
    multiples = np.arange(costs.batch_rows, rows, costs.batch_rows)
    cuts = np.unique(offsets.searchsorted(offsets[0] + multiples))
    first = 0
    for begin, end in pairwise([0, *cuts[(cuts > 0) & (cuts < keys)].tolist(), keys]):
        rows_there = int(offsets[end] - offsets[begin])
        share = costs.batch_rows * (end - begin) // max(1, rows_there)
        goes_on = first == begin > 0 and starts.are_many(share)
        if not (goes_on or starts.are_many(end - begin)):
            continue
        most = int(counts[begin:end].max())
        if most >= costs.many_rows:
            continue
        if first < begin:
            yield KeyRange(first, begin, concatenated=False)
        few = most <= costs.few_rows
        few &= rows_there <= costs.mean_few_rows * (end - begin)
        yield KeyRange(begin, end, concatenated=True, few=few)
        first = end
    if first < keys:
        yield KeyRange(first, keys, concatenated=False)


def plan_keys(
    work: Work,
    wanted: Mask,
    alone: Mask,
    served: Mask,
    costs: KeyCosts,
    workers: int,
    shared: int = 0,
) -> Iterator[KeyTask]:
    """Divide the `wanted` keys into tasks for `workers`, in order.

    Those that are `alone` are runs of their own; `served` are those of which a vector
    kernel computes most. Each key passes `shared` rows without a key, too: they make
    batches smaller, and no key a run of its own.
    """
    keys = np.flatnonzero(wanted)
    if not len(keys):
        return
    alone = alone[keys]
    cost = np.where(served, work // costs.vector_speedup, work)[keys]
    share = np.maximum(cost + shared, costs.batch_rows // costs.batch_keys)
    share[alone] = 0
    batch = (share.cumsum() - share) // _batch_size(int(share.sum()), workers, costs)
    new = alone[1:] | alone[:-1] | (batch[1:] != batch[:-1])
    for numbers in np.split(np.arange(len(keys)), np.flatnonzero(new) + 1):
        rows = int(work[keys[numbers]].sum()) + shared * len(numbers)
        yield KeyTask(keys[numbers], bool(alone[numbers[0]]), rows)


def _batch_size(rows: int, workers: int, costs: KeyCosts) -> int:
    """Find how many rows of keys share a task, so that workers have as many each."""
    most = costs.joined_batches * costs.batch_rows
    tasks = max(1, -(-rows // most), min(workers, rows // costs.batch_rows))
    if tasks > 1:
        tasks += -tasks % workers
    return max(1, -(-rows // tasks))


def refuse_vector_keys(work: Work, keys: Mask, costs: KeyCosts) -> Refusal | None:
    """Refuse a vector kernel for keys that have few rows in all."""
    rows = int(work[keys].sum())
    if rows >= costs.many_rows:
        return None
    return Refusal(
        f"keys that it could serve have {rows:,} rows, fewer than {costs.many_rows:,}"
    )


def refuse_own_vector(rows: int, phases: int, costs: KeyCosts) -> Refusal | None:
    """Refuse a vector kernel for a key that is a run of its own.

    Regular rows need one for each of the `phases` in which the keys' rows are.
    """
    if rows >= costs.shared_rows or phases <= costs.few_phases:
        return None
    return Refusal(f"regular rows are in {phases:,} phases")
