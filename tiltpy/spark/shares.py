"""A task's rows in shares that fit into memory, by way of files where all do not.

Rows that are alike in some columns stay together. As long as a task's rows fit they are
one share; else they are put into files by those columns, and each file is one.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

FILES = 32
"""Files, at most: shares of a task whose rows do not fit."""


def shares(
    batches: Iterator[pa.RecordBatch], columns: Sequence[str], most: int
) -> Iterator[pa.Table]:
    """All rows of some batches in tables; none where there is no batch.

    Rows alike in `columns` are in one table. It has at most `most` bytes, or is a file.
    """
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size > most:
            yield from _by_file(held, batches, columns, most)
            return
    if held:
        yield pa.Table.from_batches(held)


def _by_file(
    held: list[pa.RecordBatch],
    others: Iterator[pa.RecordBatch],
    columns: Sequence[str],
    most: int,
) -> Iterator[pa.Table]:
    """The same from files, which are in Spark's folder for such, and then gone."""
    schema = held[0].schema
    with TemporaryDirectory(prefix="tiltpy-") as folder:
        paths = [Path(folder) / f"{number}.arrow" for number in range(FILES)]
        writers = [pa.ipc.new_file(str(path), schema) for path in paths]
        try:
            while held:
                _write(pa.Table.from_batches(held), columns, writers)
                held, size = [], 0
                for batch in others:
                    held.append(batch)
                    size += batch.nbytes
                    if size > most // 4:
                        break
        finally:
            for writer in writers:
                writer.close()
        for path in paths:
            with pa.OSFile(str(path)) as file:
                table = pa.ipc.open_file(file).read_all()
            path.unlink()
            if table.num_rows:
                yield table


def _write(
    table: pa.Table,
    columns: Sequence[str],
    writers: list[pa.ipc.RecordBatchFileWriter],
) -> None:
    numbers = np.zeros(table.num_rows, np.int64)
    for name in columns:
        numbers = (31 * numbers + _numbers(table.column(name))) % FILES
    for number, writer in enumerate(writers):
        rows = np.flatnonzero(numbers == number)
        if len(rows):
            writer.write_table(table.take(pa.array(rows)).combine_chunks())


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """A number for each row that equal values share, in whatever table they are."""
    found = column.combine_chunks().dictionary_encode(null_encoding="encode")
    values = (crc32(repr(one).encode()) for one in found.dictionary.to_pylist())
    numbers = np.fromiter(values, np.int64, len(found.dictionary))
    rows: NDArray[np.int64] = numbers[found.indices.to_numpy()]
    return rows
