"""Keys whose rows do not fit into memory: read as time goes on, from files.

The rows of such a key are shared out among files by time, each of which fits. One after
the other is put in order, and the query runs over what it gives, as it does over any
input that is larger than memory.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from tiltpy.engines.out_of_core import stream
from tiltpy.errors import TiltError
from tiltpy.lean_dataclass import dataclass
from tiltpy.passes.resolve_boundaries import resolve_boundaries
from tiltpy.runtime.arrays.dtypes import BoolArray, I64Array
from tiltpy.runtime.arrays.views import values_of
from tiltpy.runtime.execution.output_group import OutputGroup
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.spark.spill import BatchFiles, Share, collect_tables
from tiltpy.spark.worker_task import (
    SparkTask,
    bind_rows,
    failure,
    group_of,
    list_key,
    rows_of,
    strip_declaration,
)

Key = tuple[pa.Array, ...]

FILE_SHARE = 8
"""A file holds one in so many of the memory's bytes, unless all rows have one time."""
MOST_FILES = 512
SAMPLE = 64
"""One row in so many is looked at, to find where to cut time."""


def stream_keys(task: SparkTask, share: Share) -> Iterator[tuple[Key, pa.Table]]:
    """Compute the snapshots of each key that has rows in a share, some at a time."""
    alone = group_of(task.text, task.options, by_key=False)
    inputs = tuple(map(strip_declaration, alone.query.inputs))
    query = resolve_boundaries(replace(alone.query, inputs=inputs))
    group = OutputGroup(query, alone.compile_for)
    for key in _list_keys(share, task.slots):
        with TemporaryDirectory(prefix="tiltpy-") as folder:
            bindings = {
                each.name: _binding(task, share, key, number, Path(folder, str(number)))
                for number, each in enumerate(task.inputs)
            }
            try:
                for result in stream(
                    query,
                    (group,),
                    bindings,
                    task.request,
                    task.run_options,
                    task.memory,
                    stamp=task.stamp,
                ):
                    yield key, result[task.output].to_arrow()
            except TiltError as error:
                raise failure(task, list_key(task.keys, key), error) from None


def _list_keys(share: Share, slots: list[str]) -> list[Key]:
    """List the distinct keys, which all fit in memory."""
    tables = (pa.Table.from_batches([batch]).select(slots) for batch in share.rows)
    distinct = pa.concat_tables(t.group_by(slots).aggregate([]) for t in tables)
    keys = distinct.group_by(slots).aggregate([]).combine_chunks()
    return [
        tuple(column.chunk(0).slice(row, 1) for column in keys.columns)
        for row in range(keys.num_rows)
    ]


def _binding(
    task: SparkTask, share: Share, key: Key, number: int, folder: Path
) -> InputBinding:
    """Bind an input's rows of a key, as tables in order of time.

    `number` is the input's in `task`; `folder` is where its rows are sorted.
    """
    columns, rows = task.inputs[number], _KeyRows(task, share, key, number)
    empty = bind_rows(columns, rows.empty_table())
    later = (bind_rows(columns, table).frame for table in _sort_by_files(rows, folder))
    return replace(empty, frame=chain((empty.frame,), later))


@dataclass(frozen=True, slots=True)
class _KeyRows:
    """The rows of an input and a key, in tables, read as often as asked."""

    task: SparkTask
    share: Share
    key: Key
    number: int

    def __iter__(self) -> Iterator[pa.Table]:
        slots, columns = self.task.slots, self.task.inputs[self.number]
        for table in collect_tables(self.share.rows, self.task.memory // FILE_SHARE):
            alike = [
                _matches_value(table.column(slot), value)
                for slot, value in zip(slots, self.key, strict=True)
            ]
            of_key = table.filter(pa.array(np.logical_and.reduce(alike)))
            yield rows_of(of_key, self.number, columns)

    def empty_table(self) -> pa.Table:
        """Make a table without rows."""
        first = next(iter(self.share.rows))
        empty = pa.Table.from_batches([first]).slice(0, 0)
        return rows_of(empty, self.number, self.task.inputs[self.number])

    def times(self, table: pa.Table) -> I64Array:
        """Read the times of rows as numbers of the same order."""
        column = table.column(self.time).combine_chunks()
        stored = np.dtype(f"i{column.type.bit_width // 8}")
        return values_of(column, stored).astype(np.int64)

    @property
    def time(self) -> str:
        """The column that rows are in order of."""
        columns = self.task.inputs[self.number]
        if columns.lifetime.columns:
            return columns.lifetime.columns[0]
        assert columns.time is not None
        return columns.time


def _sort_by_files(rows: _KeyRows, folder: Path) -> Iterator[pa.Table]:
    """Sort rows by time, by way of files that each fit in memory."""
    sample = np.sort(np.concatenate([rows.times(t)[::SAMPLE] for t in rows]))
    if len(sample) == 0:
        return
    folder.mkdir()
    count = min(MOST_FILES, 1 + FILE_SHARE * rows.share.nbytes // rows.task.memory)
    cuts = np.unique(sample[len(sample) * np.arange(1, count) // count])
    with BatchFiles(str(folder), rows.empty_table().schema, 1 + len(cuts)) as files:
        for table in rows:
            files.write(table, cuts.searchsorted(rows.times(table), side="right"))
    for file in files.files:
        for table in collect_tables(file, rows.share.nbytes):
            yield table.sort_by(rows.time)


def _matches_value(column: pa.ChunkedArray, value: pa.Array) -> BoolArray:
    """Find where a column has a value; a null is one too, and so is NaN."""
    both = pa.chunked_array([value, *column.chunks]).combine_chunks()
    codes = both.dictionary_encode(null_encoding="encode").indices.to_numpy()
    equal: BoolArray = codes[1:] == codes[0]
    return equal
