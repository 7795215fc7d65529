"""Tables as JSON lines: an object for each row, written column by column.

The values of a column become texts of JSON by Arrow's casts, and those of a row are
joined: the bytes of the joined strings are the file. JSON has no NaN and no infinities;
they are null, as in other writers of it.
"""

import json

import numpy as np
import pyarrow as pa

from tiltpy import arrow_functions as pc
from tiltpy.runtime.arrow.duration_texts import format_durations
from tiltpy.runtime.arrow.time_texts import check_texts

_ROWS = 1 << 14
"""Rows that are formatted at once."""


class JsonLinesWriter:
    """A writer of tables to a sink, which stays open."""

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink = sink

    def write_table(self, table: pa.Table) -> None:
        """Write a line for each row."""
        for batch in table.to_batches(max_chunksize=_ROWS):
            if batch.num_rows:
                self._sink.write(_bytes_of(_format_lines(batch)))

    def close(self) -> None:
        """Do nothing: a line ends where it was written."""


def _format_lines(batch: pa.RecordBatch) -> pa.Array:
    fields = zip(batch.schema.names, batch.columns, strict=True)
    return pc.binary_join_element_wise(_join_fields(list(fields)), "\n", "")


def _join_fields(fields: list[tuple[str, pa.Array]]) -> pa.Array:
    """Join the values of objects: `{"a": 1, "b": null}`."""
    parts: list[pa.Array | str] = []
    for name, column in fields:
        parts += [f"{', ' if parts else '{'}{json.dumps(name, ensure_ascii=False)}: "]
        parts += [pc.fill_null(_format_values(column), "null")]
    return pc.binary_join_element_wise(*parts, "}", "")


def _format_values(column: pa.Array) -> pa.Array:
    """Format values as JSON; nulls stay null."""
    kind = column.type
    if pa.types.is_struct(kind):
        fields = list(zip((f.name for f in kind), column.flatten(), strict=True))
        joined = _join_fields(fields)
        return pc.if_else(pc.is_valid(column), joined, pa.scalar(None, pa.string()))
    if pa.types.is_floating(kind):
        finite = pc.fill_null(pc.is_finite(column), False)
        return pc.if_else(finite, column.cast(pa.string()), None)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.string())
    if pa.types.is_duration(kind):
        return _quote_texts(format_durations(column))
    if pa.types.is_temporal(kind):
        return _quote_times(column)
    return _quote_texts(column)


def _quote_times(column: pa.Array) -> pa.Array:
    """Write times in ISO 8601, with a T and the zone's offset at that time."""
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        check_texts(column)
    texts = pc.replace_substring(column.cast(pa.string()), " ", "T")
    offset = r"([+-]\d\d)(\d\d)$"
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        texts = pc.replace_substring_regex(texts, offset, r"\1:\2")
    return pc.binary_join_element_wise('"', texts, '"', "")


def _quote_texts(column: pa.Array) -> pa.Array:
    """Quote strings: those that are there often are escaped once."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    texts = column.dictionary.to_pylist()
    quoted = pa.array(
        [
            None if text is None else json.dumps(text, ensure_ascii=False)
            for text in texts
        ],
        pa.string(),
    )
    return quoted.take(column.indices)


def _bytes_of(texts: pa.Array) -> memoryview:
    """View the bytes of strings, one after the other."""
    _, offsets, values = texts.buffers()
    ends = np.frombuffer(offsets, np.int32)[
        texts.offset : texts.offset + len(texts) + 1
    ]
    return memoryview(values)[ends[0] : ends[-1]]
