"""From a bound frame to a snapshot buffer.

The steps, in order: the frame as an Arrow table, its columns chosen, times in ticks,
rows in order (grouped by key, where an input has keys), payload columns as views,
events by their lifetime, and nulls dropped where they could pass for events.

Pre-aggregation, grouping and `explain` all ask for an input's rows. A one-shot frame
can be read but once, and other frames should not be converted twice, so all of them get
one table (`read_rows`), validated before all else.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tiltpy.array_address import address
from tiltpy.errors import DataError
from tiltpy.ir.nodes import Input
from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrays.dtypes import BoolArray, Times
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.arrays.time_layout import make_sampled
from tiltpy.runtime.arrow.read_frame import flat_column, read_chosen
from tiltpy.runtime.arrow.select_columns import Choice, choose_columns
from tiltpy.runtime.arrow.timestamps import Stamps, StampType
from tiltpy.runtime.arrow.validation import check_columns
from tiltpy.runtime.ingest.binding import InputBinding, SampleTimes, complete_input
from tiltpy.runtime.ingest.cell_overlaps import check_rows_as_cells
from tiltpy.runtime.ingest.drop_nulls import drop_nulls_at_edges, keep_events, keep_rows
from tiltpy.runtime.ingest.event_times import lay_out_events, read_times, sample_times
from tiltpy.runtime.ingest.key_codes import KeyedTable
from tiltpy.runtime.ingest.keys import Groups, Keys
from tiltpy.runtime.ingest.payload import read_payload
from tiltpy.runtime.ingest.plain_tables import find_schema_reader
from tiltpy.runtime.ingest.row_order import RowOrder, move_times
from tiltpy.runtime.ingest.samples import check_reach, choose_samples, share_samples
from tiltpy.runtime.ingest.sort_order import (
    Arrangement,
    TimeOrder,
    arrange_by_key,
    arrange_by_time,
)
from tiltpy.types import Scalar, Type, Unit

Refuse = Callable[[pa.Array], DataError]
"""Makes the error of stamps that are not in order."""


@record(frozen=True, slots=True, eq=False)
class InputRows:
    """The rows of an input as a kernel reads them, and the kind of their times.

    Where the input has keys, `keys` are those with at least one event, `groups` their
    rows, and the buffer is that of the groups. `firsts` are the first stamps of all
    keys with a row, which may be null, where rows hold until the next one.
    """

    buffer: SnapshotBuffer
    stamps: StampType
    keys: Keys | None = None
    groups: Groups | None = None
    firsts: tuple[Keys, Times] | None = None

    def __len__(self) -> int:
        """Count the rows."""
        return self.buffer.n

    def bounds(self) -> tuple[int, int] | None:
        """Find the first start and the greatest end that counts for a domain."""
        if self.groups is None or not self.buffer.n:
            return self.buffer.bounds()
        return int(self.groups.firsts.min()), int(self.groups.lasts.max())

    def most_rows(self) -> SnapshotBuffer:
        """Return the rows; of an input by key those of the largest group."""
        if self.groups is None or not len(self.groups):
            return self.buffer
        return self.groups.segment(int(np.diff(self.groups.offsets).argmax()))


def read_rows(settled: Input, binding: InputBinding) -> tuple[pa.Table, Choice]:
    """Read the frame bound to an input as a table, and choose its columns.

    `settled` is the input completed by its binding (`binding.complete_input`). The
    table may have other columns; only those that are chosen have been checked.
    """
    return binding.memoize((Choice, settled), lambda: _read_rows(settled, binding))


def _read_rows(settled: Input, binding: InputBinding) -> tuple[pa.Table, Choice]:
    if binding.samples is not None:
        table, choice = choose_samples(settled, binding.frame)
    else:
        choose = partial(choose_columns, settled, binding.column)
        table, choice = read_chosen(settled.name, binding.frame, choose)
    check_columns(settled.name, table, choice.paths)
    return table, choice


def ingest(
    declared: Input,
    binding: InputBinding,
    *,
    unit: Unit | None,
    next_stamp: int | None = None,
    allow_sort: bool = True,
    refuse: Refuse | None = None,
) -> InputRows:
    """Read a bound frame as the rows of a declared input.

    `unit` is the query's tick. `next_stamp` (ticks) is that of the row behind the
    last one, where the caller knows it: without it the last rows of an `until_next`
    input are endless. Rows out of order are sorted unless `allow_sort` is False, or
    `refuse` makes the error of stamps that are not in order, whatever their keys.
    Errors are `DataError` with the input, the column and the first bad row, counted
    from 0 in the frame.

    Memoized by the binding: an immutable frame is read in the first run alone.
    """
    return binding.memoize(
        _key(declared, unit, next_stamp, allow_sort=allow_sort),
        lambda: _ingest(
            declared, binding, unit, next_stamp, refuse, allow_sort=allow_sort
        ),
    )


def is_known(
    declared: Input, binding: InputBinding, *, unit: Unit | None, allow_sort: bool
) -> bool:
    """Tell whether the binding has been read as the rows of a declared input."""
    return _key(declared, unit, None, allow_sort=allow_sort) in binding.known


def _key(
    declared: Input, unit: Unit | None, next_stamp: int | None, *, allow_sort: bool
) -> object:
    """Make the key by which a binding memoizes the rows."""
    return declared, unit, next_stamp, allow_sort


def _ingest(
    declared: Input,
    binding: InputBinding,
    unit: Unit | None,
    next_stamp: int | None,
    refuse: Refuse | None,
    *,
    allow_sort: bool,
) -> InputRows:
    settled = complete_input(declared, binding)
    assert settled.lifetime is not None
    if binding.samples is not None and not settled.keys:
        return _read_samples(settled, binding, unit)
    reader = None
    if binding.samples is None:
        frame: Any = binding.frame
        if frame.__class__ is not pa.Table:
            frame, _ = read_rows(settled, binding)
        reader = find_schema_reader(settled, binding.column, frame, unit)
        known = None if reader is None else reader.read(frame, next_stamp)
        if known is not None:
            events, kind = known
            return InputRows(select_events(events, None, declared.type), kind)
    table, choice = read_rows(settled, binding)
    if binding.samples is None:
        times, kind = read_times(settled, settled.lifetime, choice, table, unit)
        if refuse is not None and not times[0].in_order:
            raise refuse(flat_column(settled.name, table, choice.times[0]))
    else:
        times = (sample_times(settled, binding.samples, table.num_rows),)
        kind = binding.samples.stamps
    rows = binding.memoize(
        (Arrangement, declared.keys, choice.rows, allow_sort),
        lambda: _arrange(
            declared, binding, choice, table, times[0], allow_sort=allow_sort
        ),
    )
    payload, present = _read_payload(settled, choice, table, rows.order, unit)
    if table.num_rows == 0:
        return _empty_rows(declared, kind, rows.keys)
    ticks = tuple(move_times(stamps.ticks, rows.order) for stamps in times)
    is_whole = rows.order is None and rows.keys is None
    buffer = lay_out_events(
        ticks,
        settled.lifetime,
        payload,
        next_stamp,
        rows.breaks,
        times[0].steps if is_whole else None,
    )
    if declared.cells:
        if isinstance(declared.type, Scalar):
            present = payload[0].valid(table.num_rows).astype(np.bool_)
        in_ticks = kind if kind.unit is None else replace(kind, unit=unit)
        check_rows_as_cells(
            declared, buffer.times(), rows.breaks, present, rows.order, in_ticks
        )
    if reader is not None:
        reader.note()
    if rows.keys is None or rows.offsets is None:
        return InputRows(select_events(buffer, present, declared.type), kind)
    stamps_of_keys = ticks[0][rows.offsets[:-1]]
    firsts = stamps_of_keys - settled.lifetime.before
    latest = None  # rows of `until_next` end at their stamp for a domain
    if buffer.domain_end is not None:
        latest = ticks[0][rows.offsets[1:] - 1]
    groups = Groups.of(buffer, rows.offsets, firsts, latest)
    keys, groups = keep_events(rows.keys, groups, present, declared.type)
    holds = settled.lifetime.needs_next_row
    firsts_of = (rows.keys, stamps_of_keys) if holds else None
    return InputRows(groups.buffer, kind, keys, groups, firsts_of)


def _arrange(
    declared: Input,
    binding: InputBinding,
    choice: Choice,
    table: pa.Table,
    stamps: Stamps,
    *,
    allow_sort: bool,
) -> Arrangement:
    """Order the rows by key, if there are keys, then start, ties, and arrival.

    `choice` names the columns of `table`; `stamps` are the rows' starts. Without
    `allow_sort` rows out of order are refused.
    """
    time = TimeOrder(
        declared.name,
        choice.times[0] if choice.times else choice.keys[0],
        stamps,
        tuple((tie, flat_column(declared.name, table, tie)) for tie in choice.order),
        allow_sort,
    )
    if not choice.keys:
        return arrange_by_time(time)
    keyed = read_keys(declared.name, binding, table, choice.keys)
    return arrange_by_key(declared.keys, keyed.codes, time)


def read_keys(
    input: str, binding: InputBinding, table: pa.Table, names: tuple[str, ...]
) -> KeyedTable:
    """Read the key columns of the table that is bound to an input."""
    return binding.memoize((KeyedTable, names), lambda: KeyedTable(input, table, names))


def _empty_rows(declared: Input, kind: StampType, keys: Keys | None) -> InputRows:
    empty = SnapshotBuffer.empty(declared.type)
    groups = None if keys is None else Groups.empty(declared.type)
    return InputRows(empty, kind, keys, groups)


def _read_samples(
    declared: Input, binding: InputBinding, unit: Unit | None
) -> InputRows:
    """Read values without a time column."""
    samples = binding.samples
    assert samples is not None
    shared = share_samples(declared, binding.frame)
    if shared is not None:
        place = address(shared.values), shared.values.dtype, len(shared.values)
        return binding.memoize_view(
            (declared, place),
            lambda: _rows_of_samples(declared, samples, len(shared.values), (shared,)),
        )
    table, choice = read_rows(declared, binding)
    payload, present = _read_payload(declared, choice, table, None, unit)
    return _rows_of_samples(declared, samples, table.num_rows, payload, present)


def _rows_of_samples(
    declared: Input,
    samples: SampleTimes,
    count: int,
    payload: tuple[Column, ...],
    present: BoolArray | None = None,
) -> InputRows:
    """Lay out `count` samples, those that are `present` (None: all)."""
    check_reach(declared, samples, count)
    if count == 0:
        return InputRows(SnapshotBuffer.empty(declared.type), samples.stamps)
    buffer = make_sampled(samples.start, samples.period, count, payload)
    buffer = replace(buffer, before=samples.period)
    return InputRows(select_events(buffer, present, declared.type), samples.stamps)


def select_events(
    buffer: SnapshotBuffer, present: BoolArray | None, payload: Type
) -> SnapshotBuffer:
    """Select the rows that are events."""
    if present is not None:
        buffer = keep_rows(buffer, present, payload)
    if isinstance(payload, Scalar):
        buffer = drop_nulls_at_edges(buffer, payload)
    return buffer


def _read_payload(
    declared: Input,
    choice: Choice,
    table: pa.Table,
    order: RowOrder | None,
    unit: Unit | None,
) -> tuple[tuple[Column, ...], BoolArray | None]:
    """Read the payload columns, and which structs are not null (None: all).

    A row whose struct column is null is no event.

    `choice` names the columns of `table`, `order` is that of the rows, `unit` the
    query's tick.
    """
    payload = read_payload(declared, table, choice.payload, unit, order)
    first = choice.payload[0]
    if len(first) == 1 or table.column(first[0]).null_count == 0:
        return payload, None
    outer = table.column(first[0])
    present = outer.is_valid().to_numpy()
    return payload, present if order is None else present[order.rows]
