"""The snapshots of one output: a table, and the ways out of it."""

from __future__ import annotations

from collections.abc import (
    Iterator,
    Sequence,
)
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pyarrow as pa

from tiltpy.argument_checks import (
    check_path,
    check_text,
    whole_number,
)
from tiltpy.errors import ArgumentError, TiltError
from tiltpy.html import TextPrinter
from tiltpy.messages import quantity
from tiltpy.runtime.arrays.dictionary import NO_STRINGS, Strings
from tiltpy.runtime.arrays.dtypes import Times
from tiltpy.runtime.concurrency.offload import offload
from tiltpy.runtime.execution.stitch import Piece, events_of
from tiltpy.runtime.results.coalesce import coalesce_table
from tiltpy.runtime.results.frames import to_pandas, to_points, to_polars
from tiltpy.runtime.results.key_columns import KeyColumns, sort_by_time
from tiltpy.runtime.results.keyed_bitmaps import KeyedBitmaps
from tiltpy.runtime.results.table import (
    DeferredRows,
    LazyRows,
    OutputRows,
    TableFormat,
    format_of,
)
from tiltpy.runtime.results.unknown_names import (
    no_array_error,
    unknown_attribute,
    unknown_column,
)
from tiltpy.runtime.results.windows import Grid, find_windows, windows_table
from tiltpy.visible import escape_text

if TYPE_CHECKING:
    import pandas
    import polars

    from tiltpy.plot.series import KeyStyle, Series
    from tiltpy.runtime.results.plot_keys import KeySelection
    from tiltpy.runtime.results.result import Result


class OutputTable:
    """The snapshots of one output, in order of time.

    The columns are `start` and `end` (a snapshot is valid over `(start, end]`), then
    the payload: one column named after the output for a scalar, a column per field for
    a struct. An output by key has the columns of its key before them, and its rows are
    in order of key, then time, or the other way round. Goes wherever an Arrow table
    goes.
    """

    def __init__(
        self,
        form: TableFormat,
        pieces: Sequence[Piece | KeyedBitmaps] | DeferredRows,
        strings: Strings = NO_STRINGS,
        keys: KeyColumns | None = None,
        *,
        workers: int = 1,
    ) -> None:
        self.name = form.name
        self.type = form.type
        self.stamp = form.stamp
        self.grid: Grid | None = None
        # A list is told at once, an abstract class takes ten times as long.
        if isinstance(pieces, list) or not isinstance(pieces, DeferredRows):
            events = []
            for snapshots in pieces:
                if snapshots.n:
                    events.append(events_of(snapshots, form.type))  # noqa: PERF401
            self._lazy = LazyRows(OutputRows(events, keys))
        else:
            self._lazy = LazyRows(pieces)
        self._format = form
        self._strings = strings
        self._workers = workers
        self._table: pa.Table | None = None

    def __getstate__(self) -> dict[str, object]:
        """Pickle the snapshots, without the table of them."""
        return {**vars(self), "_table": None}

    def rename(self, name: str) -> OutputTable:
        """Make a table of another name, without a grid, that shares the snapshots."""
        form = format_of(name, self.type, self.stamp)
        other = OutputTable(form, (), self._strings, workers=self._workers)
        other._lazy = self._lazy
        return other

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the key columns; none for an output without keys."""
        return tuple(name for name, _ in self._lazy.key_fields)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the table."""
        return self._format.schema(self._lazy.key_fields)

    @property
    def num_rows(self) -> int:
        """The number of snapshots."""
        return self._lazy.rows.count

    def __len__(self) -> int:
        return self.num_rows

    def __getitem__(self, column: str) -> pa.ChunkedArray:
        """Return a column of the table, by its name; a `KeyError` if there is none."""
        names = self.schema.names
        if column not in names:
            raise unknown_column(column, self.name, names)
        return self.to_arrow()[column]

    def __contains__(self, column: object) -> bool:
        return column in self.schema.names

    __iter__ = None
    """Rows may be meant, or columns: to take the names would make a frame of them."""

    if not TYPE_CHECKING:  # or else a misspelt attribute would pass for one

        def __getattr__(self, name: str) -> NoReturn:
            """Say what there is instead of an unknown attribute."""
            # Copy and pickle ask for private ones before there is a schema.
            is_ready = name != "schema" and "_format" in vars(self)
            columns = self.schema.names if is_ready else ()
            raise unknown_attribute(name, self, "table", "column", columns)

    def to_arrow(self) -> pa.Table:
        """Make a pyarrow table of the snapshots; made once, kept."""
        if self._table is None:
            few = self._lazy.find_few()
            if few is None:
                self._table = offload(self._to_arrow)
            else:
                self._table = self._format.quick_table(few, self._strings)
        return self._table

    def _to_arrow(self) -> pa.Table:
        return self._format.table(self._lazy.rows, self._strings, self._workers)

    def rows_by_key(self) -> Iterator[tuple[str, slice]]:
        """Yield each key and its rows, of a table in order of key.

        All, if it has none.
        """
        keys = self._lazy.rows.keys
        if keys is None:
            yield "", slice(0, self.num_rows)
            return
        offsets = keys.offsets()
        for key in np.flatnonzero(np.diff(offsets)).tolist():
            yield keys.keys.show(key), slice(offsets[key], offsets[key + 1])

    def series(
        self, choice: KeySelection, *, is_input: bool
    ) -> list[tuple[Series, ...]]:
        """Make the series of each payload column."""
        from tiltpy.runtime.results.plot_series import (  # noqa: PLC0415 - late
            series_of,
        )

        keys = self._lazy.rows.keys
        if keys is None:
            return series_of(self.name, self.to_arrow(), is_input=is_input)
        drawn = choice.of(self.name, keys)
        table = self._in_order_of_key().to_arrow()
        return series_of(self.name, table, self.keys, drawn, is_input=is_input)

    def _in_order_of_key(self) -> OutputTable:
        rows = self._lazy.rows
        if rows.keys is None or rows.keys.order == "key":
            return self
        keys = replace(rows.keys, order="key")
        return OutputTable(
            self._format, rows.pieces, self._strings, keys, workers=self._workers
        )

    def points(self, time: str = "time") -> pa.Table:
        """Stamp rows with each snapshot's end, under the column name `time`."""
        check_text("time", time)
        return to_points(self.to_arrow(), time, self.name)

    def windows(self, time: str = "time") -> pa.Table:
        """Make a row for each window: for each cell of the output's grid, empty or not.

        Its label, the column `time`, is the grid point at which the window was
        evaluated, or of a `left` grid the first tick of the cell. The windows of a key
        are those from its first to its last snapshot, or as far as `start` and `end`
        of the run. Snapshots that hold for several cells give as many rows.
        """
        check_text("time", time)
        if self.grid is None:
            raise TiltError(
                f"'{self.name}' has a row for each row of an input, and no windows; "
                "take its snapshots"
            )
        return offload(partial(self._windows, self.grid, time))

    def _times(self) -> tuple[Times, Times]:
        """Return the starts and ends of the snapshots, in ticks."""
        times = [piece.times() for piece in self._lazy.rows.pieces]
        none = np.zeros(0, np.int64)
        starts = np.concatenate([none, *(begun for begun, _ in times)])
        return starts, np.concatenate([none, *(ended for _, ended in times)])

    def _windows(self, grid: Grid, time: str) -> pa.Table:
        ordered = self._in_order_of_key()
        keys = (rows for _, rows in ordered.rows_by_key())
        windows = find_windows(grid, *ordered._times(), keys, self.name)  # noqa: SLF001
        labels = grid.labels(windows.cells)
        table = ordered.to_arrow()
        return windows_table(
            table, windows, labels, self.stamp, self.keys, time, self.name
        )

    def coalesce(self) -> pa.Table:
        """Join snapshots that touch and have identical values.

        NaNs are identical, and so are zeros and nulls: what `distinct` in a query does.
        """
        return offload(self._coalesce)

    def _coalesce(self) -> pa.Table:
        ordered = self._in_order_of_key()
        table = ordered.to_arrow()
        payload = table.column_names[len(self.keys) + 2 :]
        keys = (rows for _, rows in ordered.rows_by_key())
        joined = coalesce_table(table, payload, keys)
        return joined if ordered is self else sort_by_time(joined, tied=False)

    def head(self, rows: int = 10) -> pa.Table:
        """Make a table of the first snapshots."""
        number = whole_number(rows)
        if number is None or number < 0:
            raise ArgumentError(f"rows={rows}: expected a whole number, 0 or more")
        return self.to_arrow().slice(0, min(number, self.num_rows))

    def write_parquet(self, path: str | Path) -> None:
        """Write the snapshots to a Parquet file, whole or not at all."""
        self._write(path, "Parquet")

    def write_csv(self, path: str | Path) -> None:
        """Write the snapshots to a CSV file, whole or not at all.

        One that ends in `.gz` or `.zst` is compressed.
        A field of a struct in a struct has a column of its own: `bid.price`.
        """
        self._write(path, "CSV")

    def write_ipc(self, path: str | Path) -> None:
        """Write the snapshots to an Arrow file (Feather 2), whole or not at all."""
        self._write(path, "Arrow")

    def _write(self, path: str | Path, name: str) -> None:
        from tiltpy.runtime.arrow.files import write_table  # noqa: PLC0415 - late
        from tiltpy.runtime.arrow.formats import (  # noqa: PLC0415 - late
            COMPRESSIONS,
            FileFormat,
        )

        target, form = check_path("path", path), FileFormat(name)
        if form.is_text:
            form = FileFormat(name, COMPRESSIONS.get(target.suffix.lower()))
        write_table(self.to_arrow(), target, form)

    def to_polars(self) -> polars.DataFrame:
        """Make a Polars frame of the snapshots."""
        return to_polars(self.to_arrow())

    def to_pandas(self) -> pandas.DataFrame:
        """Make a pandas frame of the snapshots."""
        return to_pandas(self.to_arrow())

    def plot(
        self,
        path: str | Path | None = None,
        *,
        inputs: Result | None = None,
        keys: Sequence[object] | None = None,
        by_key: KeyStyle | None = None,
        title: str | None = None,
        interactive: bool = False,
    ) -> Any:
        """Draw the output; see `Result.plot`."""
        from tiltpy.runtime.results.result import Result  # noqa: PLC0415 - it has these

        return Result([self]).plot(
            path,
            inputs=inputs,
            keys=keys,
            by_key=by_key,
            title=title,
            interactive=interactive,
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __array__(self, *_: object, **__: object) -> NoReturn:
        """Refuse to be an array: pandas would make a frame of one column of it."""
        raise no_array_error()

    def __repr__(self) -> str:
        fields = ", ".join(f"{field.name}: {field.type}" for field in self.schema)
        return escape_text(
            f"<output '{self.name}': {quantity(self.num_rows, 'snapshot')} ({fields})>"
        )

    def __str__(self) -> str:
        """Format the first snapshots, like the command line."""
        from tiltpy.runtime.arrow.display import format_text  # noqa: PLC0415 - late

        head = self.head()
        count = quantity(self.num_rows, "snapshot")
        count += f", the first {len(head)} shown" if len(head) < self.num_rows else ""
        return f"~{escape_text(self.name)}\n{format_text(head)}\n{count}"

    def _repr_pretty_(self, printer: TextPrinter, _cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        from tiltpy.runtime.arrow.display import format_html  # noqa: PLC0415 - late

        title = f"{self.name}: {quantity(self.num_rows, 'snapshot')}"
        return format_html(self.to_arrow(), title)
