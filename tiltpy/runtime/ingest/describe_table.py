"""A table as a query sees it: its times, keys, values, and its pace."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.lean_dataclass import dataclass
from tiltpy.limits import MAX_FIELDS, MAX_NAME
from tiltpy.runtime.arrays.views import integers_of
from tiltpy.runtime.arrow.decode import plain_type
from tiltpy.runtime.arrow.display import format_values
from tiltpy.runtime.arrow.encode_strings import is_string
from tiltpy.runtime.arrow.files import read_source
from tiltpy.runtime.arrow.parquet_scan import ParquetScan, several_columns
from tiltpy.runtime.arrow.read_frame import flat_column, payload_array
from tiltpy.runtime.arrow.select_columns import TIME_NAMES
from tiltpy.runtime.arrow.sources import TableSource
from tiltpy.runtime.arrow.timestamps import stamp_type
from tiltpy.runtime.ingest.text_types import hint_dates, parse_dates
from tiltpy.types import MAX_OFFSET, NANOSECONDS, STRING

STEPS = (
    ("ns", 1), ("us", 10**3), ("ms", 10**6), ("s", 10**9), ("m", 60 * 10**9),
    ("h", 3600 * 10**9), ("d", 86_400 * 10**9),
)  # fmt: skip
COUNTS = {"m": (1, 5, 15), "h": (1, 6), "d": (1, 7, 30)}
"""The round numbers of a unit that a grid may have; others are powers of 10."""


TIME_COLUMNS = ("start", "end")
"""The columns of outputs that no key can have the name of."""


@dataclass(frozen=True, slots=True)
class TableDescription:
    """Facts that a query over a table needs."""

    time: str | None
    """The column of times; None where it has no name, and a query finds it alone."""
    key: str | None
    fields: dict[str, str]
    """The payload's columns, and the types that the query calls them."""
    unit: str | None
    step: str
    columns: list[tuple[str, str, str]]
    """The name, first value and type of each column."""


def describe_table(
    table: pa.Table, name: str, time: str | None, key: str | None
) -> TableDescription:
    """Describe a table; `time` and `key` are columns, found where they are None.

    `name` is what errors call it. What a query cannot call by its name is left out.
    """
    if key in TIME_COLUMNS:
        raise DataError(
            f"{name}: column '{key}' is no key, as outputs have a column of times with "
            "this name; rename it"
        )
    for column in table.column_names:
        _check_single(table, name, column)
    stamps = choose_times(table, name, time, [key] if key else [])
    types = {f.name: _type_of(f.type) for f in table.schema if f.name != stamps}
    keys = (column for column, kind in types.items() if _is_key(table, column, kind))
    chosen = key or next(keys, None)
    unit, step = _steps(flat_column(name, table, stamps))
    readable = (
        (column, kind)
        for column, kind in types.items()
        if kind is not None
        and column != chosen
        and _is_name(column)
        and (unit is not None or kind != "time")  # which is read in a unit
    )
    fields = dict(islice(readable, MAX_FIELDS))
    if not fields:
        raise DataError(f"{name}: it has times and keys, but no column of values")
    columns = [
        (field.name, _first_value(table, field), str(field.type))
        for field in table.schema
    ]
    time = stamps if _is_name(stamps) else None
    return TableDescription(time, chosen, fields, unit, step, columns)


def choose_times(
    table: pa.Table, name: str, time: str | None, keys: Sequence[str]
) -> str:
    """Choose the column of times.

    Raises `DataError` where it has none, or it or one of the keys is not there.
    """
    times = [time] if time else time_candidates(table)
    listed = ", ".join(f"'{each}'" for each in table.column_names)
    for column in (*times, *keys):
        if column not in table.column_names:
            raise DataError(f"{name}: there is no column '{column}'; there is {listed}")
        _check_single(table, name, column)
    if not times:
        raise DataError(
            f"{name}: found no times in {listed}; name their column: --time COLUMN, "
            "or bind samples at a fixed rate in Python: tilt.sampled(...)"
        )
    kind = flat_column(name, table, times[0]).type
    if stamp_type(kind) is None:
        raise DataError(
            f"{name}: column '{times[0]}' is of {kind}; expected timestamps, dates or "
            "integer ticks; name the column of times: --time COLUMN"
        )
    return times[0]


def _check_single(table: pa.Table, name: str, column: str) -> None:
    """Refuse the name of several columns."""
    if table.column_names.count(column) > 1:
        raise several_columns(name, column)


def first_rows(source: TableSource | ParquetScan, rows: int) -> pa.Table:
    """Read the first rows of a source; texts of dates become times."""
    if isinstance(source, ParquetScan):
        scan: ParquetScan | None = source
    elif source.format.name == "Parquet" and source.content is None:
        scan = ParquetScan((Path(source.name),))
    else:
        scan = None
    if scan is not None:
        batches = scan.batches(scan.schema.names, rows)
        first = next((batch.table for batch in batches), None)
        return scan.schema.empty_table() if first is None else first
    assert isinstance(source, TableSource)
    return all_rows(source).slice(0, rows)


def all_rows(source: TableSource) -> pa.Table:
    """Read all rows of a source; texts of dates become times."""
    table = read_source(source)
    if not source.format.is_text:
        return table
    if source.style.date_format is None and not time_candidates(table):
        hint = hint_dates(table, source)
        if hint is not None:
            raise DataError(f"{source.name}: no column is of times; {hint}")
    return parse_dates(table, source, source.name)


def time_candidates(table: pa.Table) -> list[str]:
    """Find the columns that may be the times: stamps and dates, else by their names."""
    stamps = [f.name for f in table.schema if _type_of(f.type) == "time"]
    named = [
        f.name
        for f in table.schema
        if pa.types.is_integer(f.type) and f.name.lower() in TIME_NAMES
    ]
    return stamps or named


def _is_name(column: str) -> bool:
    """Tell whether a query can have the name: pandas writes an index without one."""
    return 0 < len(column) <= MAX_NAME


def _first_value(table: pa.Table, field: pa.Field) -> str:
    if _type_of(field.type) is None or not table.num_rows:
        return ""
    return format_values(table.column(field.name).slice(0, 1))[0]


def _type_of(kind: pa.DataType) -> str | None:
    """Name the type in a query; None where there is none."""
    types, kind = pa.types, plain_type(kind)
    if types.is_integer(kind):
        return ("i" if types.is_signed_integer(kind) else "u") + str(kind.bit_width)
    if types.is_floating(kind):
        return f"f{max(32, kind.bit_width)}"
    if types.is_boolean(kind):
        return "bool"
    if is_string(kind) and not types.is_null(kind):
        return "string"
    return "time" if types.is_timestamp(kind) or types.is_date(kind) else None


def _is_key(table: pa.Table, name: str, kind: str | None) -> bool:
    """Tell whether a column looks like keys: texts, each in several rows."""
    if kind != "string" or name in TIME_COLUMNS or not _is_name(name):
        return False
    distinct = len(payload_array(name, table, STRING, name).dictionary)
    return bool(1 < distinct <= table.num_rows // 5)


def _steps(times: pa.Array) -> tuple[str | None, str]:
    """Choose the unit of the query, and the step of its grid: a few rows."""
    kind = stamp_type(times.type)
    assert kind is not None
    stamps = np.sort(integers_of(times.drop_null()))
    if kind.unit is None:
        return None, str(min(10 * max(1, _gap(stamps)), MAX_OFFSET))
    own = NANOSECONDS[kind.unit]
    units = [(u, size) for u, size in reversed(STEPS) if u not in {"m", "h"}]
    unit = next(
        u for u, size in units if size <= own or not (stamps % (size // own)).any()
    )
    tick = dict(STEPS)[unit]
    least = max(10 * _gap(stamps) * own, tick)
    grids = (
        (count * size, f"{count}{name}")
        for name, size in STEPS
        for count in COUNTS.get(name, (1, 10, 100))
        if count * size % tick == 0
    )
    return unit, next((text for size, text in grids if size >= least), "365d")


def _gap(stamps: "np.ndarray[Any, Any]") -> int:
    gaps = np.diff(stamps)
    return int(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 1
