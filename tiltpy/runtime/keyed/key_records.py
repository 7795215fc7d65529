"""Records of keys by code: what an output knows of each, in a cache line.

A push touches keys anywhere among all. Each number of theirs in an array of its own
would be a cache line to wait for.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tiltpy.array_address import address
from tiltpy.routines.catalogue import RECORD_BYTES, RECORD_NUMBERS
from tiltpy.runtime.arrays.dtypes import BoolArray, Times
from tiltpy.runtime.execution.key_domains import EARLIEST, LATEST
from tiltpy.types import ENDLESS

NUMBERS = {
    "first": LATEST,
    "last": EARLIEST,
    "done": 0,
    "due": ENDLESS,
    "open start": 0,
    "open end": EARLIEST,
}
"""Times of a key, with their values before it has a row: the first start and greatest
end of its rows; the time up to which it is computed, and at which it is due again; the
times of its open snapshot, whose end is `EARLIEST` without one."""
TRUTHS = "live", "has states", "over"
"""Flags of a key: a result may follow (`live`); windows that fold on have states of it
(`has states`); nothing changes any more once its rows have settled (`over`)."""
PLACES = {
    **{name: 8 * number for number, name in enumerate(NUMBERS)},
    **{name: 8 * len(NUMBERS) + number for number, name in enumerate(TRUTHS)},
}
"""The offset of each time and flag in a record, in bytes."""
SAVED = "first", "last", "done", "due"


class KeyRecords:
    """The records of keys; those of codes that no key has yet are as fresh."""

    def __init__(self) -> None:
        self.count = 0
        self._numbers = np.zeros((0, RECORD_NUMBERS), np.int64)
        self._truths = np.zeros((0, RECORD_BYTES), np.bool_)
        self._address = 0

    def grow(self, codes: int) -> bool:
        """Make room for the codes below a number; tells whether records have moved."""
        if codes <= self.count:
            return False
        self._allocate(max(codes, 2 * self.count), self.count)
        return True

    def _allocate(self, count: int, used: int) -> None:
        """Make room for so many records, of which the first are in use."""
        self.count = count
        size = self.count * RECORD_NUMBERS
        memory = np.zeros(size + RECORD_NUMBERS, np.int64)
        begin = -address(memory) % RECORD_BYTES // memory.itemsize
        records = memory[begin : begin + size].reshape(self.count, RECORD_NUMBERS)
        records[:used] = self._numbers[:used]
        records[used:, : len(NUMBERS)] = [*NUMBERS.values()]
        self._numbers, self._truths = records, records.view(np.bool_)
        self._address = address(memory) + begin * memory.itemsize

    def times(self, name: str) -> Times:
        """Return a time of all keys."""
        times: Times = self._numbers[:, PLACES[name] // 8]
        return times

    def truths(self, name: str) -> BoolArray:
        """Return a truth of all keys."""
        truths: BoolArray = self._truths[:, PLACES[name]]
        return truths

    def find(self, name: str) -> int:
        """Find the address of a time, or a truth, of the first key."""
        return self._address + PLACES[name]

    def save(self) -> dict[str, object]:
        """Make what `restore` takes; open snapshots are not with it."""
        arrays = tuple(self.times(name).copy() for name in SAVED)
        flags = [self.truths(name).copy().view(np.uint8) for name in TRUTHS]
        return {"arrays": arrays, "flags": flags}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take over saved records."""
        self._allocate(len(saved["arrays"][0]), 0)
        for name, times in zip(SAVED, saved["arrays"], strict=True):
            self.times(name)[:] = times
        for name, flags in zip(TRUTHS, saved["flags"], strict=True):
            self.truths(name)[:] = flags.view(np.bool_)
