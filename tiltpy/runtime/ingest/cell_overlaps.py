"""Intervals of an input as cells: none overlaps another, and each has an end."""

from collections.abc import Mapping

import numpy as np

from tiltpy.abi.layouts import TimeLayout
from tiltpy.errors import DataError
from tiltpy.ir.nodes import Input, Query
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array, Times
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.timestamps import StampType, format_stamp
from tiltpy.runtime.ingest.keys import Groups
from tiltpy.runtime.ingest.row_order import RowOrder
from tiltpy.types import ENDLESS

_WAY_OUT = "the cells of a time domain follow each other"
_NO_END = "a row of it holds without end, and a cell has one; give until_next a max"


def check_rows_as_cells(
    declared: Input,
    times: tuple[Times, Times],
    breaks: I64Array,
    events: BoolArray | None,
    order: RowOrder | None,
    kind: StampType,
) -> None:
    """Raise a DataError that names the first row which overlaps the one before it.

    `times` are the starts and ends of rows in order, in ticks. `breaks` are the rows
    with which keys begin, `events` the rows that are any (None: all); `order` has the
    number of each row in its frame, and `kind` is that of its times.
    """
    starts, ends = times
    rows = np.arange(len(starts)) if events is None else np.flatnonzero(events)
    _check_ends(declared.name, ends[rows])
    overlaps = _overlaps(starts[rows], ends[rows], rows.searchsorted(breaks))
    if not len(overlaps):
        return
    early, late = rows[overlaps[0]], rows[overlaps[0] + 1]
    begin = format_stamp(int(starts[late]), kind)
    end = format_stamp(int(ends[early]), kind)
    raise DataError(
        f"the interval from {begin} on begins before the one before it ends, at {end}; "
        + _WAY_OUT,
        input=declared.name,
        row=int(late if order is None else order.rows[late]),
    )


def check_cells(query: Query, inputs: Mapping[str, SnapshotBuffer | Groups]) -> None:
    """Raise a DataError if intervals that are cells overlap, of several batches too."""
    for name in {each.tdom.cells for each in query.definitions}.intersection(inputs):
        rows = inputs[str(name)]
        buffer = rows.buffer if isinstance(rows, Groups) else rows
        breaks = rows.offsets[1:-1] if isinstance(rows, Groups) else np.zeros(0, int)
        if buffer.domain_end is not None and buffer.ends is not None:
            _check_ends(str(name), buffer.ends[: buffer.n])
        if buffer.layout is not TimeLayout.OVERLAPPING:
            continue
        starts, ends = buffer.times()
        overlaps = _overlaps(starts, ends, breaks)
        if len(overlaps):
            tick = int(starts[overlaps[0] + 1])
            message = f"the interval from tick {tick} on begins before the one before"
            raise DataError(f"{message} it ends; {_WAY_OUT}", input=name)


def _check_ends(name: str, ends: Times) -> None:
    if len(ends) and int(ends.max()) >= ENDLESS:
        raise DataError(_NO_END, input=name)


def _overlaps(starts: Times, ends: Times, breaks: I64Array) -> I64Array:
    """Find the rows that end after the next one of their key starts."""
    overlaps = starts[1:] < ends[:-1]
    inner = breaks[(breaks > 0) & (breaks < len(starts))]
    overlaps[inner - 1] = False
    rows: I64Array = np.flatnonzero(overlaps)
    return rows
