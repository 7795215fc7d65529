"""Reading frames in tests: short declarations, rows as tuples, errors in parts."""

import pyarrow as pa
import pytest

from tiltpy import lifetimes
from tiltpy import types as ty
from tiltpy.errors import DataError
from tiltpy.ir.nodes import Input
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.ingest.binding import InputBinding, bind
from tiltpy.runtime.ingest.read_input import InputRows, ingest

POINT = lifetimes.Point()
TRADE = ty.Struct((("price", ty.F64), ("size", ty.I64)))


def m(
    type: ty.Type = ty.I64, lifetime: lifetimes.Lifetime | None = POINT, **facts: object
) -> Input:
    order = facts.get("order", ())
    time = facts.get("time")
    assert isinstance(order, tuple)
    assert time is None or isinstance(time, str)
    return Input("m", type, lifetime, time, order)


def read(
    frame: object,
    declared: Input | None = None,
    unit: ty.Unit | None = None,
    next_stamp: int | None = None,
    *,
    allow_sort: bool = True,
) -> InputRows:
    binding = frame if isinstance(frame, InputBinding) else bind(frame)
    return ingest(
        declared or m(),
        binding,
        unit=unit,
        next_stamp=next_stamp,
        allow_sort=allow_sort,
    )


def events(buffer: SnapshotBuffer) -> list[tuple[object, ...]]:
    """Start, end and payload of each row; a null is None."""
    starts, ends = (times.tolist() for times in buffer.times())
    payload = [
        [value if valid else None for value, valid in zip(values, there, strict=True)]
        for values, there in (
            (c.values[: buffer.n].tolist(), c.valid(buffer.n).tolist())
            for c in buffer.columns
        )
    ]
    return list(zip(starts, ends, *payload, strict=True))


def ticks(*rows: tuple[int, object], type: pa.DataType | None = None) -> pa.Table:
    return pa.table(
        {"t": pa.array([t for t, _ in rows]), "m": pa.array([v for _, v in rows], type)}
    )


def check(
    frame: object,
    declared: Input,
    message: str,
    column: str | None = None,
    row: int | None = None,
    unit: ty.Unit | None = None,
    *,
    allow_sort: bool = True,
) -> None:
    with pytest.raises(DataError) as caught:
        read(frame, declared, unit, allow_sort=allow_sort)
    error = caught.value
    assert (error.input, error.column, error.row) == ("m", column, row)
    assert message in str(error)
    assert str(error).startswith("input 'm'")
