"""Rows that are no events: null scalar payloads and null structs.

Between events a null row of a scalar stays as a cleared validity bit: so a sampled
signal with holes stays sampled. Where it could pass for an event (at the edges, which
bound the domain; among overlapping events) it is dropped. Of rows by key all nulls are
dropped unless the rows are regular, and so are keys without events.
"""

from dataclasses import replace

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.runtime.arrays.block_passes import CACHE_BLOCK
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer, pack_validity
from tiltpy.runtime.arrays.time_layout import lay_out
from tiltpy.runtime.arrays.views import plain_array
from tiltpy.runtime.ingest.group_by_code import offsets_of
from tiltpy.runtime.ingest.keys import Groups, Keys, without_nulls
from tiltpy.types import Scalar, Type


def keep_rows(buffer: SnapshotBuffer, mask: BoolArray, payload: Type) -> SnapshotBuffer:
    """Copy the rows of a mask, in the layout that they have without the others."""
    if not mask.any():
        return SnapshotBuffer.empty(payload)
    starts, ends = buffer.times()
    columns = tuple(keep_values(column, mask) for column in buffer.columns)
    rows = lay_out(starts[mask], ends[mask], columns)
    return replace(
        rows,
        points=buffer.points,
        domain_end=buffer.domain_end,
        before=buffer.before,
    )


def keep_values(column: Column, mask: BoolArray) -> Column:
    """Copy the rows of a mask from a column."""
    values = column.values[: len(mask)][mask]
    if column.validity is None:
        return Column(values, strings=column.strings)
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
    first, stop = _find_valid_range(column, buffer.n)
    if first == stop:
        return SnapshotBuffer.empty(scalar)
    if (first, stop) == (0, buffer.n):
        return buffer
    rows = buffer.slice(first, stop)
    return rows.with_columns((without_nulls(rows.columns[0], rows.n),))


def keep_events(
    keys: Keys, groups: Groups, present: BoolArray | None, payload: Type
) -> tuple[Keys, Groups]:
    """Select the rows by key that are events, and the keys that have any.

    `present` tells for each row whether it is one (None: structs all are, and scalars
    that are not null);
    `payload` is the type of the rows.
    """
    mask = present
    nullable = groups.buffer.columns[0].validity is not None
    if mask is None and isinstance(payload, Scalar) and nullable:
        mask = groups.buffer.columns[0].valid(groups.buffer.n)
        if groups.buffer.layout is TimeLayout.SAMPLED:
            mask = _with_holes(mask, groups.offsets)
    if mask is None or mask.all():
        return keys, groups
    counts = np.add.reduceat(mask, groups.offsets[:-1], dtype=np.int64)
    nonempty = counts > 0
    columns = tuple(column.filter(plain_array(nonempty)) for column in keys.columns)
    remaining = Keys(keys.names, columns)
    if not nonempty.any():
        return remaining, Groups.empty(payload)
    starts, ends = (times[mask] for times in groups.times())
    source = groups.buffer
    payloads = tuple(keep_values(column, mask) for column in source.columns)
    offsets = offsets_of(counts[nonempty])
    buffer = lay_out(starts, ends, payloads, offsets[1:-1])
    buffer = replace(
        buffer,
        points=source.points,
        domain_end=source.domain_end,
        before=source.before,
    )
    firsts, lasts = starts[offsets[:-1]], groups.lasts[nonempty]
    return remaining, Groups.of(buffer, offsets, firsts, lasts)


def _with_holes(events: BoolArray, offsets: I64Array) -> BoolArray:
    """Select the events, and the rows between those of a key unless they are sparse."""
    rows = np.flatnonzero(events)
    begins, ends = rows.searchsorted(offsets[:-1]), rows.searchsorted(offsets[1:])
    nonempty = begins < ends
    edges = np.zeros(len(events) + 1, np.int8)
    edges[rows[begins[nonempty]]] = 1
    edges[rows[ends[nonempty] - 1] + 1] -= 1
    between = edges[:-1].cumsum(dtype=np.int8).view(np.bool_)
    most = DEFAULT_COSTS.reading.sparse_samples * len(rows)
    return between if np.count_nonzero(between) <= most else events


def _find_valid_range(column: Column, count: int) -> tuple[int, int]:
    """Find the first row that is not null, and the one behind the last; reads few rows.

    Both are `count` where all are null.
    """
    first, step = count, CACHE_BLOCK
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
