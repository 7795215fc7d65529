"""An output as an Arrow table, made of its snapshots on demand.

A run leaves each output as pieces, one per time range, in order. They become the chunks
of the table; values are never copied, times only where they are not stored or the
output's unit is not the tick.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
import pyarrow as pa

from tiltpy import arrow_functions as pc
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrays.dictionary import Strings, split_to_fit
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.arrays.views import arrow_type, column_array
from tiltpy.runtime.arrow.time_payloads import output_type, ticks_array
from tiltpy.runtime.arrow.timestamps import OutputStamp, from_ticks
from tiltpy.runtime.concurrency.offload import allow_threads, offload
from tiltpy.runtime.concurrency.workers import map_shared
from tiltpy.runtime.execution.stitch import Piece
from tiltpy.runtime.results.key_columns import KeyColumns, sort_by_time
from tiltpy.runtime.results.keyed_bitmaps import KeyedBitmaps
from tiltpy.types import ENDLESS, STRING, Scalar, Struct, Type, columns

T = TypeVar("T")


@record(frozen=True, slots=True, eq=False)
class OutputRows:
    """The snapshots of an output in pieces, and the keys that they are of, if any."""

    pieces: Sequence[Piece | KeyedBitmaps]
    keys: KeyColumns | None

    def key_fields(self) -> list[tuple[str, pa.DataType]]:
        """List the names and types of the key columns."""
        return [] if self.keys is None else self.keys.fields


class DeferredRows(ABC):
    """Makes the snapshots of an output by key on demand."""

    @abstractmethod
    def key_fields(self) -> list[tuple[str, pa.DataType]]:
        """List the names and types of the key columns, known before any snapshot is."""

    @abstractmethod
    def make(self) -> OutputRows:
        """Make the snapshots."""


class LazyRows:
    """Snapshots that are made on first use, once for all tables that share them."""

    def __init__(self, source: OutputRows | DeferredRows) -> None:
        self._source = source

    @property
    def key_fields(self) -> list[tuple[str, pa.DataType]]:
        """The names and types of the key columns."""
        return self._source.key_fields()

    @property
    def rows(self) -> OutputRows:
        """The snapshots and their keys."""
        if not isinstance(self._source, OutputRows):
            self._source = offload(self._source.make)
        return self._source

    @property
    def is_made(self) -> bool:
        """Return whether the snapshots have been made."""
        return isinstance(self._source, OutputRows)

    def __reduce__(self) -> tuple[type["LazyRows"], tuple[OutputRows]]:
        """Make the snapshots: their source stays in its process."""
        return LazyRows, (self.rows,)


@lru_cache(maxsize=256)
def _schema_of(
    name: str,
    of: Type,
    stamp: OutputStamp,
    key_fields: tuple[tuple[str, pa.DataType], ...],
) -> pa.Schema:
    """Make the schema of a table: keys, start and end, payload."""
    fields = of.fields if isinstance(of, Struct) else [(name, of)]
    payload = [(field, _arrow_type(inner, stamp)) for field, inner in fields]
    times = [("start", stamp.type), ("end", stamp.type)]
    return pa.schema([*key_fields, *times, *payload])


def _arrow_type(of: Type, stamp: OutputStamp) -> pa.DataType:
    if isinstance(of, Struct):
        return pa.struct([(name, _arrow_type(each, stamp)) for name, each in of.fields])
    if of.is_temporal:
        return output_type(of, stamp).type
    return arrow_type(of)


@record(frozen=True, slots=True, eq=False)
class TableFormat:
    """The conversion of an output's snapshots to columns of a table.

    `stamp` is the type of its times; `strings` is the dictionary of columns without
    one; `workers` share large tables.
    """

    name: str
    type: Type
    stamp: OutputStamp
    strings: Strings
    workers: int = 1

    def schema(self, key_fields: Sequence[tuple[str, pa.DataType]]) -> pa.Schema:
        """Make the schema of the table: keys, start and end, payload."""
        return _schema_of(self.name, self.type, self.stamp, tuple(key_fields))

    def table(self, rows: OutputRows) -> pa.Table:
        """Make the table of snapshots; workers share it, if it is large."""
        count = sum(snapshots.n for snapshots in rows.pieces)
        shared = count >= DEFAULT_COSTS.run.shared_result_rows
        with allow_threads(self.workers if shared else 1):
            return self._table(rows)

    def _table(self, rows: OutputRows) -> pa.Table:
        schema = self.schema(rows.key_fields())
        most = None if rows.keys is None else rows.keys.rows_per_chunk()
        chunks_of_pieces = _map_pieces(
            lambda snapshots: list(self._chunks(snapshots, most)), rows.pieces
        )
        chunks = [chunk for chunks in chunks_of_pieces for chunk in chunks]
        if rows.keys is not None:
            sizes = [len(chunk[0]) for chunk in chunks]
            keys = rows.keys.chunks(sizes)
            chunks = [[*k, *c] for k, c in zip(keys, chunks, strict=True)]
        table = pa.Table.from_batches(
            [pa.RecordBatch.from_arrays(chunk, schema=schema) for chunk in chunks],
            schema,
        )
        if rows.keys is not None and rows.keys.order == "time":
            tied = any(map(_are_rows, rows.pieces))
            table = sort_by_time(table, tied=tied)
        return table

    def _chunks(
        self, snapshots: Piece | KeyedBitmaps, most: int | None
    ) -> Iterator[list[pa.Array]]:
        """Make the columns of snapshots, in chunks whose text fits into one array.

        A chunk has `most` snapshots at most.
        """
        pairs = list(zip(columns(self.type), snapshots.columns, strict=True))
        times = list(self._times(snapshots, keyed=most is not None))
        arrays = [
            self._array(values, snapshots.n, scalar) for (_, scalar), values in pairs
        ]
        texts = {
            number: column.strings or self.strings
            for number, ((_, scalar), column) in enumerate(pairs)
            if scalar == STRING
        }
        fields = [("", self.type)]
        if isinstance(self.type, Struct):
            fields = list(self.type.fields)
        strings = [(s, arrays[n]) for n, s in texts.items()]
        for chunk in _split(strings, snapshots.n, most or snapshots.n):
            slices = (
                texts[number].decode(array[chunk]) if number in texts else array[chunk]
                for number, array in enumerate(arrays)
            )
            payload = [self._field(of, slices) for _, of in fields]
            yield [*(time[chunk] for time in times), *payload]

    def _times(
        self, snapshots: Piece | KeyedBitmaps, *, keyed: bool
    ) -> Iterator[pa.Array]:
        """Make the columns of starts and ends.

        Of a row object a lifetime is not cut: one without end has none. Such are the
        last rows of an input, or of each key.
        """
        starts, ends = snapshots.times()
        yield from_ticks(starts, self.stamp, self.name)
        rows = _are_rows(snapshots) and len(ends) > 0
        if rows and (ends.max() if keyed else ends[-1]) >= ENDLESS:
            endless = ends >= ENDLESS
            known = from_ticks(np.where(endless, 0, ends), self.stamp, self.name)
            yield pc.if_else(pa.array(endless), None, known)
            return
        yield from_ticks(ends, self.stamp, self.name)

    def _field(self, of: Type, arrays: Iterator[pa.Array]) -> pa.Array:
        """Make a field of the next columns; a struct is null where its first one is."""
        first = next(arrays)
        if not isinstance(of, Struct):
            return first
        names = [name for name, _ in of.fields]
        inside = [next(arrays) for _ in names]
        nulls = first.is_null() if first.null_count else None
        return pa.StructArray.from_arrays(inside, names, mask=nulls)

    def _array(self, column: Column, count: int, scalar: Scalar) -> pa.Array:
        if not scalar.is_temporal:
            return column_array(column, count, scalar)
        kind = output_type(scalar, self.stamp)
        return ticks_array(column, count, scalar, kind, self.name)


def _map_pieces(
    work: Callable[[Piece | KeyedBitmaps], T], pieces: Sequence[Piece | KeyedBitmaps]
) -> list[T]:
    """Map a function over pieces: threads share them, or the rows of one that is most.

    What a run makes over sampled rows is one long piece between two seams.
    """
    sizes = [piece.n for piece in pieces]
    if 2 * max(sizes, default=0) > sum(sizes):
        return list(map(work, pieces))
    return map_shared(work, pieces)


def _are_rows(snapshots: Piece | KeyedBitmaps) -> bool:
    """Tell whether snapshots are rows of a row object."""
    return isinstance(snapshots, SnapshotBuffer) and snapshots.row_object


def _split(
    texts: Sequence[tuple[Strings, pa.Array]], rows: int, most: int
) -> Iterator[slice]:
    """Split the rows of a piece into ranges whose text fits into one array."""
    for first in range(0, rows, max(1, most)):
        yield from split_to_fit(texts, min(most, rows - first), first)
