"""Rows of one set of keys from several sources, joined key by key.

A run in parts joins the rows that a key still has with those that came, and the
snapshot that was open with those that a range made.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tiltpy.costs import DEFAULT_COSTS
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer, pack_validity
from tiltpy.runtime.arrow.encode_strings import with_one_dictionary
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.runtime.results.key_columns import KeySnapshots
from tiltpy.types import STRING, Type, columns


def no_rows(payload: Type, keys: int) -> KeyedSnapshots:
    """Make no rows of some keys."""
    empty = np.zeros(0, np.int64)
    dummies = SnapshotBuffer.empty(payload).columns
    return KeyedSnapshots(empty, empty, dummies, np.zeros(keys, np.int64))


def select_keys(rows: KeyedSnapshots, keys: I64Array) -> KeyedSnapshots:
    """Select the rows of some keys, in the order of those."""
    if len(keys) == len(rows.counts) and (keys == np.arange(len(keys))).all():
        return rows
    counts = rows.counts[keys]
    begins = (rows.counts.cumsum() - rows.counts)[keys]
    shift = begins - (counts.cumsum() - counts)
    numbers = np.arange(int(counts.sum())) + np.repeat(shift, counts)
    return KeyedSnapshots(
        rows.starts[numbers],
        rows.ends[numbers],
        tuple(_take_values(column, numbers) for column in rows.columns),
        counts,
    )


def spread(rows: KeyedSnapshots, slots: I64Array, count: int) -> KeyedSnapshots:
    """Make the keys of some rows the ones at ascending `slots` among `count`."""
    counts = np.zeros(count, np.int64)
    counts[slots] = rows.counts
    return KeyedSnapshots(rows.starts, rows.ends, rows.columns, counts)


def concat_keys(parts: Sequence[KeyedSnapshots], payload: Type) -> KeyedSnapshots:
    """Put the rows of other keys behind one another: the keys are those of all."""
    some = [part for part in parts if len(part.starts)]
    counts = np.concatenate([part.counts for part in parts])
    if len(some) < 2:
        return replace((some or list(parts))[0], counts=counts)
    ends = np.cumsum([len(part.starts) for part in some])
    places = np.split(np.arange(ends[-1]), ends[:-1])
    return KeyedSnapshots(
        np.concatenate([part.starts for part in some]),
        np.concatenate([part.ends for part in some]),
        _join_columns(some, places, payload),
        counts,
    )


def join_by_key(parts: Sequence[KeyedSnapshots], payload: Type) -> KeyedSnapshots:
    """Join the rows of each key, in order of the parts; all have the same keys."""
    nonempty = [part for part in parts if len(part.starts)]
    if len(nonempty) < 2:
        return (nonempty or list(parts))[0]
    counts = np.sum([part.counts for part in nonempty], axis=0)
    total = int(counts.sum())
    if total >= DEFAULT_COSTS.spans.long_groups * len(counts):
        return _join_slices(nonempty, counts, payload)
    begins = counts.cumsum() - counts
    places = []
    for part in nonempty:
        shift = begins - (part.counts.cumsum() - part.counts)
        places.append(np.arange(len(part.starts)) + np.repeat(shift, part.counts))
        begins = begins + part.counts
    starts, ends = np.empty(total, np.int64), np.empty(total, np.int64)
    for part, rows in zip(nonempty, places, strict=True):
        starts[rows], ends[rows] = part.starts, part.ends
    return KeyedSnapshots(
        starts, ends, _join_columns(nonempty, places, payload), counts
    )


def _join_slices(
    parts: Sequence[KeyedSnapshots], counts: I64Array, payload: Type
) -> KeyedSnapshots:
    """Join the rows of keys that have many: each part's move as a whole."""
    offsets = [np.append(0, part.counts.cumsum()).tolist() for part in parts]
    slices = [
        (number, slice(each[key], each[key + 1]))
        for key in range(len(counts))
        for number, each in enumerate(offsets)
        if each[key] < each[key + 1]
    ]
    starts = np.concatenate([parts[number].starts[rows] for number, rows in slices])
    ends = np.concatenate([parts[number].ends[rows] for number, rows in slices])
    joined = []
    for column, (_, scalar) in enumerate(columns(payload)):
        several, strings = with_one_dictionary(
            [(part.columns[column], len(part.starts)) for part in parts]
        )
        values = allocate(scalar, len(starts))[: len(starts)]
        of_keys = [several[number].values[rows] for number, rows in slices]
        np.concatenate(of_keys, out=values, casting="unsafe")
        validity = None
        if any(each.validity is not None for each in several):
            valid = [
                each.valid(len(part.starts))
                for each, part in zip(several, parts, strict=True)
            ]
            validity = pack_validity(
                np.concatenate([valid[number][rows] for number, rows in slices])
            )
        joined.append(Column(values, validity, strings=strings))
    return KeyedSnapshots(starts, ends, tuple(joined), counts)


def drop_first(rows: KeyedSnapshots, dropped: I64Array) -> KeyedSnapshots:
    """Drop so many of the first rows of each key."""
    if not dropped.any():
        return rows
    counts = rows.counts - dropped
    begins = rows.counts.cumsum() - rows.counts + dropped
    shift = begins - (counts.cumsum() - counts)
    numbers = np.arange(int(counts.sum())) + np.repeat(shift, counts)
    return KeyedSnapshots(
        rows.starts[numbers],
        rows.ends[numbers],
        tuple(_take_values(column, numbers) for column in rows.columns),
        counts,
    )


def gather_keys(
    snapshots: Sequence[KeySnapshots], count: int, payload: Type, strings: Strings
) -> tuple[KeyedSnapshots, dict[int, int]]:
    """Join the snapshots of some of `count` keys, and name the carried ends of keys.

    `strings` is the dictionary of their codes, which they may outlive.
    """
    parts, numbers, carried = [no_rows(payload, 0)], [np.zeros(0, np.int64)], {}
    for keyed in snapshots:
        if keyed.carried is not None:
            carried[int(keyed.numbers[0])] = keyed.carried
        for piece in keyed.pieces:
            encoded = tuple(
                _with_strings(column, strings, piece.n) if scalar == STRING else column
                for (_, scalar), column in zip(
                    columns(payload), piece.columns, strict=True
                )
            )
            # The pieces of a batch have all of its keys, others are of one key alone.
            counts = keyed.counts if len(keyed.counts) > 1 else np.array([piece.n])
            parts.append(KeyedSnapshots(*piece.times(), encoded, counts))
            numbers.append(keyed.numbers)
    rows = concat_keys(parts, payload)
    counts = np.zeros(count, np.int64)
    np.add.at(counts, np.concatenate(numbers), rows.counts)
    return replace(rows, counts=counts), carried


def _with_strings(column: Column, strings: Strings, count: int) -> Column:
    """Attach a dictionary to codes that a kernel wrote, which are any where null."""
    if column.validity is not None:
        codes = np.where(column.valid(count), column.values[:count], 0)
        column = replace(column, values=codes.astype(column.values.dtype))
    return replace(column, strings=strings)


def _join_columns(
    parts: Sequence[KeyedSnapshots], places: Sequence[I64Array], payload: Type
) -> tuple[Column, ...]:
    """Write the rows of each part to their places, in every column."""
    total = sum(map(len, places))
    joined = []
    for number, (_, scalar) in enumerate(columns(payload)):
        several, strings = with_one_dictionary(
            [(part.columns[number], len(part.starts)) for part in parts]
        )
        values = allocate(scalar, total)[:total]
        nullable = any(column.validity is not None for column in several)
        valid = np.ones(total if nullable else 0, np.bool_)
        for column, rows in zip(several, places, strict=True):
            values[rows] = column.values[: len(rows)]
            if nullable:
                valid[rows] = column.valid(len(rows))
        joined.append(Column(values, pack_validity(valid), strings=strings))
    return tuple(joined)


def _take_values(column: Column, rows: I64Array) -> Column:
    """Copy some rows of a column, or one readable row where there are none."""
    if not len(rows):
        return Column(column.values[:1].copy(), strings=column.strings)
    validity = None
    if column.validity is not None:
        validity = pack_validity(column.valid(int(rows.max()) + 1)[rows])
    return Column(column.values[rows], validity, strings=column.strings)
