"""Frames that are read as they lie: one chunk, without casts.

What their schema says is settled once; a frame costs its validation, a view of each
column, and one pass over its stamps.
"""

import numpy as np
import pyarrow as pa

from tiltpy.ir.nodes import Input
from tiltpy.lean_dataclass import record
from tiltpy.runtime.arrays.dtypes import Steps, Times
from tiltpy.runtime.arrays.pool import dtype_of
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.arrays.steps import StepFinder
from tiltpy.runtime.arrays.views import arrow_type, column_of, values_of
from tiltpy.runtime.arrow.select_columns import Choice
from tiltpy.runtime.arrow.timestamps import stamp_type
from tiltpy.types import MAX_TIME, Unit, columns

_TICKS = np.dtype(np.int64)
TICK_BYTES = _TICKS.itemsize


@record(frozen=True, slots=True, eq=False)
class PlainFrame:
    """The stamps, the payload and the keys of a frame, at least one row.

    `steps` are those between stamps that are in order, None where they are not.
    """

    stamps: Times
    steps: Steps | None
    payload: list[Column]
    keys: list[pa.Array]


def is_plain(declared: Input, choice: Choice, schema: pa.Schema) -> bool:
    """Tell whether the types alone say that payloads are right, and rows events.

    Not where columns break ties, or intervals must not overlap.
    """
    if declared.order or declared.cells:
        return False
    scalars = [scalar for _, scalar in columns(declared.type)]
    return all(
        len(path) == 1
        and schema.field(path[0]).type == arrow_type(scalar)
        and not (scalar.is_temporal or scalar.kind == "string")
        for scalar, path in zip(scalars, choice.payload, strict=True)
    )


class PlainFrames:
    """Reads frames of a schema whose payload has the types of its input."""

    def __init__(
        self, declared: Input, choice: Choice, schema: pa.Schema, unit: Unit | None
    ) -> None:
        lifetime = declared.lifetime
        assert lifetime is not None
        (name,) = choice.times
        self.serves = _counts_ticks(schema.field(name).type, unit)
        """False where stamps have to be converted."""
        self._low, self._high = lifetime.before - MAX_TIME, MAX_TIME - lifetime.after
        self._stamps = schema.get_field_index(name)
        self._payload = [
            (schema.get_field_index(path[0]), scalar)
            for (_, scalar), path in zip(
                columns(declared.type), choice.payload, strict=True
            )
        ]
        self._keys = list(map(schema.get_field_index, choice.keys))
        places = {self._stamps, *(place for place, _ in self._payload)}
        self._others = None if len(places) == len(schema) else sorted(places)
        self._steps = StepFinder()
        self._widths = [(self._stamps, TICK_BYTES)]
        """The columns that are read, stamps first, and the bytes of their values."""
        for place, scalar in self._payload:
            self._widths.append((place, dtype_of(scalar).itemsize))
        self.has_bits = any(scalar.kind == "bool" for _, scalar in self._payload)
        """True if a column has bits, which are read as bytes."""

    def locate(self, frame: pa.Table | pa.RecordBatch) -> list[int] | None:
        """Find the addresses of the stamps and of each payload column.

        None where there is no row, or a value is null. Not of columns that have bits.
        """
        batch = self._validate(frame)
        if batch is None:
            return None
        columns = []
        for place, width in self._widths:
            array = batch.column(place)
            if array.null_count:
                return None
            columns.append(array.buffers()[1].address + width * array.offset)
        return None if columns[0] % TICK_BYTES else columns

    def allows(self, first: int, last: int) -> bool:
        """Tell whether stamps may lie between two."""
        return self._low <= first and last <= self._high

    def read(self, table: pa.Table) -> PlainFrame | None:
        """Read stamps, the steps between them if they are in order, and payload.

        None where the rows are not as they should be, or Arrow's data are broken: the
        columns must be read one by one, then, to say which one is.
        """
        batch = self._validate(table)
        return None if batch is None else self._read_batch(batch)

    def _validate(self, frame: pa.Table | pa.RecordBatch) -> pa.RecordBatch | None:
        """Validate what is read of a frame, if it is one chunk with a row at least."""
        batch = frame
        try:
            frame.validate(full=self._others is None)
            if frame.__class__ is not pa.RecordBatch:
                batches = frame.to_batches()
                if len(batches) != 1:
                    return None
                (batch,) = batches
            if not batch.num_rows:
                return None
            for place in self._others or ():
                batch.column(place).validate(full=True)
        except (pa.ArrowException, OSError):
            return None
        return batch

    def _read_batch(self, batch: pa.RecordBatch) -> PlainFrame | None:
        array = batch.column(self._stamps)
        if array.null_count:
            return None
        stamps: Times = values_of(array, _TICKS)
        steps = self._steps.find(stamps)
        if steps is None:
            first, last = int(stamps.min()), int(stamps.max())
        else:
            first, last = stamps.item(0), stamps.item(-1)
        if not self.allows(first, last):
            return None
        payload = [
            column_of(batch.column(place), scalar) for place, scalar in self._payload
        ]
        keys = [batch.column(place) for place in self._keys]
        return PlainFrame(stamps, steps, payload, keys)


def _counts_ticks(kind: pa.DataType, unit: Unit | None) -> bool:
    """Tell whether times of a type are ticks of a unit in 64 bits."""
    stamps = stamp_type(kind)
    if stamps is None or kind.bit_width != 64:
        return False
    return kind == pa.int64() or (stamps.unit is not None and stamps.unit == unit)
