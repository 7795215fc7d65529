"""The keys of a run that sees its rows batch by batch: a dictionary that only grows.

The code of a key is the number of keys that came before it, whatever their order. Few
keys are looked up in a table of Python's, many by Arrow; what one of them has learnt
the other one learns when it is asked.
"""

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from itertools import repeat
from operator import ne
from typing import Any

import numpy as np
import pyarrow as pa

from tiltpy import arrow_functions as pc
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.masks import is_any
from tiltpy.runtime.arrays.views import (
    array_of,
    bools_of,
    integers_of,
    plain_array,
    values_of,
)
from tiltpy.runtime.arrow.encode_strings import is_string
from tiltpy.runtime.ingest.key_codes import encode_keys
from tiltpy.runtime.ingest.key_types import common_type
from tiltpy.runtime.ingest.keys import Keys, LateColumns, cast_keys
from tiltpy.string_predicates import array_of as string_array

MANY_KEYS = 1 << 12
"""Keys that are found by Arrow sooner than one by one: it hashes all that are known."""
FEW_TEXTS = 32
"""Texts that are listed sooner than encoded."""


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
        self._count = 0
        self._codes: dict[Hashable, int] = {}
        """The codes of the first keys: of all that were looked up one by one."""
        self._plain: pa.Array | None = None
        """The first keys of a single column, if many were looked up: texts or bits."""
        self._ranks = np.zeros(0, np.int64)
        """The place of each code in the order of all keys, if it is known of all."""
        self._sorted = 0
        """Keys that were sorted since then, each time they were."""
        self._values: tuple[list[Hashable], ...] = tuple([] for _ in names)
        """The keys of `_codes`, column by column."""
        self._none: Keys | None = None

    def __len__(self) -> int:
        return self._count

    def encode(self, source: str, keys: Keys) -> I64Array:
        """Find the codes of an input's distinct keys; new ones get the next codes."""
        columns = [
            cast_keys(source, name, column, kind)
            for name, column, kind in zip(
                self.names, keys.columns, self.types, strict=True
            )
        ]
        if len(keys) >= MANY_KEYS and _is_plain(self.types):
            return self._encode_many(_view_bits(columns[0]))
        self._list_all()
        listed = [*map(_list_column, columns)]
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
            self._count = len(known)
        return np.array(codes, np.int64)

    def _encode_many(self, keys: pa.Array) -> I64Array:
        """Find the codes of distinct keys, as texts or bits."""
        known = self._hold_all()
        found = pc.index_in(keys, value_set=known)
        codes = values_of(found, np.dtype(np.int32)).astype(np.int64)
        if found.null_count:
            is_new = found.is_null()
            self._plain = pa.concat_arrays([known, keys.filter(is_new)])
            self._count = len(self._plain)
            places = bools_of(is_new).view(np.bool_)
            codes[places] = np.arange(len(known), self._count)
        return codes

    def _list_all(self) -> None:
        """List all keys as Python's, each with its code."""
        known = self._codes
        if len(known) == self._count:
            return
        assert self._plain is not None
        new = self._plain[len(known) :].to_pylist()
        for key in new:
            known[key] = len(known)
        self._values[0].extend(new)

    def _hold_all(self) -> pa.Array:
        """Hold all keys of a single column as one array."""
        (kind,) = self.types
        if self._plain is None:
            self._plain = _view_bits(_restore_column([], kind))
        if len(self._plain) < self._count:
            new = _view_bits(_restore_column(self._values[0][len(self._plain) :], kind))
            self._plain = pa.concat_arrays([self._plain, new])
        return self._plain

    def encode_rows(self, source: str, columns: Sequence[pa.Array]) -> I64Array:
        """Find the code of each row's key; new ones get the next codes, in their order.

        `columns` are the keys of an input's rows, without nulls.
        """
        if any(map(ne, [column.type for column in columns], self.types)):
            columns = [
                cast_keys(source, name, column, kind)
                for name, column, kind in zip(
                    self.names, columns, self.types, strict=True
                )
            ]
        rows: Sequence[Hashable]
        if len(columns) == 1:
            rows, numbers = _list_distinct(columns[0])
        else:
            rows, numbers = [*zip(*map(_list_column, columns), strict=True)], None
        self._list_all()
        known = self._codes
        codes = self._look_up(rows)
        if is_any(codes < 0):
            new = {row for row in rows if row not in known}
            self._add(sorted(new))  # type: ignore[type-var]
            codes = self._look_up(rows)
        return codes if numbers is None else codes[numbers]

    def _look_up(self, rows: Sequence[Hashable]) -> I64Array:
        """Find the codes of keys, -1 for those that have none."""
        found = map(self._codes.get, rows, repeat(-1))
        return np.fromiter(found, np.int64, len(rows))

    def _add(self, keys: Sequence[Hashable]) -> None:
        """Give new keys the next codes."""
        known = self._codes
        for key in keys:
            known[key] = len(known)
        listed = [keys] if len(self._values) == 1 else zip(*keys, strict=True)
        for values, column in zip(self._values, listed, strict=True):
            values.extend(column)
        self._count = len(known)

    def sort(self, codes: I64Array) -> tuple[I64Array, Keys]:
        """Sort codes by their keys, which are decoded when anyone looks at them.

        Where few keys are new, the order of all is known: it is found anew once as many
        were sorted by themselves as there are.
        """
        if len(codes) > 1:
            codes = codes[self._find_order(codes)]
        decode = partial(self._decode_columns, codes)
        late = LateColumns(self.types, len(codes), decode)
        return codes, Keys(self.names, None, late)

    def _find_order(self, codes: I64Array) -> I64Array:
        """Find the order of some codes by their keys."""
        count = len(self)
        if len(self._ranks) != count:
            self._sorted += len(codes)
            if self._sorted < count:
                columns = self._decode_columns(codes)
                return np.argsort(encode_keys(columns).codes, kind="stable")
            every = self._decode_columns(np.arange(count))
            self._ranks = encode_keys(every).codes.astype(np.int64)
            self._sorted = 0
        return self._ranks[codes].argsort(kind="stable")

    def save(self) -> list[pa.Array]:
        """List the columns of all keys, in the order of their codes."""
        return list(self._decode_columns(np.arange(len(self))))

    def restore(self, columns: Sequence[pa.Array]) -> None:
        """Take over saved keys, in the order of their codes."""
        assert not len(self)
        self.encode("", Keys(self.names, tuple(columns)))

    def none(self) -> Keys:
        """Make no keys, of the types of all."""
        if self._none is None:
            columns = self._decode_columns(np.zeros(0, np.int64))
            self._none = Keys(self.names, columns)
        return self._none

    def _decode_columns(self, codes: I64Array) -> tuple[pa.Array, ...]:
        """Look up the keys of codes."""
        if len(codes) >= MANY_KEYS and _is_plain(self.types):
            (kind,) = self.types
            return (self._hold_all().take(plain_array(codes)).view(kind),)
        self._list_all()
        numbers = codes.tolist()
        return tuple(
            _restore_column([*map(values.__getitem__, numbers)], kind)
            for values, kind in zip(self._values, self.types, strict=True)
        )


def _is_plain(types: Sequence[pa.DataType]) -> bool:
    """Tell whether keys are one column of texts, or of fixed bits that are no flags."""
    first, *others = types
    if others or pa.types.is_null(first) or pa.types.is_boolean(first):
        return False
    return is_string(first) or first.bit_width % 8 == 0


def _view_bits(column: pa.Array) -> pa.Array:
    """View all but texts as integers: equal keys have equal ones."""
    kind = column.type
    return column if is_string(kind) else column.view(f"int{kind.bit_width}")


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


def _list_distinct(column: pa.Array) -> tuple[list[Hashable], I64Array | None]:
    """List a column's keys, perhaps each once: then the number of each row's."""
    if is_string(column.type) and len(column) > FEW_TEXTS:
        encoded = column.dictionary_encode()
        numbers = integers_of(encoded.indices).astype(np.int64)
        return list(encoded.dictionary.to_pylist()), numbers
    return _list_column(column), None


def _restore_column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Make a column of what `_list_column` lists; `pa.array` would import pandas."""
    if pa.types.is_null(kind):
        return pa.nulls(len(values))
    absent = np.array([value is None for value in values], np.bool_)
    if is_string(kind):
        texts = string_array([value or "" for value in values])
        buffers = texts.buffers()
        if absent.any():
            buffers[0] = pa.py_buffer(np.packbits(~absent, bitorder="little"))
        return pa.Array.from_buffers(texts.type, len(values), buffers).cast(kind)
    if pa.types.is_boolean(kind):
        flags = np.array([bool(value) for value in values], np.bool_)
        validity = np.packbits(~absent, bitorder="little") if absent.any() else None
        return array_of(flags, validity, kind)
    numbers = np.array([value or 0 for value in values], f"i{kind.bit_width // 8}")
    return plain_array(numbers, absent if absent.any() else None).view(kind)
