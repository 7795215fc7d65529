"""Key columns as codes: whose a row is, by number, in the order of keys.

Integers of a narrow range are their own numbers, less the least. All else is numbered
by Arrow's hashing. Then the keys that occur are put in order: ascending, strings by
their UTF-8 bytes, NaN last among floats, null before all. All NaNs are one key, and
both zeros.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tiltpy.errors import DataError
from tiltpy.runtime.encode import coded, is_string
from tiltpy.runtime.frames import payload_array
from tiltpy.runtime.strings import MOST_BYTES
from tiltpy.runtime.views import values_of
from tiltpy.types import STRING

Codes = NDArray[np.unsignedinteger]
Numbers = NDArray[np.integer]
Counts = NDArray[np.int64]

DENSE = 1 << 16
"""Integers of a range as narrow as this are not hashed, nor those of one that has
`PER_ROW` places for each row."""
PER_ROW = 2
COUNTED = 1 << 18
"""Rows that are counted at once, so that what is made of them stays in the cache."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyCodes:
    """The keys of some rows: each row's code, and what the codes stand for.

    `columns` are the keys that occur, in their order, and `counts` how many rows each
    has.
    """

    codes: Codes
    columns: tuple[pa.Array, ...]
    counts: Counts


def key_array(input: str, table: pa.Table, name: str) -> pa.Array:
    """A key column of a table in one piece; strings as `coded` makes them."""
    found = table.schema.field(name).type
    check_key_type(input, name, found)
    if pa.types.is_null(found):
        return pa.nulls(table.num_rows)
    return payload_array(input, table, STRING, name)


def key_codes(columns: Sequence[pa.Array]) -> KeyCodes:
    """The keys that one or several columns of one length make."""
    return reduce(_pairs, map(_code, columns))


def _code(array: pa.Array) -> KeyCodes:
    kind = array.type
    if pa.types.is_null(kind):
        rows = len(array)
        counts = np.full(min(rows, 1), rows)
        return KeyCodes(np.zeros(rows, np.uint8), (pa.nulls(len(counts)),), counts)
    if is_string(kind):
        found = array if pa.types.is_dictionary(kind) else coded([array])
        return _hashed(found, _short)
    if pa.types.is_floating(kind):
        wide = array.cast(pa.float32()) if pa.types.is_float16(kind) else array
        return _hashed(_one_nan_one_zero(wide).dictionary_encode(), lambda keys: keys)
    if pa.types.is_boolean(kind):
        return _integers(array.cast(pa.uint8()), lambda keys: keys.cast(pa.bool_()))
    return _integers(array, lambda keys: keys.view(kind))


def _pairs(first: KeyCodes, second: KeyCodes) -> KeyCodes:
    """The keys of one column more."""
    size = len(second.counts)
    pairs = first.codes.astype(np.int64) * size + second.codes
    found = _integers(pa.array(pairs), lambda keys: keys)
    (numbers,) = found.columns
    left, right = np.divmod(numbers.to_numpy(), max(1, size))
    columns = [column.take(pa.array(left)) for column in first.columns]
    columns += [column.take(pa.array(right)) for column in second.columns]
    return KeyCodes(found.codes, tuple(columns), found.counts)


# -- one column -----------------------------------------------------------------------

Restore = Callable[[pa.Array], pa.Array]
"""Keys as they were computed with, in the type that they came in."""


def _integers(array: pa.Array, restore: Restore) -> KeyCodes:
    """The codes of an array whose values are integers in memory."""
    kind = array.type
    letter = "u" if pa.types.is_unsigned_integer(kind) else "i"
    dtype = np.dtype(f"{letter}{kind.bit_width // 8}")
    plain = array.view(pa.from_numpy_dtype(dtype))
    bounds = pc.min_max(plain)
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    if low is None:  # no values, or nulls alone
        low = high = 0
    if high - low >= max(DENSE, PER_ROW * len(array)):
        return _hashed(plain.dictionary_encode(), restore)
    shift = int(plain.null_count > 0)  # null is 0, and before all others
    size = high - low + 1 + shift
    least = np.array(low % (1 << 8 * dtype.itemsize), f"u{dtype.itemsize}")
    # In so many bits the difference is right, even where it wraps.
    places = values_of(plain, dtype).view(least.dtype) - least
    numbers = places.astype(np.min_scalar_type(size - 1), copy=False)
    if shift:
        there = plain.is_valid().to_numpy(zero_copy_only=False)
        numbers = (numbers + numbers.dtype.type(shift)) * there
    codes, used, counts = _in_order(numbers, size, None)
    keys = ((used - shift).astype(least.dtype) + least).view(dtype)
    absent = used < shift if shift else None
    return KeyCodes(codes, (restore(pa.array(keys, mask=absent)),), counts)


def _hashed(encoded: pa.DictionaryArray, restore: Restore) -> KeyCodes:
    """The codes of a dictionary's values in their order."""
    values, indices = encoded.dictionary, encoded.indices
    size = len(values)
    order = pc.array_sort_indices(values).to_numpy().view(np.int64)
    if indices.null_count:
        order = np.insert(order, 0, size)  # nulls first
        indices = indices.fill_null(size)
    numbers = values_of(indices, np.dtype(np.int32))
    codes, used, counts = _in_order(numbers, size + 1, order)
    places = pa.array(used, mask=used == size)
    return KeyCodes(codes, (restore(values.take(places)),), counts)


def _in_order(
    numbers: Numbers, size: int, order: NDArray[np.int64] | None
) -> tuple[Codes, NDArray[np.int64], Counts]:
    """Numbers below a size as codes of those that occur, in an order (None: theirs).

    The codes; the number that each stands for; and how often it occurs.
    """
    counts = _counted(numbers, size)
    used = np.flatnonzero(counts) if order is None else order[counts[order] > 0]
    narrow = np.min_scalar_type(max(0, len(used) - 1))
    if np.array_equal(used, np.arange(len(used))):
        return numbers.astype(narrow, copy=False), used, counts[used]
    ranks = np.zeros(size, narrow)
    ranks[used] = np.arange(len(used))
    return ranks.take(numbers), used, counts[used]


def _counted(numbers: Numbers, size: int) -> Counts:
    counts = np.zeros(size, np.int64)
    step = max(COUNTED, 4 * size)
    for first in range(0, len(numbers), step):
        counts += np.bincount(numbers[first : first + step], minlength=size)
    return counts


def _one_nan_one_zero(array: pa.Array) -> pa.Array:
    values = values_of(array, np.dtype(f"f{array.type.bit_width // 8}"))
    zeros = values + values.dtype.type(0)  # of which there is a positive one alone
    alike = np.where(np.isnan(zeros), values.dtype.type(np.nan), zeros)
    absent = array.is_null().to_numpy(zero_copy_only=False)
    return pa.array(alike, mask=absent, from_pandas=False)


def _short(strings: pa.Array) -> pa.Array:
    """Strings in the type in which they go out, if their text fits."""
    return strings.cast(pa.string()) if strings.nbytes < MOST_BYTES else strings


# -- types ----------------------------------------------------------------------------


def check_key_type(input: str, name: str, found: pa.DataType) -> None:
    """Refuse a column that is no key, with a way out."""
    kind = found
    while pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    if is_string(kind) or any(fits(kind) for fits in _KEYS):
        return
    way = next((way for same, way in _NO_KEYS if same(kind)), "cast it to one of them")
    raise DataError(
        f"rows cannot be split by {found}, but by integers, strings, dates, "
        f"timestamps, bools or floats; {way}",
        input=input,
        column=name,
    )


_types = pa.types
_KEYS = (
    _types.is_integer,
    _types.is_floating,
    _types.is_boolean,
    _types.is_date,
    _types.is_timestamp,
)
_NO_KEYS: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (_types.is_struct, "give each field that is needed a column of its own"),
    (_types.is_nested, "give each of its items a row, or a column of its own"),
    (
        _types.is_decimal,
        "cast it to a string, or to an integer of its smallest part (1.25 as 125 "
        "cents)",
    ),
    (lambda found: "binary" in str(found), "write the bytes as a string, like hex"),
    (_types.is_temporal, "cast it to an integer"),
)
"""What to do about types that are no key; lists and maps are what else is nested."""
