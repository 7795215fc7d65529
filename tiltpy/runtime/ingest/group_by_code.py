"""Rows grouped by code, in the order of codes.

Rows in order stay as they are, and long runs of one code are moved as a whole. Rows of
small codes are counted and placed, others sorted by their packed codes. Codes wider
than the packed sort key are sorted by their highest bits. As a rule that groups them;
where it does not, those few are sorted again.
"""

import numpy as np

from tiltpy.costs import DEFAULT_COSTS
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.block_passes import cache_blocks
from tiltpy.runtime.arrays.distinct import distinct
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.time_layout import shift_by_one
from tiltpy.runtime.arrow.timestamps import find_disorder
from tiltpy.runtime.concurrency.workers import map_portions
from tiltpy.runtime.ingest.packed_sort import (
    Codes,
    excess_bits,
    sort_packed,
)
from tiltpy.runtime.ingest.place_rows import place_rows
from tiltpy.runtime.ingest.row_order import RowOrder

RUN = DEFAULT_COSTS.reading.code_run
"""Average length from which on runs of one code are moved as a whole."""
MOST_COUNTED = DEFAULT_COSTS.reading.counted_codes
FEW_SORTED = 64
"""Rows up to which it takes longer to convert their numbers than to sort them."""
NUMBERS_OF_16_BITS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class GroupedRows:
    """Rows grouped by code, those of one code in their original order.

    Without an `order` they are as they lie. In it, the rows of code `codes[k]` are
    `offsets[k]` to `offsets[k + 1]`.
    """

    order: RowOrder | None
    offsets: I64Array
    codes: Codes


def group_rows(codes: Codes, size: int) -> GroupedRows:
    """Group rows by code, below `size`; faster if that `fits_packed`."""
    if find_disorder(codes) is None:
        heads = _find_heads(codes, len(codes))
        assert heads is not None
        return GroupedRows(None, np.append(heads, len(codes)), codes[heads])
    heads = _find_heads(codes, len(codes) // RUN)
    if heads is not None:
        return _group_runs(codes, heads)
    if size <= MOST_COUNTED and 2 * size <= len(codes) < 1 << 32:
        return _group_by_count(codes, size)
    if excess := excess_bits(size, len(codes)):
        return _group_by_two_sorts(codes, size, excess)
    return _group_by_sort(codes, size)


def offsets_of(counts: I64Array) -> I64Array:
    """Sum up row counts to the offsets of segments, and the end of the last one."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    counts.cumsum(out=offsets[1:])
    return offsets


def order_by_number(numbers: I64Array, count: int) -> I64Array:
    """Find the stable order of a few thousand rows by their numbers, below `count`.

    numpy sorts 16 bits by their digits, 64 bits by merging, in three times as long.
    """
    small = len(numbers) > FEW_SORTED and count <= NUMBERS_OF_16_BITS
    sorted_by = numbers.astype(np.uint16) if small else numbers
    order: I64Array = sorted_by.argsort(kind="stable")
    return order


def _find_heads(codes: Codes, most: int) -> I64Array | None:
    """Find the rows whose code differs from the row before; None beyond `most`."""
    blocks = [np.zeros(min(1, len(codes)), np.int64)]
    for rows in cache_blocks(len(codes) - 1):
        heads = np.flatnonzero(codes[shift_by_one(rows)] != codes[rows])
        blocks.append(heads + (rows.start + 1))
        most -= len(heads)
        if most < 0:
            return None
    return np.concatenate(blocks)


def _group_runs(codes: Codes, heads: I64Array) -> GroupedRows:
    """Order runs of one code by their codes; `heads` are their first rows."""
    firsts = codes[heads]
    runs = np.argsort(firsts, kind="stable")
    lengths = np.diff(heads, append=len(codes))[runs]
    begins = offsets_of(lengths)
    order = np.arange(len(codes)) + np.repeat(heads[runs] - begins[:-1], lengths)
    ordered = firsts[runs]
    new = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    offsets = np.append(begins[new], len(codes))
    return GroupedRows(RowOrder(order), offsets, ordered[new])


def _group_by_count(codes: Codes, size: int) -> GroupedRows:
    """Group rows by counting those of each code, and giving each row its place."""
    places, counts = place_rows(codes, size)
    used = np.flatnonzero(counts)
    order = RowOrder(places=places)
    return GroupedRows(order, offsets_of(counts[used]), used.astype(codes.dtype))


def _group_by_sort(codes: Codes, size: int) -> GroupedRows:
    """Group rows by one sort of their codes."""
    packed = sort_packed(codes, size)
    order = packed.empty_order()

    def find(portion: slice) -> tuple[I64Array, Codes]:
        """Write the order of a portion; its first rows of codes, and these."""
        heads, firsts = [np.zeros(0, np.int64)], [np.zeros(0, codes.dtype)]
        last = packed.number(portion.start - 1) if portion.start else -1
        for block, ordered, rows in packed.blocks(portion):
            order[block] = rows
            new = np.append(int(ordered[0]) != last, ordered[1:] != ordered[:-1])
            begins = np.flatnonzero(new)
            heads.append(begins + block.start)
            firsts.append(ordered[begins].astype(codes.dtype))
            last = int(ordered[-1])
        return np.concatenate(heads), np.concatenate(firsts)

    found = map_portions(find, len(codes))
    offsets = np.append(np.concatenate([heads for heads, _ in found]), len(codes))
    firsts = np.concatenate([codes for _, codes in found])
    return GroupedRows(RowOrder(order), offsets, firsts)


def _group_by_two_sorts(codes: Codes, size: int, excess: int) -> GroupedRows:
    """Group rows of codes `excess` bits wider than the sort key."""
    order, ordered = order_wide_codes(codes, size, excess)
    heads = _find_heads(ordered, len(ordered))
    assert heads is not None
    offsets = np.append(heads, len(codes))
    return GroupedRows(RowOrder(order), offsets, ordered[heads])


def order_wide_codes(codes: Codes, size: int, excess: int) -> tuple[Codes, Codes]:
    """Order rows by codes `excess` bits wider than the sort key, in two passes.

    Returns the row that comes first, second, ..., and its code.
    """
    order = sort_packed(codes, ((size - 1) >> excess) + 1, shift=excess).order()
    ordered = RowOrder(order).move_values(codes)

    def find_below(portion: slice) -> I64Array:
        """Find the rows whose code is above that of the next one."""
        blocks = [np.zeros(0, np.int64)]
        for rows in cache_blocks(portion.stop, portion.start):
            below = np.flatnonzero(ordered[shift_by_one(rows)] < ordered[rows])
            blocks.append(below + rows.start)
        return np.concatenate(blocks)

    below = np.concatenate(map_portions(find_below, len(ordered) - 1))
    if len(below):
        high = ordered >> codes.dtype.type(excess)
        mixed = distinct(high[below])
        begins, ends = (high.searchsorted(mixed, side) for side in ("left", "right"))
        rows = np.arange((ends - begins).sum())
        rows += np.repeat(begins - offsets_of(ends - begins)[:-1], ends - begins)
        again = np.argsort(ordered[rows], kind="stable")
        order[rows], ordered[rows] = order[rows][again], ordered[rows][again]
    return order, ordered
