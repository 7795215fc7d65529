"""Times at which keys are to be computed again, by their codes.

To take the keys that are due costs those, not all that there are: the ones that are due
soonest are listed apart, and the others looked through once the clock has come to where
that list ends. A key whose time changes is listed anew, and its entry of before counts
no more.
"""

from collections.abc import Iterator

import numpy as np

from tiltpy.routines.catalogue import LIST_DUE, LIST_NAMED_DUE, TAKE_DUE
from tiltpy.routines.prepared_call import PreparedCall
from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.runtime.keyed.key_records import KeyRecords
from tiltpy.types import ENDLESS

NEVER = ENDLESS
LEAST_LISTED = 256
"""Keys that are listed apart at least, if there are as many."""
SHARE = 16
"""The share of all keys that are listed apart: one in so many."""
SAMPLE = 1 << 12
"""Keys whose times tell about when as many as that are due."""


class DueTimes:
    """The time at which each key is due, `NEVER` of one that is not."""

    def __init__(self, records: KeyRecords) -> None:
        self._records = records
        self._codes = self._times = np.zeros(0, np.int64)
        """Room for the codes of keys that are due up to `_limit`, and their times."""
        self._listed = 0
        self._limit = -ENDLESS
        self._take = PreparedCall.of(TAKE_DUE, 11)
        self._list = PreparedCall.of(LIST_DUE, 7)
        self._list_named = PreparedCall.of(LIST_NAMED_DUE, 8)

    def restore(self) -> None:
        """Go on with restored records."""
        self._listed = 0
        self._limit = -ENDLESS

    def set(self, codes: I64Array, times: Times) -> None:
        """Settle when some keys are due, each of which is named once."""
        self._records.times("due")[codes] = times
        self.list_near(codes, times)

    def list_near(self, codes: I64Array, times: Times) -> None:
        """List keys that are due soon, of those whose times were settled."""
        room = self._listed + len(codes)
        if room > len(self._codes):
            self._resize(2 * room)
        _, _, self._listed, *_ = self._list_named(
            *(len(codes), self._limit, self._listed, room),
            *(times, codes, self._codes, self._times),
        )

    def _resize(self, room: int) -> None:
        """Make room for so many listed keys."""
        behind = np.empty(room - self._listed, np.int64)
        self._codes = np.concatenate([self._codes[: self._listed], behind])
        self._times = np.concatenate([self._times[: self._listed], behind])

    def take(self, time: int, *, tells_over: bool = False) -> tuple[I64Array, I64Array]:
        """Take the keys that are due at a time, or before; they are due no more.

        Returns them, and apart those that are over, if records tell which are.
        """
        if time > self._limit or self._listed > 2 * self._most_listed:
            self._look_through(time)
        due, over = np.empty((2, self._listed), np.int64)
        self._listed, _, count, over_count, *_ = self._take(
            *(self._listed, time, 0, 0, int(tells_over)),
            *(self._codes, self._times),
            *map(self._records.find, ("due", "over")),
            *(due, over),
        )
        return due[:count], over[:over_count]

    def _look_through(self, time: int) -> None:
        """List the keys apart that are due soonest, all that are due at `time` too.

        Of many that are due together, none if that is later: they would all be looked
        through until then.
        """
        most = 2 * self._most_listed
        for limit in self._find_limits(time):
            room = most if limit > time else self._records.count
            if room > len(self._codes):
                self._listed = 0
                self._resize(room)
            _, _, count, *_ = self._list(
                *(self._records.count, limit, 0, room),
                *(self._records.find("due"), self._codes, self._times),
            )
            if count <= room:
                self._limit, self._listed = limit, count
                return

    def _find_limits(self, time: int) -> Iterator[int]:
        """Find times up to which few keys may be due, one before the other."""
        step = self._records.count // SAMPLE | 1  # odd: keys may take turns
        sample = self._records.times("due")[::step]
        few = 3 * self._most_listed * len(sample) // max(1, 2 * self._records.count)
        while few:
            limit = int(np.partition(sample, few)[few]) if few < len(sample) else NEVER
            limit = min(limit, NEVER - 1)
            if limit > time:
                yield limit
                if limit - 1 > time:
                    yield limit - 1
            few //= 4
        yield time

    @property
    def _most_listed(self) -> int:
        """The keys that are listed apart at most, but for twice as many by and by."""
        return max(LEAST_LISTED, self._records.count // SHARE)
