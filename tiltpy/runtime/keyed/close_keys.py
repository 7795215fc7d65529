"""Snapshots that an evaluation made of some keys, joined with those that were open."""

from collections.abc import Mapping

import numpy as np

from tiltpy.array_address import address
from tiltpy.lean_dataclass import record
from tiltpy.routines.catalogue import CLOSE_KEYS
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.execution.key_domains import EARLIEST
from tiltpy.runtime.keyed.join import join_columns, no_rows, take_rows
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.types import I64, Type

ITEM = 8
"""Bytes of a number."""


@record(frozen=True, slots=True, eq=False)
class CloseTimes:
    """Times of keys, between which their snapshots are closed.

    `seams`: where a snapshot that was made began before, it is the open one; `EARLIEST`
    where there is none. `reached`: up to when all was computed. `ends`: where domains
    end so far. `carried`: how far open snapshots go on that nothing was made of.
    """

    seams: Times
    reached: Times
    ends: Times
    carried: Mapping[int, int]


@record(frozen=True, slots=True, eq=False)
class ClosedKeys:
    """Snapshots that are final, and those that wait: at most one for each key.

    `goes_on`: a key's last snapshot does, behind its domain; `is_open`: that may.
    """

    final: KeyedSnapshots
    waiting: KeyedSnapshots
    goes_on: BoolArray
    is_open: BoolArray


def close_keys(
    opened: KeyedSnapshots, made: KeyedSnapshots, times: CloseTimes, payload: Type
) -> ClosedKeys:
    """Close what was open of some keys, and what was made; both have the same keys."""
    keys, before = len(made.counts), len(opened.starts)
    total = before + len(made.starts)
    if not total:
        nothing, no = no_rows(payload, keys), np.zeros(keys, np.bool_)
        return ClosedKeys(nothing, nothing, no, no)
    reaches = np.empty(keys, np.int64)
    reaches.fill(EARLIEST)
    for key, end in times.carried.items():
        reaches[key] = min(end, int(times.reached[key]))
    inputs = (
        *(made.counts, made.starts, made.ends),
        *(opened.counts, opened.starts, opened.ends),
        *(times.seams, times.reached, times.ends, reaches),
    )
    sizes = (keys, total, total, total, keys, keys, keys, keys, keys, keys)
    written = allocate(I64, sum(sizes)).view(np.int64)
    arrays = [np.ascontiguousarray(array) for array in inputs]
    place, places = address(written), []
    for size in sizes:
        places.append(place)
        place += ITEM * size
    CLOSE_KEYS(keys, before, *map(address, arrays), *places)
    first, last = keys + 3 * total, 5 * keys + 3 * total
    final, waiting, flags = written[:first], written[first:last], written[last:]
    joined = join_columns((opened, made))
    return ClosedKeys(
        _select(final, keys, total, joined, payload),
        _select(waiting, keys, keys, joined, payload),
        flags[:keys].astype(np.bool_),
        flags[keys:].astype(np.bool_),
    )


def _select(
    written: I64Array,
    keys: int,
    room: int,
    columns: tuple[Column, ...],
    payload: Type,
) -> KeyedSnapshots:
    """Select snapshots, of which the counts, times and numbers are written."""
    counts = written[:keys]
    count = int(counts.sum())
    if not count:
        return no_rows(payload, keys)
    starts = written[keys : keys + count]
    ends = written[keys + room : keys + room + count]
    rows = written[keys + 2 * room : keys + 2 * room + count]
    return KeyedSnapshots(starts, ends, take_rows(columns, rows), counts)
