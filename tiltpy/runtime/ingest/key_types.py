"""One type for the keys of inputs that are joined, whatever types they came in."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.types import NANOSECONDS


@dataclass(frozen=True, slots=True)
class _SeenType:
    """A type of keys, and the input that first had it."""

    input: str
    type: pa.DataType


def common_type(column: str, types: Mapping[str, pa.DataType]) -> pa.DataType:
    """Find the type that holds a key column of every input, by name.

    Or a `DataError`.
    """

    def join(one: _SeenType, other: _SeenType) -> _SeenType:
        kind = _join_types(one.type, other.type)
        if kind is None:
            raise DataError(
                f"found {other.type}, but {one.type} in input '{one.input}': keys that "
                "are joined have one type; cast one of the two columns",
                input=other.input,
                column=column,
            )
        return _SeenType(one.input if kind == one.type else other.input, kind)

    return reduce(join, (_SeenType(*item) for item in types.items())).type


def _join_types(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Find the type that holds all of two; None where there is none."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    pair = one, other
    if all(map(_is_text, pair)):
        return pa.large_string()
    if all(map(pa.types.is_integer, pair)):
        return _wider(one, other)
    if all(map(pa.types.is_floating, pair)):
        return pa.float64()
    if all(map(pa.types.is_date, pair)):
        return pa.date64()
    if all(map(pa.types.is_timestamp, pair)):
        return _finer(one, other)
    return None


def _is_text(found: pa.DataType) -> bool:
    return bool(pa.types.is_string(found) or pa.types.is_large_string(found))


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Widen integers of another width or sign.

    No type holds `uint64` and signed ones.
    """
    by_width = sorted((one, other), key=lambda found: int(found.bit_width))
    if pa.types.is_signed_integer(one) == pa.types.is_signed_integer(other):
        return by_width[1]
    unsigned = one if pa.types.is_unsigned_integer(one) else other
    signed = other if unsigned is one else one
    bits = max(2 * int(unsigned.bit_width), int(signed.bit_width))
    return None if bits > 64 else pa.type_for_alias(f"int{bits}")


def _finer(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Timestamps of another unit or zone; a zone never changes an instant."""
    if (one.tz is None) != (other.tz is None):
        return None
    unit = min(one.unit, other.unit, key=NANOSECONDS.__getitem__)
    return pa.timestamp(unit, one.tz if one.tz == other.tz else "UTC")
