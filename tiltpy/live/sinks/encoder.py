"""Tables as bytes of a format that only grows: appended, and cut anywhere between.

A format like that is a head (the header of CSV, the schema of an Arrow stream), bodies
of one table each, and a tail (what ends an Arrow stream). A body needs nothing but the
schema: after a restart the next one follows the last.
"""

import pyarrow as pa

from tiltpy.errors import TiltError
from tiltpy.messages import quantity
from tiltpy.runtime.arrow.formats import FileFormat
from tiltpy.runtime.arrow.table_writers import make_writer

GROWING = ("JSON lines", "CSV", "TSV", "Arrow stream")
"""Formats that tables can be appended to without end."""

_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
"""The last message of an Arrow stream."""


class TableEncoder:
    """Encodes tables of one schema, whichever the first table has.

    Dictionaries of an Arrow stream are written anew with each table, which the format
    allows: they replace those before.
    """

    def __init__(self, form: FileFormat) -> None:
        self._format = form
        self._schema: pa.Schema | None = None
        self._head = b""
        self.tail = _END_OF_STREAM if form.name == "Arrow stream" else b""

    def encode_head(self, schema: pa.Schema) -> bytes:
        """Encode what stands before the first table."""
        self._settle(schema)
        return self._head

    def encode_body(self, table: pa.Table) -> memoryview:
        """Encode the rows of a table."""
        self._settle(table.schema)
        content = self._encode(table.schema, table.combine_chunks())
        return content[len(self._head) : len(content) - len(self.tail)]

    def _settle(self, schema: pa.Schema) -> None:
        if self._schema is None:
            self._schema = schema
            empty = self._encode(schema, None)
            self._head = bytes(empty[: len(empty) - len(self.tail)])
        elif not schema.equals(self._schema):
            found, wanted = (_describe(each) for each in (schema, self._schema))
            raise TiltError(
                f"found a table with {found}, expected one like the tables before, "
                f"with {wanted}; write it to a sink of its own"
            )

    def _encode(self, schema: pa.Schema, table: pa.Table | None) -> memoryview:
        sink = pa.BufferOutputStream()
        writer = make_writer(sink, self._format, schema)
        if table is not None and table.num_rows:
            writer.write_table(table)
        writer.close()
        return memoryview(sink.getvalue())


def _describe(schema: pa.Schema) -> str:
    fields = ", ".join(f"{field.name}: {field.type}" for field in schema)
    return f"{quantity(len(schema), 'column')} ({fields})"
