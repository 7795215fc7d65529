"""Rows that are no events: null scalar payloads and null structs.

Between events a null row of a scalar is left where it is, as a cleared validity bit: so
a sampled signal with holes stays sampled. Where it could pass for an event (at the
edges, which are the domain's; among overlapping events) it is taken out. Of rows by key
all are taken out that are not regular, and so are keys that have no others.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from tiltpy.abi import TimeLayout
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer, pack_validity
from tiltpy.runtime.arrays.time_layout import PIECE, lay_out
from tiltpy.runtime.ingest.group_by_code import offsets_of
from tiltpy.runtime.ingest.keys import Groups, Keys
from tiltpy.types import Scalar, Type

SPARSE = 2
"""Regular rows with holes stay regular where at least one in so many is there."""


def keep_rows(buffer: SnapshotBuffer, mask: BoolArray, payload: Type) -> SnapshotBuffer:
    """Copy some rows, in the layout that they have without the others."""
    if not mask.any():
        return SnapshotBuffer.empty(payload)
    starts, ends = buffer.times()
    columns = tuple(keep_values(column, mask) for column in buffer.columns)
    kept = lay_out(starts[mask], ends[mask], columns)
    return replace(kept, points=buffer.points, domain_end=buffer.domain_end)


def keep_values(column: Column, mask: BoolArray) -> Column:
    """Copy some rows of a column."""
    values = column.values[: len(mask)][mask]
    if column.validity is None:
        return replace(column, values=values)
    validity = pack_validity(column.valid(len(mask))[mask])
    return Column(values, validity, strings=column.strings)


def drop_nulls_at_edges(buffer: SnapshotBuffer, scalar: Scalar) -> SnapshotBuffer:
    """Drop the nulls before the first event and behind the last; all if rows overlap.

    A view, but for overlapping events.
    """
    (column,) = buffer.columns
    if column.validity is None:
        return buffer
    if buffer.layout is TimeLayout.OVERLAPPING:
        return keep_rows(buffer, column.valid(buffer.n), scalar)
    first, stop = _span(column, buffer.n)
    if first == stop:
        return SnapshotBuffer.empty(scalar)
    if (first, stop) == (0, buffer.n):
        return buffer
    kept = buffer.slice(first, stop)
    if kept.columns[0].valid(kept.n).all():
        bare = replace(kept.columns[0], validity=None, offset=0)
        return kept.with_columns((bare,))
    return kept


def keep_events(
    keys: Keys, groups: Groups, present: BoolArray | None, payload: Type
) -> tuple[Keys, Groups]:
    """Select the rows by key that are events, and the keys that have any.

    `present` says which structs are there, None: every one.

    `present` has a bool for each row (None: all are there); `payload` is the type of
    the rows.
    """
    mask = present
    if isinstance(payload, Scalar) and groups.buffer.columns[0].validity is not None:
        mask = groups.buffer.columns[0].valid(groups.buffer.n)
        if groups.buffer.layout is TimeLayout.SAMPLED:
            mask = _with_holes(mask, groups.offsets)
    if mask is None or mask.all():
        return keys, groups
    counts = np.add.reduceat(mask, groups.offsets[:-1], dtype=np.int64)
    there = counts > 0
    left = Keys(keys.names, tuple(c.filter(pa.array(there)) for c in keys.columns))
    if not there.any():
        return left, Groups.empty(payload)
    starts, ends = (times[mask] for times in groups.times())
    columns = tuple(keep_values(column, mask) for column in groups.buffer.columns)
    offsets = offsets_of(counts[there])
    buffer = lay_out(starts, ends, columns, offsets[1:-1])
    own = groups.buffer
    buffer = replace(buffer, points=own.points, domain_end=own.domain_end)
    return left, Groups.of(buffer, offsets, starts[offsets[:-1]], groups.lasts[there])


def _with_holes(events: BoolArray, offsets: I64Array) -> BoolArray:
    """Select the events, and all rows between those of a key if at most `SPARSE`."""
    rows = np.flatnonzero(events)
    begins, ends = rows.searchsorted(offsets[:-1]), rows.searchsorted(offsets[1:])
    some = begins < ends
    edges = np.zeros(len(events) + 1, np.int8)
    edges[rows[begins[some]]] = 1
    edges[rows[ends[some] - 1] + 1] -= 1
    between = edges[:-1].cumsum(dtype=np.int8).view(np.bool_)
    return between if np.count_nonzero(between) <= SPARSE * len(rows) else events


def _span(column: Column, count: int) -> tuple[int, int]:
    """Find the first row that is not null, and the one behind the last; reads few rows.

    Both are `count` where all are null.
    """
    first, step = count, PIECE
    for begin in range(0, count, step):
        rows = min(step, count - begin)
        valid = column.slice(begin, rows).valid(rows)
        if valid.any():
            first = begin + int(valid.argmax())
            break
    for end in range(count, first, -step):
        begin = max(first, end - step)
        valid = column.slice(begin, end - begin).valid(end - begin)
        if valid.any():
            return first, end - int(valid[::-1].argmax())
    return first, count
