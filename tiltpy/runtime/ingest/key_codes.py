"""Key columns as key codes, in the order of keys.

The code of an integer is its distance from the least one, unless these are sparse: then
it is its rank. Texts, and integers that are few, are hashed by tables of `ValueCodes`,
others by Arrow; what is distinct is sorted: ascending, strings by their UTF-8 bytes,
NaN last among floats. Null comes first. All NaNs are one key, and both zeros.
"""

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy import arrow_functions as pc
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.errors import DataError
from tiltpy.forks import cached_property
from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.block_passes import for_each_block
from tiltpy.runtime.arrays.dictionary import MOST_BYTES
from tiltpy.runtime.arrays.distinct import distinct
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array
from tiltpy.runtime.arrays.views import bools_of, integers_of, plain_array, values_of
from tiltpy.runtime.arrow.encode_strings import encode_chunks, is_string
from tiltpy.runtime.arrow.read_frame import payload_array
from tiltpy.runtime.arrow.texts import Texts
from tiltpy.runtime.arrow.timestamps import find_zone_error
from tiltpy.runtime.concurrency.workers import map_portions
from tiltpy.runtime.ingest.hashed_integers import are_few_distinct, rank_distinct
from tiltpy.runtime.ingest.packed_sort import Codes, excess_bits, fits_packed
from tiltpy.types import STRING

READING_COSTS = DEFAULT_COSTS.reading
Decode = Callable[[Codes], tuple[pa.Array, ...]]
Restore = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True, slots=True, eq=False)
class KeyCodes:
    """The dictionary code of the key of each row.

    The codes are in the order of keys and below `size`; some may be used by no row.
    `decode` turns codes into keys, a column for each column of the key.
    """

    codes: Codes
    size: int
    decode: Decode


def key_array(input: str, table: pa.Table, name: str) -> pa.Array:
    """Read a key column of a table as one chunk, strings as `encode_chunks` does."""
    kind = table.schema.field(name).type
    check_key_type(input, name, kind)
    if pa.types.is_null(kind):
        return pa.nulls(table.num_rows)
    return payload_array(input, table, STRING, name)


class KeyedTable:
    """The key columns of an input's table, read and encoded once: the codes of keys.

    Nothing is read before it is asked for; what is wrong with a column is said then.
    """

    def __init__(self, input: str, table: pa.Table, names: Sequence[str]) -> None:
        self._input = input
        self._table = table
        self._names = names

    @cached_property
    def columns(self) -> tuple[pa.Array, ...]:
        """The values of the columns."""
        read = (key_array(self._input, self._table, name) for name in self._names)
        return tuple(read)

    @cached_property
    def codes(self) -> KeyCodes:
        """The code of each row's key."""
        return encode_keys(self.columns)


def encode_keys(columns: Sequence[pa.Array]) -> KeyCodes:
    """Encode the keys that one or several columns of one length make."""
    return reduce(_combine_codes, map(_code_column, columns))


def _code_column(array: pa.Array) -> KeyCodes:
    kind = array.type
    if pa.types.is_null(kind):
        codes = np.zeros(len(array), np.uint8)
        return KeyCodes(codes, 1, lambda numbers: (pa.nulls(len(numbers)),))
    if is_string(kind):
        encoded = array if pa.types.is_dictionary(kind) else encode_chunks([array])
        return _rank_texts(encoded)
    if pa.types.is_floating(kind):
        wide = array.cast(pa.float32()) if pa.types.is_float16(kind) else array
        return _rank_dictionary(
            _canonicalize_floats(wide).dictionary_encode(), lambda keys: keys
        )
    if pa.types.is_boolean(kind):
        return _code_integers(
            array.cast(pa.uint8()), lambda keys: keys.cast(pa.bool_())
        )
    return _code_integers(array, lambda keys: keys.view(kind))


def _combine_codes(first: KeyCodes, second: KeyCodes) -> KeyCodes:
    """Combine the codes of two columns into codes of pairs."""
    rows = len(first.codes)
    if not fits_packed(first.size * second.size, rows):
        first, second = compact_codes(first), compact_codes(second)
    size = second.size
    kind = np.min_scalar_type(first.size * size)
    codes = first.codes.astype(kind) * kind.type(size)
    codes += second.codes

    def decode(numbers: Codes) -> tuple[pa.Array, ...]:
        left, right = np.divmod(numbers, kind.type(size))
        return (*first.decode(left), *second.decode(right))

    pairs = KeyCodes(codes, first.size * size, decode)
    return pairs if fits_packed(pairs.size, rows) else compact_codes(pairs)


def compact_codes(keys: KeyCodes) -> KeyCodes:
    """Compact the code space: drop codes that no row uses."""
    less = _rank_dictionary(
        plain_array(keys.codes).dictionary_encode(), lambda keys: keys
    )

    def decode(numbers: Codes) -> tuple[pa.Array, ...]:
        (wide,) = less.decode(numbers)
        return keys.decode(values_of(wide, keys.codes.dtype))

    return KeyCodes(less.codes, less.size, decode)


# -- one column -----------------------------------------------------------------------


def _code_integers(array: pa.Array, restore: Restore) -> KeyCodes:
    """Encode an array of integers in memory by their distance from the least.

    `restore` casts keys back to the type of their column.
    """
    kind = array.type
    letter = "u" if pa.types.is_unsigned_integer(kind) else "i"
    dtype = np.dtype(f"{letter}{kind.bit_width // 8}")
    plain = array.view(pa.from_numpy_dtype(dtype))
    low, high = _find_bounds(plain)
    if low is None or high is None:  # no values, or nulls alone
        low = high = 0
    shift = int(plain.null_count > 0)  # null is 0, and before all others
    size = high - low + 1 + shift
    unsigned = np.dtype(f"u{dtype.itemsize}")
    values = values_of(plain, dtype).view(unsigned)
    excess = excess_bits(size, len(array))
    sorts = size <= 1 << 64 and (not excess or _favors_sort(values, excess))
    is_sparse = size > min(READING_COSTS.counted_codes, len(array) // 2)
    # Arrow hashes those with nulls: what stands in their place would be a key, too.
    if not shift and is_sparse and (not sorts or are_few_distinct(values)):
        return _code_sparse(values.view(dtype), restore)
    if not sorts:
        return _rank_dictionary(plain.dictionary_encode(), restore)
    least = unsigned.type(low % (1 << 8 * dtype.itemsize))
    codes = _subtract_least(values, least, size)
    if shift:
        valid = bools_of(plain.is_valid())
        codes = (codes + codes.dtype.type(shift)) * valid

    def decode(numbers: Codes) -> tuple[pa.Array, ...]:
        values = (numbers - numbers.dtype.type(shift)).astype(unsigned) + least
        absent = numbers < shift if shift else None
        return (restore(plain_array(values.view(dtype), absent)),)

    return KeyCodes(codes, size, decode)


def _code_sparse(values: NDArray[np.integer], restore: Restore) -> KeyCodes:
    """Encode integers far apart by their rank."""
    codes, distinct_values = rank_distinct(values)

    def decode(numbers: Codes) -> tuple[pa.Array, ...]:
        return (restore(plain_array(distinct_values[numbers])),)

    return KeyCodes(codes, max(1, len(distinct_values)), decode)


def _find_bounds(plain: pa.Array) -> tuple[int | None, int | None]:
    """Find the least and the greatest integer; None where there is none."""
    both = map_portions(lambda rows: pc.min_max(plain[rows]), len(plain))
    bounds = [(each["min"].as_py(), each["max"].as_py()) for each in both]
    low = min((least for least, _ in bounds if least is not None), default=None)
    return low, max((most for _, most in bounds if most is not None), default=None)


def _favors_sort(values: Codes, excess: int) -> bool:
    """Tell whether nearly every row has another key, so that sorting is faster.

    Estimated by a sample, whose keys must differ above the lowest `excess` bits, too.
    """
    rows = READING_COSTS.sampled_keys
    sample = values[:: max(1, len(values) // rows)]
    keys = len(distinct(sample))
    apart = len(distinct(sample >> values.dtype.type(excess)))
    return 2 * keys > rows and 10 * apart > 9 * keys


def _subtract_least(values: Codes, least: np.unsignedinteger, size: int) -> Codes:
    """Subtract the least value, modulo the width of codes below `size`.

    Undefined for values from `least + size` on.
    """
    codes = np.empty(len(values), np.min_scalar_type(size - 1))

    def subtract(rows: slice) -> None:
        codes[rows] = values[rows] - least

    for_each_block(subtract, len(values))
    return codes


def _rank_dictionary(encoded: pa.DictionaryArray, restore: Restore) -> KeyCodes:
    """Encode a dictionary's values by their rank."""
    values = encoded.dictionary
    order = integers_of(pc.array_sort_indices(values)).view(np.int64)

    def decode(indices: I64Array, absent: BoolArray) -> pa.Array:
        return restore(values.take(plain_array(indices, absent)))

    return _rank(encoded.indices, order, decode)


def _rank_texts(encoded: pa.DictionaryArray) -> KeyCodes:
    """Encode a dictionary's texts by their rank; what fits goes out as `string`."""
    values = encoded.dictionary
    texts = Texts.of(values)
    kind = pa.string() if values.nbytes < MOST_BYTES else values.type

    def decode(indices: I64Array, absent: BoolArray) -> pa.Array:
        return texts.take(indices, kind, absent if absent.any() else None)

    return _rank(encoded.indices, texts.sort(), decode)


def _rank(
    indices: pa.Array, order: I64Array, take: Callable[[I64Array, BoolArray], pa.Array]
) -> KeyCodes:
    """Encode the indices of values by the rank of these; null has the index behind."""
    size = len(order)
    if indices.null_count:
        order = np.insert(order, 0, size)  # nulls first
        indices = indices.fill_null(size)
    codes = values_of(indices, np.dtype(np.int32)).view(np.uint32)
    ranks = np.zeros(size + 1, np.min_scalar_type(size))
    ranks[order] = np.arange(len(order))
    if not np.array_equal(order, np.arange(len(order))):
        codes = _take_blocks(ranks, codes)

    def decode(numbers: Codes) -> tuple[pa.Array, ...]:
        indices = order[numbers]
        return (take(indices, indices == size),)

    return KeyCodes(codes, max(1, len(order)), decode)


def _take_blocks(ranks: Codes, numbers: Codes) -> Codes:
    codes = np.empty(len(numbers), ranks.dtype)

    def take(rows: slice) -> None:
        np.take(ranks, numbers[rows], out=codes[rows], mode="clip")

    for_each_block(take, len(numbers))
    return codes


def _canonicalize_floats(array: pa.Array) -> pa.Array:
    values = values_of(array, np.dtype(f"f{array.type.bit_width // 8}"))
    zeros = values + values.dtype.type(0)  # of which there is a positive one alone
    alike = np.where(np.isnan(zeros), values.dtype.type(np.nan), zeros)
    absent = bools_of(array.is_null()).view(np.bool_)
    return plain_array(alike, absent)


# -- types ----------------------------------------------------------------------------


def check_key_type(input: str, name: str, column: pa.DataType) -> None:
    """Refuse a column whose type is no key's, with advice."""
    kind = column
    while pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    zone_error = find_zone_error(kind)
    if zone_error is not None:
        raise DataError(zone_error, input=input, column=name)
    if is_string(kind) or any(is_kind(kind) for is_kind in _KEYS):
        return
    default = "cast it to one of them"
    advice = next((text for is_kind, text in _NO_KEYS if is_kind(kind)), default)
    raise DataError(
        f"rows cannot be split by {column}, but by integers, strings, dates, "
        f"timestamps, bools or floats; {advice}",
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
    (lambda kind: "binary" in str(kind), "write the bytes as a string, like hex"),
    (_types.is_temporal, "cast it to an integer"),
)
"""Advice for types that are no keys; lists and maps are the other nested types."""
