"""Samples that come without a time column: where they start and their period say all.

Values are shared, never copied, where they are of the declared type and in one piece.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.errors import DataError
from tiltpy.ir.nodes import Input
from tiltpy.runtime.bind import First
from tiltpy.runtime.buffers import Column
from tiltpy.runtime.choose import Choice, choose_fields, existing
from tiltpy.runtime.memory import dtype_of
from tiltpy.runtime.payload import read_payload
from tiltpy.types import MAX_TIME, Scalar, Struct, Unit

Mask = NDArray[np.bool_]


def read_samples(
    declared: Input, values: object, unit: Unit | None
) -> tuple[int, tuple[Column, ...], Mask | None]:
    """How many samples there are, their columns, and which are there (None: all)."""
    if isinstance(values, np.ndarray) and isinstance(declared.type, Scalar):
        column = _shared(values, declared.type)
        if column is not None:
            return len(values), (column,), None
    table, choice = choose_samples(declared, values)
    paths = choice.payload
    found = read_payload(declared, table, paths, unit)
    outer = table.column(paths[0][0])
    there = outer.is_valid().to_numpy() if len(paths[0]) > 1 else None
    return table.num_rows, found, there


def choose_samples(declared: Input, values: object) -> tuple[pa.Table, Choice]:
    """The samples as a table, and its columns that are their payload and keys."""
    table = _table_of(declared, values)
    for name in declared.keys:
        existing(declared, table.schema, name)
    return table, Choice((), _choose(declared, table), (), declared.keys)


def check_reach(declared: Input, first: First, period: int, count: int) -> None:
    """Refuse samples that lie beyond all times."""
    if first.time < -MAX_TIME or first.time + count * period > MAX_TIME:
        raise DataError(
            f"{count:,} samples from {first.time} on, {period} ticks apart, leave "
            "±2**62 ticks; use a coarser unit",
            input=declared.name,
        )


def _shared(values: NDArray[np.generic], scalar: Scalar) -> Column | None:
    """A view of an array that holds just what a kernel reads."""
    if scalar.kind == "string":
        return None  # numbers are no codes
    kind = np.dtype(np.bool_) if scalar.kind == "bool" else dtype_of(scalar)
    right = values.dtype == kind and values.ndim == 1 and values.size > 0
    if not right or not values.flags.c_contiguous or not values.flags.aligned:
        return None
    return Column(values.view(dtype_of(scalar)))


def _table_of(declared: Input, values: object) -> pa.Table:
    """The values as columns; what is one column alone has the input's name."""
    if isinstance(values, pa.Table):
        return values
    array = _array_of(declared.name, values)
    if pa.types.is_struct(array.type) and array.null_count == 0:
        return _fields_of(array)
    return pa.table({declared.name: array})


def _array_of(input: str, values: object) -> pa.ChunkedArray:
    try:
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        if hasattr(values, "__arrow_c_array__"):
            array = pa.array(values)
        else:
            if not hasattr(values, "__array__"):
                values = memoryview(values)  # type: ignore[arg-type]
            found = np.ascontiguousarray(values)
            native = found.dtype.newbyteorder("=")
            array = pa.array(found.astype(native, copy=False))
        return pa.chunked_array([array])
    except (pa.ArrowException, TypeError, ValueError) as error:
        kind = type(values)
        raise DataError(
            "expected samples: an array of numpy or Arrow, a column of Polars or "
            "pandas, a table of such, or anything else in one dimension with the Arrow "
            f"PyCapsule interface or the buffer protocol; found "
            f"{kind.__module__}.{kind.__qualname__} ({error})",
            input=input,
        ) from error


def _fields_of(array: pa.ChunkedArray) -> pa.Table:
    names = [field.name for field in array.type]
    return pa.Table.from_arrays(array.flatten(), names=names)


def _choose(declared: Input, table: pa.Table) -> tuple[tuple[str, ...], ...]:
    if isinstance(declared.type, Struct):
        return choose_fields(declared, declared.type, None, table.schema)
    names = [name for name in table.schema.names if name not in declared.keys]
    if names.count(declared.name) == 1:
        return ((declared.name,),)
    if len(names) == 1:
        return ((names[0],),)
    found = ", ".join(f"'{name}'" for name in names)
    raise DataError(
        f"{found or 'no column'} could be the samples; give one column alone, or call "
        f"it '{declared.name}'",
        input=declared.name,
    )
