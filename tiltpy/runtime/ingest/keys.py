"""An input's rows by key: those of each key are a temporal object.

The rows of all keys lie in one snapshot buffer, key after key, without an object for
each: a million keys are two arrays of a million numbers.
"""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tiltpy.abi.layouts import TimeLayout
from tiltpy.errors import DataError
from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import lay_out, make_contiguous, make_sampled
from tiltpy.runtime.arrow.display import format_key
from tiltpy.runtime.ingest.group_by_code import group_rows, offsets_of
from tiltpy.runtime.ingest.key_codes import encode_keys
from tiltpy.runtime.ingest.key_types import common_type
from tiltpy.types import Type


@record(frozen=True, slots=True, eq=False)
class LateColumns:
    """The types of so many keys, and what decodes them once anyone looks at them."""

    types: tuple[pa.DataType, ...]
    count: int
    decode: Callable[[], tuple[pa.Array, ...]]


class Keys:
    """The distinct keys of a run in their order, as columns, which may come `late`."""

    __slots__ = ("_columns", "_count", "_late", "_numbers", "names", "types")

    def __init__(
        self,
        names: tuple[str, ...],
        columns: tuple[pa.Array, ...] | None,
        late: LateColumns | None = None,
    ) -> None:
        self.names = names
        self._columns = columns
        self._late = late
        self._numbers: I64Array | None = None
        if columns is None:
            assert late is not None
            self._count, self.types = late.count, late.types
        else:
            self._count = len(columns[0])
            self.types = tuple([column.type for column in columns])

    @staticmethod
    def without_types(names: tuple[str, ...]) -> "Keys":
        """Make no keys, of columns whose types are unknown."""
        return Keys(names, tuple(pa.nulls(0) for _ in names))

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to other processes with the columns."""
        return Keys, (self.names, self.columns)

    def __len__(self) -> int:
        return self._count

    @property
    def columns(self) -> tuple[pa.Array, ...]:
        """The columns of the keys."""
        if self._columns is None:
            assert self._late is not None
            self._columns = self._late.decode()
        return self._columns

    @property
    def numbers(self) -> I64Array:
        """The number of each key, from 0 on; remembered for the next run."""
        if self._numbers is None:
            self._numbers = np.arange(len(self))
        return self._numbers

    def show(self, key: int) -> str:
        """Format a key as messages name it."""
        columns = (format_key(column.slice(key, 1)) for column in self.columns)
        both = zip(self.names, columns, strict=True)
        return ", ".join(f"{name}={text}" for name, text in both)


@record(frozen=True, slots=True, eq=False)
class Groups:
    """An input's rows, key after key, each key's in order of start, then tie order.

    Segment `k`, rows `offsets[k]` to `offsets[k + 1]`, belongs to key `k`. `firsts[k]`
    is the start of its first event and `lasts[k]` the largest end that counts for a
    domain; undefined where it has no rows. What the buffer says of its rows (`layout`,
    `fifo`, `points`) holds within every segment. A segment's first and last rows are
    events; of regular scalars there may be null rows between. Of a sampled or
    contiguous buffer `firsts[k]` is where segment `k` starts, and the buffer's `start`
    means nothing.
    """

    buffer: SnapshotBuffer
    offsets: I64Array
    firsts: Times
    lasts: Times
    _segments: dict[int, SnapshotBuffer] = field(default_factory=dict, repr=False)
    _ranges: dict[tuple[int, int], "Groups"] = field(default_factory=dict, repr=False)
    _counts: list[I64Array] = field(default_factory=list, repr=False)
    _complete: list[bool] = field(default_factory=list, repr=False)
    without_hidden: list["Groups | None"] = field(
        default_factory=list, init=False, repr=False
    )
    """The groups without hidden rows, once a run has asked; None if those are no others
    (`visible_rows`)."""

    @staticmethod
    def of(
        buffer: SnapshotBuffer,
        offsets: I64Array,
        firsts: Times,
        latest: Times | None = None,
    ) -> "Groups":
        """Make segments of at least one row each, from `firsts` on.

        For a domain none of them ends after `latest`.
        """
        counts = np.diff(offsets)
        if buffer.layout is TimeLayout.SAMPLED:
            lasts = firsts + counts * buffer.period
        else:
            assert buffer.ends is not None
            ends = buffer.ends[: buffer.n]
            last = ends[offsets[1:] - 1]
            lasts = last if buffer.fifo else np.maximum.reduceat(ends, offsets[:-1])
        if latest is not None:
            lasts = np.minimum(lasts, latest)
        return Groups(buffer, offsets, firsts, lasts)

    @staticmethod
    def empty(payload: Type) -> "Groups":
        """Make the groups of no keys."""
        none = np.zeros(0, np.int64)
        return Groups(SnapshotBuffer.empty(payload), offsets_of(none), none, none)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def breaks(self) -> I64Array:
        """Find the rows with which segments start behind another one."""
        return self.offsets[:-1][self.nonempty][1:]

    def times(self) -> tuple[Times, Times]:
        """Return the starts and the ends of all rows.

        Computed where they are not stored.
        """
        buffer, heads = self.buffer, self.offsets[:-1]
        if buffer.layout is TimeLayout.SAMPLED:
            counts = np.diff(self.offsets)
            steps = np.arange(buffer.n) - np.repeat(heads, counts)
            starts = np.repeat(self.firsts, counts) + steps * buffer.period
            return starts, starts + buffer.period
        assert buffer.ends is not None
        ends = buffer.ends[: buffer.n]
        if buffer.starts is not None:
            return buffer.starts[: buffer.n], ends
        starts = np.empty_like(ends)
        starts[1:] = ends[:-1]
        nonempty = self.nonempty
        starts[heads[nonempty]] = self.firsts[nonempty]
        return starts, ends

    def as_overlapping(self) -> "Groups":
        """Lay the rows out as those that may overlap, which all may be."""
        buffer = self.buffer.as_overlapping(self.times())
        return Groups(buffer, self.offsets, self.firsts, self.lasts)

    def segment(self, key: int) -> SnapshotBuffer:
        """View the rows of one key in the tightest layout that they have.

        Memoized, since finding it takes a scan of their times.
        """
        if key not in self._segments:
            self._segments[key] = self._segment(key)
        return self._segments[key]

    def of_range(self, first: int, stop: int) -> "Groups":
        """View the segments of some keys; memoized, as their buffers are."""
        known = self._ranges.get((first, stop))
        if known is None:
            known = self._ranges[first, stop] = self.view(first, stop)
        return known

    @property
    def counts(self) -> I64Array:
        """The number of rows in each segment; remembered for the next run."""
        if not self._counts:
            self._counts.append(np.diff(self.offsets))
        return self._counts[0]

    @property
    def complete(self) -> bool:
        """Tell whether each key has rows over some time, once for all runs."""
        if not self._complete:
            some = bool((self.offsets[1:] > self.offsets[:-1]).all())
            self._complete.append(some and bool((self.firsts < self.lasts).all()))
        return self._complete[0]

    @property
    def nonempty(self) -> BoolArray:
        """Mark the keys that have rows."""
        if self.complete:
            return np.ones(len(self), np.bool_)
        return self.offsets[1:] > self.offsets[:-1]

    def view(self, first: int, stop: int) -> "Groups":
        """View the segments of successive keys, from `first` up to `stop`."""
        return Groups(
            self.buffer,
            self.offsets[first : stop + 1],
            self.firsts[first:stop],
            self.lasts[first:stop],
            _complete=[True] if self.complete else [],
        )

    def _segment(self, key: int) -> SnapshotBuffer:
        low, high = int(self.offsets[key]), int(self.offsets[key + 1])
        rows = self.buffer.slice(low, high)
        if low == high:
            return rows
        first = self.firsts[key : key + 1]
        columns = tuple(without_nulls(column, rows.n) for column in rows.columns)
        if rows.layout is TimeLayout.SAMPLED:
            buffer = make_sampled(int(first[0]), rows.period, rows.n, columns)
        else:
            assert rows.ends is not None
            if rows.starts is None:
                buffer = make_contiguous(first, rows.ends, columns)
            else:
                buffer = lay_out(rows.starts, rows.ends, columns)
        end = None if rows.domain_end is None else int(self.lasts[key])
        return replace(buffer, points=rows.points, domain_end=end, before=rows.before)


def without_nulls(column: Column, rows: int) -> Column:
    """Drop the bitmap of a column none of whose rows is null."""
    if column.validity is None or not column.valid(rows).all():
        return column
    return replace(column, validity=None, offset=0)


def align(
    inputs: Mapping[str, tuple[Keys, Groups]],
) -> tuple[Keys, dict[str, Groups]]:
    """Align rows to the union of the inputs' keys, which have the same names.

    A key without rows in an input has an empty segment there. Types of keys widen to
    one that holds all of both; otherwise a `DataError` names both inputs.
    """
    (keys, _), *others = inputs.values()
    if all(_have_same_keys(keys, other) for other, _ in others):
        return keys, {source: groups for source, (_, groups) in inputs.items()}
    columns = []
    for index, name in enumerate(keys.names):
        columns_by_input = {
            source: source_keys.columns[index]
            for source, (source_keys, _) in inputs.items()
        }
        columns.append(_concat_keys(name, columns_by_input))
    codes = encode_keys(columns)
    grouped = group_rows(codes.codes, codes.size)
    size = len(grouped.codes)
    ranks = np.repeat(np.arange(size), np.diff(grouped.offsets))
    if grouped.order is not None:
        ranks[grouped.order.rows] = ranks.copy()
    aligned, first = {}, 0
    for source, (source_keys, groups) in inputs.items():
        stop = first + len(source_keys)
        aligned[source] = _scatter_groups(groups, ranks[first:stop], size)
        first = stop
    return Keys(keys.names, codes.decode(grouped.codes)), aligned


def _have_same_keys(left: Keys, right: Keys) -> bool:
    return left is right or (
        len(left) == len(right)
        and all(a.equals(b) for a, b in zip(left.columns, right.columns, strict=True))
    )


def _concat_keys(name: str, columns_by_input: Mapping[str, pa.Array]) -> pa.Array:
    """Concatenate a key column of all inputs, in one type."""
    types = {source: column.type for source, column in columns_by_input.items()}
    kind = common_type(name, types)
    return pa.concat_arrays(
        [
            cast_keys(source, name, column, kind)
            for source, column in columns_by_input.items()
        ]
    )


def cast_keys(input: str, name: str, column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast a key column of an input to the type of all, or raise `DataError`."""
    try:
        return column.cast(kind)
    except pa.ArrowInvalid as error:
        raise DataError(
            f"its keys do not fit into {kind}, which holds those of the others: "
            f"{error}",
            input=input,
            column=name,
        ) from error


def _scatter_groups(groups: Groups, numbers: I64Array, size: int) -> Groups:
    """Move groups to the numbers of their keys among all `size` keys."""
    if len(groups) == size:
        return groups
    counts = np.zeros(size, np.int64)
    firsts, lasts = np.empty(size, np.int64), np.empty(size, np.int64)
    counts[numbers] = np.diff(groups.offsets)
    firsts[numbers], lasts[numbers] = groups.firsts, groups.lasts
    return Groups(groups.buffer, offsets_of(counts), firsts, lasts)
