"""Rows that wait for their order, as sorted runs: Impatience sort.

Rows come in any order of their starts, and go in the order (start, arrival) up to a
time before which no row to come starts. A run takes rows that start no earlier than its
last one; a release cuts the heads of runs, and merges them. Runs that late rows have
begun vanish with these rows, so that there are few again.

After Chandramouli, Goldstein and Li, *Impatience Is a Virtue* (ICDE 2018), section III.
Theirs is not stable; here equal starts are merged in the order of runs, which is that
of arrival.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltpy.routines.catalogue import APPEND_TO_RUNS, DIGIT_PLACES, RELEASE_HEADS, SPARE
from tiltpy.routines.prepared_call import PreparedCall
from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.runtime.arrays.views import Number
from tiltpy.types import ENDLESS

Slots = NDArray[np.uint32]
LEAST_CAPACITY = 1024
RUN_COLUMNS = 4


class SortedRuns:
    """The starts of rows in slots, which are numbered by arrival, and their runs.

    `used` slots have been given out; `count` rows wait, in `runs` runs.
    """

    def __init__(self) -> None:
        self.used = self.count = self.runs = 0
        self._last_run = 0
        self._starts: Times = np.empty(0, np.int64)
        self._following: Slots = np.empty(0, np.uint32)
        self._of_runs: list[I64Array] = [np.empty(0, np.int64)] * RUN_COLUMNS
        self._scratch: tuple[NDArray[Any], ...] = ()
        self._merged: tuple[Times, Slots]
        self._append_call: PreparedCall
        self._release_call: PreparedCall

    @property
    def first(self) -> int:
        """The least start of a row that waits."""
        return int(self._of_runs[0][: self.runs].min())

    @property
    def bytes(self) -> int:
        """The bytes of memory that the arrays take."""
        arrays: list[NDArray[Any]] = [self._starts, self._following]
        arrays += [*self._of_runs, *self._scratch]
        return sum(array.nbytes for array in arrays)

    def append(self, starts: Times) -> None:
        """Give rows the next slots."""
        rows, used = len(starts), self.used
        if used + rows + SPARE > len(self._starts):
            self._reserve(2 * (used + rows), 0)
        if self.runs + rows + SPARE > len(self._of_runs[0]):
            self._reserve(0, 2 * (self.runs + rows))
        self._starts[used : used + rows] = starts
        call = self._append_call
        call(used, used + rows, self.runs, self._last_run)
        self.used = used + rows
        self.runs, self._last_run = call.numbers[2], call.numbers[3]
        self.count += rows

    def release(self, time: int) -> tuple[Times, Slots]:
        """Take the rows that start before a time, in the order (start, slot).

        The starts and slots are good until the next call.
        """
        call = self._release_call
        call(time, self.runs)
        rows = call.numbers[2]
        self.runs = call.numbers[1]
        self.count -= rows
        starts, slots = self._merged
        return starts[:rows], slots[:rows]

    def sort_all(self) -> tuple[Times, Slots]:
        """Find the starts and slots of all rows that wait, in the order (start, slot).

        They are good until the next call.
        """
        runs, count = self.runs, self.count
        before = [column[:runs].copy() for column in self._of_runs]
        starts, slots = self.release(ENDLESS)
        for column, values in zip(self._of_runs, before, strict=True):
            column[:runs] = values
        self.runs, self.count = runs, count
        return starts, slots

    def renumber(self) -> Slots:
        """Give all rows that wait the first slots, in order: those of one run.

        Returns the slots that they had, which are good until the next call.
        """
        starts, slots = self.release(ENDLESS)
        self.clear()
        self.append(starts)
        return slots

    @property
    def first_slot(self) -> int:
        """The first slot of a row that waits."""
        return int(self._of_runs[2][: self.runs].min())

    def drop_slots(self, first: int) -> None:
        """Move all rows to the front, from a slot on, before which none waits.

        That is at least half of the slots that are used.
        """
        rows = self.used - first
        self._starts[:rows] = self._starts[first : self.used]
        following = self._following[first : self.used]
        # That of a run's last row is none of its own, but must be a slot.
        np.maximum(following, first, out=self._following[:rows])
        self._following[:rows] -= np.uint32(first)
        for slots in self._of_runs[2:]:
            slots[: self.runs] -= first
        self.used = rows

    def clear(self) -> None:
        """Forget all rows."""
        self._of_runs[1][: self.runs] = -ENDLESS
        self.used = self.count = self.runs = 0

    def _reserve(self, slots: int, runs: int) -> None:
        """Make room for as many slots and runs, at least, and prepare the calls."""
        slots = max(slots, LEAST_CAPACITY, len(self._starts) - SPARE)
        runs = max(runs, LEAST_CAPACITY, len(self._of_runs[0]) - SPARE)
        self._starts = resize(self._starts, slots + SPARE)
        self._following = resize(self._following, slots + SPARE)
        self._of_runs = [resize(array, runs + SPARE) for array in self._of_runs]
        self._of_runs[1][self.runs :] = -ENDLESS
        of_rows: list[NDArray[Any]] = [self._starts, self._following, *self._of_runs]
        merged, copied = (
            np.empty(times * slots + SPARE + 1, np.int64) for times in (1, 2)
        )
        merged_slots, copied_slots = (np.empty(slots + SPARE, np.uint32) for _ in "ab")
        bounds, edges = (np.empty(runs + SPARE + 1, np.int64) for _ in range(2))
        self._merged = merged[1:], merged_slots
        places = np.empty(DIGIT_PLACES, np.int64)
        others = copied_slots, bounds, edges, places
        self._scratch = merged, merged_slots, copied, *others
        self._append_call = PreparedCall(APPEND_TO_RUNS, 0, 0, 0, 0, *of_rows)
        scratch = merged[1:], merged_slots, copied[1:], *others
        self._release_call = PreparedCall(RELEASE_HEADS, 0, 0, 0, *of_rows, *scratch)


def resize(array: NDArray[Number], size: int) -> NDArray[Number]:
    """Copy an array to one of a greater size, whose other entries are 0."""
    larger = np.zeros(size, array.dtype)
    larger[: len(array)] = array
    return larger
