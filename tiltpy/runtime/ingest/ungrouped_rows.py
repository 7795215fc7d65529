"""Rows by key in order of time, not grouped yet.

A push has few rows, and most of its keys are known. So its rows are grouped once, by
the numbers of the keys that an evaluation touches, and no key is sorted or decoded.
"""

import numpy as np
import pyarrow as pa

from tiltpy.lean_dataclass import record
from tiltpy.lifetimes import Interval, Lifetime, UntilNext
from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.arrow.encode_strings import is_string
from tiltpy.runtime.ingest.event_times import end_held_rows
from tiltpy.runtime.ingest.group_by_code import order_by_number

Bounds = tuple[int, int]


def is_listed(kind: pa.DataType) -> bool:
    """Tell whether keys of a type are equal where their bits are: not so floats."""
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_temporal(kind)
        or types.is_boolean(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
    )


def is_regular(keys: pa.Array) -> bool:
    """Tell whether none of some keys is null, and all text is UTF-8."""
    if keys.null_count:
        return False
    if is_string(keys.type):
        try:
            keys.validate(full=True)
        except pa.ArrowException:
            return False
    return True


@record(frozen=True, slots=True, eq=False)
class GroupedByKey:
    """Rows of some of many keys, key after key, in order of time within each.

    `counts` are the rows of every key. The keys `some` have any, from rows `heads` to
    `tails`; for a domain they start at `firsts`, and end at `lasts`.
    """

    starts: Times
    ends: Times
    columns: tuple[Column, ...]
    counts: I64Array
    some: I64Array
    heads: I64Array
    firsts: Times
    lasts: Times


@record(frozen=True, slots=True, eq=False)
class UngroupedRows:
    """Rows in order of time, of which none is null, and the key columns of each.

    `times` are the stamps, or starts and ends, in ticks; `lifetime` is theirs.
    """

    times: tuple[Times, ...]
    payload: tuple[Column, ...]
    keys: tuple[pa.Array, ...]
    lifetime: Lifetime

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.times[0])

    @property
    def nbytes(self) -> int:
        """The bytes of the rows, without their keys."""
        arrays = *self.times, *(column.values for column in self.payload)
        return sum(int(array.nbytes) for array in arrays)

    @property
    def before(self) -> int:
        """The ticks between the start of a row and its stamp."""
        return 1 if isinstance(self.lifetime, Interval) else self.lifetime.before

    def bounds(self) -> Bounds:
        """Find the first start and the greatest end that counts for a domain."""
        first, last = int(self.times[0][0]), int(self.times[-1][-1])
        if isinstance(self.lifetime, Interval):
            last = int(self.times[1].max())
        elif not isinstance(self.lifetime, UntilNext):
            last += self.lifetime.after
        return first - self.lifetime.before, last

    def events(self) -> tuple[Times, Times]:
        """Find the starts and ends of rows that do not hold until the next ones."""
        lifetime, stamps = self.lifetime, self.times[0]
        starts = stamps - lifetime.before if lifetime.before else stamps
        if isinstance(lifetime, Interval):
            return starts, self.times[1]
        return starts, stamps + lifetime.after if lifetime.after else stamps

    def group(self, keys: I64Array, count: int) -> GroupedByKey:
        """Group the rows by the numbers of their keys, which are below `count`."""
        order = order_by_number(keys, count)
        counts = np.bincount(keys, minlength=count)
        some = counts.nonzero()[0]
        sizes = counts[some]
        stops = sizes.cumsum()
        heads, tails = stops - sizes, stops - 1
        times = [each[order] for each in self.times]
        columns = tuple([Column(each.values[order]) for each in self.payload])
        lifetime, stamps = self.lifetime, times[0]
        starts = stamps - lifetime.before if lifetime.before else stamps
        if isinstance(lifetime, UntilNext):
            ends = end_held_rows(stamps, lifetime.longest, heads[1:])
            lasts = stamps[tails]
        elif isinstance(lifetime, Interval):
            ends = times[1]
            lasts = np.maximum.reduceat(ends, heads)
        else:
            ends = stamps + lifetime.after if lifetime.after else stamps
            lasts = ends[tails]
        firsts = starts[heads]
        return GroupedByKey(starts, ends, columns, counts, some, heads, firsts, lasts)
