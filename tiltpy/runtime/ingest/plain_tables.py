"""Tables of a schema that has come before, whose rows are read as they lie.

What a schema says is settled once it comes again. Of few rows in order, most of the
time to read them would go into that. All other tables are read column by column.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from tiltpy.costs import DEFAULT_COSTS
from tiltpy.ir.nodes import Input
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.select_columns import choose_columns
from tiltpy.runtime.arrow.timestamps import StampType, stamp_type
from tiltpy.runtime.ingest.event_times import lay_out_events
from tiltpy.types import Unit

if TYPE_CHECKING:
    from tiltpy.runtime.ingest.plain_frames import PlainFrames

MOST_SCHEMAS = 256
"""Schemas that are known, of all inputs."""


class SchemaReader:
    """Reads tables of a schema for an input that its binding has completed."""

    def __init__(
        self, declared: Input, column: str | None, schema: pa.Schema, unit: Unit | None
    ) -> None:
        self._declared = declared
        self._column = column
        self._schema = schema
        self._unit = unit
        self._is_right = False
        """True once a table of the schema has been read without an error."""
        self._is_settled = False
        """True once a second table came."""
        self._frames: PlainFrames | None = None
        """The reader of tables as they lie; None where columns must be converted."""
        self._kind: StampType | None = None

    def note(self) -> None:
        """Note that a table of the schema has been read without an error."""
        self._is_right = True

    def read(
        self, table: pa.Table, next_stamp: int | None
    ) -> tuple[SnapshotBuffer, StampType] | None:
        """Read events and the kind of their times; None where they need a closer look.

        `next_stamp` is that of the row behind the last one, where it is known.
        """
        if not self._is_settled:
            if not self._is_right:
                return None
            self._settle()
        frame = None if self._frames is None else self._frames.read(table)
        if frame is None or frame.steps is None:
            return None
        lifetime, kind = self._declared.lifetime, self._kind
        assert lifetime is not None
        assert kind is not None
        times, payload = (frame.stamps,), tuple(frame.payload)
        steps = frame.steps
        return lay_out_events(times, lifetime, payload, next_stamp, steps=steps), kind

    def _settle(self) -> None:
        """Settle whether tables are read as they lie."""
        from tiltpy.runtime.ingest.plain_frames import (  # noqa: PLC0415 - late
            PlainFrames,
            is_plain,
        )

        declared, schema = self._declared, self._schema
        choice = choose_columns(declared, self._column, schema)
        if len(choice.times) == 1 and is_plain(declared, choice, schema):
            self._kind = stamp_type(schema.field(choice.times[0]).type)
            frames = PlainFrames(declared, choice, schema, self._unit)
            self._frames = frames if frames.serves else None
        self._is_settled = True  # what another thread sees is complete then


_find_reader = lru_cache(maxsize=MOST_SCHEMAS)(SchemaReader)


def find_schema_reader(
    settled: Input, column: str | None, table: pa.Table, unit: Unit | None
) -> SchemaReader | None:
    """Find the reader of a table of an input without keys; None of many rows.

    `settled` is the input completed by its binding, which may name a payload `column`.
    """
    if settled.keys or not 1 < table.num_rows <= DEFAULT_COSTS.run.linear_call_rows:
        return None
    try:
        return _find_reader(settled, column, table.schema, unit)
    except TypeError:  # a user's extension type has no hash
        return None
