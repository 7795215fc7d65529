"""Arrow's encodings, dictionaries and run ends, replaced by what they stand for."""

import numpy as np
import pyarrow as pa


def decode(array: pa.Array) -> pa.Array:
    """Expand to one value per row, however dictionaries and run ends are nested."""
    if isinstance(array, pa.DictionaryArray):
        return _take(decode(array.dictionary), array.indices)
    if isinstance(array, pa.RunEndEncodedArray):
        return decode(without_run_ends(array))
    return array


def without_run_ends(array: pa.Array) -> pa.Array:
    """Expand run ends, by `take`: `run_end_decode`'s module loads slowly."""
    if not isinstance(array, pa.RunEndEncodedArray):
        return array
    rows = np.arange(array.offset, array.offset + len(array))
    runs = np.searchsorted(array.run_ends.to_numpy(), rows, side="right")
    return _take(without_run_ends(array.values), pa.array(runs))


def _take(values: pa.Array, indices: pa.Array) -> pa.Array:
    """Take values of an array, of views too, for which Arrow has no `take`."""
    if pa.types.is_string_view(values.type):
        values = values.cast(pa.large_string())
    elif pa.types.is_binary_view(values.type):
        values = values.cast(pa.large_binary())
    return values.take(indices)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Strip dictionaries and run ends from a type, and from the fields of a struct.

    Arrow makes no empty array of them.
    """
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, plain_type(field.type)) for field in kind])
    return kind
