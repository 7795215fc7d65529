"""Frames read in batches of rows, streams without holding them as a whole."""

from collections.abc import Iterator

import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.runtime.arrow.parquet_scan import RowBatch
from tiltpy.runtime.arrow.read_frame import (
    check_kind,
    package_of,
    read_frame,
    reading,
    spend,
    unreadable,
)
from tiltpy.runtime.arrow.validation import check_lengths
from tiltpy.runtime.ingest.binding import IMMUTABLE

READ_WHOLE = ("polars", "pandas", "pyspark")
"""Packages whose frames are in memory as a whole, or are refused."""


def read_batches(input: str, frame: object) -> tuple[pa.Schema, Iterator[RowBatch]]:
    """Read the schema and the rows of a frame, or of the frames of an iterator or list.

    `input` is named in errors.
    """
    frame = iter(frame) if isinstance(frame, list | tuple) else frame
    if isinstance(frame, Iterator) and not isinstance(frame, pa.RecordBatchReader):
        first = next(frame, None)
        if first is None:
            raise no_table(input)
        table = read_frame(input, first)
        return table.schema, _check_tables(input, _tables(input, table, frame))
    package = package_of(frame)
    whole = package in READ_WHOLE or isinstance(frame, IMMUTABLE)
    if whole or not hasattr(frame, "__arrow_c_stream__"):
        table = read_frame(input, frame)
        return table.schema, _check_tables(input, iter((table,)))
    if isinstance(frame, pa.RecordBatchReader):  # whose buffers keep their sizes
        reader = frame
    else:
        check_kind(input, frame)
        with reading(input):
            reader = pa.RecordBatchReader.from_stream(frame)
    return reader.schema, _check_tables(input, _of_reader(input, reader))


def no_table(input: str) -> DataError:
    """Make the error of an iterator without a table."""
    return DataError(
        "the iterator gave no table; give one at least, even without rows, to say of "
        "what types the columns are",
        input=input,
    )


def _tables(
    input: str, first: pa.Table, others: Iterator[object]
) -> Iterator[pa.Table]:
    yield first
    for frame in others:
        yield read_frame(input, frame)


def _of_reader(input: str, reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    spend(input, reader)
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except (pa.ArrowException, OSError) as error:  # others are of a caller's reader
            raise unreadable(input, error) from error
        yield pa.Table.from_batches([batch])


def _check_tables(input: str, tables: Iterator[pa.Table]) -> Iterator[RowBatch]:
    """Check that tables have the columns of the first, each as long as the others."""
    first, schema = 0, None
    for table in tables:
        schema = schema or table.schema
        if not table.schema.equals(schema):
            _check_types(input, table.schema, schema, first)
        check_lengths(input, table)
        yield RowBatch(table, "", first)
        first += table.num_rows


def _check_types(input: str, schema: pa.Schema, wanted: pa.Schema, row: int) -> None:
    """Refuse a table without the columns of the first, `wanted`."""
    for field in wanted:
        index = schema.get_field_index(field.name)
        kind = schema.field(index).type if index >= 0 else None
        if kind != field.type:
            fault = "has no such column" if kind is None else f"has {kind} there"
            raise DataError(
                f"the table that begins here {fault}, and the first one {field.type}; "
                "give all tables one schema",
                input=input,
                column=field.name,
                row=row,
            )
