"""Rows by key code that wait between two evaluations.

A run in parts touches a few keys at a time, so what it keeps of all others must not be
copied. Rows lie in segments, in the order in which they were put there; a key has rows
in one of them. A segment that is not much larger than the one behind it is merged with
it: so each row is copied a logarithmic number of times, and few segments are left.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.keyed.join import join_by_key, no_rows, select_keys, spread
from tiltpy.runtime.keyed.row_arena import RowArena, holds_strings
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.types import Type

NOWHERE = -1


@dataclass(slots=True, eq=False)
class _Segment:
    """Rows of the keys `codes`, of which `left` keys have not been taken."""

    number: int
    codes: I64Array
    rows: KeyedSnapshots
    left: int


def make_store(payload: Type) -> "RowStore | RowArena":
    """Make what holds rows: strings stay with the dictionaries that they came with."""
    return RowStore(payload) if holds_strings(payload) else RowArena(payload)


class RowStore:
    """The rows of each key that has any, by its code."""

    def __init__(self, payload: Type) -> None:
        self.payload = payload
        self._segments: list[_Segment] = []
        self._number = 0
        self._segment_of = np.zeros(0, np.int64)
        """The number of the segment with a key's rows, by code."""
        self._slot_of = np.zeros(0, np.int64)
        """Which of the segment's keys it is."""

    def __len__(self) -> int:
        """Count the rows in memory."""
        return sum(len(segment.rows.starts) for segment in self._segments)

    def grow(self, codes: int) -> None:
        """Make room for the codes below a number."""
        missing = codes - len(self._segment_of)
        if missing > 0:
            room = max(missing, len(self._segment_of))
            nowhere = np.full(room, NOWHERE)
            self._segment_of = np.concatenate([self._segment_of, nowhere])
            self._slot_of = np.concatenate([self._slot_of, nowhere])

    def select(self, codes: I64Array) -> KeyedSnapshots:
        """Return the rows of some keys, in the order of the codes; they stay there."""
        numbers = self._segment_of[codes]
        parts = [no_rows(self.payload, len(codes))]
        for segment in self._segments:
            slots = np.flatnonzero(numbers == segment.number)
            if len(slots):
                rows = select_keys(segment.rows, self._slot_of[codes[slots]])
                parts.append(spread(rows, slots, len(codes)))
        return join_by_key(parts, self.payload)

    def save(self) -> dict[str, object]:
        """Make what `restore` takes."""
        codes = np.flatnonzero(self._segment_of != NOWHERE)
        return {"codes": codes, "rows": self.select(codes)}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take over saved rows; there is room for their codes, and none are there."""
        self.put(saved["codes"], saved["rows"])

    def take(self, codes: I64Array) -> KeyedSnapshots:
        """Take the rows of some keys out, in the order of the codes."""
        rows = self.select(codes)
        self.drop(codes)
        return rows

    def drop(self, codes: I64Array) -> None:
        """Forget the rows of some keys."""
        numbers = self._segment_of[codes]
        for segment in self._segments:
            segment.left -= int((numbers == segment.number).sum())
        self._segment_of[codes] = NOWHERE
        self._segments = [
            self._without_gaps(segment) for segment in self._segments if segment.left
        ]

    def put(self, codes: I64Array, rows: KeyedSnapshots) -> None:
        """Put rows there; none of their keys has any yet."""
        some = np.flatnonzero(rows.counts)
        if not len(some):
            return
        codes, rows = (
            codes[some],
            KeyedSnapshots(rows.starts, rows.ends, rows.columns, rows.counts[some]),
        )
        self._append(codes, rows)
        while len(self._segments) > 1:
            before, last = self._segments[-2:]
            if before.left > 2 * last.left and 2 * before.left > len(before.codes):
                break
            self._merge(before, last)

    def _without_gaps(self, segment: _Segment) -> _Segment:
        """Write a segment anew from which most keys were taken."""
        if 4 * segment.left > len(segment.codes):
            return segment
        codes, rows = self._rest(segment)
        self._slot_of[codes] = np.arange(len(codes))
        return _Segment(segment.number, codes, rows, len(codes))

    def _rest(self, segment: _Segment) -> tuple[I64Array, KeyedSnapshots]:
        """The keys that were not taken from a segment, and their rows."""
        left = np.flatnonzero(self._segment_of[segment.codes] == segment.number)
        return segment.codes[left], select_keys(segment.rows, left)

    def _append(self, codes: I64Array, rows: KeyedSnapshots) -> None:
        self._segments.append(_Segment(self._number, codes, rows, len(codes)))
        self._segment_of[codes] = self._number
        self._slot_of[codes] = np.arange(len(codes))
        self._number += 1

    def _merge(self, before: _Segment, last: _Segment) -> None:
        """Write the last two segments as one."""
        del self._segments[-2:]
        first, rows = self._rest(before)
        second, others = self._rest(last)
        codes = np.concatenate([first, second])
        count, slots = len(codes), np.arange(len(codes))
        parts = [
            spread(rows, slots[: len(first)], count),
            spread(others, slots[len(first) :], count),
        ]
        self._append(codes, join_by_key(parts, self.payload))
