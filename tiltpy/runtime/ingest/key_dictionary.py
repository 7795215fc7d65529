"""The keys of a run that sees its rows batch by batch: a dictionary that only grows.

The code of a key is the number of keys that came before it, whatever their order.
"""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.views import bools_of, plain_array, values_of
from tiltpy.runtime.arrow.encode_strings import is_string
from tiltpy.runtime.ingest.key_codes import encode_keys
from tiltpy.runtime.ingest.key_types import common_type
from tiltpy.runtime.ingest.keys import Keys, cast_keys


class KeyDictionary:
    """The keys seen so far, of inputs that are joined.

    `inputs` are keys of each, of which only the types matter: those of all widen to one
    for each column. Text is `string`.
    """

    def __init__(self, names: tuple[str, ...], inputs: Mapping[str, Keys]) -> None:
        self.names = names
        types = []
        for index, name in enumerate(names):
            column_types = {
                source: keys.columns[index].type for source, keys in inputs.items()
            }
            kind = common_type(name, column_types)
            types.append(pa.string() if pa.types.is_large_string(kind) else kind)
        self.types = tuple(types)
        self._codes: dict[Hashable, int] = {}
        self._values: tuple[list[Hashable], ...] = tuple([] for _ in names)

    def __len__(self) -> int:
        return len(self._codes)

    def encode(self, source: str, keys: Keys) -> I64Array:
        """Find the codes of an input's distinct keys; new ones get the next codes."""
        listed = [
            _list_column(cast_keys(source, name, column, kind))
            for name, column, kind in zip(
                self.names, keys.columns, self.types, strict=True
            )
        ]
        rows: Sequence[Hashable] = listed[0]
        if len(listed) > 1:
            rows = [*zip(*listed, strict=True)]
        known = self._codes
        codes = [*map(known.get, rows)]
        if None in codes:
            new = [place for place, code in enumerate(codes) if code is None]
            for place in new:
                codes[place] = known[rows[place]] = len(known)
            for values, column in zip(self._values, listed, strict=True):
                values.extend([column[place] for place in new])
        return np.array(codes, np.int64)

    def sort(self, codes: I64Array) -> tuple[I64Array, Keys]:
        """Sort codes by their keys, and decode them."""
        keys = self._decode(codes)
        if len(codes) < 2:
            return codes, keys
        order = np.argsort(encode_keys(keys.columns).codes, kind="stable")
        rows = plain_array(order)
        columns = tuple(column.take(rows) for column in keys.columns)
        return codes[order], Keys(self.names, columns)

    def save(self) -> list[pa.Array]:
        """List the columns of all keys, in the order of their codes."""
        return list(self._decode(np.arange(len(self))).columns)

    def restore(self, columns: Sequence[pa.Array]) -> None:
        """Take over saved keys, in the order of their codes."""
        assert not len(self)
        self.encode("", Keys(self.names, tuple(columns)))

    def none(self) -> Keys:
        """Make no keys, of the types of all."""
        return self._decode(np.zeros(0, np.int64))

    def _decode(self, codes: I64Array) -> Keys:
        """Look up the keys of codes."""
        numbers = codes.tolist()
        columns = tuple(
            _restore_column([*map(values.__getitem__, numbers)], kind)
            for values, kind in zip(self._values, self.types, strict=True)
        )
        return Keys(self.names, columns)


def _list_column(column: pa.Array) -> list[Hashable]:
    """List a column's texts, and of all else the bits: equal keys have equal ones."""
    if is_string(column.type) or pa.types.is_boolean(column.type):
        return list(column.to_pylist())
    width = column.type.bit_width // 8
    values: list[Hashable] = values_of(column, np.dtype(f"i{width}")).tolist()
    if column.null_count:
        for place in np.flatnonzero(bools_of(column.is_null())):
            values[place] = None
    return values


def _restore_column(values: Sequence[Hashable], kind: pa.DataType) -> pa.Array:
    """Make a column of what `_list_column` lists."""
    if is_string(kind) or pa.types.is_boolean(kind):
        return pa.array(values, kind)
    return pa.array(values, pa.type_for_alias(f"int{kind.bit_width}")).view(kind)
