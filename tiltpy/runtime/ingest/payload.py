"""The payload columns of an input, read from a table.

A column is a view, or cast where the declared type holds all values of its type. A
float also takes integers of more bits than its mantissa, if it holds each of them.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.ir.nodes import Input
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.arrays.views import arrow_type, column_of
from tiltpy.runtime.arrow.encode_strings import is_string, string_column
from tiltpy.runtime.arrow.read_frame import payload_array, says_no_type
from tiltpy.runtime.arrow.time_payloads import TickColumn, ticks_column
from tiltpy.runtime.arrow.validation import advise_type
from tiltpy.runtime.ingest.row_order import RowOrder, move_rows
from tiltpy.types import Scalar, Struct, Type, Unit, columns, int_range

MANTISSA = {32: 24, 64: 53}
"""Bits of an integer that a float of a width holds exactly."""


def read_payload(
    declared: Input,
    table: pa.Table,
    paths: Sequence[tuple[str, ...]],
    unit: Unit | None,
    order: RowOrder | None = None,
) -> tuple[Column, ...]:
    """Read the columns of a payload (`types.columns`) at their paths in a table.

    Columns of which a table without rows tells no type are left out. `unit` is the
    query's tick, `order` that of the rows (None: as they lie).
    """
    payload = []
    for (column, scalar), path in zip(columns(declared.type), paths, strict=True):
        array = payload_array(declared.name, table, scalar, *path)
        if says_no_type(array):
            continue
        name = ".".join(path)
        if scalar.is_temporal:
            array = ticks_column(TickColumn(declared.name, name, array, scalar, unit))
        elif scalar.is_float and pa.types.is_integer(array.type):
            array = _floats_of(array, scalar, input=declared.name, name=name)
        if _is_nested(declared.type, column):
            payload.append(_presence(move_rows(array.is_valid(), order)))
            continue
        array = move_rows(array, order)
        payload.append(payload_column(array, scalar, input=declared.name, name=name))
    return tuple(payload)


def _is_nested(payload: Type, column: str) -> bool:
    """Tell whether a column of a payload is a struct, whose fields have their own."""
    return isinstance(payload, Struct) and isinstance(payload.field(column), Struct)


def _presence(there: pa.BooleanArray) -> Column:
    """Make the column that is true where a struct is there, else null.

    Structs are not moved to look at them: Arrow moves none with views in it.
    """
    ones = np.ones(max(1, len(there)), np.uint8)
    if there.true_count == len(there):
        return Column(ones)
    return Column(ones, np.frombuffer(there.buffers()[1], np.uint8), there.offset)


def _floats_of(array: pa.Array, scalar: Scalar, *, input: str, name: str) -> pa.Array:
    """Cast integers to floats; one that has too many digits is refused by its row."""
    target = arrow_type(scalar)
    try:
        return array.cast(target)
    except pa.ArrowInvalid:
        most = 1 << MANTISSA[scalar.bits]
        numbers = array.fill_null(0).to_numpy(zero_copy_only=False)
        row = int(np.flatnonzero((numbers > most) | (numbers < -most))[0])
    raise DataError(
        f"found {array[row]}, which {scalar} does not hold exactly; "
        f"{advise_type(array.type)}",
        input=input,
        column=name,
        row=row,
    )


def payload_column(array: pa.Array, scalar: Scalar, *, input: str, name: str) -> Column:
    """Make a column for a kernel: a view where the types are equal, but for bools.

    `scalar` is the declared type; `input` and `name` are for errors. Strings come as
    `encode_chunks` makes them.
    """
    if scalar.kind == "string" and pa.types.is_dictionary(array.type):
        return string_column(array)
    target = arrow_type(scalar)
    if array.type != target:
        if not widens(array.type, scalar):
            raise DataError(
                f"found {array.type}, expected {scalar}; {advise_type(array.type)}",
                input=input,
                column=name,
            )
        array = array.cast(target)
    return column_of(array, scalar)


def widens(kind: pa.DataType, scalar: Scalar) -> bool:
    """Tell whether every value of an Arrow type is a value of the scalar type."""
    if scalar.kind == "string":
        return is_string(kind)
    if pa.types.is_null(kind) or kind == arrow_type(scalar):
        return True
    if pa.types.is_floating(kind):
        return scalar.is_float and int(kind.bit_width) <= scalar.bits
    if not pa.types.is_integer(kind):
        return False
    unsigned = pa.types.is_unsigned_integer(kind)
    bits = int(kind.bit_width) - (0 if unsigned else 1)
    if scalar.is_float:
        return bits <= MANTISSA[scalar.bits]
    if not scalar.is_integer:
        return False
    low, high = int_range(scalar)
    return (unsigned or low <= -(1 << bits)) and (1 << bits) - 1 <= high
