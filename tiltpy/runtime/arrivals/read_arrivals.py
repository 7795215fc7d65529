"""Rows as they arrive: validated, in ticks, and split by lateness."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltpy.errors import DataError
from tiltpy.ir.nodes import Input
from tiltpy.lean_dataclass import record
from tiltpy.lifetimes import Interval
from tiltpy.runtime.arrays.dtypes import I64Array, Steps, Times
from tiltpy.runtime.arrays.snapshot_buffer import Column
from tiltpy.runtime.arrays.steps import StepFinder
from tiltpy.runtime.arrays.views import integers_of, plain_array
from tiltpy.runtime.arrivals.arrival_store import ArrivalStore
from tiltpy.runtime.arrivals.ingress_options import IngressOptions
from tiltpy.runtime.arrivals.lateness import LatenessRule, LateRows
from tiltpy.runtime.arrivals.plain_rows import PlainColumns, PlainRows, join_plain
from tiltpy.runtime.arrivals.waiting_rows import TimedRows, list_plain
from tiltpy.runtime.arrow.movable_rows import (
    is_movable,
    movable_schema,
    movable_table,
    take_checked,
)
from tiltpy.runtime.arrow.read_frame import flat_column, read_frame
from tiltpy.runtime.arrow.select_columns import Choice, choose_columns
from tiltpy.runtime.arrow.timestamps import PLAIN_TICKS, StampType
from tiltpy.runtime.arrow.validation import (
    check_table_column,
    group_paths,
)
from tiltpy.runtime.ingest.binding import InputBinding, complete_input
from tiltpy.runtime.ingest.event_times import lay_out_events, read_times
from tiltpy.runtime.ingest.payload import read_payload
from tiltpy.runtime.ingest.plain_frames import PlainFrames, is_plain
from tiltpy.runtime.ingest.read_input import InputRows, ingest, select_events
from tiltpy.runtime.ingest.ungrouped_rows import UngroupedRows, is_listed, is_regular
from tiltpy.types import Unit, columns

TICKS = ("\0start", "\0end")
"""The columns of ticks in the tables of rows that were read: no frame's own."""
FEW_KEYED_ROWS = 1 << 15
"""Rows of a push whose keys are looked up one by one: of more, all are encoded."""


@record(frozen=True, slots=True, eq=False)
class Arrival:
    """The rows of a push, before the session takes them.

    `rows` are those accepted, in order of arrival; None if all were written to a store.
    `complete` is the time through which the input is complete behind them, `greatest`
    the greatest start. `count` is how many rows came, `adjusted` how many of them were
    moved.
    """

    rows: TimedRows | None
    late: LateRows | None
    complete: int
    greatest: int
    count: int
    adjusted: int = 0


@record(frozen=True, slots=True, eq=False)
class _FrameRows:
    """The rows of a frame: the columns read, times in ticks, and starts of events.

    `steps` are those between starts in order, None where they are not; `source` is the
    rows where their payload was read.
    """

    table: pa.Table
    ticks: list[I64Array]
    starts: I64Array
    steps: Steps | None
    source: PlainRows | None


class ArrivalReader:
    """Reads pushed frames of one schema as rows of a declared input.

    `unit` is the query's tick.
    """

    def __init__(
        self,
        declared: Input,
        options: IngressOptions,
        schema: pa.Schema,
        unit: Unit | None,
    ) -> None:
        binding = options.binding
        self.options = options
        self.declared = complete_input(declared, binding)
        self.unit = unit
        self.pushed = movable_schema(schema)
        """The columns of late rows: those of the first frame, read or not."""
        self.choice: Choice = choose_columns(self.declared, binding.column, schema)
        self.schema = pa.schema([schema.field(name) for name in self.choice.columns])
        self.movable = movable_schema(self.schema)
        """The columns of rows that wait, besides their ticks."""
        self._is_movable = all(map(is_movable, self.schema.types))
        assert self.declared.lifetime is not None
        self.lifetime = self.declared.lifetime
        self.before = self.lifetime.before
        self.is_interval = bool(self.lifetime.columns)
        self._whole_schema = schema
        in_ticks = Interval(*TICKS) if self.is_interval else self.lifetime
        self._in_ticks = replace(
            declared,
            lifetime=in_ticks,
            time=None if self.is_interval else TICKS[0],
            order=self.declared.order,
        )
        self._binding = InputBinding(None, None, None, binding.column, (), binding.by)
        times = TICKS if self.is_interval else TICKS[:1]
        payload = {path[0] for path in self.choice.payload}
        self.columns = [
            name
            for name in self.choice.columns
            if name not in self.choice.times or name in payload
        ]
        self._times = len(times)
        self.names = [*times, *self.columns]
        self._settled = complete_input(self._in_ticks, self._binding)
        self._is_plain = is_plain(self.declared, self.choice, self.movable)
        self._is_direct = self._find_direct()
        self._plain_columns = self._list_plain_columns() if self._is_direct else None
        self._paths = group_paths(self.choice.paths)
        empty = pa.Table.from_batches([], self.schema)  # without pandas
        self.nothing = ingest(declared, replace(binding, frame=empty), unit=unit)
        self._lateness = LatenessRule(
            self.declared, options, self.choice.times[0], self.stamps, unit
        )
        self._steps = StepFinder()
        self._plain = self._prepare_plain()

    def _prepare_plain(self) -> PlainFrames | None:
        """Make the reader of frames as they lie, where the types allow it."""
        if not self._is_direct or not self._is_movable or self.is_interval:
            return None
        plain = PlainFrames(self.declared, self.choice, self._whole_schema, self.unit)
        return plain if plain.serves else None

    def _list_plain_columns(self) -> PlainColumns:
        """List the columns of rows whose payload is read when they come."""
        paths = [path[0] for path in self.choice.payload]
        places = list(map([*paths, *self.choice.keys].index, self.columns))
        scalars = [scalar for _, scalar in columns(self.declared.type)]
        return PlainColumns(scalars, places, self.names)

    def _find_direct(self) -> bool:
        """Tell whether the payload is read when few rows come, and never again."""
        kinds = [self.movable.field(name).type for name in self.choice.keys]
        return self._is_plain and all(map(is_listed, kinds))

    @property
    def stamps(self) -> StampType:
        """The kind of times of the frames."""
        return self.nothing.stamps

    @property
    def is_writable(self) -> bool:
        """Tell whether frames may be written to a store as they lie."""
        return self._plain is not None and not self._plain.has_bits

    def read(
        self,
        frame: object,
        complete: int,
        greatest: int,
        first: int,
        store: ArrivalStore | None = None,
    ) -> Arrival:
        """Read a frame and sort out its late rows.

        The input was complete through `complete` before, with the `greatest` start;
        the frame's first row is number `first`. Rows in order are written to a `store`.
        Raises `DataError`, and takes nothing, where a row is wrong.
        """
        table: Any = frame
        if store is not None and frame.__class__ is pa.RecordBatch:
            arrival = self._write(table, complete, greatest, store)
            if arrival is not None:
                return arrival
            store = None
        if frame.__class__ is not pa.Table:
            table = read_frame(self.declared.name, frame)
        if store is not None:
            arrival = self._write(table, complete, greatest, store)
            if arrival is not None:
                return arrival
        read, rule, whole = self._read_rows(table), self._lateness, table
        steps, table = read.steps, read.table
        starts, ticks, count = read.starts, read.ticks, table.num_rows
        bounds, complete, most = rule.follow(starts, steps, complete, greatest)
        if bounds is None:
            source = read.source or self._rows_of(ticks, table)
            rows = TimedRows(starts, source, 0, steps)
            return Arrival(rows, None, complete, most, count)
        mask = starts < bounds
        late, accepted, ticks = rule.sort_out(
            lambda rows: take_checked(
                self.declared.name, whole, plain_array(rows), self._whole_schema
            ),
            ticks,
            mask,
            bounds,
            first,
        )
        starts = ticks[0] - self.before
        source = self._rows_of(ticks, table)
        if accepted is not None:
            taken = TimedRows(starts, source).rows.filter(plain_array(accepted))
            source, starts = taken, starts[accepted]
        most = max(greatest, int(starts.max())) if len(starts) else greatest
        adjusted = 0 if late is not None else int(mask.sum())
        return Arrival(TimedRows(starts, source), late, complete, most, count, adjusted)

    def _write(
        self,
        frame: pa.Table | pa.RecordBatch,
        complete: int,
        greatest: int,
        store: ArrivalStore,
    ) -> Arrival | None:
        """Have rows in order written to a store, if it can have them as they lie."""
        plain = self._plain
        if plain is None or not frame.schema.equals(self._whole_schema):
            return None
        columns, count = plain.locate(frame), frame.num_rows
        written = None if columns is None else store.write(count, columns)
        if written is None:
            return None
        first, last, steps = written
        if not plain.allows(first + self.before, last + self.before):
            return None
        order = self._lateness.follow_order(first, last, steps, complete, greatest)
        return order and Arrival(None, None, *order, count)

    def join(self, starts: Times, values: Sequence[NDArray[Any]]) -> TimedRows:
        """Make rows in order of their starts and their payload, which has no nulls."""
        columns = self._plain_columns
        assert columns is not None
        rows = PlainRows(columns, [starts + self.before], list(map(Column, values)))
        return TimedRows(starts, rows, 0, self._steps.find(starts))

    def _read_rows(self, table: pa.Table) -> "_FrameRows":
        """Read the times of a frame, and its payload where that cannot be wrong."""
        if not table.schema.equals(self._whole_schema):
            return self._read_columns(self._select(table))
        is_few = not self.choice.keys or table.num_rows <= FEW_KEYED_ROWS
        plain = self._plain.read(table) if self._plain is not None and is_few else None
        if plain is None or not all(map(is_regular, plain.keys)):
            return self._read_columns(table)
        columns, stamps = self._plain_columns, plain.stamps
        assert columns is not None
        source = PlainRows(columns, [stamps], plain.payload, plain.keys)
        return _FrameRows(table, [stamps], stamps - self.before, plain.steps, source)

    def _read_columns(self, table: pa.Table) -> "_FrameRows":
        """Read the times of a frame column by column, to name what is wrong."""
        for name, paths in self._paths.items():
            check_table_column(self.declared.name, table, name, paths)
        if not self._is_movable:
            read = table.select(self.choice.columns)
            table = movable_table(self.declared.name, read, self.movable)
        times, _ = read_times(
            self.declared, self.lifetime, self.choice, table, self.unit
        )
        ticks = [each.ticks for each in times]
        starts = ticks[0] - self.before
        in_order = times[0].in_order and len(starts) > 0
        steps = self._steps.find(starts) if in_order else None
        return _FrameRows(table, ticks, starts, steps, None)

    def _rows_of(
        self, ticks: Sequence[I64Array], table: pa.Table
    ) -> pa.Table | PlainRows:
        """Read the rows of a frame, whose ticks and columns were checked."""
        keys = self._read_keys(table)
        if keys is not None and table.num_rows:
            payload = read_payload(self._settled, table, self.choice.payload, self.unit)
            assert self._plain_columns is not None
            return PlainRows(self._plain_columns, ticks, payload, keys)
        columns = [*map(plain_array, ticks), *map(table.column, self.columns)]
        rows = pa.Table.from_arrays(columns, self.names)
        self._check_payload(rows)
        return rows

    def _read_keys(self, table: pa.Table) -> tuple[pa.Array, ...] | None:
        """Read the keys of rows whose payload is read now; None of other rows."""
        if not self._is_direct:
            return None
        if not self.choice.keys:
            return ()
        if table.num_rows > FEW_KEYED_ROWS:
            return None
        name = self.declared.name
        keys = [flat_column(name, table, column) for column in self.choice.keys]
        return tuple(keys) if all(map(is_regular, keys)) else None

    def _select(self, table: pa.Table) -> pa.Table:
        """Select the columns of a frame, whose types must be those of before."""
        name = self.declared.name
        for field in self.schema:
            index = table.schema.get_all_field_indices(field.name)
            if len(index) != 1:
                raise DataError(
                    f"{'there is no' if not index else 'there are several'} such "
                    "column in this frame, and the frames before had one; a session "
                    "takes frames of one schema",
                    input=name,
                    column=field.name,
                )
            found = table.schema.field(index[0]).type
            if found != field.type:
                raise DataError(
                    f"found {found}, and the frames before had {field.type}; cast it: "
                    "a session takes frames of one schema",
                    input=name,
                    column=field.name,
                )
        return table.select(self.choice.columns)

    def _check_payload(self, rows: pa.Table) -> None:
        """Read rows once where their payload may be wrong, so that none waits."""
        if rows.num_rows and not self._is_plain:
            self.ingest(rows)

    def lay_out(
        self, pieces: Sequence[TimedRows], next_stamp: int | None = None
    ) -> InputRows:
        """Make events of rows in order; `next_stamp` is that of the row behind them."""
        rows = self.arrange(pieces, next_stamp)
        assert isinstance(rows, InputRows)
        return rows

    def arrange(
        self, pieces: Sequence[TimedRows], next_stamp: int | None = None
    ) -> InputRows | UngroupedRows:
        """Make events of rows in order, of those by key as soon as they are grouped.

        `next_stamp` is that of the row behind them.
        """
        parts = list_plain(pieces, nulls=not self.choice.keys)
        if parts is None:
            return self.ingest(join_rows([piece.rows for piece in pieces]), next_stamp)
        rows = join_plain(parts)
        times, payload = tuple(rows.ticks), tuple(rows.payload)
        if self.choice.keys:
            assert self._settled.lifetime is not None
            keys, lifetime = tuple(rows.keys), self._settled.lifetime
            return UngroupedRows(times, payload, keys, lifetime)
        return self._events_of(times, payload, next_stamp)

    def ingest(self, rows: pa.Table, next_stamp: int | None = None) -> InputRows:
        """Make events of rows in ticks; `next_stamp` is that of the row behind them.

        The rows are in order. What is settled of them is not looked for again.
        """
        if not self._is_plain or self._settled.keys or not rows.num_rows:
            bound = replace(self._binding, frame=rows)
            return ingest(self._in_ticks, bound, unit=self.unit, next_stamp=next_stamp)
        times = tuple(
            integers_of(rows.column(number).chunk(0)).astype(np.int64, copy=False)
            for number in range(self._times)
        )
        payload = read_payload(self._settled, rows, self.choice.payload, self.unit)
        return self._events_of(times, payload, next_stamp)

    def _events_of(
        self,
        times: tuple[I64Array, ...],
        payload: tuple[Column, ...],
        next_stamp: int | None,
    ) -> InputRows:
        assert self._settled.lifetime is not None
        buffer = lay_out_events(times, self._settled.lifetime, payload, next_stamp)
        of = self._settled.type
        return InputRows(select_events(buffer, None, of), PLAIN_TICKS)


def join_rows(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables of rows, in one chunk."""
    whole = tables[0] if len(tables) == 1 else pa.concat_tables(tables)
    return whole if whole.column(0).num_chunks == 1 else whole.combine_chunks()
