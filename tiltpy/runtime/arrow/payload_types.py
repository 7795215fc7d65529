"""Payload columns: the types that a declared type takes, without loss."""

from collections.abc import Callable

import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.runtime.arrays.pool import dtype_of
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.arrays.views import arrow_type, bools_of, validity_of, values_of
from tiltpy.runtime.arrow.encode_strings import is_string, string_column
from tiltpy.types import Scalar, int_range

MANTISSA = {32: 24, 64: 53}
"""How many bits of an integer a float of a width holds exactly."""


def payload_column(array: pa.Array, scalar: Scalar, *, input: str, name: str) -> Column:
    """A column for a kernel: a view where the types are the same (bools are copied).

    Strings come as `coded` makes them.
    """
    if scalar.kind == "string" and pa.types.is_dictionary(array.type):
        return string_column(array)
    target = arrow_type(scalar)
    if array.type != target:
        if not widens(array.type, scalar):
            raise DataError(
                f"found {array.type}, expected {scalar}; {way_out(array.type)}",
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
    if scalar.kind == "string":
        return is_string(found)
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


def way_out(found: pa.DataType) -> str:
    """What to do about a column of a type that was not declared, or is no payload."""
    if pa.types.is_integer(found) or pa.types.is_floating(found):
        name = str(found).replace("uint", "u").replace("int", "i")
        name = {"double": "f64", "float": "f32", "halffloat": "f32"}.get(name, name)
        return f"declare it as {name}, or cast it"
    for same, declared in _DECLARED:
        if same(found):
            return f"declare it as {declared}, or cast it"
    return next((way for same, way in _ELSEWHERE if same(found)), _CAST)


_CAST = "cast it to a type of the query language"
_types = pa.types
_DECLARED: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (_types.is_boolean, "bool"),
    (_types.is_timestamp, "time"),
    (_types.is_date, "time"),
    (_types.is_duration, "duration"),
    (is_string, "string"),
    (_types.is_struct, "a struct, like { a: f64, b: i64 }"),
)
_ELSEWHERE: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (
        _types.is_decimal,
        "decimals are no payload: cast it to f64, or to an integer of its smallest "
        "part (1.25 as 125 cents)",
    ),
    (
        _types.is_time,
        "a time of day is no payload: add its day and declare a time, or cast it to an "
        "integer",
    ),
    (
        _types.is_interval,
        "months have no fixed length: cast it to a duration, or to a number of months",
    ),
    (
        _types.is_map,
        "a map is no payload: give each key that is needed a column of its own",
    ),
    (
        _types.is_nested,
        "a list is no payload: give each of its items a row, or a column of its own",
    ),
    (
        lambda found: "binary" in str(found),
        "bytes are no payload: decode them to numbers first",
    ),
)
"""What to do about types that are no payload; lists are what else is nested."""
