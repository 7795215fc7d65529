"""Time stamps in Arrow's types and in ticks: units, zones, and what does not fit.

Zones never change an instant: Arrow stores zoned stamps in UTC, and ticks count from
1970 in UTC. A stamp without a zone counts from 1970 in its own wall-clock time.
"""

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.errors import DataError
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.block_passes import find_row
from tiltpy.runtime.arrays.dtypes import BoolArray, Steps, Times
from tiltpy.runtime.arrays.pool import empty_times
from tiltpy.runtime.arrays.steps import find_steps
from tiltpy.runtime.arrays.time_layout import shift_by_one
from tiltpy.runtime.arrays.views import array_of, integers_of
from tiltpy.runtime.concurrency.workers import map_portions
from tiltpy.types import MAX_TIME, NANOSECONDS, Unit
from tiltpy.zones import find_stamp_zone_fault


@dataclass(frozen=True, slots=True)
class StampType:
    """The kind of a time column: plain ticks (integers), dates or timestamps.

    `unit` is that of its integers, None for plain ticks.
    """

    kind: Literal["ticks", "date", "timestamp"]
    unit: Unit | None = None
    zone: str | None = None

    @property
    def precision(self) -> Unit | None:
        """The finest unit that the stamps can tell apart."""
        return "d" if self.kind == "date" else self.unit


NUMPY_UNITS = {"d": "D"}
"""Units that numpy spells otherwise."""

NOT_A_TIME = -(1 << 63)
"""The count that numpy takes for no time at all."""

PLAIN_TICKS = StampType("ticks")


@dataclass(frozen=True, slots=True)
class Stamps:
    """A time column in ticks; `in_order` says that no stamp is below the one before.

    `steps` are those between stamps in order, where they were found.
    """

    ticks: Times
    in_order: bool
    steps: Steps | None = None


@dataclass(frozen=True, slots=True)
class OutputStamp:
    """The Arrow type of an output's times, `factor` of whose units make a tick."""

    type: pa.DataType
    factor: int
    tick: Unit | None

    @property
    def counts_ticks(self) -> bool:
        """Return whether times are ticks in 64 bits."""
        return self.factor == 1 and bool(self.type.bit_width == 64)


def stamp_type(type: pa.DataType) -> StampType | None:
    """Find the kind of times of an Arrow type; None if it holds none."""
    if pa.types.is_timestamp(type):
        return StampType("timestamp", type.unit, type.tz or None)
    if pa.types.is_date32(type):
        return StampType("date", "d")
    if pa.types.is_date64(type):
        return StampType("date", "ms")
    return PLAIN_TICKS if pa.types.is_integer(type) else None


def find_zone_error(type: pa.DataType) -> str | None:
    """Explain that a type has an unknown zone, in which nothing could write a time."""
    zone = type.tz if pa.types.is_timestamp(type) else None
    hint = find_stamp_zone_fault(zone) if zone else None
    return hint and (
        f"found {type}, whose time zone is unknown; {hint}; cast it to a zone that is "
        "known, like UTC, which moves no time"
    )


def timestamp(tick: Unit | None, *, zoned: bool) -> StampType:
    """Describe a column whose stamps are whole ticks; its zone, if any, is UTC."""
    unit = min(tick or "s", "s", key=NANOSECONDS.__getitem__)
    return StampType("timestamp", unit, "UTC" if zoned else None)


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """A time column to convert to ticks; the names are for errors.

    `low` and `high` bound its ticks: with what a lifetime adds they must fit, too.
    """

    input: str
    name: str
    array: pa.Array
    tick: Unit | None
    low: int = -MAX_TIME
    high: int = MAX_TIME

    def error(self, message: str, row: int | None = None) -> DataError:
        """Make an error about the column, or about a row of it (counted from 0)."""
        return DataError(message, input=self.input, column=self.name, row=row)


def to_ticks(column: TimeColumn) -> tuple[Stamps, StampType]:
    """Convert stamps to ticks: a view where they count ticks in 64 bits already."""
    kind = _check_type(column)
    raw = integers_of(column.array)
    steps, disorder = find_order(raw)
    in_order = disorder is None
    if kind.unit is None or column.tick is None or kind.unit == column.tick:
        _check_range(column, kind, raw, column.low, column.high, in_order=in_order)
        return Stamps(raw.astype(np.int64, copy=False), in_order, steps), kind
    unit, tick = NANOSECONDS[kind.unit], NANOSECONDS[column.tick]
    if unit >= tick:
        factor = unit // tick
        low, high = -(-column.low // factor), column.high // factor
        _check_range(column, kind, raw, low, high, in_order=in_order)
        if steps is not None:
            steps = factor * steps[0], factor * steps[1]
        return Stamps(_multiply(raw, factor), in_order, steps), kind
    factor = tick // unit
    low, high = column.low * factor, column.high * factor
    _check_range(column, kind, raw, low, high, in_order=in_order)
    return Stamps(_divide(column, kind, raw, factor), in_order), kind


def find_order(stamps: NDArray[np.integer]) -> tuple[Steps | None, int | None]:
    """Find the steps between stamps, where they are in order and of 64 bits.

    With them the first row that is out of order, if any is.
    """
    steps = find_steps(stamps.view(np.int64)) if stamps.dtype == np.int64 else None
    return steps, None if steps is not None else find_disorder(stamps)


def find_disorder(stamps: NDArray[np.integer]) -> int | None:
    """Find the first row whose stamp is below that of the row before; None in order."""
    above = find_row(
        lambda rows: stamps[shift_by_one(rows)] < stamps[rows], len(stamps) - 1
    )
    return None if above is None else above + 1


def find_range(numbers: NDArray[np.integer]) -> tuple[int, int]:
    """Find the least and the greatest of at least one integer."""
    bounds = map_portions(
        lambda rows: (int(numbers[rows].min()), int(numbers[rows].max())), len(numbers)
    )
    return min(low for low, _ in bounds), max(high for _, high in bounds)


def _check_type(column: TimeColumn) -> StampType:
    arrow_type = column.array.type
    kind = stamp_type(arrow_type)
    if pa.types.is_null(arrow_type) and len(column.array):
        raise column.error("the time is null; fill it in, or drop the row", 0)
    if kind is None:
        raise column.error(
            f"found {arrow_type}, expected times (timestamps, dates or integer ticks); "
            f"cast it{_in_csv(arrow_type)}"
        )
    zone_error = find_zone_error(arrow_type)
    if zone_error is not None:
        raise column.error(zone_error)
    if kind.unit is not None and column.tick is None:
        stamps = integers_of(column.array.drop_null())
        raise column.error(
            f"found {arrow_type}, but the query has no unit and counts plain ticks; "
            f"{advise_unit(stamps, kind.unit)}, or bind integers"
        )
    if column.array.null_count:
        row = int(column.array.is_null().index(pa.scalar(True)).as_py())
        raise column.error("the time is null; fill it in, or drop the row", row)
    return kind


def _in_csv(kind: pa.DataType) -> str:
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return ", or write it like 2013-03-01 09:30:00 in CSV" if text else ""


def _check_range(
    column: TimeColumn,
    kind: StampType,
    raw: NDArray[np.integer],
    low: int,
    high: int,
    *,
    in_order: bool,
) -> None:
    if len(raw) == 0:
        return
    least, greatest = (raw[0], raw[-1]) if in_order else find_range(raw)
    if low <= int(least) and int(greatest) <= high:
        return
    row = int(find_outside(raw, low, high).argmax())
    raise column.error(
        f"the time {format_stamp(int(raw[row]), kind)} is too far from 0: with its "
        f"lifetime it must lie within ±2**62 ticks{of_tick(column.tick)}",
        row,
    )


def find_outside(raw: NDArray[np.integer], low: int, high: int) -> BoolArray:
    """Mark the integers outside of bounds, which may exceed the range of their type."""
    limits = np.iinfo(raw.dtype)
    outside = np.zeros(len(raw), np.bool_)
    if low > limits.min:
        outside |= raw < low
    if high < limits.max:
        outside |= raw > high
    return outside


def _divide(
    column: TimeColumn, kind: StampType, raw: NDArray[np.integer], factor: int
) -> Times:
    """Divide stamps of a finer unit, which must be whole numbers of ticks.

    A tick is `factor` units of the stamps `raw`; `column` and `kind` are for errors.
    """
    ticks = empty_times(len(raw))

    def divide(rows: slice) -> BoolArray:
        """Divide a block; tell which of its rows are no whole number of ticks."""
        stamps = raw[rows].astype(np.int64, copy=False)
        quotients = np.floor_divide(stamps, factor, out=ticks[rows])
        inexact: BoolArray = quotients * factor != stamps
        return inexact

    row = find_row(divide, len(raw))
    if row is not None:
        raise column.error(
            f"stamp {format_stamp(int(raw[row]), kind)} is not a whole number of ticks"
            f"{of_tick(column.tick)}; {advise_unit(raw, kind.unit)}, or round the "
            "column",
            row,
        )
    return ticks


def advise_unit(raw: NDArray[np.integer], unit: Unit | None) -> str:
    """Advise the coarsest unit of which integers of a `unit` are whole numbers.

    Integers of no unit count as nanoseconds; where all are 0, any unit would do.
    """
    size = NANOSECONDS[unit or "ns"]
    step = int(np.gcd.reduce(raw.astype(np.int64))) * size or size
    whole = [other for other, size in NANOSECONDS.items() if step % size == 0]
    coarsest = max(whole, key=NANOSECONDS.__getitem__)
    return (
        f"write `unit {coarsest}` in the query "
        f'(in Python `compile(..., unit="{coarsest}")`)'
    )


def _multiply(raw: NDArray[np.integer], factor: int) -> Times:
    """Multiply stamps of a coarser unit."""
    ticks = empty_times(len(raw))

    def multiply(rows: slice) -> None:
        np.multiply(raw[rows], factor, out=ticks[rows], dtype=np.int64)

    map_portions(multiply, len(raw))
    return ticks


def of_tick(tick: Unit | None) -> str:
    """Say how long a tick is, where messages count in ticks."""
    return f" of 1 {tick}" if tick else ""


def format_stamp(value: int, kind: StampType) -> str:
    """Format a stored stamp."""
    if kind.unit is None:
        return str(value)
    if value == NOT_A_TIME:
        return f"{value} {kind.unit} from 1970"
    unit = NUMPY_UNITS.get(kind.unit, kind.unit)
    text = str(np.array(value, np.int64).view(f"M8[{unit}]"))
    return text.replace("T", " ") + (" UTC" if kind.zone else "")


def empty_stamps(tick: Unit | None) -> pa.Array:
    """Make an empty column of stamps, for a frame without rows or types."""
    if tick is None:
        return pa.array([], pa.int64())
    return pa.array([], pa.timestamp(min(tick, "s", key=NANOSECONDS.__getitem__)))


def join_stamp_types(first: StampType, second: StampType) -> StampType | None:
    """Find the type that holds the stamps of both; None if one alone has ticks."""
    if first == second:
        return first
    if first.precision is None or second.precision is None:
        return None
    units: tuple[Unit, ...] = ("s", first.precision, second.precision)
    unit = min(units, key=NANOSECONDS.__getitem__)
    zone = first.zone if first.zone == second.zone else "UTC"
    return StampType("timestamp", unit, zone)


def output_stamp(inputs: Mapping[str, StampType], tick: Unit | None) -> OutputStamp:
    """Choose the type of an output's times, from those of all inputs by name.

    Plain ticks stay int64. Otherwise it is the finer of the tick and the inputs' finest
    unit (`s` where Arrow has none as coarse; dates where all are dates and the tick is
    a day) in the inputs' zone, or in UTC where they do not agree on one.
    """
    stamps = tuple(inputs.values())
    plain: list[str] = []
    timed: list[str] = []
    for name, stamp in inputs.items():
        (plain if stamp.kind == "ticks" else timed).append(name)
    if plain and timed:
        raise DataError(
            f"input '{plain[0]}' has integer ticks and input '{timed[0]}' has "
            "timestamps; bind one kind of times in one query"
        )
    if plain or tick is None:
        return OutputStamp(pa.int64(), 1, tick)
    if stamps and tick == "d" and all(stamp.kind == "date" for stamp in stamps):
        return OutputStamp(pa.date32(), 1, tick)
    units: list[Unit] = [tick, "s", *(s.precision for s in stamps if s.precision)]
    unit = min(units, key=NANOSECONDS.__getitem__)
    zones = {stamp.zone for stamp in stamps}
    zone = zones.pop() if len(zones) == 1 else "UTC" if zones else None
    factor = NANOSECONDS[tick] // NANOSECONDS[unit]
    return OutputStamp(pa.timestamp(unit, zone), factor, tick)


def from_ticks(times: Times, stamp: OutputStamp, output: str) -> pa.Array:
    """Convert times to an Arrow column: a view where it counts ticks in 64 bits."""
    if stamp.counts_ticks:
        return array_of(times, None, stamp.type)
    bits = stamp.type.bit_width
    limit = ((1 << (bits - 1)) - 1) // stamp.factor
    if limit < MAX_TIME and len(times):
        outside = (times < -limit) | (times > limit)
        if outside.any():
            time = int(times[outside.argmax()])
            raise DataError(
                f"output '{output}': the time {time} (ticks{of_tick(stamp.tick)}) does "
                f"not fit into {stamp.type}; bind inputs with coarser stamps, or cut "
                "the run with start= and end="
            )
    if stamp.factor != 1:
        times = times * stamp.factor
    if bits != 64:
        times = times.astype(f"i{bits // 8}")
    return array_of(times, None, stamp.type)
