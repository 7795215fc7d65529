"""A dataset for runs that read piece by piece, and their pieces put together."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tiltpy as tilt


def prices(rows: int, seed: int = 1) -> pa.Table:
    """Stamps in order, some of them shared, a price, and columns nobody asks for."""
    random = np.random.default_rng(seed)
    stamps = np.cumsum(random.integers(0, 4, rows))
    return pa.table(
        {
            "time": pa.array(stamps * 1000, pa.timestamp("ms")),
            "junk": pa.array(["x" * 9] * rows),
            "price": pa.array(random.integers(-8, 8, rows) / 8.0),
            "seq": pa.array(random.permutation(rows)),
        }
    )


def write_dataset(folder: Path, table: pa.Table, files: int, group: int) -> Path:
    """The table in files whose names are in another order than their times."""
    folder.mkdir()
    size = -(-table.num_rows // files)
    for number in range(files):
        part = table.slice(number * size, size)
        path = folder / f"part-{files - number}.parquet"
        pq.write_table(part, path, row_group_size=group)
    return folder


def joined(parts: Iterator[tilt.Result], name: str = "o") -> pa.Table:
    tables = [part[name].to_arrow() for part in parts]
    return pa.concat_tables(tables).combine_chunks()
