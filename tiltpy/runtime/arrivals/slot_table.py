"""Columns of rows in slots: appended as they arrive, gathered in another order."""

from bisect import bisect_right

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy import arrow_functions as pc
from tiltpy.routines.catalogue import GATHER
from tiltpy.runtime.arrays.dtypes import I64Array
from tiltpy.runtime.arrays.pool import allocate
from tiltpy.runtime.arrays.views import Number, array_of, plain_array, values_of
from tiltpy.runtime.concurrency.workers import map_portions
from tiltpy.runtime.ingest.row_order import MOVED, RowNumbers
from tiltpy.runtime.ingest.sorted_runs import Slots, resize

BITS_OF_BYTE = 8
GATHERED_ROWS = 1 << 15
"""From so many rows on a routine gathers, which threads may share."""
LARGE_CHUNK = 1 << 16
"""Rows of a chunk that is not copied into a larger one."""


class SlotTable:
    """A table of rows by slot. All tables that are appended have one schema."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._columns: list[NumberColumn | ChunkColumn] = []
        self.clear()

    @property
    def bytes(self) -> int:
        """The bytes of memory that the columns take."""
        return sum(column.bytes for column in self._columns)

    def clear(self) -> None:
        """Forget all rows."""
        self._columns = [
            NumberColumn(field.type) if is_number(field.type) else ChunkColumn()
            for field in self.schema
        ]

    def append(self, table: pa.Table) -> None:
        """Give rows the next slots."""
        for number, column in enumerate(self._columns):
            array, target = table.column(number), column
            if isinstance(column, NumberColumn) and array.null_count:
                target = self._columns[number] = ChunkColumn(column.values())
            target.append(array)

    def take(self, slots: Slots) -> pa.Table:
        """Copy the rows of some slots, in their order."""
        if len(slots) < GATHERED_ROWS:
            slots = slots.astype(np.int64)
        columns = [column.take(slots) for column in self._columns]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def drop_slots(self, first: int) -> None:
        """Move all rows to the front, from a slot on, as if it were the first."""
        for column in self._columns:
            column.drop_slots(first)

    def renumber(self, slots: Slots) -> None:
        """Give the rows of some slots the first ones; forget others."""
        for column in self._columns:
            column.renumber(slots)


def is_number(kind: pa.DataType) -> bool:
    """Tell whether values of a type are numbers of whole bytes."""
    return bool(pa.types.is_primitive(kind)) and kind.bit_width >= BITS_OF_BYTE


class NumberColumn:
    """Numbers without nulls, in one array."""

    def __init__(self, kind: pa.DataType) -> None:
        self._type = kind
        self._used = 0
        self._values = np.empty(0, number_dtype(kind))

    @property
    def bytes(self) -> int:
        """The bytes of memory that it takes."""
        return self._values.nbytes

    def values(self) -> pa.Array:
        """View all values."""
        return array_of(self._values[: self._used], None, self._type)

    def append(self, array: pa.ChunkedArray) -> None:
        """Copy values to the next slots."""
        for number in range(array.num_chunks):
            values = values_of(array.chunk(number), self._values.dtype)
            used, stop = self._used, self._used + len(values)
            if stop > len(self._values):
                self._values = resize(self._values, 2 * stop)
            self._values[used:stop] = values
            self._used = stop

    def drop_slots(self, first: int) -> None:
        """Move the values from a slot on to the front."""
        count = self._used - first
        self._values[:count] = self._values[first : self._used]
        self._used = count

    def renumber(self, slots: Slots) -> None:
        """Keep the values of some slots, in their order."""
        self._used = len(slots)
        self._values[: self._used] = self._values[slots]

    def take(self, slots: Slots) -> pa.Array:
        """Copy the values of some slots."""
        return number_array(take_values(self._values, slots), self._type)


class ChunkColumn:
    """Values of any type, in chunks; small ones are joined, each a few times."""

    def __init__(self, *chunks: pa.Array) -> None:
        self._chunks = list(chunks)
        self._firsts = [0] * len(chunks)
        self._used = sum(map(len, chunks))

    @property
    def bytes(self) -> int:
        """The bytes of memory that it takes."""
        return sum(chunk.nbytes for chunk in self._chunks)

    def append(self, array: pa.ChunkedArray) -> None:
        """Put values behind the others."""
        for chunk in array.chunks:
            self._chunks.append(chunk)
            self._firsts.append(self._used)
            self._used += len(chunk)
            self._join_small()

    def _join_small(self) -> None:
        """Join the last chunks while the one in front is not twice as long."""
        chunks = self._chunks
        while len(chunks) > 1 and (
            len(chunks[-2]) < min(2 * len(chunks[-1]), LARGE_CHUNK)
        ):
            chunks[-2:] = [pa.concat_arrays(chunks[-2:])]
            self._firsts.pop()

    def drop_slots(self, first: int) -> None:
        """Forget the chunks in front of a slot; it is the first then."""
        number = bisect_right(self._firsts, first) - 1
        chunks = self._chunks[number:]
        chunks[0] = chunks[0].slice(first - self._firsts[number])
        self._chunks = chunks
        self._firsts = [0, *(each - first for each in self._firsts[number + 1 :])]
        self._used -= first

    def renumber(self, slots: Slots) -> None:
        """Keep the values of some slots, in their order."""
        self._chunks = [self.take(slots)]
        self._firsts = [0]
        self._used = len(slots)

    def take(self, slots: Slots) -> pa.Array:
        """Copy the values of some slots: from each chunk, then into their order."""
        if len(self._chunks) == 1:
            return _take(self._chunks[0], slots)
        chunks = np.searchsorted(self._firsts, slots, "right") - 1
        order = np.argsort(chunks, kind="stable")
        used, starts = np.unique(chunks[order], return_index=True)
        pieces = []
        for chunk, rows in zip(used, np.split(order, starts[1:]), strict=True):
            numbers = slots[rows] - np.uint32(self._firsts[chunk])
            pieces.append(_take(self._chunks[chunk], numbers))
        places = np.empty(len(order), np.uint32)
        places[order] = np.arange(len(order), dtype=np.uint32)
        return _take(pa.concat_arrays(pieces), places)


def take_values(values: NDArray[Number], rows: RowNumbers) -> NDArray[Number]:
    """Copy the values of some rows."""
    bits = 8 * values.itemsize
    if rows.dtype != np.uint32 or bits not in MOVED:
        return values.take(rows)
    source = values.view(f"u{values.itemsize}")
    target = allocate(MOVED[bits], len(rows))[: len(rows)].view(source.dtype)

    def gather(portion: slice) -> None:
        GATHER[bits](portion.start, portion.stop, rows, source, target)

    map_portions(gather, len(rows))
    return target.view(values.dtype)


def take_rows(tables: list[pa.Table], rows: I64Array) -> pa.Table:
    """Copy some rows of tables that lie behind one another."""
    schema = tables[0].schema
    columns = []
    for number, field in enumerate(schema):
        chunks = [chunk for each in tables for chunk in each.column(number).chunks]
        columns.append(_take_from(chunks, field.type, rows))
    return pa.Table.from_arrays(columns, schema=schema)


def _take_from(chunks: list[pa.Array], kind: pa.DataType, rows: I64Array) -> pa.Array:
    if is_number(kind) and not any(chunk.null_count for chunk in chunks):
        dtype = number_dtype(kind)
        views = [values_of(chunk, dtype) for chunk in chunks]
        values = np.concatenate(views) if len(views) > 1 else views[0]
        return number_array(values.take(rows), kind)
    return _take(pa.concat_arrays(chunks), rows)


def number_dtype(kind: pa.DataType) -> np.dtype[np.generic]:
    """Choose a type as which numbers of an Arrow type are copied."""
    return np.dtype(f"u{kind.bit_width // BITS_OF_BYTE}")


def number_array(values: NDArray[np.generic], kind: pa.DataType) -> pa.Array:
    """Make an array of numbers over values that nobody changes."""
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def _take(array: pa.Array, rows: RowNumbers) -> pa.Array:
    return pc.array_take(array, plain_array(rows), boundscheck=False)
