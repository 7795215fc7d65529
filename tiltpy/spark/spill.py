"""A task's rows in shares that fit into memory, by way of files where all do not.

Rows that are alike in some columns stay together. As long as a task's rows fit they are
one share; else they are put into files by those columns, and what does not fit then
once more. A share that is too large even so is mostly of rows that are all alike.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self
from zlib import crc32

import numpy as np
import pyarrow as pa

from tiltpy.lean_dataclass import dataclass
from tiltpy.runtime.arrays.dtypes import I64Array

FILES = 32
"""Files that rows are shared out among."""
TIMES = 2
"""Passes over rows that do not fit, at most."""


@dataclass(frozen=True, slots=True)
class Share:
    """Some rows: batches, of a file if they did not fit, and their bytes."""

    rows: Iterable[pa.RecordBatch]
    nbytes: int

    def table(self) -> pa.Table:
        """Read all of them at once."""
        return pa.Table.from_batches(self.rows)


@dataclass(frozen=True, slots=True)
class BatchFile:
    """Record batches on disk, read one after the other, as often as asked."""

    path: Path

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        with pa.OSFile(str(self.path)) as file, pa.ipc.open_file(file) as batches:
            for number in range(batches.num_record_batches):
                yield batches.get_batch(number)


class BatchFiles:
    """Rows shared out among files of a folder by a number that each has."""

    def __init__(self, folder: str, schema: pa.Schema, count: int) -> None:
        names = (Path(folder) / f"{number}.arrow" for number in range(count))
        self.files = [BatchFile(name) for name in names]
        self.sizes = [0] * count
        self._writers = [pa.ipc.new_file(str(file.path), schema) for file in self.files]

    def write(self, table: pa.Table, numbers: I64Array) -> None:
        """Put each row of a table into the file with its number."""
        for number in np.unique(numbers).tolist():
            rows = pa.array(np.flatnonzero(numbers == number))
            chosen = table.take(rows).combine_chunks()
            self._writers[number].write_table(chosen)
            self.sizes[number] += chosen.nbytes

    def __enter__(self) -> Self:
        """Write until the end of the block, and read from then on."""
        return self

    def __exit__(self, *_: object) -> None:
        for writer in self._writers:
            writer.close()


def read_shares(
    batches: Iterator[pa.RecordBatch], columns: Sequence[str], most: int
) -> Iterator[Share]:
    """Read all rows of some batches; none where there is no batch.

    Rows alike in `columns` are in one share, which has at most `most` bytes, if it can.
    """
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size > most:
            rows = chain(_drain(held), batches)
            yield from _read_spilled(batch.schema, rows, columns, most)
            return
    if held:
        yield Share(held, size)


def _read_spilled(
    schema: pa.Schema,
    rows: Iterable[pa.RecordBatch],
    columns: Sequence[str],
    most: int,
    time: int = 1,
) -> Iterator[Share]:
    """Share rows out among files by a hash of `columns`, and read these one by one.

    `rows` are batches of `schema`; a share has `most` bytes at most. `time` counts how
    often its rows were shared out.
    """
    with TemporaryDirectory(prefix="tiltpy-") as folder:
        with BatchFiles(folder, schema, FILES) as files:
            for table in collect_tables(rows, most // 4):
                numbers = hash_rows(table, columns) // FILES ** (time - 1) % FILES
                files.write(table, numbers)
        for file, size in zip(files.files, files.sizes, strict=True):
            if size > most and time < TIMES:
                yield from _read_spilled(schema, file, columns, most, time + 1)
            elif size:
                yield Share(file, size)
            file.path.unlink()


def collect_tables(batches: Iterable[pa.RecordBatch], most: int) -> Iterator[pa.Table]:
    """Collect batches in tables of so many bytes, or of one batch."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if held and size + batch.nbytes > most:
            yield pa.Table.from_batches(_drain(held))
            size = 0
        held.append(batch)
        size += batch.nbytes
    if held:
        yield pa.Table.from_batches(held)


def _drain(held: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches that nobody else holds, once they are taken."""
    while held:
        yield held.pop(0)


def hash_rows(table: pa.Table, columns: Sequence[str]) -> I64Array:
    """Hash each row by some columns: rows alike in them have one hash."""
    hashed = np.zeros(table.num_rows, np.int64)
    for name in columns:
        column = table.column(name).combine_chunks()
        encoded = column.dictionary_encode(null_encoding="encode")
        values = (crc32(repr(v).encode()) for v in encoded.dictionary.to_pylist())
        numbers = np.fromiter(values, np.int64, len(encoded.dictionary))
        hashed = (31 * hashed + numbers[encoded.indices.to_numpy()]) % (1 << 32)
    return hashed
