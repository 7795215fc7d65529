"""Frames that can be read but once: a second look at their rows is an error."""

from typing import Literal

import pyarrow as pa

Kind = Literal["table", "stream", "reader"]


class OneShot:
    """A frame whose stream says so loudly where it is asked for twice."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.reads = 0

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        self.reads += 1
        assert self.reads == 1, "the stream is read twice"
        return self.table.__arrow_c_stream__(requested_schema)


def frame_of(table: pa.Table, kind: Kind) -> object:
    """The table, or what gives its rows once: a reader is empty when read again."""
    match kind:
        case "table":
            return table
        case "stream":
            return OneShot(table)
        case "reader":
            return table.to_reader()
