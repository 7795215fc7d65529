"""An input of a live session: what has come, what waits, and what is settled.

Rows that start before the time through which the input is complete are settled: no
row to come stands before them. Those alone are handed to the outputs, in order of start
and arrival. The others wait.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from tiltpy.errors import DataError
from tiltpy.ir.nodes import Input
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.arrivals.accepted_rows import AcceptedRows, check_archive
from tiltpy.runtime.arrivals.arrival_store import ArrivalStore
from tiltpy.runtime.arrivals.ingress_options import IngressOptions
from tiltpy.runtime.arrivals.lateness import BEGINNING
from tiltpy.runtime.arrivals.read_arrivals import Arrival, ArrivalReader
from tiltpy.runtime.arrivals.reorder import ReorderBuffer
from tiltpy.runtime.arrivals.waiting_rows import TimedRows
from tiltpy.runtime.arrow.timestamps import PLAIN_TICKS
from tiltpy.runtime.ingest.read_input import InputRows
from tiltpy.runtime.ingest.ungrouped_rows import UngroupedRows
from tiltpy.types import MAX_TIME, Struct, Type, Unit

END = MAX_TIME
"""Through when an input is complete to which no row will come."""


@dataclass(slots=True)
class Counts:
    """Numbers of rows of an input: how many came, and what became of them."""

    read: int = 0
    accepted: int = 0
    late: int = 0
    adjusted: int = 0
    waiting: int = 0


class LiveSource:
    """The rows of an input, pushed; an `EventSource` once it has a schema.

    The input is complete through `watermark`, `greatest` is the greatest start
    of an accepted row. An `idle` input holds no output back.
    """

    def __init__(
        self, declared: Input, options: IngressOptions, unit: Unit | None
    ) -> None:
        self.declared = declared
        self.options = options
        self.unit = unit
        self.watermark = BEGINNING
        self.greatest = BEGINNING
        self.nothing = InputRows(SnapshotBuffer.empty(declared.type), PLAIN_TICKS)
        self.idle = False
        self.ended = False
        self.counts = Counts()
        self.waiting = ReorderBuffer()
        self._released: list[TimedRows] = []
        """Settled rows that no output has asked for."""
        self.tail: list[TimedRows] = []
        """The last settled rows, while the next row, which ends them, is unknown."""
        self._tail_events: SnapshotBuffer | None = None
        self._settled_rows: list[pa.Table] = []
        """Those that outputs have had since they were asked for, if they are."""
        self._store: ArrivalStore | None = None
        """The memory that rows in order are written to and wait in; None if they wait
        here."""
        self._reader: ArrivalReader | None = None
        self.is_settled = False
        """True once the schema of its frames is known."""
        if options.schema is not None:
            self.settle(options.schema)

    @property
    def reader(self) -> ArrivalReader:
        """The reader of its frames, once their schema is known."""
        assert self._reader is not None
        return self._reader

    @property
    def known_watermark(self) -> int | None:
        """The time through which it is complete, if there is one in sight."""
        return self.watermark if BEGINNING < self.watermark < END else None

    def count(self) -> Counts:
        """Count its rows so far."""
        self._release()
        waiting = sum(map(len, self.tail)) + len(self.waiting)
        if self._store is not None:
            waiting += self._store.count_waiting(self.watermark) + self._store.tail
        return replace(self.counts, waiting=waiting)

    @property
    def holds(self) -> bool:
        """Return whether the next row of all ends its last rows."""
        return self.reader.lifetime.needs_next_row and not self.declared.keys

    def settle(self, schema: pa.Schema) -> None:
        """Settle the schema of its frames, and the types that follow from it."""
        reader = ArrivalReader(self.declared, self.options, schema, self.unit)
        check_archive(reader)
        self._reader, self.is_settled = reader, True
        self.nothing = self._reader.nothing
        self.declared = replace(self.declared, lifetime=self._reader.declared.lifetime)

    def untyped_schema(self) -> pa.Schema:
        """Make a schema without types, for an input that no row has come to."""
        declared, binding = self.declared, self.options.binding
        lifetime = declared.lifetime or binding.lifetime
        times = [declared.time or binding.time or "time"]
        if lifetime is not None and lifetime.columns:
            times = list(lifetime.columns)
        keys = binding.by or declared.keys
        names = [*times, *keys, *(declared.order or binding.order)]
        fields = {name: pa.null() for name in names}
        if isinstance(declared.type, Struct) and binding.column is None:
            fields.update({name: _null_type(of) for name, of in declared.type.fields})
        else:
            fields[binding.column or declared.name] = _null_type(declared.type)
        return pa.schema(fields)

    def save(self) -> dict[str, object]:
        """Make what `restore` takes."""
        self._take_back()
        waiting = [*self._released, *self.waiting.rows()]
        return {
            "schema": self._reader.schema if self._reader is not None else None,
            "watermark": self.watermark,
            "greatest": self.greatest,
            "idle": self.idle,
            "counts": self.counts,
            "waiting": [(each.starts, each.rows) for each in waiting],
            "tail": [(each.starts, each.rows) for each in self.tail],
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take over what was saved of the same input."""
        if saved["schema"] is not None:
            self.settle(saved["schema"])
        self.watermark, self.greatest = saved["watermark"], saved["greatest"]
        self.idle, self.counts = saved["idle"], saved["counts"]
        for starts, rows in saved["waiting"]:
            self.waiting.add(starts, rows)
        self.tail = [TimedRows(starts, rows) for starts, rows in saved["tail"]]

    def arrive(self, frame: object) -> Arrival:
        """Read a pushed frame; nothing is taken yet. Raises `DataError`."""
        if self.ended:
            raise DataError(
                "finish() has said that no row will come; open another session",
                input=self.declared.name,
            )
        assert self._reader is not None
        return self._reader.read(
            frame, self.watermark, self.greatest, self.counts.read, self._store
        )

    def forget_schema(self) -> None:
        """Take back a schema, where the push that brought it was refused."""
        self._reader, self.is_settled = None, False

    def take(self, arrival: Arrival) -> None:
        """Take the rows of a push."""
        counts, rows = self.counts, arrival.rows
        counts.read += arrival.count
        self.watermark, self.greatest = arrival.complete, arrival.greatest
        if rows is None:
            assert self._store is not None
            self._store.take_written()
            counts.accepted += arrival.count
            self.idle = False
            return
        counts.accepted += len(rows.starts)
        counts.adjusted += arrival.adjusted
        counts.late += 0 if arrival.late is None else len(arrival.late.ticks)
        if len(rows.starts):
            self.idle = False
            self._take_back()
            self.waiting.put(rows)

    def write_to(self, store: ArrivalStore) -> None:
        """Have rows in order written to a store, where those are that were here."""
        self._store = store
        self.tail, self._tail_events = [], None

    def hand_over(self, most: int) -> list[TimedRows] | None:
        """Hand out the rows that wait here, in order, to wait elsewhere.

        Before them are those that nothing ends. None if more wait than `most`, or they
        must be archived once they are settled.
        """
        if self.options.accepted or len(self.waiting) > most:
            return None
        return [*self.tail, *self.waiting.take()]

    def take_over(self, rows: Sequence[TimedRows]) -> None:
        """Have rows wait here again that were handed out."""
        for each in rows[len(self.tail) :]:
            self.waiting.put(each)

    def _take_back(self) -> None:
        """Have the rows wait here that wait in the store, or that nothing ends."""
        store, self._store = self._store, None
        if store is None:
            return
        rows = store.take_waiting()
        if rows is not None:
            self.waiting.put(self.reader.join(*rows))
        tail = store.take_tail()
        if tail is not None:
            self.tail = [self.reader.join(*tail)]

    def promise(self, time: int) -> None:
        """Take a promise that no row to come starts before a time."""
        self.watermark = max(self.watermark, time)

    def end(self) -> None:
        """Take the promise that no row will come."""
        self._take_back()
        self.ended = True
        self.watermark = END

    def _release(self) -> None:
        """Let the rows go that are settled."""
        self._released += self.waiting.release(self.watermark)

    def release(self) -> list[TimedRows]:
        """Take the rows that are settled and have not been handed out, in pieces."""
        self._release()
        settled, self._released = self._released, []
        if self.options.accepted:
            self._settled_rows += [each.rows for each in settled]
        return settled

    def take_accepted(self) -> AcceptedRows:
        """Hand out the accepted rows that outputs have had since the last time."""
        taken, self._settled_rows = self._settled_rows, []
        return AcceptedRows(self._reader, taken)

    def pull(
        self, rows: int = 0, held: object = None
    ) -> Sequence[InputRows | UngroupedRows]:
        """Hand out the rows that are settled and have not been handed out."""
        del rows, held
        return self.lay_out(self.release())

    def lay_out(self, settled: list[TimedRows]) -> Sequence[InputRows | UngroupedRows]:
        """Make events of settled rows, but for those that nothing ends yet."""
        if not self.holds:
            return [self.reader.arrange(settled)] if settled else []
        if not settled and not (self.ended and self.tail):
            return []
        settled = [*self.tail, *settled]
        self.tail, self._tail_events = [], None
        if self.ended:
            return [self.reader.lay_out(settled)]
        return self._hold_back(settled)

    def _hold_back(self, settled: list[TimedRows]) -> list[InputRows]:
        """Hand out all rows but those of the last stamp, which nothing ends yet."""
        last = settled[-1].starts[-1]
        while settled and settled[-1].starts[0] == last:
            self.tail.insert(0, settled.pop())
        if settled and settled[-1].starts[-1] == last:
            piece = settled.pop()
            before, behind = piece.cut(int(piece.starts.searchsorted(last)))
            settled.append(before)
            self.tail.insert(0, behind)
        if not settled:
            return []
        return [self.reader.lay_out(settled, int(last) + self.reader.before)]

    def tail_events(self) -> SnapshotBuffer | None:
        """Make events without an end of the rows that nothing ends yet."""
        if self._tail_events is None and self.tail:
            self._tail_events = self.reader.lay_out(self.tail).buffer
        return self._tail_events

    @property
    def tail_stamp(self) -> int | None:
        """The stamp of the rows that nothing ends yet, if there are any."""
        start = None if self._store is None else self._store.tail_start
        if self.tail:
            start = int(self.tail[0].starts[0])
        return None if start is None else start + self.reader.before


def _null_type(of: Type) -> pa.DataType:
    """Make the Arrow type without types of a payload."""
    if not isinstance(of, Struct):
        return pa.null()
    return pa.struct([(name, _null_type(field)) for name, field in of.fields])
