"""Times at which keys are to be computed again, by their codes.

To take the keys that are due costs those, not all that there are: the ones that are due
soonest are listed apart, and the others looked through once the clock has come to where
that list ends. A key whose time changes is listed anew, and its entry of before counts
no more.
"""

import numpy as np

from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.runtime.arrays.masks import is_any
from tiltpy.types import ENDLESS

NEVER = ENDLESS
LEAST_LISTED = 256
"""Keys that are listed apart at least, if there are as many."""
SHARE = 16
"""The share of all keys that are listed apart: one in so many."""


class DueTimes:
    """The time at which each key is due, `NEVER` of one that is not."""

    def __init__(self) -> None:
        self.times = np.zeros(0, np.int64)
        """Those of all keys, by code."""
        self._listed = self._listed_times = np.zeros(0, np.int64)
        """The codes of all keys that are due up to `_limit`, and when they were."""
        self._limit = -ENDLESS

    def grow(self, codes: int) -> None:
        """Make room for the codes below a number, of which none is due."""
        missing = codes - len(self.times)
        if missing > 0:
            room = max(missing, len(self.times))
            self.times = np.concatenate([self.times, np.full(room, NEVER)])

    def save(self) -> Times:
        """Make what `restore` takes."""
        return self.times

    def restore(self, times: Times) -> None:
        """Take over the times of all keys."""
        self.times = times
        self._listed = self._listed_times = np.zeros(0, np.int64)
        self._limit = -ENDLESS

    def set(self, codes: I64Array, times: Times) -> None:
        """Settle when some keys are due, each of which is named once."""
        self.times[codes] = times
        self.list_near(codes, times)

    def list_near(self, codes: I64Array, times: Times) -> None:
        """List keys that are due soon, of those whose times were settled."""
        near = times <= self._limit
        if is_any(near):
            self._listed = np.concatenate([self._listed, codes[near]])
            self._listed_times = np.concatenate([self._listed_times, times[near]])

    def take(self, time: int) -> I64Array:
        """Take the keys that are due at a time, or before, some maybe several times.

        Their times are to be set anew.
        """
        if time > self._limit or len(self._listed) > 2 * self._most_listed:
            self._look_through(time)
        is_due = self._listed_times <= time
        codes = self._listed[is_due]
        if not len(codes):
            return codes
        others = ~is_due
        self._listed = self._listed[others]
        self._listed_times = self._listed_times[others]
        return codes[self.times[codes] <= time]

    def _look_through(self, time: int) -> None:
        """List the keys apart that are due soonest, all that are due at `time` too.

        Of many that are due together, none if that is later: they would all be looked
        through until then.
        """
        some = (self.times < NEVER).nonzero()[0]
        times, most = self.times[some], self._most_listed
        limit = NEVER - 1
        if len(some) > most:
            limit = int(np.partition(times, most)[most])
            if np.count_nonzero(times <= limit) > 2 * most:
                limit -= 1
        self._limit = max(limit, time)
        near = times <= self._limit
        self._listed, self._listed_times = some[near], times[near]

    @property
    def _most_listed(self) -> int:
        """The keys that are listed apart at most, but for twice as many by and by."""
        return max(LEAST_LISTED, len(self.times) // SHARE)
