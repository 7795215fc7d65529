"""Samples that are read array by array: their times follow from the first."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.ir.nodes import Input
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrow.validation import check_lengths
from tiltpy.runtime.incremental.event_source import Reading
from tiltpy.runtime.incremental.growing_rows import GrowingRows
from tiltpy.runtime.ingest.batches import no_table
from tiltpy.runtime.ingest.binding import InputBinding, SampleTimes
from tiltpy.runtime.ingest.read_input import InputRows, ingest

CAN_BE_CUT = np.ndarray | pa.Array | pa.ChunkedArray | pa.Table


class SampleSource:
    """Reads samples without a time column."""

    def __init__(
        self,
        declared: Input,
        binding: InputBinding,
        samples: SampleTimes,
        reading: Reading,
    ) -> None:
        self.declared = declared
        self.binding = binding
        self.unit = reading.unit
        self.period = samples.period
        self.watermark = samples.start
        self.ended = False
        values = binding.frame
        several = values if isinstance(values, Iterator) else iter((values,))
        self._parts = _parts(declared.name, several, reading.rows)
        self._ahead: list[Sequence[object]] = []
        self.nothing = InputRows(SnapshotBuffer.empty(declared.type), samples.stamps)
        if declared.keys:
            first = next(self._parts, None)
            if first is None:
                raise no_table(declared.name)
            self._ahead.append(first)
            self.nothing = self._read(first[:0])

    def pull(self, rows: int, held: GrowingRows | None = None) -> list[InputRows]:
        del rows, held  # an array at a time
        values = self._ahead.pop() if self._ahead else next(self._parts, None)
        if values is None:
            self.ended = True
            return []
        read = self._read(values)
        self.watermark += len(values) * self.period
        return [read]

    def _read(self, values: Sequence[object]) -> InputRows:
        samples = SampleTimes(self.watermark, self.period, self.nothing.stamps)
        bound = replace(self.binding, frame=values, samples=samples)
        return ingest(self.declared, bound, unit=self.unit)


def _parts(
    input: str, arrays: Iterator[object], rows: int
) -> Iterator[Sequence[object]]:
    """The arrays, in parts where they have more than so many items."""
    for values in arrays:
        if not hasattr(values, "__len__") or getattr(values, "shape", None) == ():
            kind = type(values)
            raise DataError(
                "expected an array, or an iterator of arrays (of tables for a "
                f"struct); found {kind.__module__}.{kind.__qualname__}",
                input=input,
            )
        if isinstance(values, pa.Table):
            check_lengths(input, values)
        if isinstance(values, CAN_BE_CUT) and len(values) > rows:
            for first in range(0, len(values), rows):
                yield values[first : first + rows]
        else:
            yield values  # type: ignore[misc]
