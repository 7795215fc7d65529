"""The order of rows by start, then the tie columns, then arrival."""

import numpy as np
import pyarrow as pa

from tiltpy import arrow_functions as pc
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.errors import DataError
from tiltpy.runtime.arrays.dtypes import BoolArray, Times
from tiltpy.runtime.arrays.time_layout import shift_by_one
from tiltpy.runtime.arrays.views import plain_array
from tiltpy.runtime.arrow.movable_rows import movable_type
from tiltpy.runtime.arrow.timestamps import Stamps, find_range
from tiltpy.runtime.concurrency.workers import map_portions
from tiltpy.runtime.ingest.group_by_code import order_wide_codes
from tiltpy.runtime.ingest.packed_sort import excess_bits, fits_packed, sort_packed
from tiltpy.runtime.ingest.row_order import RowNumbers, RowOrder

MERGED_RUNS = DEFAULT_COSTS.reading.merged_runs
SORTABLE = (
    pa.types.is_primitive,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_null,
)
"""Types that Arrow can sort."""


def find_row_order(
    stamps: Stamps, ties: tuple[tuple[str, pa.Array], ...], *, input: str
) -> RowNumbers | None:
    """Find the order of rows; None where they are in order already.

    Ties are (name, column) pairs, nulls first; the sort is stable.
    """
    order = None if stamps.in_order else sort_stably(stamps.ticks)
    if not ties:
        return order
    ticks = stamps.ticks if order is None else RowOrder(order).move_times(stamps.ticks)
    return order_ties(order, ticks[1:] == ticks[:-1], ties, input=input)


def order_ties(
    order: RowNumbers | None,
    same: BoolArray,
    ties: tuple[tuple[str, pa.Array], ...],
    *,
    input: str,
) -> RowNumbers | None:
    """Sort rows of one time by their ties, within an order.

    `same` tells of each row from the second on whether it is at the time of the one
    before.
    """
    if not same.any():
        return order
    begins = np.append(True, ~same)
    tied = np.flatnonzero(~begins | np.append(same, False))
    rows = tied if order is None else order[tied]
    runs = np.cumsum(begins[tied])
    keys = [plain_array(runs)]
    for name, column in ties:
        sortable = _sortable(column, input=input, name=name)
        values = pc.array_take(sortable, plain_array(rows), boundscheck=False)
        if values.null_count:
            keys.append(values.is_valid())  # false before true: nulls first
        keys.append(values)
    keys.append(plain_array(np.arange(len(tied))))  # last: equal rows keep their order
    names = [str(number) for number in range(len(keys))]
    table = pa.Table.from_arrays(keys, names=names)
    ranks = pc.sort_indices(table, [(name, "ascending") for name in names]).to_numpy()
    if (ranks[1:] > ranks[:-1]).all():
        return order
    sorted_rows = np.arange(len(begins)) if order is None else order.copy()
    sorted_rows[tied] = rows[ranks]
    return sorted_rows


def sort_stably(ticks: Times) -> RowNumbers:
    """Sort times that are not in order stably."""
    least, greatest = find_range(ticks)
    size = greatest - least + 1
    if fits_packed(size, len(ticks)):
        return sort_packed(ticks, size, least).order()
    if _count_runs(ticks) <= MERGED_RUNS:
        return np.argsort(ticks, kind="stable")  # which merges ordered runs
    codes = np.empty(len(ticks), np.int64)

    def subtract(rows: slice) -> None:
        np.subtract(ticks[rows], least, out=codes[rows])

    map_portions(subtract, len(ticks))
    excess = excess_bits(size, len(ticks))
    return order_wide_codes(codes.view(np.uint64), size, excess)[0]


def _count_runs(ticks: Times) -> int:
    """Count the ordered runs of times."""
    below = map_portions(
        lambda rows: np.count_nonzero(ticks[shift_by_one(rows)] < ticks[rows]),
        len(ticks) - 1,
    )
    return 1 + int(sum(below))


def find_time_order(starts: Times, ends: Times | None) -> RowNumbers:
    """Find the order of intervals by start, then end, then as they lie.

    Without `ends` those that start together stay as they lie.
    """
    order = sort_stably(starts)
    if ends is None or _have_one_length(starts, ends):
        return order
    ordered, followed = map(RowOrder(order).move_times, (starts, ends))
    same = ordered[1:] == ordered[:-1]
    if not (same & (followed[1:] < followed[:-1])).any():
        return order
    by_end = sort_stably(ends)
    return by_end[sort_stably(starts[by_end])]


def _have_one_length(starts: Times, ends: Times) -> bool:
    length = ends[0] - starts[0]
    alike = map_portions(
        lambda rows: bool((ends[rows] - starts[rows] == length).all()), len(starts)
    )
    return all(alike)


def find_out_of_order(rows: RowNumbers) -> int:
    """Find the first row of the input that belongs before the row above it."""
    ranks = invert_order(rows)
    return 1 + int((ranks[1:] < ranks[:-1]).argmax())


def invert_order(rows: RowNumbers) -> RowNumbers:
    """Compute the rank of each row from the order of rows."""
    ranks = np.empty_like(rows)
    ranks[rows] = np.arange(len(rows))
    return ranks


def _sortable(column: pa.Array, *, input: str, name: str) -> pa.Array:
    kind = movable_type(column.type)
    if pa.types.is_float16(kind):
        kind = pa.float32()
    is_sortable = any(is_kind(kind) for is_kind in SORTABLE)
    if not is_sortable or pa.types.is_interval(kind):  # which is a primitive type
        raise DataError(
            f"rows cannot be ordered by {column.type}; order by a number or a string",
            input=input,
            column=name,
        )
    return column.cast(kind)
