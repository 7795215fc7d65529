"""Rows of a row object that hold until the next one of their key, by code.

Such a row waits for that one, or for the clock; others are final as they are made.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.keyed.due_times import NEVER
from tiltpy.runtime.keyed.held_rows import Heads
from tiltpy.runtime.keyed.join import join_by_key, no_rows
from tiltpy.runtime.keyed.open_snapshots import ClosedKeys
from tiltpy.runtime.keyed.row_store import make_store
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.types import Type


class OpenRows:
    """The rows of keys that wait, of any number of each; none, unless rows hold."""

    def __init__(self, payload: Type) -> None:
        self.payload = payload
        self._store = make_store(payload)

    def grow(self, codes: int) -> None:
        """Make room for the codes below a number."""
        self._store.grow(codes)

    def select(self, codes: I64Array) -> KeyedSnapshots:
        """Return those of some keys, in the order of the codes; they stay there."""
        return self._store.select(codes)

    def save(self) -> dict[str, object]:
        """Make what `restore` takes."""
        return self._store.save()

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take over saved ones; there is room for their codes, and none are there."""
        self._store.restore(saved)

    def close(
        self, codes: I64Array, made: KeyedSnapshots, heads: Heads | None, until: int
    ) -> ClosedKeys:
        """Close rows of some keys, which are never joined: those that end by a time.

        `heads` are those of rows that came of the input whose rows they are; None if
        these do not hold.
        """
        count = len(codes)
        no, waits = np.zeros((2, count), np.bool_)
        if heads is None:
            return ClosedKeys(made, no, waits)
        ends = np.full(count, NEVER)
        opened, _ = heads.end(self._store.take(codes))
        made = join_by_key([no_rows(self.payload, count), opened, made], self.payload)
        waiting = made.ends > until
        keys = np.repeat(np.arange(count), made.counts)[waiting]
        waits[keys] = True
        np.minimum.at(ends, keys, made.ends[waiting])
        self._store.put(codes, made.keep(waiting))
        return ClosedKeys(made.keep(~waiting), no, waits, ends)
