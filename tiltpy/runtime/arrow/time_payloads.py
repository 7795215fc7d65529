"""Payload columns of times and durations: Arrow's types in and out, ticks between.

What holds for the times of rows holds here: a value is a whole number of ticks, zones
never change an instant, and integers are ticks. But a payload may be null.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.errors import DataError
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.dtypes import BoolArray
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.arrays.views import column_array, integers_of
from tiltpy.runtime.arrow.timestamps import (
    OutputStamp,
    StampType,
    advise_unit,
    find_outside,
    format_stamp,
    of_tick,
    stamp_type,
    timestamp,
)
from tiltpy.runtime.arrow.validation import advise_type
from tiltpy.types import NANOSECONDS, Scalar, Unit

Integers = NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class TickColumn:
    """A payload column to convert to ticks; the names are for errors."""

    input: str
    name: str
    array: pa.Array
    scalar: Scalar
    tick: Unit | None

    def error(self, message: str, row: int | None = None) -> DataError:
        """Make an error about the column, or about a row of it (counted from 0)."""
        return DataError(message, input=self.input, column=self.name, row=row)


def ticks_column(column: TickColumn) -> pa.Array:
    """Convert values to ticks, nulls where they were: a view where they are `int64`."""
    array = column.array
    if pa.types.is_null(array.type):
        return array.cast(pa.int64())
    unit = _unit_of(column)
    if array.type == pa.int64():
        return array
    raw = integers_of(array)
    valid: BoolArray | None = None
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        raw = np.where(valid, raw, 0)
    if unit is None or column.tick is None:
        ticks = _multiply(column, raw, 1)
    elif NANOSECONDS[unit] >= NANOSECONDS[column.tick]:
        ticks = _multiply(column, raw, NANOSECONDS[unit] // NANOSECONDS[column.tick])
    else:
        ticks = _divide_exactly(
            column, raw, NANOSECONDS[column.tick] // NANOSECONDS[unit]
        )
    return pa.array(ticks, mask=None if valid is None else ~valid)


def _unit_of(column: TickColumn) -> Unit | None:
    """Find the unit of the column's integers; None for ticks. Refuses other types."""
    kind, name = column.array.type, column.scalar.name
    if pa.types.is_integer(kind):
        return None
    stamp = stamp_type(kind)
    if name == "time" and stamp is not None:
        unit: Unit | None = stamp.unit
    elif name == "duration" and pa.types.is_duration(kind):
        unit = kind.unit
    else:
        wanted = {
            "time": "timestamps, dates or integer ticks",
            "duration": "durations (Arrow's duration[...]) or integer ticks",
        }
        advice = advise_type(kind)
        raise column.error(f"found {kind}, expected {wanted[name]}; {advice}")
    if column.tick is None:
        values = integers_of(column.array.drop_null())
        raise column.error(
            f"found {kind}, but the query has no unit and counts plain ticks; "
            f"{advise_unit(values, unit)}, or bind integers"
        )
    return unit


def _multiply(column: TickColumn, raw: Integers, factor: int) -> Integers:
    """Multiply integers; the products must fit into 64 bits."""
    limits = np.iinfo(np.int64)
    low, high = -(-int(limits.min) // factor), int(limits.max) // factor
    outside = find_outside(raw, low, high)
    if outside.any():
        row = int(outside.argmax())
        raise column.error(
            f"{_format_value(column, int(raw[row]))} is beyond 64 bits of ticks"
            f"{of_tick(column.tick)}; write a coarser unit in the query",
            row,
        )
    return raw.astype(np.int64) * factor


def _divide_exactly(column: TickColumn, raw: Integers, factor: int) -> Integers:
    """Divide integers of a finer unit, which must be whole numbers of ticks."""
    whole = raw.astype(np.int64) // factor
    broken = whole * factor != raw
    if broken.any():
        row = int(broken.argmax())
        finer: Unit = (
            "ms" if pa.types.is_date64(column.array.type) else column.array.type.unit
        )
        raise column.error(
            f"{_format_value(column, int(raw[row]))} is not a whole number of ticks"
            f"{of_tick(column.tick)}; {advise_unit(raw, finer)}, or round the column",
            row,
        )
    return whole


def _format_value(column: TickColumn, value: int) -> str:
    kind = column.array.type
    if pa.types.is_duration(kind):
        return f"{value}{kind.unit}"
    return format_stamp(value, stamp_type(kind) or StampType("ticks"))


def output_type(scalar: Scalar, times: OutputStamp) -> OutputStamp:
    """Choose the type of an output's times or durations by that of its bounds.

    Plain ticks stay `int64`. Else times have the type of `start` and `end`, or where
    those are integers a timestamp without a zone; durations have the unit of those.
    """
    tick = times.tick
    if tick is None:
        return times
    unit: Unit = "s"
    if pa.types.is_timestamp(times.type):
        unit = times.type.unit
    elif times.type == pa.int64():
        unit = timestamp(tick, zoned=False).unit or "s"
    factor = NANOSECONDS[tick] // NANOSECONDS[unit]
    if scalar.kind == "duration":
        return OutputStamp(pa.duration(unit), factor, tick)
    if times.type == pa.int64():
        return OutputStamp(pa.timestamp(unit), factor, tick)
    return times


def ticks_array(
    column: Column, count: int, scalar: Scalar, kind: OutputStamp, output: str
) -> pa.Array:
    """Convert the first `count` rows of a column of ticks to the type that goes out.

    `scalar` is the type in the query, `kind` what goes out; `output` is named in
    errors.
    """
    array = column_array(column, count, scalar)
    width = kind.type.bit_width
    if kind.factor == 1 and width == 64:
        return array.view(kind.type)
    limit = np.iinfo(np.dtype(f"i{width // 8}")).max // kind.factor
    values = column.values[:count].view(np.int64)
    outside = ((values < -limit) | (values > limit)) & column.valid(count)
    if outside.any():
        value = int(values[outside.argmax()])
        raise DataError(
            f"output '{output}': the {scalar} {value} (ticks{of_tick(kind.tick)}) does "
            f"not fit into {kind.type}; write a finer unit in the query, or put out "
            "its ticks, i64(...)"
        )
    scaled = (values * kind.factor).astype(f"i{width // 8}")
    exact = pa.array(scaled, mask=~column.valid(count)) if array.null_count else None
    return (pa.array(scaled) if exact is None else exact).view(kind.type)
