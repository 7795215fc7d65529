"""Rows that came one after the other as one snapshot buffer, and without the old ones.

Runs over more data than fits into memory hold the rows of a stretch of time: what is
new is put behind what is still needed.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.runtime.arrays.dtypes import BoolArray
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer, pack_validity
from tiltpy.runtime.arrays.time_layout import lay_out, make_sampled
from tiltpy.runtime.arrow.encode_strings import with_one_dictionary
from tiltpy.runtime.ingest.drop_nulls import keep_rows
from tiltpy.types import I64, Scalar, Type, columns


def gather(pieces: Sequence[SnapshotBuffer], payload: Type) -> SnapshotBuffer:
    """The rows of all pieces, which are in order; a copy where there are several."""
    pieces = [piece for piece in pieces if piece.n]
    if not pieces:
        return SnapshotBuffer.empty(payload)
    if len(pieces) == 1:
        return pieces[0]
    offsets = _sample_numbers(pieces, payload)
    if offsets is not None:
        first, n = pieces[0], offsets[-1] + pieces[-1].n
        buffer = make_sampled(
            first.start, first.period, n, _laid(pieces, offsets, payload)
        )
    else:
        ends = np.cumsum([piece.n for piece in pieces]).tolist()
        n, offsets = ends[-1], [0, *ends[:-1]]
        times = allocate(I64, n).view(np.int64), allocate(I64, n).view(np.int64)
        for offset, piece in zip(offsets, pieces, strict=True):
            for whole, part_times in zip(times, piece.times(), strict=True):
                whole[offset : offset + piece.n] = part_times
        buffer = lay_out(*times, _laid(pieces, offsets, payload))
    points = all(piece.points for piece in pieces)
    last = pieces[-1]
    return replace(
        buffer, points=points, domain_end=last.domain_end, before=last.before
    )


def drop_before(
    buffer: SnapshotBuffer, time: int, last_rows: int, payload: Type
) -> SnapshotBuffer:
    """The buffer without rows that end by a time; a view where they come first.

    The last rows that start before it stay, `last_rows` events of them.
    """
    if buffer.layout is not TimeLayout.OVERLAPPING:
        return drop_first(buffer, time, last_rows, payload)
    assert buffer.ends is not None
    mask: BoolArray = buffer.ends[: buffer.n] > time
    mask[_find_last(buffer, time, last_rows, payload) :] = True
    return buffer if mask.all() else keep_rows(buffer, mask, payload)


def drop_first(
    buffer: SnapshotBuffer, time: int, last_rows: int, payload: Type
) -> SnapshotBuffer:
    """View the buffer without the first rows, as far as all end by a time.

    The last rows that start before it stay, `last_rows` events of them.
    """
    counted = _find_last(buffer, time, last_rows, payload)
    first = min(buffer.count_ended(time), counted)
    if first == buffer.n:
        return SnapshotBuffer.empty(payload)
    return buffer.slice(first, buffer.n)


def _find_last(buffer: SnapshotBuffer, time: int, last_rows: int, payload: Type) -> int:
    """Find the first of the last events that start before a time."""
    if not last_rows:
        return buffer.n
    return buffer.find_last(time, last_rows, gaps=isinstance(payload, Scalar))


def _sample_numbers(
    pieces: Sequence[SnapshotBuffer], payload: Type
) -> list[int] | None:
    """Number the first sample of each piece; None if they are not of one signal.

    Missing samples become null rows, which only a scalar can be without being there.
    """
    first, n = pieces[0], sum(piece.n for piece in pieces)
    offsets = []
    rows = 0
    for piece in pieces:
        number, rest = divmod(piece.start - first.start, first.period or 1)
        if piece.layout is not TimeLayout.SAMPLED or piece.period != first.period:
            return None
        if rest or number < rows or (number > rows and not isinstance(payload, Scalar)):
            return None
        offsets.append(number)
        rows = number + piece.n
    return offsets if rows <= DEFAULT_COSTS.reading.sparse_samples * n else None


def _laid(
    pieces: Sequence[SnapshotBuffer], offsets: Sequence[int], payload: Type
) -> tuple[Column, ...]:
    """The payload columns, each piece's rows at its offset, nulls between them."""
    count = offsets[-1] + pieces[-1].n
    laid_out = []
    for number, (_, scalar) in enumerate(columns(payload)):
        values = allocate(scalar, count)
        parts, strings = with_one_dictionary(
            [(piece.columns[number], piece.n) for piece in pieces]
        )
        nulls = any(part.validity is not None for part in parts)
        holes = count > sum(piece.n for piece in pieces)
        valid = np.zeros(count, np.bool_) if nulls or holes else None
        if holes:
            values[:] = 0
        for offset, piece, column in zip(offsets, pieces, parts, strict=True):
            rows = slice(offset, offset + piece.n)
            values[rows] = column.values[: piece.n]
            if valid is not None:
                valid[rows] = column.valid(piece.n)
        validity = None if valid is None else pack_validity(valid)
        laid_out.append(Column(values, validity, strings=strings))
    return tuple(laid_out)
