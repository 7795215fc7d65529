"""Payload columns: the types that a declared type takes, without loss."""

import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.runtime.buffers import Column
from tiltpy.runtime.memory import dtype_of
from tiltpy.runtime.views import arrow_type, bools_of, validity_of, values_of
from tiltpy.types import Scalar, int_range

MANTISSA = {32: 24, 64: 53}
"""How many bits of an integer a float of a width holds exactly."""


def payload_column(array: pa.Array, scalar: Scalar, *, input: str, name: str) -> Column:
    """A column for a kernel: a view where the types are the same (bools are copied)."""
    target = arrow_type(scalar)
    if array.type != target:
        if not widens(array.type, scalar):
            raise DataError(
                f"found {array.type}, expected {scalar}; {_way_out(array.type)}",
                input=input,
                column=name,
            )
        array = array.cast(target)
    validity, offset = validity_of(array)
    if scalar.kind == "bool":
        return Column(bools_of(array), validity, offset)
    return Column(values_of(array, dtype_of(scalar)), validity, offset)


def widens(found: pa.DataType, scalar: Scalar) -> bool:
    """Whether every value of an Arrow type is a value of the scalar type."""
    if pa.types.is_null(found) or found == arrow_type(scalar):
        return True
    if pa.types.is_floating(found):
        return scalar.is_float and int(found.bit_width) <= scalar.bits
    if not pa.types.is_integer(found):
        return False
    unsigned = pa.types.is_unsigned_integer(found)
    bits = int(found.bit_width) - (0 if unsigned else 1)
    if scalar.is_float:
        return bits <= MANTISSA[scalar.bits]
    if not scalar.is_integer:
        return False
    low, high = int_range(scalar)
    return (unsigned or low <= -(1 << bits)) and (1 << bits) - 1 <= high


def _way_out(found: pa.DataType) -> str:
    if pa.types.is_integer(found) or pa.types.is_floating(found):
        name = str(found).replace("uint", "u").replace("int", "i")
        name = {"double": "f64", "float": "f32", "halffloat": "f32"}.get(name, name)
        return f"declare it as {name}, or cast it"
    if pa.types.is_boolean(found):
        return "declare it as bool, or cast it"
    if pa.types.is_decimal(found):
        return "cast it to a float or an integer: decimals are no payload yet"
    return "cast it to a number or a bool: other types are no payload yet"
