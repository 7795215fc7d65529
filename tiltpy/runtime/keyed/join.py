"""Rows of one set of keys from several sources, joined key by key.

A run in parts joins the rows that a key still has with those that came, and the
snapshot that was open with those that a range made.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from tiltpy.costs import DEFAULT_COSTS
from tiltpy.runtime.arrays.dictionary import Strings
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.pool import Array, allocate
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer, pack_validity
from tiltpy.runtime.arrow.encode_strings import with_one_dictionary
from tiltpy.runtime.ingest.group_by_code import order_by_number
from tiltpy.runtime.keyed.snapshots import KeyedSnapshots
from tiltpy.runtime.results.key_columns import KeySnapshots
from tiltpy.types import STRING, Type, columns

FEW_ROWS = 1 << 12
"""Rows that are sorted sooner than they are moved part by part."""


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
        take_rows(rows.columns, numbers),
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
    whole = [(number, slice(len(part.starts))) for number, part in enumerate(some)]
    return _join(some, counts, payload, _move_slices(whole))


def join_by_key(parts: Sequence[KeyedSnapshots], payload: Type) -> KeyedSnapshots:
    """Join the rows of each key, in order of the parts; all have the same keys."""
    nonempty = [part for part in parts if len(part.starts)]
    if len(nonempty) < 2:
        return (nonempty or list(parts))[0]
    total = sum([len(part.starts) for part in nonempty])
    if total < FEW_ROWS:
        return _join_few(nonempty)
    counts = np.sum([part.counts for part in nonempty], axis=0)
    if total >= DEFAULT_COSTS.spans.long_groups * len(counts):
        move = _move_slices(_slices_by_key(nonempty, len(counts)))
    else:
        move = _move_rows(list(_places_by_key(nonempty, counts)))
    return _join(nonempty, counts, payload, move)


def _join_few(parts: Sequence[KeyedSnapshots]) -> KeyedSnapshots:
    """Join few rows: sorted by their keys, which takes the least calls."""
    every = np.arange(len(parts[0].counts))
    keys = np.concatenate([every.repeat(part.counts) for part in parts])
    rows = order_by_number(keys, len(every))
    counts = parts[0].counts
    for part in parts[1:]:
        counts = counts + part.counts
    starts = np.concatenate([part.starts for part in parts])[rows]
    ends = np.concatenate([part.ends for part in parts])[rows]
    payload = take_rows(join_columns(parts), rows)
    return KeyedSnapshots(starts, ends, payload, counts)


Move = Callable[[Sequence[Array], Array], None]
"""Move the rows of an array of each part to where they belong in one array."""


def _move_rows(places: Sequence[I64Array]) -> Move:
    """Move each row by itself, to its place."""

    def move(arrays: Sequence[Array], out: Array) -> None:
        for array, rows in zip(arrays, places, strict=True):
            out[rows] = array[: len(rows)]

    return move


def _move_slices(slices: Sequence[tuple[int, slice]]) -> Move:
    """Move slices of the parts, given by their numbers, behind one another."""

    def move(arrays: Sequence[Array], out: Array) -> None:
        moved = [arrays[number][rows] for number, rows in slices]
        np.concatenate(moved, out=out, casting="unsafe")

    return move


def _places_by_key(
    parts: Sequence[KeyedSnapshots], counts: I64Array
) -> Iterator[I64Array]:
    """Number the rows of each part by where they are once the keys are joined."""
    begins = counts.cumsum() - counts
    for part in parts:
        shift = begins - (part.counts.cumsum() - part.counts)
        yield np.arange(len(part.starts)) + np.repeat(shift, part.counts)
        begins = begins + part.counts


def _slices_by_key(
    parts: Sequence[KeyedSnapshots], keys: int
) -> list[tuple[int, slice]]:
    """List the rows of each key in each part: those of a key, in order of parts."""
    offsets = [np.append(0, part.counts.cumsum()).tolist() for part in parts]
    return [
        (number, slice(each[key], each[key + 1]))
        for key in range(keys)
        for number, each in enumerate(offsets)
        if each[key] < each[key + 1]
    ]


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
        take_rows(rows.columns, numbers),
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
            encoded = _attach(piece.columns, payload, strings, piece.n)
            # The pieces of a batch have all of its keys, others are of one key alone.
            counts = keyed.counts if len(keyed.counts) > 1 else np.array([piece.n])
            parts.append(KeyedSnapshots(*piece.times(), encoded, counts))
            numbers.append(keyed.numbers)
    rows = concat_keys(parts, payload)
    counts = np.zeros(count, np.int64)
    np.add.at(counts, np.concatenate(numbers), rows.counts)
    return replace(rows, counts=counts), carried


def attach_strings(
    rows: KeyedSnapshots, payload: Type, strings: Strings
) -> KeyedSnapshots:
    """Attach the dictionary of their codes to rows, which may outlive it."""
    if not any(scalar == STRING for _, scalar in columns(payload)):
        return rows
    encoded = _attach(rows.columns, payload, strings, len(rows.starts))
    return replace(rows, columns=encoded)


def _attach(
    payloads: Sequence[Column], payload: Type, strings: Strings, count: int
) -> tuple[Column, ...]:
    return tuple(
        _with_strings(column, strings, count) if scalar == STRING else column
        for (_, scalar), column in zip(columns(payload), payloads, strict=True)
    )


def _with_strings(column: Column, strings: Strings, count: int) -> Column:
    """Attach a dictionary to codes that a kernel wrote, which are any where null."""
    if column.validity is not None:
        codes = np.where(column.valid(count), column.values[:count], 0)
        column = replace(column, values=codes.astype(column.values.dtype))
    return replace(column, strings=strings)


def _join(
    parts: Sequence[KeyedSnapshots], counts: I64Array, payload: Type, move: Move
) -> KeyedSnapshots:
    """Move the rows of all parts together, in every column."""
    total = int(counts.sum())
    starts, ends = np.empty(total, np.int64), np.empty(total, np.int64)
    move([part.starts for part in parts], starts)
    move([part.ends for part in parts], ends)
    joined = []
    for number, (_, scalar) in enumerate(columns(payload)):
        several, strings = with_one_dictionary(
            [(part.columns[number], len(part.starts)) for part in parts]
        )
        values = allocate(scalar, total)[:total]
        move([column.values for column in several], values)
        validity = None
        if any(column.validity is not None for column in several):
            valid = np.empty(total, np.bool_)
            rows = [len(part.starts) for part in parts]
            move([c.valid(n) for c, n in zip(several, rows, strict=True)], valid)
            validity = pack_validity(valid)
        joined.append(Column(values, validity, strings=strings))
    return KeyedSnapshots(starts, ends, tuple(joined), counts)


def join_columns(parts: Sequence[KeyedSnapshots]) -> tuple[Column, ...]:
    """Put the columns of parts behind one another."""
    some = [part for part in parts if len(part.starts)]
    if len(some) == 1:
        return some[0].columns
    counts = [len(part.starts) for part in some]
    joined = []
    for number in range(len(some[0].columns)):
        several = [part.columns[number] for part in some]
        pairs = list(zip(several, counts, strict=True))
        strings = None
        if any(column.strings is not None for column in several):
            several, strings = with_one_dictionary(pairs)
            pairs = list(zip(several, counts, strict=True))
        values = np.concatenate([column.values[:count] for column, count in pairs])
        validity = None
        if any(column.validity is not None for column in several):
            valid = np.concatenate([column.valid(count) for column, count in pairs])
            validity = pack_validity(valid)
        joined.append(Column(values, validity, strings=strings))
    return tuple(joined)


def take_rows(columns: Sequence[Column], rows: I64Array) -> tuple[Column, ...]:
    """Copy some rows of columns."""
    return tuple([_take_values(column, rows) for column in columns])


def _take_values(column: Column, rows: I64Array) -> Column:
    """Copy some rows of a column, or one readable row where there are none."""
    if not len(rows):
        return Column(column.values[:1].copy(), strings=column.strings)
    validity = None
    if column.validity is not None:
        validity = pack_validity(column.valid(int(rows.max()) + 1)[rows])
    return Column(column.values[rows], validity, strings=column.strings)
