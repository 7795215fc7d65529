"""Another order of rows, and columns in it.

It is known as the row that comes first, second, ..., or as the place that each row goes
to. By places columns are read as they lie, and written to as many places as there are
keys: their cache lines are filled one after the other, which takes half the time of
reading rows from all over a column.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy import arrow_functions as pc
from tiltpy.forks import cached_property
from tiltpy.routines.catalogue import GATHER, SCATTER
from tiltpy.runtime.arrays.dtypes import Bits, Times
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.runtime.arrays.snapshot_buffer import Column, pack_validity
from tiltpy.runtime.arrays.views import (
    Number,
    array_of,
    plain_array,
    validity_of,
    values_of,
)
from tiltpy.runtime.concurrency.workers import map_portions
from tiltpy.types import I64, U32

RowNumbers = NDArray[np.integer]
"""A row for each row: the one that comes first, second, ..., or the place of each."""
MOVED = {32: U32, 64: I64}
"""The types as which values of some bits are moved."""


class RowOrder:
    """An order of all rows: the `rows` in it, or the `places` of the rows in it."""

    def __init__(
        self, rows: RowNumbers | None = None, places: RowNumbers | None = None
    ) -> None:
        assert rows is not None or places is not None
        self._rows = rows
        self._places = places

    def __len__(self) -> int:
        return len(self.places if self._rows is None else self._rows)

    @cached_property
    def rows(self) -> RowNumbers:
        """The row that comes first, second, ..."""
        if self._rows is not None:
            return self._rows
        return self.move_values(np.arange(len(self), dtype=np.uint32))

    @cached_property
    def places(self) -> RowNumbers:
        """The place of each row."""
        if self._places is not None:
            return self._places
        assert self._rows is not None
        places = np.empty_like(self._rows)
        places[self._rows] = np.arange(len(self._rows))
        return places

    def move(self, array: pa.Array) -> pa.Array:
        """Copy a column in this order."""
        if isinstance(array, pa.DictionaryArray):
            indices = self.move(array.indices)
            return pa.DictionaryArray.from_arrays(indices, array.dictionary, safe=False)
        if not self.moves(array):
            return pc.array_take(array, plain_array(self.rows), boundscheck=False)
        dtype = np.dtype(f"u{array.type.bit_width // 8}")
        values = self.move_values(values_of(array, dtype))
        return array_of(values, self._move_validity(array), array.type)

    def _move_validity(self, array: pa.Array) -> Bits | None:
        """Copy the bitmap of a column; None where no row is null."""
        bits, offset = validity_of(array)
        if bits is None:
            return None
        valid = Column(np.empty(0), bits, offset).valid(len(array))
        return pack_validity(self.move_values(valid.astype(np.uint32)).astype(np.bool_))

    def move_times(self, times: Times) -> Times:
        """Copy times in this order."""
        return self.move_values(times)

    def move_values(self, values: NDArray[Number]) -> NDArray[Number]:
        """Copy values of 32 or 64 bits in this order; threads share the rows."""
        bits, count = 8 * values.itemsize, len(values)
        source = np.ascontiguousarray(values).view(f"u{values.itemsize}")
        target = allocate(MOVED[bits], count)[:count]
        by_places = self._places is not None
        numbers = self._places if by_places else self._rows
        assert numbers is not None
        routine = SCATTER[bits] if by_places else GATHER[bits]

        def move(rows: slice) -> None:
            routine(rows.start, rows.stop, numbers, source, target)

        if numbers.dtype == np.uint32:
            map_portions(move, count)
        else:
            np.take(source, self.rows, out=target.view(source.dtype), mode="clip")
        return target.view(values.dtype)

    @staticmethod
    def moves(array: pa.Array) -> bool:
        """Tell whether machine code moves an array: numbers of some widths."""
        kind = array.type
        return bool(pa.types.is_primitive(kind)) and kind.bit_width in MOVED


def move_rows(array: pa.Array, order: RowOrder | None) -> pa.Array:
    """Copy a column in an order; without one, it stays."""
    return array if order is None else order.move(array)


def move_times(times: Times, order: RowOrder | None) -> Times:
    """Copy times in an order; without one, they stay."""
    return times if order is None else order.move_times(times)
