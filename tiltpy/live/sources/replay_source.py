"""An archive, replayed as if its rows came now: at its pace, or faster."""

import time
from collections.abc import Callable, Iterator
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.errors import DataError
from tiltpy.live.sources.file_source import FileSource
from tiltpy.live.sources.folder_source import FolderSource
from tiltpy.live.sources.source import Batch, WaitingSource
from tiltpy.runtime.arrow.select_columns import choose_columns
from tiltpy.runtime.ingest.binding import complete_input
from tiltpy.types import NANOSECONDS

SLICE = 0.01
"""Seconds between two batches at least: rows that are due meanwhile come together."""


class ReplayPosition(TypedDict):
    """A place in an archive: that before a batch of it, and the rows after that."""

    inside: Any
    rows: int


class ReplaySource(WaitingSource):
    """The rows of an archive, as many seconds of them in one second as `speed` says.

    Pace begins with the first row that is read, also after a resume. `time_column`
    is that of the input, if a query uses the source.
    """

    def __init__(
        self,
        archive: FileSource | FolderSource,
        speed: float,
        time_column: str | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._archive = archive
        self._speed = speed
        self._time_column = time_column
        self._clock = clock
        self._position: ReplayPosition | None = None
        self._began: tuple[float, float] | None = None
        """The clock when the first row was given, and that row's time in seconds."""

    def seek(self, position: ReplayPosition | None) -> None:
        """Go behind a position, when the rows are read."""
        self._position = position

    def __iter__(self) -> Iterator[Batch]:
        self._archive.expected = self.expected
        self._archive.stopped = self.stopped
        inside, skip = None, 0
        if self._position is not None:
            inside, skip = self._position["inside"], self._position["rows"]
        self._archive.seek(inside)
        for batch in self._archive:
            table: Any = batch.frame
            for first, last in self._pace(table, min(skip, table.num_rows)):
                whole = last == table.num_rows
                position = (
                    ReplayPosition(inside=batch.position, rows=0)
                    if whole
                    else ReplayPosition(inside=inside, rows=last)
                )
                rows, begin = table.slice(first, last - first), batch.first + first
                yield Batch(rows, position, origin=batch.origin, first=begin)
                if self.stopped.is_set():
                    return
            inside, skip = batch.position, max(0, skip - table.num_rows)

    def _pace(self, table: pa.Table, first: int) -> Iterator[tuple[int, int]]:
        """Cut a table into what is due, from a row on; waits between."""
        if self._speed == float("inf"):
            if first < table.num_rows:
                yield first, table.num_rows
            return
        seconds = self._seconds(table)
        while first < len(seconds) and not self.stopped.is_set():
            now = self._clock()
            began, start = self._began = self._began or (now, float(seconds[first]))
            due = start + (now - began) * self._speed
            last = int(np.searchsorted(seconds, due, side="right"))
            if last > first:
                yield first, last
                first = last
            else:
                ahead = (float(seconds[first]) - due) / self._speed
                self.stopped.wait(max(SLICE, ahead))

    def _seconds(self, table: pa.Table) -> NDArray[np.float64]:
        """Read the times of rows in seconds; a row is due no earlier than those before.

        Ticks without a unit count as seconds.
        """
        column = table.column(self._find_time(table.schema))
        kind = column.type
        if pa.types.is_date(kind):
            column = column.cast(pa.timestamp("s"))
        unit = getattr(column.type, "unit", None) or (
            self.expected.unit if self.expected else None
        )
        length = NANOSECONDS[unit] / NANOSECONDS["s"] if unit is not None else 1.0
        ticks = column.cast(pa.int64()).fill_null(0).to_numpy()
        seconds: NDArray[np.float64] = np.maximum.accumulate(ticks) * np.float64(length)
        return seconds

    def _find_time(self, schema: pa.Schema) -> str:
        if self._time_column is not None:
            if self._time_column not in schema.names:
                raise DataError(
                    f"replay: there is no column '{self._time_column}'; there is "
                    + ", ".join(schema.names)
                )
            return self._time_column
        if self.expected is None:
            raise DataError("replay: name the time column: replay(path, time='t')")
        declared, binding = self.expected.declared, self.expected.binding
        complete = complete_input(declared, binding)
        return choose_columns(complete, binding.column, schema).times[-1]

    def __repr__(self) -> str:
        return f"<replay of {self._archive!r} at {self._speed:g}x>"
