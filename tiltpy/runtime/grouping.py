"""Rows put together by key, each key's in order of time; rows that lie so stay put."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.errors import DataError
from tiltpy.runtime.key_codes import Codes, KeyCodes
from tiltpy.runtime.keys import offsets_of
from tiltpy.runtime.layout import Breaks, after, anywhere, pieces
from tiltpy.runtime.ordering import Rows, row_order
from tiltpy.runtime.stamps import Stamps, first_disorder

Ties = tuple[tuple[str, pa.Array], ...]

ROW_BITS = 32
"""Bits for the number of a row where it is sorted together with its code."""


@dataclass(frozen=True, slots=True)
class TimeOrder:
    """What orders the rows of one key, and whether they may be sorted.

    `column` is where the stamps are from, for errors.
    """

    input: str
    column: str
    stamps: Stamps
    ties: Ties
    allow_sort: bool


def key_order(found: KeyCodes, time: TimeOrder) -> Rows | None:
    """The order of the rows by key, then start, ties, and as they came.

    None where they are in order already. A row out of its key's order is refused, the
    first named, where sorting is not allowed; rows of other keys may be between.
    """
    breaks = offsets_of(found.counts)[1:-1]
    together = stable_order(found.codes)
    ticks = time.stamps.ticks if together is None else time.stamps.ticks[together]
    if _in_order(ticks, time, breaks):
        return together
    by_time = row_order(time.stamps, time.ties, input=time.input)
    if by_time is None:
        return together
    inner = stable_order(found.codes[by_time])
    order = by_time if inner is None else by_time[inner]
    if not time.allow_sort:
        _refuse(order, together, breaks, time)
    return order


def stable_order(codes: Codes) -> Rows | None:
    """The rows in order of their codes, equal ones as they came; None: as they are."""
    if first_disorder(codes) is None:
        return None
    if codes.dtype == np.uint8 or len(codes) > 1 << ROW_BITS:
        return np.argsort(codes, kind="stable")
    # Sorting both as one number, no two of which are equal, is fast whatever the keys.
    packed = codes.astype(np.int64)
    packed <<= ROW_BITS
    packed |= np.arange(len(codes))
    packed.sort()
    packed &= (1 << ROW_BITS) - 1
    return packed


def _in_order(ticks: NDArray[np.int64], time: TimeOrder, breaks: Breaks) -> bool:
    """Whether the rows of each key are in order already; with ties, if none has any."""
    if not time.ties:
        return time.stamps.in_order or not _any_below(ticks, breaks)
    return not any(
        anywhere(ticks[after(piece)] <= ticks[piece], piece, breaks)
        for piece in pieces(len(ticks))
    )


def _any_below(ticks: NDArray[np.int64], breaks: Breaks) -> bool:
    return any(
        anywhere(ticks[after(piece)] < ticks[piece], piece, breaks)
        for piece in pieces(len(ticks))
    )


def _refuse(
    order: Rows, together: Rows | None, breaks: Breaks, time: TimeOrder
) -> None:
    """Name the first row that belongs before the row above it that has its key."""
    rows = np.arange(len(order)) if together is None else together
    places = np.empty_like(rows)
    places[order] = np.arange(len(rows))
    moved = places[rows[1:]] < places[rows[:-1]]
    moved[breaks - 1] = False
    if moved.any():
        raise DataError(
            "the row belongs before the one above it that has its key; sort the rows, "
            "or allow sorting",
            input=time.input,
            column=time.column,
            row=int(rows[1:][moved].min()),
        )
