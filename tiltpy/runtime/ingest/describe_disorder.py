"""The disorder of a table's rows, and what each reorder latency would do to them."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.lean_dataclass import dataclass
from tiltpy.messages import quantity
from tiltpy.runtime.arrays.dtypes import Times
from tiltpy.runtime.arrays.views import integers_of
from tiltpy.runtime.arrow.read_frame import flat_column
from tiltpy.runtime.arrow.timestamps import StampType, find_range, stamp_type
from tiltpy.runtime.ingest.describe_table import choose_times
from tiltpy.runtime.ingest.disorder import Arrivals, Disorder, measure_disorder
from tiltpy.runtime.ingest.group_by_code import group_rows
from tiltpy.runtime.ingest.key_codes import KeyedTable
from tiltpy.runtime.ingest.row_order import move_times
from tiltpy.types import MAX_TIME, NANOSECONDS, Unit

COUNTS: dict[Unit, tuple[int, ...]] = {
    "us": (1, 10, 100), "ms": (1, 10, 100), "s": (1, 10), "m": (1, 10), "h": (1, 6),
    "d": (1, 7, 30, 365),
}  # fmt: skip
"""Round latencies; those in plain ticks are powers of 10."""


@dataclass(frozen=True, slots=True)
class LatencyEffect:
    """A reorder latency, as an option spells it, and what it does to rows."""

    latency: str
    late: int
    """Rows that it would lose."""
    waiting: int
    """Rows that wait at the same time, at most."""


@dataclass(frozen=True, slots=True)
class DisorderReport:
    """The disorder of rows, of the times of a column."""

    time: str
    type: str
    rows: int
    keys: int | None
    measures: Disorder
    effects: tuple[LatencyEffect, ...]
    """From no latency to one that loses no row, the last."""


def describe_disorder(
    table: pa.Table, name: str, time: str | None, by: Sequence[str]
) -> DisorderReport:
    """Describe the disorder of rows in the order of a table.

    `time` is the column of times, found where it is None. With columns `by` those of
    each key have a clock of their own. `name` is what errors call the table.
    """
    column = choose_times(table, name, time, by)
    kind, ticks = _read_times(table, name, column)
    arrivals, keys = _arrange(table, name, ticks, by)
    return DisorderReport(
        column,
        str(table.schema.field(column).type),
        len(ticks),
        keys,
        measure_disorder(arrivals.times),
        tuple(_find_effects(arrivals, kind)),
    )


def _read_times(table: pa.Table, name: str, column: str) -> tuple[StampType, Times]:
    """Read times as they are written, in units of their column."""
    array = flat_column(name, table, column)
    kind = stamp_type(array.type)
    assert kind is not None
    if array.null_count:
        raise DataError(
            f"{name}: column '{column}' has no time in "
            f"{quantity(array.null_count, 'row')}; fill them in, or drop the rows"
        )
    if not len(array):
        raise DataError(f"{name}: there are no rows; disorder needs some")
    times = integers_of(array)
    if max(-int(times.min()), int(times.max())) > MAX_TIME:
        raise DataError(
            f"{name}: column '{column}' has times beyond ±2**62, which no query reads; "
            "name the column of times: --time COLUMN, or drop the rows"
        )
    return kind, times.astype(np.int64)


def _arrange(
    table: pa.Table, name: str, ticks: Times, by: Sequence[str]
) -> tuple[Arrivals, int | None]:
    """Bring rows of one key together, and count the keys; each is above the others."""
    rows = np.arange(len(ticks))
    least, greatest = find_range(ticks)
    if not by:
        return Arrivals(ticks, rows, np.full(len(ticks), len(ticks))), None
    codes = KeyedTable(name, table, by).codes
    groups = group_rows(codes.codes, codes.size)
    keys, span = len(groups.codes), greatest - least + 1
    if keys * span > MAX_TIME:
        raise DataError(
            f"{name}: {quantity(keys, 'key')} over so much time are too many; leave "
            "--by out, or try a part of the rows"
        )
    counts = np.diff(groups.offsets)
    shifts = np.repeat(np.arange(keys) * span - least, counts)
    times = move_times(ticks, groups.order) + shifts
    if groups.order is not None:
        rows = groups.order.rows.astype(np.int64)
    return Arrivals(times, rows, np.repeat(groups.offsets[1:], counts)), keys


def _find_effects(arrivals: Arrivals, kind: StampType) -> Iterator[LatencyEffect]:
    """Yield the effect of no latency, of round ones that lose less, and of the last."""
    delays = np.sort(arrivals.delays)
    last, before = int(delays[-1]), None
    for latency, text in [*_round_latencies(kind, last), (last, None)]:
        late = len(delays) - int(delays.searchsorted(latency, "right"))
        if late != before:
            spelled = text or _spell(last, kind)
            yield LatencyEffect(spelled, late, arrivals.count_waiting(latency))
        before = late


def _round_latencies(kind: StampType, last: int) -> Iterator[tuple[int, str]]:
    """Yield round latencies in units of a column, which are less than the last."""
    if last > 0:
        yield 0, "0"
    if kind.unit is None:
        yield from ((10**n, f"{10**n}") for n in range(19) if 10**n < last)
        return
    unit = NANOSECONDS[kind.unit]
    for name, counts in COUNTS.items():
        for count in counts:
            latency, rest = divmod(count * NANOSECONDS[name], unit)
            if not rest and latency < last:
                yield latency, f"{count}{name}"


def _spell(latency: int, kind: StampType) -> str:
    """Spell a latency in the greatest unit that divides it."""
    if kind.unit is None or latency == 0:
        return f"{latency}"
    size = latency * NANOSECONDS[kind.unit]
    units: list[Unit] = [unit for unit in NANOSECONDS if size % NANOSECONDS[unit] == 0]
    unit = max(units, key=NANOSECONDS.__getitem__)
    return f"{size // NANOSECONDS[unit]}{unit}"
