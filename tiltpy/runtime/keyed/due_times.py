"""Times at which keys are to be computed again, by their codes.

To list the keys that are due costs those, not all that there are: the ones that are due
soonest are listed apart, and the others looked through once the clock has come to where
that list ends.
"""

import numpy as np

from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.types import ENDLESS

NEVER = ENDLESS
LEAST_LISTED = 256
"""Keys that are listed apart at least, if there are as many."""
SHARE = 16
"""The share of all keys that are listed apart: one in so many."""


class DueTimes:
    """The time at which each key is due, `NEVER` of one that is not."""

    def __init__(self) -> None:
        self._times = np.zeros(0, np.int64)
        self._is_listed = np.zeros(0, np.bool_)
        self._listed = np.zeros(0, np.int64)
        """The codes of all keys that are due up to `_limit`, and of some others."""
        self._limit = -ENDLESS

    def grow(self, codes: int) -> None:
        """Make room for the codes below a number, of which none is due."""
        missing = codes - len(self._times)
        if missing > 0:
            room = max(missing, len(self._times))
            self._times = np.concatenate([self._times, np.full(room, NEVER)])
            unlisted = np.zeros(room, np.bool_)
            self._is_listed = np.concatenate([self._is_listed, unlisted])

    def save(self) -> Times:
        """Make what `restore` takes."""
        return self._times

    def restore(self, times: Times) -> None:
        """Take over the times of all keys."""
        self._times = times
        self._is_listed = np.zeros(len(times), np.bool_)
        self._listed, self._limit = np.zeros(0, np.int64), -ENDLESS

    def set(self, codes: I64Array, times: Times) -> None:
        """Settle when some keys are due, each of which is named once."""
        self._times[codes] = times
        if len(self._times) <= LEAST_LISTED:
            return
        near = codes[(times <= self._limit) & ~self._is_listed[codes]]
        if len(near):
            self._is_listed[near] = True
            self._listed = np.concatenate([self._listed, near])

    def list(self, time: int) -> I64Array:
        """List the keys that are due at a time, or before."""
        if len(self._times) <= LEAST_LISTED:
            return (self._times <= time).nonzero()[0]
        if time > self._limit or len(self._listed) > 2 * self._most_listed:
            self._look_through(time)
        times = self._times[self._listed]
        due = self._listed[times <= time]
        stale = times > self._limit
        if 2 * np.count_nonzero(stale) > len(stale) > LEAST_LISTED:
            self._is_listed[self._listed[stale]] = False
            self._listed = self._listed[~stale]
        return due

    def _look_through(self, time: int) -> None:
        """List the keys apart that are due soonest, all that are due at `time` too.

        Of many that are due together, none if that is later: they would all be looked
        through until then.
        """
        some = (self._times < NEVER).nonzero()[0]
        times, most = self._times[some], self._most_listed
        limit = NEVER - 1
        if len(some) > most:
            limit = int(np.partition(times, most)[most])
            if np.count_nonzero(times <= limit) > 2 * most:
                limit -= 1
        self._limit = max(limit, time)
        self._is_listed[self._listed] = False
        self._listed = some[times <= self._limit]
        self._is_listed[self._listed] = True

    @property
    def _most_listed(self) -> int:
        """The keys that are listed apart at most, but for twice as many by and by."""
        return max(LEAST_LISTED, len(self._times) // SHARE)
