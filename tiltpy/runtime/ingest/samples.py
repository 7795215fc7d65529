"""Samples without a time column, whose times follow from their start and period.

Values are shared, never copied, where they are of the declared type and contiguous.
"""

import sys

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.errors import DataError
from tiltpy.ir.nodes import Input
from tiltpy.messages import quantity
from tiltpy.runtime.arrays.pool import dtype_of
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.arrow.read_frame import IN_MEMORY, as_pyarrow_table, package_of
from tiltpy.runtime.arrow.select_columns import Choice, check_column_name, choose_fields
from tiltpy.runtime.arrow.validation import check_column
from tiltpy.runtime.concurrency.offload import in_caller
from tiltpy.runtime.ingest.binding import SampleTimes
from tiltpy.types import MAX_TIME, Scalar, Struct


def share_samples(declared: Input, values: object) -> Column | None:
    """View a numpy array of the memory layout that kernels read; None of all else."""
    if not isinstance(values, np.ndarray) or not isinstance(declared.type, Scalar):
        return None
    return None if _is_masked(values) else _view_column(values, declared.type)


def choose_samples(declared: Input, values: object) -> tuple[pa.Table, Choice]:
    """Read the samples as a table, and choose its columns of payload and keys."""
    table = _table_of(declared, values)
    for name in declared.keys:
        check_column_name(declared, table.schema, name)
    return table, Choice((), _choose(declared, table), (), declared.keys)


def check_reach(declared: Input, samples: SampleTimes, count: int) -> None:
    """Refuse samples that leave the range of times."""
    start, period = samples.start, samples.period
    if start < -MAX_TIME or start + count * period > MAX_TIME:
        raise DataError(
            f"{quantity(count, 'sample')} from {start} on, every "
            f"{quantity(period, 'tick')}, beyond ±2**62 ticks; use a coarser unit",
            input=declared.name,
        )


def _view_column(values: NDArray[np.generic], scalar: Scalar) -> Column | None:
    if scalar.kind == "string":
        return None  # numbers are no codes
    kind = np.dtype(np.bool_) if scalar.kind == "bool" else dtype_of(scalar)
    fits = values.dtype == kind and values.ndim == 1 and values.size > 0
    if not fits or not values.flags.c_contiguous or not values.flags.aligned:
        return None
    return Column(values.view(dtype_of(scalar)))


def _table_of(declared: Input, values: object) -> pa.Table:
    """Read values as a table; a single column is called by the input's name."""
    if isinstance(values, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        table = as_pyarrow_table(declared.name, values)
        assert table is not None
        return table
    if package_of(values) in IN_MEMORY:
        array = _array_of(declared.name, values)
    else:
        array = in_caller(lambda: _array_of(declared.name, values))
    check_column(declared.name, array, [(declared.name,)])
    if pa.types.is_struct(array.type) and array.null_count == 0:
        return _fields_of(array)
    return pa.table({declared.name: array})


def _array_of(input: str, values: object) -> pa.ChunkedArray:
    try:
        if isinstance(values, pa.ChunkedArray):  # as it is, with the sizes of buffers
            return values
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        if isinstance(values, pa.Array):
            array = values
        elif hasattr(values, "__arrow_c_array__"):
            array = pa.array(values)
        else:
            if not hasattr(values, "__array__"):
                values = memoryview(values)  # type: ignore[arg-type]
            array = _of_numpy(np.asanyarray(values))
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


def _is_masked(values: object) -> bool:
    """Tell whether values are masked; without importing what would have made them."""
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(values, masked.MaskedArray)


def _of_numpy(values: NDArray[np.generic]) -> pa.Array:
    """Convert values, null where an array of `numpy.ma` masks them."""
    if values.ndim != 1:
        raise ValueError(f"found {values.ndim} dimensions")
    mask = None
    if _is_masked(values):
        mask, values = np.ma.getmaskarray(values), np.ma.getdata(values)
    data = np.ascontiguousarray(values)
    native = data.dtype.newbyteorder("=")
    return pa.array(data.astype(native, copy=False), mask=mask)


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
    listed = ", ".join(f"'{name}'" for name in names)
    raise DataError(
        f"{listed or 'no column'} could be the samples; give one column alone, or call "
        f"it '{declared.name}'",
        input=declared.name,
    )
