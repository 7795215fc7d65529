"""Arrow arrays as numpy views and back, sharing memory in both directions."""

from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.runtime.arrays.dtypes import Bits
from tiltpy.runtime.arrays.pool import dtype_of
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.types import Scalar

Number = TypeVar("Number", bound=np.generic)


def arrow_type(scalar: Scalar) -> pa.DataType:
    """Choose the Arrow type of a scalar's values in memory: times are `int64` ticks."""
    if scalar.is_temporal:
        return pa.int64()
    if scalar.kind == "bool":
        return pa.bool_()
    if scalar.kind == "string":
        return pa.string()
    if scalar.kind == "float":
        return {32: pa.float32(), 64: pa.float64()}[scalar.bits]
    return pa.type_for_alias(f"{scalar.kind}{scalar.bits}")


def values_of(array: pa.Array, dtype: np.dtype[Number]) -> NDArray[Number]:
    """View the values of a fixed-width array, undefined where it is null. Not bools.

    A view, but for memory that is not aligned for its type.
    """
    if len(array) == 0:
        return np.zeros(0, dtype)
    values = np.frombuffer(
        array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize
    )
    return values if values.flags.aligned else values.copy()


def integers_of(array: pa.Array) -> NDArray[np.integer]:
    """View the values of an array of integers, times or durations."""
    letter = "u" if pa.types.is_unsigned_integer(array.type) else "i"
    return values_of(array, np.dtype(f"{letter}{array.type.bit_width // 8}"))


def validity_of(array: pa.Array) -> tuple[Bits | None, int]:
    """Find the validity bitmap and the bit of row 0; None where no row is null."""
    if array.null_count == 0:
        return None, 0
    return np.frombuffer(array.buffers()[0], np.uint8), array.offset


def bools_of(array: pa.Array) -> Bits:
    """Unpack the values of a bool array, a byte each (Arrow has bits: a copy)."""
    bits = Column(np.empty(0), *_bits(array)).valid(len(array))
    return bits.view(np.uint8)


def column_of(array: pa.Array, scalar: Scalar) -> Column:
    """View an array of the type of a scalar as a column; bools are unpacked."""
    validity, offset = validity_of(array)
    if scalar.kind == "bool":
        return Column(bools_of(array), validity, offset)
    return Column(values_of(array, dtype_of(scalar)), validity, offset)


def _bits(array: pa.Array) -> tuple[Bits | None, int]:
    if len(array) == 0:
        return None, 0
    return np.frombuffer(array.buffers()[1], np.uint8), array.offset


def array_of(
    values: NDArray[np.generic], validity: Bits | None, type: pa.DataType
) -> pa.Array:
    """Make an Arrow array over contiguous values (bools: bytes) and a bitmap."""
    data = values
    if values.itemsize == 1 and pa.types.is_boolean(type):
        data = np.packbits(values.view(np.uint8), bitorder="little")
    nulls = None if validity is None else pa.py_buffer(validity)
    return pa.Array.from_buffers(type, len(values), [nulls, pa.py_buffer(data)])


def plain_array(
    values: NDArray[np.generic], absent: NDArray[np.bool_] | None = None
) -> pa.Array:
    """Make an Arrow array over values of numpy, null where they are `absent`.

    `pa.array` would import pandas, to see that they are none of its.
    """
    validity = None if absent is None else np.packbits(~absent, bitorder="little")
    kind = pa.from_numpy_dtype(values.dtype)
    return array_of(np.ascontiguousarray(values), validity, kind)


def storage_type(scalar: Scalar) -> pa.DataType:
    """Choose the Arrow type of what columns have of a scalar: of strings the codes."""
    return pa.int32() if scalar.kind == "string" else arrow_type(scalar)


def column_array(column: Column, count: int, scalar: Scalar) -> pa.Array:
    """View the first `count` rows of a column; only a bitmap that moves is copied.

    Of strings these are the codes.
    """
    return view_column(column, count, dtype_of(scalar), storage_type(scalar))


def view_column(
    column: Column, count: int, dtype: np.dtype[np.generic], kind: pa.DataType
) -> pa.Array:
    """View rows as `column_array` does.

    `dtype` is the type of the values, `kind` the storage type of their scalar.
    """
    values = column.values[:count]
    assert values.dtype == dtype, f"{values.dtype} is not {dtype}"
    validity = column.validity
    if validity is not None:
        if column.offset % 8:
            validity = np.packbits(column.valid(count), bitorder="little")
        else:
            validity = validity[column.offset // 8 :]
    return array_of(values, validity, kind)
