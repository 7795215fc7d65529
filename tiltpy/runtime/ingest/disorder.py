"""Measures of disorder, and what a reorder latency would lose and hold back.

The measures are those of *Impatience Is a Virtue* (ICDE 2018, section II), in
O(n log n). Rows may be of several keys, one behind the other, each with a clock of its
own: then times are shifted so that those of each key are above those of the key before.
"""

import numpy as np

from tiltpy.lean_dataclass import dataclass
from tiltpy.routines.catalogue import COUNT_INVERSIONS, SPARE
from tiltpy.routines.prepared_call import PreparedCall
from tiltpy.runtime.arrays.block_passes import cache_blocks
from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.runtime.ingest.sorted_runs import SortedRuns


@dataclass(frozen=True, slots=True)
class Disorder:
    """Measures of rows in order of arrival; all but the last two are 0 in order."""

    inversions: int
    """Pairs of rows in the wrong order."""
    distance: int
    """Rows from one of such a pair to the other, at most."""
    runs: int
    """Runs of successive rows in order."""
    interleaved: int
    """The least number of ascending subsequences that the rows are made of."""


def measure_disorder(times: Times) -> Disorder:
    """Measure the disorder of times in order of arrival."""
    descents = np.count_nonzero(times[1:] < times[:-1])
    return Disorder(
        count_inversions(times),
        find_distance(times),
        int(descents) + (len(times) > 0),
        count_interleaved(times),
    )


def count_inversions(times: Times) -> int:
    """Count the pairs of rows in the wrong order."""
    if len(times) < 2:
        return 0
    numbers, copy = (np.zeros(len(times) + SPARE, np.int64) for _ in range(2))
    numbers[: len(times)] = times
    call = PreparedCall(COUNT_INVERSIONS, 0, 0, numbers, copy)
    call(len(times))
    return call.numbers[1]


def find_distance(times: Times) -> int:
    """Find the greatest distance, in rows, of two in the wrong order.

    The first row that is to come behind a row is the first that is greater than the
    least of that row and all that follow.
    """
    if len(times) == 0:
        return 0
    greatest = np.maximum.accumulate(times)
    least = np.minimum.accumulate(times[::-1])[::-1]
    first = greatest.searchsorted(least, "right")
    return max(0, int((np.arange(len(times)) - first).max()))


def count_interleaved(times: Times) -> int:
    """Count the ascending subsequences that times are made of, at least.

    That is what runs there are when each time goes to the first that it can follow.
    """
    runs = SortedRuns()
    for block in cache_blocks(len(times), 0):
        runs.append(times[block])
        runs.used = 0  # the slots serve again: nothing is released
    return runs.runs


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Times of rows in order of arrival, key after key.

    `rows` has the number of each in the order of arrival of all rows; `stops` is behind
    the last one of its key.
    """

    times: Times
    rows: I64Array
    stops: I64Array

    @property
    def delays(self) -> Times:
        """The ticks that each row is behind the greatest time of its key so far."""
        return self.clock - self.times

    @property
    def clock(self) -> Times:
        """The greatest time so far at each row, that row included."""
        return np.maximum.accumulate(self.times)

    def count_waiting(self, latency: int) -> int:
        """Count the rows that wait in a reorder buffer at a latency, at most.

        A row waits until the clock is beyond its time by more than the latency.
        """
        count = len(self.times)
        clock = self.clock
        enters = clock - self.times <= latency
        leaving = clock.searchsorted(self.times[enters] + latency, "right")
        stops = self.stops[enters]
        stays = leaving >= stops
        leave = np.where(stays, count, self.rows[np.where(stays, 0, leaving)])
        change = np.bincount(self.rows[enters], minlength=count + 1)
        change -= np.bincount(leave, minlength=count + 1)
        return int(change[:count].cumsum().max(initial=0))
