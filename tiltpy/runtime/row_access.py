"""The rows of inputs and outputs one by one, for what looks at a few of them."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.dtypes import Times
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.arrow.timestamps import OutputStamp
from tiltpy.runtime.ingest.read_input import InputRows
from tiltpy.runtime.results.output_table import OutputTable
from tiltpy.types import Struct, Type

Number = bool | int | float
Payload = Number | str | dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class SampleRows:
    """Snapshots in order of start: `value(i)` is None where row `i` is φ.

    `key` says whose they are, where they are by key.
    """

    starts: Times
    ends: Times
    value: Callable[[int], Payload]
    key: str = ""


def rows_of_input(read: InputRows, payload: Type, most: int) -> list[SampleRows]:
    """The rows of an input; by key, those of so many keys at most."""
    if read.groups is None or read.keys is None:
        return [_rows(read.buffer, payload, "")]
    step = max(1, -(-len(read.groups) // most))
    return [
        _rows(read.groups.segment(key), payload, read.keys.show(key))
        for key in range(0, len(read.groups), step)
    ]


def _rows(buffer: SnapshotBuffer, payload: Type, key: str) -> SampleRows:
    starts, ends = buffer.times()
    bounds = buffer.bounds()
    if bounds is not None:
        ends = np.minimum(ends, bounds[1])
    valid = [column.valid(buffer.n) for column in buffer.columns]

    def value(row: int) -> Payload:
        cells = [
            _cell(column, row) if there[row] else None
            for column, there in zip(buffer.columns, valid, strict=True)
        ]
        return _value(payload, iter(cells))

    return SampleRows(starts, ends, value, key)


def _cell(column: Column, row: int) -> Number | str:
    """The value of a row that is not null."""
    code: Number = column.values[row].item()
    if column.strings is None:
        return code
    return str(column.strings.values[int(code)].as_py())


def _value(payload: Type, cells: Iterator[Number | str | None]) -> Payload:
    """A payload from its columns; a struct in one has a flag before its own."""
    if not isinstance(payload, Struct):
        return next(cells)
    found: dict[str, Any] = {}
    for name, of in payload.fields:
        there = not isinstance(of, Struct) or next(cells) is not None
        inner = _value(of, cells)
        found[name] = inner if there else None
    return found


def rows_of_output(output: OutputTable, most: int) -> list[SampleRows]:
    """The snapshots of an output, in order of key; those of so many keys at most."""
    table = output.to_arrow()
    names = table.column_names[len(output.keys) + 2 :]
    starts, ends = (
        np.asarray(table[name].cast(pa.int64())) // output.stamp.factor
        for name in ("start", "end")
    )
    cells = [_plain(table[name]) for name in names]

    def value(row: int) -> Payload:
        found = [column[row].as_py() for column in cells]
        if isinstance(output.type, Struct):
            return dict(zip(names, found, strict=True))
        one: Payload = found[0]
        return one

    keys = list(output.rows_by_key())
    return [
        SampleRows(starts[rows], ends[rows], partial(_from, value, rows.start), key)
        for key, rows in keys[:: max(1, -(-len(keys) // most))]
    ]


def _from(value: Callable[[int], Payload], first: int, row: int) -> Payload:
    return value(first + row)


def show_time(ticks: int, stamp: OutputStamp) -> str:
    """A time as the outputs would have it."""
    time = pa.scalar(ticks * stamp.factor, pa.int64()).cast(stamp.type)
    return str(time.cast(pa.string()).as_py())


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of times as numbers."""
    if pa.types.is_temporal(column.type):
        return column.cast(pa.int64())
    return column
