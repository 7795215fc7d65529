"""The times of an input's rows, from the frame's columns or counted."""

import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.ir.nodes import Input
from tiltpy.runtime.arrays.snapshot_buffer import Times, equally_spaced
from tiltpy.runtime.arrow.read_frame import flat_column, says_no_type
from tiltpy.runtime.arrow.select_columns import Choice
from tiltpy.runtime.arrow.timestamps import (
    Stamps,
    StampType,
    TimeColumn,
    in_ticks,
    joined,
    no_stamps,
    show,
    to_ticks,
)
from tiltpy.runtime.ingest.binding import First
from tiltpy.runtime.ingest.lifetimes import extent
from tiltpy.runtime.ingest.samples import check_reach
from tiltpy.types import MAX_TIME, Lifetime, Sampled, Unit


def read_times(
    declared: Input,
    lifetime: Lifetime,
    choice: Choice,
    table: pa.Table,
    unit: Unit | None,
) -> tuple[tuple[Stamps, ...], StampType]:
    """The stamps of rows, or their starts and ends, and the kind of times they are."""
    below, above = extent(lifetime)
    low, high = below - MAX_TIME, MAX_TIME - above
    found: list[tuple[Stamps, StampType]] = []
    for name in choice.times:
        array = flat_column(declared.name, table, name)
        if says_no_type(array):
            array = no_stamps(unit)
        found.append(to_ticks(TimeColumn(declared.name, name, array, unit, low, high)))
    if len(found) == 1:
        return (found[0][0],), found[0][1]
    (starts, first), (ends, second) = found
    kind = joined(first, second)
    if kind is None:
        raise DataError(
            f"'{choice.times[0]}' is {first.kind} and '{choice.times[1]}' is "
            f"{second.kind}; give both the same type",
            input=declared.name,
            column=choice.times[1],
        )
    _check_intervals(declared, choice, starts.ticks, ends.ticks, in_ticks(kind, unit))
    return (starts, ends), kind


def _check_intervals(
    declared: Input, choice: Choice, starts: Times, ends: Times, kind: StampType
) -> None:
    bad = starts >= ends
    if bad.any():
        row = int(bad.argmax())
        raise DataError(
            f"the event ends at {show(int(ends[row]), kind)}, not after its start "
            f"{show(int(starts[row]), kind)} in '{choice.times[0]}'; an event covers "
            "(start, end]",
            input=declared.name,
            column=choice.times[1],
            row=row,
        )


def sample_times(declared: Input, first: First, count: int) -> Stamps:
    """The stamps of samples that come without a time column: their ends."""
    assert isinstance(declared.lifetime, Sampled)
    period = declared.lifetime.period
    check_reach(declared, first, period, count)
    return Stamps(equally_spaced(first.time + period, period, count), in_order=True)
