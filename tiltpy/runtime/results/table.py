"""An output as an Arrow table, made of its snapshots on demand.

A run leaves each output as pieces, one per time range, in order. They become the chunks
of the table; values are never copied, times only where they are not stored or the
output's unit is not the tick.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import TypeVar

import numpy as np
import pyarrow as pa

from tiltpy import arrow_functions as pc
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrays.dictionary import Strings, split_to_fit
from tiltpy.runtime.arrays.dtypes import Times
from tiltpy.runtime.arrays.pool import dtype_of
from tiltpy.runtime.arrays.snapshot_buffer import Column, SnapshotBuffer
from tiltpy.runtime.arrays.views import (
    array_of,
    arrow_type,
    storage_type,
    view_column,
)
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

    @property
    def count(self) -> int:
        """The number of snapshots."""
        count = 0
        for each in self.pieces:  # pushes feel a generator
            count += each.n
        return count

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

    def find_few(self) -> OutputRows | None:
        """Find the snapshots, if they have been made and are few."""
        source, costs = self._source, DEFAULT_COSTS.run
        few = min(costs.quick_rows, costs.shared_result_rows)
        return source if isinstance(source, OutputRows) and source.count < few else None

    def __reduce__(self) -> tuple[type["LazyRows"], tuple[OutputRows]]:
        """Make the snapshots: their source stays in its process."""
        return LazyRows, (self.rows,)


def _arrow_type(of: Type, stamp: OutputStamp) -> pa.DataType:
    if isinstance(of, Struct):
        return pa.struct([(name, _arrow_type(each, stamp)) for name, each in of.fields])
    if of.is_temporal:
        return output_type(of, stamp).type
    return arrow_type(of)


class TableFormat:
    """The conversion of an output's snapshots to columns of a table.

    `stamp` is the type of its times. All that follows from the types is settled once.
    """

    def __init__(self, name: str, type: Type, stamp: OutputStamp) -> None:
        self.name = name
        self.type = type
        self.stamp = stamp
        self.fields = type.fields if isinstance(type, Struct) else ((name, type),)
        payload = [(field, _arrow_type(of, stamp)) for field, of in self.fields]
        self._schema = pa.schema([("start", stamp.type), ("end", stamp.type), *payload])
        scalars = [scalar for _, scalar in columns(type)]
        self._columns = [_make_column(scalar, stamp, name) for scalar in scalars]
        self._texts = [n for n, scalar in enumerate(scalars) if scalar == STRING]
        """The numbers of the columns of strings."""
        self._is_nested = any(isinstance(of, Struct) for _, of in self.fields)
        self._has_ticks = stamp.counts_ticks
        self._make_batch = partial(pa.RecordBatch.from_arrays, schema=self._schema)

    def schema(self, key_fields: Sequence[tuple[str, pa.DataType]] = ()) -> pa.Schema:
        """Find the schema of the table: keys, start and end, payload."""
        return pa.schema([*key_fields, *self._schema]) if key_fields else self._schema

    def table(self, rows: OutputRows, strings: Strings, workers: int) -> pa.Table:
        """Make the table of snapshots; workers share it, if it is large.

        `strings` is the dictionary of columns without one.
        """
        shared = rows.count >= DEFAULT_COSTS.run.shared_result_rows
        with allow_threads(workers if shared else 1):
            return self.quick_table(rows, strings)

    def quick_table(self, rows: OutputRows, strings: Strings) -> pa.Table:
        """Make the table of few snapshots, in this thread, or of any number."""
        keys = rows.keys
        if keys is None:
            chunks = self._all_chunks(rows, None, strings)
            if len(chunks) == 1:  # in less time than a batch of them
                return pa.Table.from_arrays(chunks[0], schema=self._schema)
            batches = list(map(self._make_batch, chunks))
            return pa.Table.from_batches(batches, self._schema)
        schema = self.schema(keys.fields)
        chunks = self._all_chunks(rows, keys.rows_per_chunk(), strings)
        of_keys = keys.chunks([len(chunk[0]) for chunk in chunks])
        table = pa.Table.from_batches(
            [
                pa.RecordBatch.from_arrays([*key, *chunk], schema=schema)
                for key, chunk in zip(of_keys, chunks, strict=True)
            ],
            schema,
        )
        if keys.order == "time":
            tied = any(map(_are_rows, rows.pieces))
            table = sort_by_time(table, tied=tied)
        return table

    def _all_chunks(
        self, rows: OutputRows, most: int | None, strings: Strings
    ) -> list[list[pa.Array]]:
        """Make the columns of all snapshots, in chunks."""
        if len(rows.pieces) == 1:
            return self._chunks(rows.pieces[0], most, strings)
        chunks_of_pieces = _map_pieces(
            lambda snapshots: self._chunks(snapshots, most, strings), rows
        )
        return [chunk for chunks in chunks_of_pieces for chunk in chunks]

    def _chunks(
        self, snapshots: Piece | KeyedBitmaps, most: int | None, strings: Strings
    ) -> list[list[pa.Array]]:
        """Make the columns of snapshots, in chunks whose text fits into one array.

        A chunk has `most` snapshots at most.
        """
        count, payload = snapshots.n, []
        times = self._times(snapshots, keyed=most is not None)
        for make, column in zip(self._columns, snapshots.columns, strict=True):
            payload.append(make(column, count))
        if most is None and not self._texts:
            return [[*times, *(self._join(payload) if self._is_nested else payload)]]
        texts = {n: snapshots.columns[n].strings or strings for n in self._texts}
        codes = [(of, payload[number]) for number, of in texts.items()]
        return [
            [
                *[time[chunk] for time in times],
                *self._join(
                    [
                        texts[number].decode(array[chunk])
                        if number in texts
                        else array[chunk]
                        for number, array in enumerate(payload)
                    ]
                ),
            ]
            for chunk in _split(codes, count, most or count)
        ]

    def _times(
        self, snapshots: Piece | KeyedBitmaps, *, keyed: bool
    ) -> tuple[pa.Array, pa.Array]:
        """Make the columns of starts and ends.

        Of a row object a lifetime is not cut: one without end has none. Such are the
        last rows of an input, or of each key.
        """
        starts, ends = snapshots.times()
        rows = _are_rows(snapshots) and len(ends) > 0
        if rows and (ends.max() if keyed else ends[-1]) >= ENDLESS:
            endless = ends >= ENDLESS
            known = self._time_array(np.where(endless, 0, ends))
            return self._time_array(starts), pc.if_else(pa.array(endless), None, known)
        if self._has_ticks:
            of = self.stamp.type
            return array_of(starts, None, of), array_of(ends, None, of)
        return self._time_array(starts), self._time_array(ends)

    def _time_array(self, times: Times) -> pa.Array:
        """Make a column of times."""
        return from_ticks(times, self.stamp, self.name)

    def _join(self, arrays: list[pa.Array]) -> list[pa.Array]:
        """Join columns to fields: structs in a struct have several."""
        following = iter(arrays)
        return [_make_field(of, following) for _, of in self.fields]


@lru_cache(maxsize=256)
def format_of(name: str, type: Type, stamp: OutputStamp) -> TableFormat:
    """Find the format of the tables of an output."""
    return TableFormat(name, type, stamp)


def _make_field(of: Type, arrays: Iterator[pa.Array]) -> pa.Array:
    """Make a field of the next columns; a struct is null where its first one is."""
    first = next(arrays)
    if not isinstance(of, Struct):
        return first
    names = [name for name, _ in of.fields]
    inside = [next(arrays) for _ in names]
    nulls = first.is_null() if first.null_count else None
    return pa.StructArray.from_arrays(inside, names, mask=nulls)


def _make_column(
    scalar: Scalar, stamp: OutputStamp, output: str
) -> Callable[[Column, int], pa.Array]:
    """Make what converts the first values of a column of a scalar."""
    if not scalar.is_temporal:
        dtype, kind = dtype_of(scalar), storage_type(scalar)
        return partial(view_column, dtype=dtype, kind=kind)
    kind = output_type(scalar, stamp)
    return partial(ticks_array, scalar=scalar, kind=kind, output=output)


def _map_pieces(work: Callable[[Piece | KeyedBitmaps], T], rows: OutputRows) -> list[T]:
    """Map a function over pieces: threads share them, or the rows of one that is most.

    What a run makes over sampled rows is one long piece between two seams.
    """
    pieces = rows.pieces
    if len(pieces) == 1 or 2 * max([p.n for p in pieces], default=0) > rows.count:
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
