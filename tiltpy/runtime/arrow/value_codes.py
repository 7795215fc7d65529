"""Codes of the values of a key column, which is read batch by batch.

The code of a value is the number of other values that came before it; null is a value.
"""

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.routines.catalogue import CODE_NUMBERS, CODE_TEXTS, WORD
from tiltpy.routines.prepared_call import PreparedCall
from tiltpy.routines.routine import Routine
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array
from tiltpy.runtime.arrays.views import (
    array_of,
    bools_of,
    plain_array,
    values_of,
)
from tiltpy.runtime.arrow.texts import Texts

BLOCK = 1 << 12
"""Rows that are coded at once: there is room for as many new values."""
LEAST_ROOM = 1 << 8
"""Values for which there is room at least."""
MOST_VALUES = 1 << 28
"""Values of a column, at most: their table takes 8 GB."""
NUMBER_BYTES = 8
Rows = TypeVar("Rows", I64Array, pa.Array)
"""Values as a table has them: numbers of 64 bits, or texts."""


class ValueCodes(ABC, Generic[Rows]):
    """The values of one column so far, by code."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self.count = 0
        self.null_code: int | None = None
        self._room = 0
        self._table = np.zeros(0, np.uint32)
        """A hash table of codes and one more, with two slots for each value."""
        self._coded: PreparedCall | None = None

    def encode(self, column: pa.Array) -> I64Array:
        """Find the code of each row's value; new values get the next codes."""
        if not column.null_count:
            return self.encode_rows(self._view(column))
        codes = np.empty(len(column), np.int64)
        is_null = bools_of(column.is_null()).view(np.bool_)
        null = self.null_code
        if null is None:
            self.encode_rows(self._view(column[: int(is_null.argmax())]))
            self._make_room(1)
            null = self._note_null()
        codes[is_null] = null
        codes[~is_null] = self.encode_rows(self._view(column.drop_null()))
        return codes

    def encode_rows(self, rows: Rows) -> I64Array:
        """Find the codes of values in the form of the table; none is null."""
        codes = np.empty(len(rows), np.int64)
        for first in range(0, len(rows), BLOCK):
            block = rows[first : first + BLOCK]
            self._make_room(len(block))
            self._encode_block(block, codes[first : first + BLOCK])
        return codes

    def encode_as_int32(self, column: pa.Array) -> NDArray[np.int32]:
        """Find the codes of values, of which none is null, as integers of 32 bits."""
        codes = np.empty(len(column), np.int32)
        for first in range(0, len(column), BLOCK):
            rows = slice(first, first + BLOCK)
            codes[rows] = self.encode_rows(self._view(column[rows]))
        return codes

    def list_values(self) -> pa.Array:
        """List all values in order of their codes."""
        return self.decode(np.arange(self.count))

    @abstractmethod
    def decode(self, codes: I64Array) -> pa.Array:
        """Look up the values of codes."""

    @abstractmethod
    def rank(self, codes: I64Array) -> I64Array:
        """Find numbers of some codes that are in the order of values.

        That of null may be any.
        """

    def is_null(self, codes: I64Array) -> BoolArray | None:
        """Tell which codes are that of null; None if none can be."""
        return None if self.null_code is None else codes == self.null_code

    def _make_room(self, added: int) -> None:
        """Make room for so many more values: the table is filled anew."""
        if self.count + added <= self._room:
            return
        values, null = self._list_known(), self.null_code
        assert self.count + added < MOST_VALUES, "more values than codes of 32 bits"
        self._room = max(LEAST_ROOM, 2 * (self.count + added))
        self._table = np.zeros(2 * self._room, np.uint32)
        self.count, self.null_code = 0, None
        self._clear()
        if null is None:
            self.encode_rows(values)
            return
        self.encode_rows(values[:null])
        self._note_null()
        self.encode_rows(values[null + 1 :])

    def _note_null(self) -> int:
        """Give null the next code."""
        self._skip()
        code = self.null_code = self.count
        self.count += 1
        return code

    def _call(
        self, routine: Routine, rows: int, *arrays: NDArray[Any], codes: I64Array
    ) -> None:
        """Call a routine that codes rows, and count the values behind it."""
        slots = len(self._table)
        if self._coded is None:
            self._coded = PreparedCall.of(routine, 4 + len(arrays))
        self.count = self._coded(rows, slots, self.count, *arrays, codes)[2]

    @abstractmethod
    def _view(self, column: pa.Array) -> Rows:
        """View values, of which none is null, in the form of the table."""

    @abstractmethod
    def _encode_block(self, rows: Rows, codes: I64Array) -> None:
        """Write the codes of a few values, for which there is room."""

    @abstractmethod
    def _list_known(self) -> Rows:
        """List all values by code, anything in place of null."""

    @abstractmethod
    def _clear(self) -> None:
        """Take memory for as many values as there is room for, and note none."""

    @abstractmethod
    def _skip(self) -> None:
        """Note that the next code is that of no value."""


def make_codes(kind: pa.DataType) -> ValueCodes[Any]:
    """Make the codes of a column of a type, which is a key's; text is `string`."""
    return TextCodes(kind) if pa.types.is_string(kind) else NumberCodes(kind)


class NumberCodes(ValueCodes[I64Array]):
    """The codes of values of fixed width: equal ones have equal bits."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        self._known = np.zeros(1, np.int64)
        """The bits of all values as numbers, behind an entry that is not used."""
        width = 1 if _has_no_bytes(kind) else kind.bit_width // 8
        letter = "u" if pa.types.is_unsigned_integer(kind) else "i"
        self._dtype: np.dtype[Any] = np.dtype(f"{letter}{width}")
        self._is_unsigned = pa.types.is_uint64(kind)
        self._is_floating = pa.types.is_floating(kind)
        self._is_boolean = pa.types.is_boolean(kind)

    def numbers(self, codes: I64Array) -> I64Array:
        """Look up the numbers of codes."""
        return self._known[1:][codes]

    def decode(self, codes: I64Array) -> pa.Array:
        """Look up the values of codes."""
        if pa.types.is_null(self.kind):
            return pa.nulls(len(codes))
        numbers, absent = self.numbers(codes).astype(self._dtype), self.is_null(codes)
        if not pa.types.is_boolean(self.kind):
            return plain_array(numbers, absent).view(self.kind)
        validity = None
        if absent is not None:
            validity = np.packbits(~absent, bitorder="little")
        return array_of(numbers.astype(np.bool_), validity, self.kind)

    def rank(self, codes: I64Array) -> I64Array:
        """Return the numbers, mapped to the order of unsigned ones and of floats."""
        numbers = self.numbers(codes)
        if self._is_unsigned:
            return numbers ^ np.int64(-1 << 63)
        if self._is_floating:  # negative ones by their magnitude
            magnitude = np.int64((1 << (self.kind.bit_width - 1)) - 1)
            return numbers ^ ((numbers >> np.int64(63)) & magnitude)
        return numbers

    def _encode_block(self, rows: I64Array, codes: I64Array) -> None:
        numbers = np.ascontiguousarray(rows)
        self._call(
            *(CODE_NUMBERS, len(rows)), numbers, self._table, self._known, codes=codes
        )

    def _view(self, column: pa.Array) -> I64Array:
        """View the values of an array as numbers of 64 bits."""
        if self._is_boolean:
            return bools_of(column).astype(np.int64)
        values = values_of(column, self._dtype)
        wide = values.view(np.int64) if values.itemsize == NUMBER_BYTES else None
        return values.astype(np.int64) if wide is None else wide

    def _list_known(self) -> I64Array:
        return self._known[1 : self.count + 1]

    def _clear(self) -> None:
        self._known = np.zeros(self._room + 1, np.int64)

    def _skip(self) -> None:
        self._known[self.count + 1] = 0


class TextCodes(ValueCodes[pa.Array]):
    """The codes of texts, whose bytes stand behind one another."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        self._offsets = np.zeros(1, np.int64)
        self._data = np.zeros(WORD, np.uint8)
        self._ranks = np.zeros(0, np.int64)
        """The place of each code in the order of all, if it is known of all."""
        self._sorted = 0
        """Texts that were sorted since then, each time they were."""

    def decode(self, codes: I64Array) -> pa.Array:
        """Look up the values of codes."""
        return self._texts.take(codes, self.kind, self.is_null(codes))

    @property
    def _texts(self) -> Texts:
        return Texts(self._offsets[: self.count + 1], self._data)

    def rank(self, codes: I64Array) -> I64Array:
        """Find the ranks of texts among all, or among those of the codes.

        Where few texts are new, the order of all is known: it is found anew once as
        many were sorted by themselves as there are.
        """
        if len(self._ranks) != self.count:
            self._sorted += len(codes)
            if self._sorted < self.count:
                some, places = np.unique(codes, return_inverse=True)
                return self._rank(some)[places]
            self._ranks = self._rank(np.arange(self.count))
            self._sorted = 0
        return self._ranks[codes]

    def _rank(self, codes: I64Array) -> I64Array:
        """Rank the texts of distinct codes among each other."""
        ranks = np.empty(len(codes), np.int64)
        texts = self._texts
        if len(codes) < self.count:
            texts = Texts.of(texts.take(codes, pa.large_string()))
        ranks[texts.sort()] = np.arange(len(codes))
        return ranks

    def _view(self, column: pa.Array) -> pa.Array:
        return column

    def _encode_block(self, rows: pa.Array, codes: I64Array) -> None:
        _, offsets, data = rows.buffers()
        width = np.dtype(np.int64 if pa.types.is_large_string(rows.type) else np.int32)
        stops = np.frombuffer(
            offsets, width, len(rows) + 1, width.itemsize * rows.offset
        )
        texts = np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8)
        size = int(self._offsets[self.count]) + int(stops[-1] - stops[0])
        if size + WORD > len(self._data):
            self._data = np.append(self._data, np.zeros(size, np.uint8))
        arrays = stops.astype(np.int64), texts, self._table, self._offsets, self._data
        self._call(CODE_TEXTS, len(rows), *arrays, codes=codes)

    def _list_known(self) -> pa.Array:
        buffers = None, pa.py_buffer(self._offsets), pa.py_buffer(self._data)
        return pa.Array.from_buffers(pa.large_string(), self.count, buffers)

    def _clear(self) -> None:
        self._offsets = np.zeros(self._room + 1, np.int64)
        self._data = np.zeros(len(self._data), np.uint8)

    def _skip(self) -> None:
        self._offsets[self.count + 1] = self._offsets[self.count]


def _has_no_bytes(kind: pa.DataType) -> bool:
    """Tell whether the values of a type are no whole bytes."""
    return bool(pa.types.is_null(kind) or pa.types.is_boolean(kind))
