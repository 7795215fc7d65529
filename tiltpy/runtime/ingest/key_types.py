"""The common type of the keys of inputs that are joined."""

from collections.abc import Mapping
from functools import reduce

import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.lean_dataclass import dataclass
from tiltpy.types import NANOSECONDS


@dataclass(frozen=True, slots=True)
class _InputType:
    """A type of keys, and the input that first had it."""

    input: str
    type: pa.DataType


def common_type(column: str, types: Mapping[str, pa.DataType]) -> pa.DataType:
    """Find the type that holds a key column of every input, or raise `DataError`.

    `types` are those of the inputs, by name.
    """

    def join(first: _InputType, other: _InputType) -> _InputType:
        kind = _join_types(first.type, other.type)
        if kind is None:
            raise DataError(
                f"found {other.type}, but {first.type} in input '{first.input}': keys "
                "that are joined have one type; cast one of the two columns",
                input=other.input,
                column=column,
            )
        return _InputType(first.input if kind == first.type else other.input, kind)

    return reduce(join, (_InputType(*item) for item in types.items())).type


def _join_types(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Find the type that holds the values of both; None if there is none."""
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    pair = left, right
    if all(map(_is_text, pair)):
        return pa.large_string()
    if all(map(pa.types.is_integer, pair)):
        return _wider(left, right)
    if all(map(pa.types.is_floating, pair)):
        return pa.float64()
    if all(map(pa.types.is_date, pair)):
        return pa.date64()
    if all(map(pa.types.is_timestamp, pair)):
        return _finer(left, right)
    return None


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _wider(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Widen integers of another width or sign; none holds `uint64` and signed ones."""
    by_width = sorted((left, right), key=lambda kind: int(kind.bit_width))
    if pa.types.is_signed_integer(left) == pa.types.is_signed_integer(right):
        return by_width[1]
    unsigned = left if pa.types.is_unsigned_integer(left) else right
    signed = right if unsigned is left else left
    bits = max(2 * int(unsigned.bit_width), int(signed.bit_width))
    return None if bits > 64 else pa.type_for_alias(f"int{bits}")


def _finer(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Join timestamps of another unit or zone; a zone never changes an instant."""
    if (left.tz is None) != (right.tz is None):
        return None
    unit = min(left.unit, right.unit, key=NANOSECONDS.__getitem__)
    return pa.timestamp(unit, left.tz if left.tz == right.tz else "UTC")
