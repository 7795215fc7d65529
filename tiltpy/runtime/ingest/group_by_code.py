"""Rows of one code put together, in the order of codes: what a sort by key comes to.

Rows that lie so already stay where they are, and long runs of one code are moved as a
whole. Codes of too many bits are sorted by the highest ones. Then those that differ in
no others lie together, as a rule; where they do not, these few are sorted again.
"""

from dataclasses import dataclass

import numpy as np

from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.time_layout import cache_blocks, shift_by_one
from tiltpy.runtime.arrow.timestamps import find_disorder
from tiltpy.runtime.ingest.packed_sort import Codes, Rows, excess_bits, sort_packed

RUN = 8
"""Runs of one code that are so long on the average are moved as a whole."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupedRows:
    """The rows of each code together, and those of one code in the order they had.

    `order` says which row comes first, second, ...; None: as they lie. Those of code
    `codes[k]` then are `offsets[k]` to `offsets[k + 1]`.
    """

    order: Rows | None
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
    wide = excess_bits(size, len(codes))
    return (
        _group_by_two_sorts(codes, size, wide) if wide else _group_by_sort(codes, size)
    )


def offsets_of(counts: I64Array) -> I64Array:
    """Sum up row counts to where each segment begins, and where the last one ends."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def _find_heads(codes: Codes, most: int) -> I64Array | None:
    """Find the rows whose code is not that of the row before.

    None if more than `most`.
    """
    blocks = [np.zeros(min(1, len(codes)), np.int64)]
    for piece in cache_blocks(len(codes)):
        heads = np.flatnonzero(codes[shift_by_one(piece)] != codes[piece])
        blocks.append(heads + (piece.start + 1))
        most -= len(heads)
        if most < 0:
            return None
    return np.concatenate(blocks)


def _group_runs(codes: Codes, heads: I64Array) -> GroupedRows:
    """Runs of one code, put in the order of their codes."""
    firsts = codes[heads]
    runs = np.argsort(firsts, kind="stable")
    lengths = np.diff(heads, append=len(codes))[runs]
    begins = offsets_of(lengths)
    order = np.arange(len(codes)) + np.repeat(heads[runs] - begins[:-1], lengths)
    ordered = firsts[runs]
    kept = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    return GroupedRows(order, np.append(begins[kept], len(codes)), ordered[kept])


def _group_by_sort(codes: Codes, size: int) -> GroupedRows:
    """Group the rows of codes in any order."""
    packed = sort_packed(codes, size)
    order = packed.empty_order()
    heads, firsts = [], []
    last = -1
    for place, ordered, rows in packed.blocks():
        order[place] = rows
        new = np.append(int(ordered[0]) != last, ordered[1:] != ordered[:-1])
        begins = np.flatnonzero(new)
        heads.append(begins + place.start)
        firsts.append(ordered[begins].astype(codes.dtype))
        last = int(ordered[-1])
    offsets = np.append(np.concatenate(heads), len(codes))
    return GroupedRows(order, offsets, np.concatenate(firsts))


def _group_by_two_sorts(codes: Codes, size: int, wide: int) -> GroupedRows:
    """Group rows of codes `wide` bits wider than the packed sort key, in two passes."""
    drop = codes.dtype.type(wide)
    order: Rows = sort_packed(codes >> drop, ((size - 1) >> wide) + 1).order()
    ordered = codes[order]
    below = np.flatnonzero(ordered[1:] < ordered[:-1])
    if len(below):
        high = ordered >> drop
        mixed = np.unique(high[below])
        begins, ends = (high.searchsorted(mixed, side) for side in ("left", "right"))
        rows = np.arange((ends - begins).sum())
        rows += np.repeat(begins - offsets_of(ends - begins)[:-1], ends - begins)
        again = np.argsort(ordered[rows], kind="stable")
        order[rows], ordered[rows] = order[rows][again], ordered[rows][again]
    heads = _find_heads(ordered, len(ordered))
    assert heads is not None
    return GroupedRows(order, np.append(heads, len(codes)), ordered[heads])
