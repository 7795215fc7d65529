"""The order of an input's rows: by key, start, ties, arrival."""

import numpy as np
import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.block_passes import any_block, for_each_block
from tiltpy.runtime.arrays.dtypes import I64Array, Times
from tiltpy.runtime.arrays.time_layout import (
    NO_BREAKS,
    Breaks,
    any_within_segments,
    shift_by_one,
)
from tiltpy.runtime.arrow.timestamps import Stamps, find_range
from tiltpy.runtime.ingest.group_by_code import GroupedRows, group_rows
from tiltpy.runtime.ingest.key_codes import KeyCodes
from tiltpy.runtime.ingest.keys import Keys
from tiltpy.runtime.ingest.packed_sort import fits_packed, sort_packed
from tiltpy.runtime.ingest.row_order import RowNumbers, RowOrder, move_times
from tiltpy.runtime.ingest.sort_by_time import (
    find_out_of_order,
    find_row_order,
    order_ties,
    sort_stably,
)


@dataclass(frozen=True, slots=True)
class TimeOrder:
    """The sort keys of the rows of one key: stamps, then tie columns by name.

    `column` is the one that the stamps are from. `allow_sort`: rows out of order are no
    error.
    """

    input: str
    column: str
    stamps: Stamps
    ties: tuple[tuple[str, pa.Array], ...]
    allow_sort: bool

    def refusal(self, row: int, above: str) -> DataError:
        """Make the error of a row out of order where rows must not be sorted."""
        return DataError(
            f"the row belongs before the one above it{above}; sort the rows, or allow "
            "sorting",
            input=self.input,
            column=self.column,
            row=row,
        )


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The order of rows (None: as they lie), and their keys.

    The rows of key `k` are `offsets[k]` to `offsets[k + 1]` in that order.
    """

    order: RowOrder | None
    keys: Keys | None = None
    offsets: I64Array | None = None

    @property
    def breaks(self) -> Breaks:
        """The rows at which a key starts behind another one."""
        return NO_BREAKS if self.offsets is None else self.offsets[1:-1]


def arrange_by_time(time: TimeOrder) -> Arrangement:
    """Arrange rows without keys."""
    order = find_row_order(time.stamps, time.ties, input=time.input)
    if order is not None and not time.allow_sort:
        raise time.refusal(find_out_of_order(order), "")
    return Arrangement(None if order is None else RowOrder(order))


def arrange_by_key(
    names: tuple[str, ...], codes: KeyCodes, time: TimeOrder
) -> Arrangement:
    """Arrange rows with keys, whose `names` are the query's.

    Where rows must not be sorted, those of several keys may still alternate.
    """
    groups = group_rows(codes.codes, codes.size)
    keys = Keys(names, codes.decode(groups.codes))
    order = _order_within_keys(codes, groups, time)
    return Arrangement(order, keys, groups.offsets)


def _order_within_keys(
    codes: KeyCodes, groups: GroupedRows, time: TimeOrder
) -> RowOrder | None:
    """Order grouped rows by time and ties within each key."""
    order, ticks = groups.order, time.stamps.ticks
    if time.stamps.in_order and not time.ties:
        return order
    breaks = groups.offsets[1:-1]
    ordered = move_times(ticks, order)
    if not time.stamps.in_order and _has_disorder(ordered, breaks):
        order = RowOrder(_order_by_key_and_time(codes, ticks))
        ordered = order.move_times(ticks)
    if time.ties:
        same = ordered[1:] == ordered[:-1]
        same[breaks - 1] = False
        rows = None if order is None else order.rows
        tied = order_ties(rows, same, time.ties, input=time.input)
        if tied is not rows:
            order = None if tied is None else RowOrder(tied)
    if not (time.allow_sort or order is None or order is groups.order):
        _refuse_sort(order, groups, time)
    return order


def _has_disorder(ticks: Times, breaks: Breaks) -> bool:
    """Tell whether the rows of any key are out of order."""

    def has_descent(rows: slice) -> bool:
        below = ticks[shift_by_one(rows)] < ticks[rows]
        return any_within_segments(below, rows, breaks)

    return any_block(has_descent, len(ticks) - 1)


def _order_by_key_and_time(codes: KeyCodes, ticks: Times) -> RowNumbers:
    """Order by key, then time: by one packed sort, where there are bits enough."""
    least, greatest = find_range(ticks)
    span = greatest - least + 1
    size = codes.size * span
    if fits_packed(size, len(ticks)):
        numbers = np.empty(len(ticks), np.int64)

        def combine(rows: slice) -> None:
            np.multiply(codes.codes[rows], span, out=numbers[rows], dtype=np.int64)
            numbers[rows] += ticks[rows] - least

        for_each_block(combine, len(ticks))
        return sort_packed(numbers, size).order()
    first = sort_stably(ticks)
    moved = RowOrder(first).move_values(codes.codes.astype(np.uint64))
    then = group_rows(moved, codes.size).order
    return first if then is None else then.move_values(first)


def _refuse_sort(order: RowOrder, groups: GroupedRows, time: TimeOrder) -> None:
    """Refuse the first row that belongs before the row above it that has its key."""
    rows = np.arange(len(order))
    if groups.order is not None:
        rows = groups.order.rows.astype(np.int64)
    ranks = order.places
    moved = ranks[rows[1:]] < ranks[rows[:-1]]
    moved[groups.offsets[1:-1] - 1] = False
    if moved.any():
        raise time.refusal(int(rows[1:][moved].min()), " that has its key")
