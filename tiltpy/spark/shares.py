"""A task's rows in shares that fit into memory, by way of files where all do not.

Rows with one number stay together. As long as a task's rows fit they are one share;
else they are put into files by their numbers, and each file is one.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

FILES = 32
"""Files, at most: shares of a task whose rows do not fit."""


def shares(
    batches: Iterator[pa.RecordBatch], column: str, most: int
) -> Iterator[pa.Table]:
    """All rows of some batches in tables; none where there is no batch.

    `column` has the numbers. A table has at most `most` bytes, or is one file.
    """
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size > most:
            yield from _by_file(held, batches, column, most)
            return
    if held:
        yield pa.Table.from_batches(held)


def _by_file(
    held: list[pa.RecordBatch],
    others: Iterator[pa.RecordBatch],
    column: str,
    most: int,
) -> Iterator[pa.Table]:
    """The same from files, which are in Spark's folder for such, and then gone."""
    schema = held[0].schema
    with TemporaryDirectory(prefix="tiltpy-") as folder:
        paths = [Path(folder) / f"{number}.arrow" for number in range(FILES)]
        writers = [pa.ipc.new_file(str(path), schema) for path in paths]
        try:
            while held:
                _write(pa.Table.from_batches(held), column, writers)
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
    table: pa.Table, column: str, writers: list[pa.ipc.RecordBatchFileWriter]
) -> None:
    numbers = table.column(column).to_numpy() % FILES
    for number, writer in enumerate(writers):
        rows = np.flatnonzero(numbers == number)
        if len(rows):
            writer.write_table(table.take(pa.array(rows)).combine_chunks())
