"""The rows of inputs and outputs one by one, for what looks at a few of them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tiltpy.runtime.buffers import Column, SnapshotBuffer, Times
from tiltpy.runtime.result import OutputTable
from tiltpy.runtime.stamps import OutputStamp
from tiltpy.types import Struct, Type

Number = bool | int | float
Payload = Number | str | Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Rows:
    """Snapshots in order of start: `value(i)` is None where row `i` is φ."""

    starts: Times
    ends: Times
    value: Callable[[int], Payload]


def rows_of_input(buffer: SnapshotBuffer, payload: Type) -> Rows:
    """The rows of an input."""
    starts, ends = buffer.times()
    valid = [column.valid(buffer.n) for column in buffer.columns]

    def value(row: int) -> Payload:
        cells = [
            _cell(column, row) if there[row] else None
            for column, there in zip(buffer.columns, valid, strict=True)
        ]
        return _value(payload, iter(cells))

    return Rows(starts, ends, value)


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


def rows_of_output(output: OutputTable) -> Rows:
    """The snapshots of an output."""
    table = output.to_arrow()
    names = table.column_names[2:]
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

    return Rows(starts, ends, value)


def show_time(ticks: int, stamp: OutputStamp) -> str:
    """A time as the outputs would have it."""
    time = pa.scalar(ticks * stamp.factor, pa.int64()).cast(stamp.type)
    return str(time.cast(pa.string()).as_py())


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of times as numbers."""
    if pa.types.is_temporal(column.type):
        return column.cast(pa.int64())
    return column
