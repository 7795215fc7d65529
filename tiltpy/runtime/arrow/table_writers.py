"""Writers of tables, one for each format, that go on table after table."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Protocol

import pyarrow as pa

from tiltpy.runtime.arrow.duration_texts import format_durations
from tiltpy.runtime.arrow.formats import DELIMITERS, FileFormat
from tiltpy.runtime.arrow.time_texts import check_texts

TIMES = ("start", "end")
"""The columns of a result's times."""


class TableWriter(Protocol):
    """A writer to a sink; the sink is whole when it is closed."""

    def write_table(self, table: pa.Table) -> None:
        """Write the rows of a table of the writer's schema."""

    def close(self) -> None:
        """Write what is left, and what ends the format. The sink stays open."""


class _FlatWriter:
    """A writer of delimited text, which has no structs: `bid.price` is a column."""

    def __init__(self, sink: pa.NativeFile, schema: pa.Schema, delimiter: str) -> None:
        import pyarrow.csv as pc  # noqa: PLC0415 - late

        fields = [flat for field in schema for flat in field.flatten()]
        self._durations = [
            number
            for number, field in enumerate(fields)
            if pa.types.is_duration(field.type)
        ]
        self._times = [
            number
            for number, field in enumerate(fields)
            if pa.types.is_timestamp(field.type) or pa.types.is_date(field.type)
        ]
        for number in self._durations:
            fields[number] = fields[number].with_type(pa.string())
        options = pc.WriteOptions(delimiter=delimiter)
        self._schema = pa.schema(fields)
        self._writer = pc.CSVWriter(sink, self._schema, write_options=options)
        self.close = self._writer.close

    def write_table(self, table: pa.Table) -> None:
        table = table.flatten()
        for number in self._times:
            for times in table.column(number).chunks:
                check_texts(times)
        for number in self._durations:
            texts = [*map(format_durations, table.column(number).chunks)]
            column = pa.chunked_array(texts, pa.string())
            table = table.set_column(number, self._schema.field(number), column)
        self._writer.write_table(table)


class _CompressedWriter:
    """A writer to a stream that is compressed on its way to the sink."""

    def __init__(self, stream: pa.NativeFile, writer: TableWriter) -> None:
        self._stream = stream
        self._writer = writer
        self.write_table = writer.write_table

    def close(self) -> None:
        self._writer.close()
        self._stream.close()


def make_writer(
    sink: pa.NativeFile, form: FileFormat, schema: pa.Schema
) -> TableWriter:
    """Make a writer of tables of `schema` to a sink."""
    if form.compression is not None:
        stream = pa.CompressedOutputStream(sink, form.compression)
        inner = FileFormat(form.name)
        return _CompressedWriter(stream, make_writer(stream, inner, schema))
    match form.name:
        case "Parquet":
            import pyarrow.parquet as pq  # noqa: PLC0415 - late

            writer: TableWriter = pq.ParquetWriter(
                sink, schema, **parquet_options(schema)
            )
        case "CSV" | "TSV":
            writer = _FlatWriter(sink, schema, DELIMITERS[form.name])
        case "JSON lines":
            from tiltpy.runtime.arrow.json_lines import (  # noqa: PLC0415 - late
                JsonLinesWriter,
            )

            writer = JsonLinesWriter(sink)
        case "Arrow stream":
            writer = _ipc().new_stream(sink, schema)
        case _:
            writer = _ipc().new_file(sink, schema)
    return writer


def _ipc() -> Any:
    import pyarrow.ipc as pi  # noqa: PLC0415 - late

    return pi


@contextmanager
def open_writer(
    sink: pa.NativeFile, form: FileFormat, schema: pa.Schema
) -> Iterator[TableWriter]:
    """Open a writer, which is closed at the end."""
    writer = make_writer(sink, form, schema)
    try:
        yield writer
    finally:
        writer.close()


class Pipe:
    """A stream of bytes that Arrow writes to, in which nobody can seek.

    `close` leaves the stream open.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._written = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        """Write all bytes; returns how many."""
        count = self._stream.write(data)
        self._written += count
        return count

    def flush(self) -> None:
        """Hand over what is buffered."""
        self._stream.flush()

    def tell(self) -> int:
        """Count the bytes that were written."""
        return self._written

    def close(self) -> None:
        """Hand over what is buffered; the stream stays open."""
        if not self.closed:
            self.closed = True
            self.flush()

    def readable(self) -> bool:
        """Tell that nothing can be read."""
        return False

    def writable(self) -> bool:
        """Tell that it can be written to."""
        return True

    def seekable(self) -> bool:
        """Tell that nobody can seek in it."""
        return False


def parquet_options(schema: pa.Schema) -> dict[str, Any]:
    """Choose the encodings of Parquet columns: the times of results as differences.

    They are in order, or nearly, and hardly any is there twice: a dictionary of them
    takes twice as long to write, and twice the space.
    """
    times = [
        field.name for field in schema if field.name in TIMES and _is_time(field.type)
    ]
    others = [path for field in schema for path in _leaves(field)]
    return {
        "use_dictionary": [path for path in others if path not in times],
        "column_encoding": dict.fromkeys(times, "DELTA_BINARY_PACKED"),
    }


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_int64(kind) or pa.types.is_timestamp(kind))


def _leaves(field: pa.Field, above: str = "") -> Iterator[str]:
    """List the paths of a field's columns: of a struct those of its fields."""
    path = above + field.name
    if not pa.types.is_struct(field.type):
        yield path
        return
    for inner in field.type:
        yield from _leaves(inner, f"{path}.")
