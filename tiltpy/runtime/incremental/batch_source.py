"""Rows that are read batch by batch.

They come in order of start. The last stamp's rows wait for the next stamp: it says how
long they hold, and rows with one stamp are put into their tie order together.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.costs import DEFAULT_COSTS
from tiltpy.errors import DataError
from tiltpy.ir.nodes import Input
from tiltpy.runtime.arrays.views import integers_of
from tiltpy.runtime.arrow.decode import plain_type
from tiltpy.runtime.arrow.movable_rows import (
    is_movable,
    movable_schema,
    movable_table,
)
from tiltpy.runtime.arrow.parquet_scan import ParquetScan, RowBatch, ScanRange
from tiltpy.runtime.arrow.read_frame import flat_column
from tiltpy.runtime.arrow.select_columns import choose_columns
from tiltpy.runtime.arrow.timestamps import TimeColumn, find_disorder, to_ticks
from tiltpy.runtime.arrow.validation import check_columns
from tiltpy.runtime.incremental.event_source import Reading
from tiltpy.runtime.incremental.growing_rows import GrowingRows
from tiltpy.runtime.incremental.plain_batches import PlainBatches, find_plain
from tiltpy.runtime.incremental.row_batches import (
    BatchQueue,
    group_small,
    is_large,
    join_batches,
    locate_error,
    skip_rows,
)
from tiltpy.runtime.ingest.batches import read_batches
from tiltpy.runtime.ingest.binding import InputBinding
from tiltpy.runtime.ingest.read_input import InputRows, ingest
from tiltpy.runtime.ingest.unread_rows import UnreadRows
from tiltpy.types import MAX_TIME, TDom, Unit

T = TypeVar("T")

COSTS = DEFAULT_COSTS.spans


class BatchSource:
    """Reads rows with stamps, or with starts and ends."""

    def __init__(
        self, declared: Input, binding: InputBinding, reading: Reading
    ) -> None:
        assert declared.lifetime is not None
        self.declared = declared
        self.binding = binding
        self.reading = reading
        self.below = declared.lifetime.before
        self.above = declared.lifetime.after
        self.watermark = -MAX_TIME
        self.ended = False
        self._waiting: list[RowBatch] = []
        """Rows of the last stamp, and others whose cell is not complete."""
        self._behind: list[RowBatch] = []
        """The last batches of those written behind rows that are held: some wait."""
        scan = binding.frame
        if isinstance(scan, ParquetScan):
            schema = scan.schema
        else:
            schema, batches = read_batches(declared.name, scan)
        choice = choose_columns(declared, binding.column, schema)
        self.time, self.used, self.paths = choice.times[0], choice.columns, choice.paths
        if isinstance(scan, ParquetScan):
            needed = time_range(declared, self.time, reading)
            batches = scan.batches(self.used, reading.rows, needed)
        read = pa.schema([schema.field(name) for name in self.used])
        self._schema = movable_schema(read)
        self._plain = all(map(pa.types.is_primitive, read.types))
        if not all(map(is_movable, read.types)):
            # Not by a method of this source: its queue would refer to it.
            batches = map(
                partial(_make_movable, declared.name, self.paths, self._schema), batches
            )
        # Not of its schema, for which pyarrow would import pandas.
        columns = [pa.nulls(0, plain_type(kind)) for kind in read.types]
        empty = pa.table(columns, names=self.used)
        self.nothing = ingest(declared, replace(binding, frame=empty), unit=self._unit)
        self._plain_batches = find_plain(declared, choice, self._schema, self._unit)
        by_chunk = self._plain_batches is not None
        self._queue = BatchQueue(batches, self.used, by_chunk=by_chunk)

    @property
    def _unit(self) -> Unit | None:
        return self.reading.unit

    def pull(
        self, rows: int, held: GrowingRows | None = None
    ) -> Sequence[InputRows | UnreadRows]:
        fresh, plain = self._queue.collect(rows), self._plain_batches
        if held is not None and plain is not None:
            came = self._copy_or_share(fresh, plain, held)
            if came is not None:
                return came
            self._take_back(held)
        for batch in fresh:
            self._check(batch)
        if self.reading.unread:
            return self._hand_over(fresh)
        if not fresh:
            self.ended = True
            waiting, self._waiting = self._waiting, []
            return [self._read(waiting, join_batches(waiting), None)]
        return self._read_fresh(fresh)

    def _copy_or_share(
        self, fresh: list[RowBatch], plain: PlainBatches, held: GrowingRows
    ) -> list[InputRows] | None:
        """Read batches as they lie, up to the first that cannot be; None if none can.

        A large one is the last of them.
        """
        if not fresh:
            self.ended = not self._waiting
            return [] if self.ended else None
        batches = [*self._waiting, *fresh]
        small = [b.table.num_rows for b in batches if not is_large(b)]
        if small and not held.reserve(sum(small)):
            return None
        done = 0
        for several in group_small(batches):
            table = join_batches(several)
            assert table is not None
            if is_large(several[0]):
                shared = plain.share(table, self.watermark)
                if shared is not None:
                    rest = several[0].slice(shared.rest, table.num_rows)
                    self._waiting, self._behind = [rest], []
                    self.watermark = shared.last
                    return [InputRows(shared.buffer, self.nothing.stamps)]
                last = None
            else:
                last = plain.write(table, held, self.watermark)
            if last is None:
                break
            done += len(several)
            self.watermark = last
            self._note_waiting(held.count_waiting(last), several, table.num_rows)
        if not done:
            return None
        self._waiting = []
        self._queue.put_back(batches[done:])
        return []

    def _note_waiting(self, rows: int, batches: list[RowBatch], count: int) -> None:
        """Note the last batches that were written, some rows of which wait."""
        self._check_waiting(rows)
        if rows <= count:
            self._behind.clear()
        self._behind += batches

    def _take_back(self, held: GrowingRows) -> None:
        """Have the rows wait here that wait behind those that are held."""
        taken = held.take_waiting()
        if taken is not None:
            starts, _ = taken
            count = sum(batch.table.num_rows for batch in self._behind)
            self._waiting = skip_rows(self._behind, count - len(starts))
        self._behind = []

    def _read_fresh(self, fresh: list[RowBatch]) -> list[InputRows]:
        """Read batches together with the rows that wait."""
        came: list[InputRows] = []
        if self._waiting and is_large(fresh[0]) and self.reading.grid is None:
            next_stamp = self._stamp(fresh, self._times(fresh[0].table), 0)
            if next_stamp - self.below > self.watermark:
                waiting, self._waiting = self._waiting, []
                came.append(self._read(waiting, join_batches(waiting), next_stamp))
        batches = [*self._waiting, *fresh]
        table = join_batches(batches)
        assert table is not None
        column = self._times(table)
        stamp, first = self._last_stamp(batches, column)
        self._check_waiting(table.num_rows - first)
        if self.reading.grid is not None:
            complete = column.slice(0, first)
            stamp, first = self._end_of_cell(
                self.reading.grid, batches, complete, stamp
            )
        came.append(self._read(batches, table.slice(0, first), stamp))
        self._check_order(batches, column, first)
        self._waiting = skip_rows(batches, first)
        self.watermark = stamp - self.below
        return came

    def _hand_over(self, fresh: list[RowBatch]) -> list[UnreadRows]:
        """Hand batches over as they came."""
        if not fresh:
            self.ended = True
            return []
        first, last = fresh[0], fresh[-1]
        start = self.find_start(first, 0)
        self.watermark = self.find_start(last, last.table.num_rows - 1)
        end = self.watermark + self.below + self.above
        return [UnreadRows(fresh, self, start, end)]

    def find_start(self, batch: RowBatch, row: int) -> int:
        """Find the start of a row of a batch."""
        return self._stamp([batch], self._times(batch.table), row) - self.below

    def read_batches(
        self, batches: Sequence[RowBatch], read: Callable[[InputBinding], T]
    ) -> T:
        """Have the rows of batches read together, in order of time."""
        tables = [batch.table for batch in batches]
        table = tables[0] if len(tables) == 1 else pa.concat_tables(tables)
        return self._read_table(batches, table, read)

    def _read_table(
        self,
        batches: Sequence[RowBatch],
        table: pa.Table,
        read: Callable[[InputBinding], T],
    ) -> T:
        """Have rows of batches read; an error says where they are in all rows."""
        try:
            return read(replace(self.binding, frame=table))
        except DataError as error:
            raise locate_error(batches, error) from None

    def _check(self, batch: RowBatch) -> None:
        """Check the columns of a batch before they are joined."""
        try:
            if self._plain:
                batch.table.validate(full=True)  # in one call
                return
        except pa.ArrowInvalid:
            pass  # it is said of a column
        check_columns(self.declared.name, batch.table, self.paths)

    def _times(self, table: pa.Table) -> pa.Array:
        return flat_column(self.declared.name, table, self.time)

    def _last_stamp(self, batches: list[RowBatch], column: pa.Array) -> tuple[int, int]:
        """The last row's stamp, and the first of the rows at the end that have it."""
        stamp = self._stamp(batches, column, len(column) - 1)
        return stamp, _run_at_end(integers_of(column))

    def _check_order(
        self, batches: list[RowBatch], column: pa.Array, first: int
    ) -> None:
        """Check the order of the rows from one on; those before have been read."""
        before = max(0, first - 1)
        rest = column.slice(before)
        if not rest.null_count and find_disorder(integers_of(rest)) is not None:
            raise locate_error(batches, self.disorder(rest), before)

    def _end_of_cell(
        self, grid: TDom, batches: list[RowBatch], column: pa.Array, stamp: int
    ) -> tuple[int, int]:
        """Find the first row behind the last complete cell, and its stamp.

        They are at most the one behind `column`, which has a `stamp`. Rows whose cell
        is not complete could only be grouped now, and joined with the others of their
        key later: they wait as they are, unless they are most of all.
        """
        rows = len(column)
        end = grid.floor(stamp - self.below)

        def start(row: int) -> int:
            return self._stamp(batches, column, row) - self.below

        row = bisect_left(range(rows), end, key=start)
        if row == rows or row < rows // 2:
            return stamp, rows
        return start(row) + self.below, row

    def _stamp(self, batches: Sequence[RowBatch], column: pa.Array, row: int) -> int:
        column = TimeColumn(
            self.declared.name, self.time, column.slice(row, 1), self._unit
        )
        try:
            return int(to_ticks(column)[0].ticks[0])
        except DataError as error:
            raise locate_error(batches, error, row) from None

    def _read(
        self, batches: list[RowBatch], table: pa.Table | None, next_stamp: int | None
    ) -> InputRows:
        """Read rows that are all there; a row with `next_stamp` follows, if any.

        Of rows by key it is mostly another key's, which ends none of them.
        """
        if table is None or table.num_rows == 0:
            return self.nothing
        if self.declared.keys:
            next_stamp = None
        read = partial(
            ingest,
            self.declared,
            unit=self._unit,
            next_stamp=next_stamp,
            refuse=self.disorder,
        )
        return self._read_table(batches, table, read)

    def disorder(self, column: pa.Array) -> DataError:
        """Make the error of stamps that are not in order."""
        return DataError(
            "the time is before that of the row above; rows that are read piece by "
            "piece must be in order of time: sort them before, or read all at once, "
            "which sorts them: run() in Python, --sort time on the command line",
            input=self.declared.name,
            column=self.time,
            row=find_disorder(integers_of(column)),
        )

    def _check_waiting(self, rows: int) -> None:
        if rows > COSTS.waiting_batches * self.reading.rows:
            raise DataError(
                f"more than {rows:,} rows have one stamp, too many to be held at once; "
                "give more memory, or use run()",
                input=self.declared.name,
                column=self.time,
            )


def time_range(declared: Input, column: str, reading: Reading) -> ScanRange:
    """Find which rows of an input are needed."""
    lifetime = declared.lifetime
    assert lifetime is not None
    unit, low = reading.unit, reading.low
    end = lifetime.columns[1] if lifetime.columns else column
    held = lifetime.needs_next_row
    if held and declared.keys:
        low = None  # any row before may be the last one of its key
    return ScanRange(column, end, unit, lifetime.after, held=held, low=low)


def _run_at_end(raw: NDArray[np.integer]) -> int:
    """The first of the equal items at the end."""
    step = 1024
    while True:
        first = max(0, len(raw) - step)
        others = np.flatnonzero(raw[first:] != raw[-1])
        if others.size:
            return first + int(others[-1]) + 1
        if first == 0:
            return 0
        step *= 8


def _make_movable(
    input: str, paths: Sequence[tuple[str, ...]], schema: pa.Schema, batch: RowBatch
) -> RowBatch:
    """Decode what Arrow cannot join of a batch, whose columns are checked first."""
    check_columns(input, batch.table, paths)
    table = movable_table(input, batch.table.select(schema.names), schema)
    return RowBatch(table, batch.source, batch.first)
