"""Events from the time columns of an input, by its lifetime.

Stamps are read from the frame's columns, or counted for samples that have none.
"""

from dataclasses import replace
from typing import assert_never

import numpy as np
import pyarrow as pa

from tiltpy.abi.layouts import TimeLayout
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.errors import DataError
from tiltpy.ir.nodes import Input
from tiltpy.lifetimes import (
    FixedDuration,
    Interval,
    Lifetime,
    Point,
    Sampled,
    UntilNext,
)
from tiltpy.runtime.arrays.block_passes import find_row
from tiltpy.runtime.arrays.dtypes import I64Array, Steps, Times
from tiltpy.runtime.arrays.pool import empty_times
from tiltpy.runtime.arrays.snapshot_buffer import (
    Column,
    SnapshotBuffer,
    space_equally,
)
from tiltpy.runtime.arrays.steps import layout_of_steps
from tiltpy.runtime.arrays.time_layout import (
    NO_BREAKS,
    Breaks,
    has_period,
    lay_out,
    make_contiguous,
    make_sampled,
    shift_by_one,
)
from tiltpy.runtime.arrow.read_frame import flat_column, says_no_type
from tiltpy.runtime.arrow.select_columns import Choice
from tiltpy.runtime.arrow.timestamps import (
    Stamps,
    StampType,
    TimeColumn,
    empty_stamps,
    format_stamp,
    join_stamp_types,
    to_ticks,
)
from tiltpy.runtime.concurrency.workers import map_portions
from tiltpy.runtime.ingest.binding import SampleTimes
from tiltpy.runtime.ingest.samples import check_reach
from tiltpy.types import ENDLESS, MAX_TIME, Unit


def read_times(
    declared: Input,
    lifetime: Lifetime,
    choice: Choice,
    table: pa.Table,
    unit: Unit | None,
) -> tuple[tuple[Stamps, ...], StampType]:
    """Read the stamps of rows, or their starts and ends, and the kind of times.

    `choice` names the columns of `table`; `unit` is the query's tick. Point stamps are
    one array, intervals two.
    """
    low, high = lifetime.before - MAX_TIME, MAX_TIME - lifetime.after
    columns: list[tuple[Stamps, StampType]] = []
    for name in choice.times:
        array = flat_column(declared.name, table, name)
        if says_no_type(array):
            array = empty_stamps(unit)
        column = TimeColumn(declared.name, name, array, unit, low, high)
        columns.append(to_ticks(column))
    if len(columns) == 1:
        return (columns[0][0],), columns[0][1]
    (starts, first), (ends, second) = columns
    kind = join_stamp_types(first, second)
    if kind is None:
        raise DataError(
            f"'{choice.times[0]}' is {first.kind} and '{choice.times[1]}' is "
            f"{second.kind}; give both the same type",
            input=declared.name,
            column=choice.times[1],
        )
    in_ticks = kind if kind.unit is None else replace(kind, unit=unit)
    _check_intervals(declared, choice, starts.ticks, ends.ticks, in_ticks)
    return (starts, ends), kind


def _check_intervals(
    declared: Input, choice: Choice, starts: Times, ends: Times, kind: StampType
) -> None:

    row = find_row(lambda rows: starts[rows] >= ends[rows], len(starts))
    if row is not None:
        start = format_stamp(int(starts[row]), kind)
        end = format_stamp(int(ends[row]), kind)
        raise DataError(
            f"the event ends at {end}, not after its start {start} in "
            f"'{choice.times[0]}'; an event covers (start, end]",
            input=declared.name,
            column=choice.times[1],
            row=row,
        )


def sample_times(declared: Input, samples: SampleTimes, count: int) -> Stamps:
    """Count the stamps of samples that come without a time column: their ends."""
    check_reach(declared, samples, count)
    first = samples.start + samples.period
    return Stamps(space_equally(first, samples.period, count), in_order=True)


def lay_out_events(
    times: tuple[Times, ...],
    lifetime: Lifetime,
    columns: tuple[Column, ...],
    next_stamp: int | None = None,
    breaks: Breaks = NO_BREAKS,
    steps: Steps | None = None,
) -> SnapshotBuffer:
    """Turn at least one row into events, in order of time within each segment.

    `times` are the stamps of rows, or their starts and ends, in ticks. `breaks` are the
    rows with which segments start (`time_layout`). `next_stamp` is that of the row
    behind the last one, where it is known: without it the last rows of a lifetime that
    needs the next row hold without end. `steps` are those between stamps of a single
    segment, where they are known.
    """
    stamps = times[0]
    match lifetime:
        case Interval():
            return lay_out(stamps, times[1], columns, breaks)
        case UntilNext(longest):
            return _until_next(stamps, longest, columns, next_stamp, breaks)
        case Point() | FixedDuration() | Sampled():
            return _lay_out_stamped(stamps, lifetime, columns, breaks, steps)
        case _:
            assert_never(lifetime)


def _lay_out_stamped(
    stamps: Times,
    lifetime: Point | FixedDuration | Sampled,
    columns: tuple[Column, ...],
    breaks: Breaks,
    steps: Steps | None,
) -> SnapshotBuffer:
    """Lay out events of one length, each around the stamp of its row."""
    before, after = lifetime.before, lifetime.after
    length = before + after
    layout = None if steps is None else layout_of_steps(length, steps)
    if layout is TimeLayout.SAMPLED or (
        layout is None and has_period(stamps, length, breaks)
    ):  # each row ends where the next one starts
        buffer = make_sampled(int(stamps[0]) - before, length, len(stamps), columns)
    else:
        ends = _add(stamps, after) if after else stamps
        starts = _add(stamps, -before)
        if layout is None:
            buffer = lay_out(starts, ends, columns, breaks)
        else:
            first = int(starts[0])
            buffer = SnapshotBuffer(
                layout, len(starts), first, 0, starts, ends, columns
            )
    return SnapshotBuffer(
        buffer.layout,
        buffer.n,
        buffer.start,
        buffer.period,
        buffer.starts,
        buffer.ends,
        columns,
        buffer.fifo,
        points=lifetime.is_point,
        before=before,
    )


def _add(times: Times, ticks: int) -> Times:
    """Add ticks to times; threads share the rows, if they are many."""
    if len(times) < DEFAULT_COSTS.run.portion_rows:
        return times + ticks
    sums = empty_times(len(times))

    def add(rows: slice) -> None:
        np.add(times[rows], ticks, out=sums[rows])

    map_portions(add, len(times))
    return sums


def _until_next(
    stamps: Times,
    longest: int | None,
    columns: tuple[Column, ...],
    next_stamp: int | None,
    breaks: Breaks,
) -> SnapshotBuffer:
    """End each row one tick before the next greater stamp; the last rows are endless.

    For a domain those end at their stamp.

    `stamps` are ticks in order within each segment, `longest` is the most ticks that a
    row holds, `next_stamp` that of the row behind the last one.
    """
    last = np.concatenate((breaks, [len(stamps)])) - 1
    ends, is_tied = _find_ends(stamps, longest, next_stamp, breaks, last)
    if longest is None and not is_tied:
        firsts = np.concatenate((stamps[:1], stamps[breaks])) - 1
        buffer = make_contiguous(firsts, ends, columns, breaks)
    else:
        buffer = lay_out(_add(stamps, -1), ends, columns, breaks)
    if next_stamp is not None:
        return buffer
    return replace(buffer, domain_end=int(stamps[last].max()))


def end_held_rows(stamps: Times, longest: int | None, breaks: Breaks) -> Times:
    """Find the ends of rows that hold until the next one; the last ones are endless.

    As in `lay_out_events`, of one row at least.
    """
    last = np.concatenate((breaks, [len(stamps)])) - 1
    return _find_ends(stamps, longest, None, breaks, last)[0]


def _find_ends(
    stamps: Times,
    longest: int | None,
    next_stamp: int | None,
    breaks: Breaks,
    last: I64Array,
) -> tuple[Times, bool]:
    """Find where rows end that hold, and whether any have one stamp.

    `last` are the last rows of the segments.
    """
    ends = empty_times(len(stamps))

    def end(rows: slice) -> None:
        np.subtract(stamps[shift_by_one(rows)], 1, out=ends[rows])

    map_portions(end, len(stamps) - 1)
    ends[last] = ENDLESS if next_stamp is None else next_stamp - 1
    tied = _find_tied(stamps, breaks)
    if len(tied):  # rows with one stamp end together, as the last of them
        is_last = np.ones(len(tied), np.bool_)
        is_last[:-1] = tied[1:] != tied[:-1] + 1
        last_tied = tied[is_last]
        ends[tied] = ends[last_tied[last_tied.searchsorted(tied)] + 1]
    if longest is not None:
        np.minimum(ends, _add(stamps, longest - 1), out=ends)
    return ends, bool(len(tied))


def _find_tied(stamps: Times, breaks: Breaks) -> I64Array:
    """Find the rows with the stamp of the next row, if that is in their segment."""

    def find(rows: slice) -> I64Array:
        tied: I64Array = (stamps[shift_by_one(rows)] == stamps[rows]).nonzero()[0]
        tied += rows.start
        return tied

    tied: I64Array = np.concatenate(map_portions(find, len(stamps) - 1))
    if not len(tied) or not len(breaks):
        return tied
    heads = breaks.take(breaks.searchsorted(tied + 1), mode="clip")
    return np.compress(heads != tied + 1, tied)
