"""The state of a streamed run: rows of its inputs, and progress of its outputs.

An output is done up to some time. What an input must still have follows from how far
the outputs that are not finished look back.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.ir.nodes import Input, Query, TemporalExpr
from tiltpy.runtime.arrays.pool import dtype_of
from tiltpy.runtime.arrays.snapshot_buffer import SnapshotBuffer
from tiltpy.runtime.execution.time_domain import Request
from tiltpy.runtime.incremental.concat import gather
from tiltpy.runtime.incremental.event_source import EventSource
from tiltpy.runtime.incremental.growing_rows import GrowingRows
from tiltpy.runtime.incremental.stamped_rows import EventLength
from tiltpy.runtime.ingest.read_input import InputRows
from tiltpy.runtime.ingest.ungrouped_rows import UngroupedRows
from tiltpy.runtime.ingest.unread_rows import UnreadRows, join_unread, split_unread
from tiltpy.types import ENDLESS, STRING, Boundary, Type, columns, last_rows

BOTH_TIMES = 16
"""The bytes of a start and an end."""
COSTS = DEFAULT_COSTS.spans
KEY_BYTES = 16
"""The bytes that a value of a key column is taken to have."""


CameRows = InputRows | UngroupedRows | UnreadRows
Look = Callable[[InputRows], None]
"""Called with the rows that came, all of each of their stamps."""


class InputSource(ABC):
    """An input as it is read: up to when it has come, and over which times."""

    has_more = False
    """Whether rows that came wait until those before them have been computed."""

    def __init__(self, declared: Input, feed: EventSource, look: Look) -> None:
        self.payload = declared.type
        self.row_bytes = input_bytes(declared)
        self.feed = feed
        self.look = look
        self.read = 0
        """How many rows have come."""
        self.bounds: tuple[int, int] | None = None
        """The first start and the greatest end of all events so far."""

    @property
    def is_at_end(self) -> bool:
        """Return whether no row is to come."""
        return self.feed.ended

    @property
    def watermark(self) -> int:
        """The time before which no event will start that is to come."""
        return self.feed.watermark

    def pull(self, size: int) -> int:
        """Read on, `size` bytes of rows at most; the bytes of those that came."""
        pulled = self.feed.pull(max(1, size // self.row_bytes))
        self.receive(pulled)
        return sum(map(bytes_of, pulled))

    def receive(self, pulled: Iterable[CameRows]) -> None:
        """Take rows that came, in order."""
        for rows in pulled:
            bounds = rows.bounds()
            if bounds is not None and isinstance(rows, InputRows):
                self.look(rows)
            self.count(len(rows), bounds)
            self.add(rows)

    def count(self, rows: int, bounds: tuple[int, int] | None) -> None:
        """Count rows that came, whose first start and greatest end are the bounds."""
        self.read += rows
        if bounds is not None:
            start, end = self.bounds or bounds
            self.bounds = min(start, bounds[0]), max(end, bounds[1])

    @abstractmethod
    def add(self, rows: CameRows) -> None:
        """Take rows that came; those of an input without keys are grouped."""

    @abstractmethod
    def layout(self) -> Layout:
        """Describe the rows that have come, to specialise a kernel for them."""

    @abstractmethod
    def drop_before(self, time: int | None, last_rows: int) -> int:
        """Forget events that end by a time, or all; the bytes of those that stay.

        So do the last rows that start before.
        """


class UnkeyedSource(InputSource):
    """An input without keys: its rows are in one piece."""

    @abstractmethod
    def rows(self) -> SnapshotBuffer:
        """Return all rows that are held and have come, in one piece."""


class InputBuffer(UnkeyedSource):
    """An input without keys: its feed, and the rows of it that are still needed.

    Kernels read rows in one piece. To copy a large one behind the few that are held
    would cost more than to compute it: its first rows, as many as a halo has, come
    before the others, and twice as many until all that is needed is in the large one.
    """

    def __init__(self, declared: Input, feed: EventSource, look: Look) -> None:
        super().__init__(declared, feed, look)
        lifetime = feed.declared.lifetime
        assert lifetime is not None
        length = None if lifetime.columns else EventLength(lifetime)
        self._held = GrowingRows(declared.type, length)
        self._fresh: list[SnapshotBuffer] = []
        """Rows that came behind those that are held, in other memory."""
        self._large: SnapshotBuffer | None = None
        self._shown = 0
        """How many rows of the large piece have come, if there is one."""

    @property
    def has_more(self) -> bool:  # type: ignore[override]
        return self._large is not None

    @property
    def is_at_end(self) -> bool:
        return self._large is None and super().is_at_end

    @property
    def watermark(self) -> int:
        if self._large is None:
            return super().watermark
        return self._large.row(self._shown)[0]

    def pull(self, size: int) -> int:
        if self._large is not None:
            self._show_more()
            return 0
        held = None if self._fresh else self._held
        pulled = self.feed.pull(max(1, size // self.row_bytes), held)
        came = self._settle() * self.row_bytes + sum(map(bytes_of, pulled))
        self.receive(pulled)
        if self._fresh:
            before = self._held.rows.n + sum(piece.n for piece in self._fresh[:-1])
            shown = 2 * before + COSTS.shown_rows  # one span is mostly enough
            least = max(COSTS.apart_rows, 1 + COSTS.shown_share * shown)
            if before and self._fresh[-1].n >= least:
                self._large, self._shown = self._fresh.pop(), shown
                self._fresh.append(self._large.slice(0, shown))
        return came

    def _settle(self) -> int:
        """Have the rows count that waited behind those that are held; how many."""
        feed, held = self.feed, self._held
        count = held.settle(ENDLESS if feed.ended else feed.watermark)
        if count:
            rows = held.rows.slice(held.rows.n - count, held.rows.n)
            self.look(InputRows(rows, feed.nothing.stamps))
            self.count(count, rows.bounds())
        return count

    def add(self, rows: CameRows) -> None:
        assert isinstance(rows, InputRows)
        if rows.buffer.n:
            self._fresh.append(rows.buffer)

    def layout(self) -> Layout:
        return self.rows().abi_layout()

    def rows(self) -> SnapshotBuffer:
        if self._fresh:
            self._held.replace(gather([self._held.rows, *self._fresh], self.payload))
            self._fresh.clear()
        return self._held.rows

    def drop_before(self, time: int | None, last_rows: int) -> int:
        if time is None:
            self._fresh.clear()
            self._held.forget()
            self._large = None
        else:
            self.rows()
            self._held.drop_before(time, last_rows)
            if self._large is not None:
                self._show_more()
        return buffer_bytes(self._held.rows)

    def _show_more(self) -> None:
        """Have more of a large piece come: all, once no rows before it are needed."""
        large, shown, held = self._large, self._shown, self._held.rows
        assert large is not None
        is_apart = held.layout is not TimeLayout.OVERLAPPING
        if is_apart and not self._fresh and held.n <= shown:
            self._held.replace(large.slice(shown - held.n, large.n))
            self._large = None
            return
        self._shown = shown + max(shown, held.n)
        if not is_apart or large.n <= COSTS.shown_share * self._shown:
            self._shown, self._large = large.n, None
        self._fresh.append(large.slice(shown, self._shown))


class KeyedInputBuffer(InputSource):
    """An input by key: its feed, and what came since an engine took the rows before."""

    def __init__(self, declared: Input, feed: EventSource, look: Look) -> None:
        super().__init__(declared, feed, look)
        self._fresh: list[InputRows | UngroupedRows] = []

    def add(self, rows: CameRows) -> None:
        assert not isinstance(rows, UnreadRows)
        if len(rows) or (isinstance(rows, InputRows) and rows.firsts is not None):
            self._fresh.append(rows)

    def layout(self) -> Layout:
        grouped = [rows for rows in self._fresh if isinstance(rows, InputRows)]
        rows = grouped[0] if grouped else self.feed.nothing
        return rows.buffer.abi_layout()

    @property
    def is_waiting(self) -> bool:
        """Return whether any rows have come."""
        return bool(self._fresh)

    def rows(self) -> list[InputRows | UngroupedRows]:
        """Hand over what came, batch by batch."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def drop_before(self, time: int | None, last_rows: int) -> int:
        del last_rows
        if time is None:
            self._fresh.clear()
        return sum(map(bytes_of, self._fresh))


class UnreadBuffer(InputSource):
    """An input by key: the rows that came since cells were computed, as they came."""

    def __init__(self, declared: Input, feed: EventSource, look: Look) -> None:
        super().__init__(declared, feed, look)
        self._rows: list[UnreadRows] = []

    def add(self, rows: CameRows) -> None:
        assert isinstance(rows, UnreadRows)
        self._rows.append(rows)

    def layout(self) -> Layout:
        return self.feed.nothing.buffer.abi_layout()

    def take(self, time: int) -> UnreadRows | None:
        """Take the rows that start before a time out, if there are any."""
        if not self._rows:
            return None
        taken, rest = split_unread(join_unread(self._rows), time)
        self._rows = [] if rest is None else [rest]
        return taken

    def drop_before(self, time: int | None, last_rows: int) -> int:
        del last_rows
        if time is None:
            self._rows.clear()
        elif self._rows and self._rows[0].start < time:
            self.take(time)
        return sum(map(bytes_of, self._rows))


@dataclass(slots=True)
class OutputProgress:
    """An output, and up to what time it is done."""

    definition: TemporalExpr
    reach: Mapping[str, Boundary]
    rounding: int
    """Ticks by which precisions on the way to an input may round down."""
    start: int | None = None
    """Where its domain starts; None while nobody knows."""
    done: int = 0
    finished: bool = False
    resumed_reach: Mapping[str, Boundary] | None = None
    """What it needs of each input once there are states of all before, if there are."""

    def find_start(
        self, bounds: Iterable[tuple[int, int] | None], request: Request
    ) -> None:
        """Settle where the domain starts: all first events are known."""
        fixed = self.fixed_start(request)
        first = min((bound[0] for bound in bounds if bound is not None), default=None)
        self.start = first if fixed is None else fixed
        if self.start is None:
            self.finished = True  # nothing ever happens
        else:
            self.done = self.start

    def fixed_start(self, request: Request) -> int | None:
        """Return the start of the domain; None if the rows decide it."""
        starts = request.start, request.resolve(self.definition.tdom.start)
        return max((start for start in starts if start is not None), default=None)

    def has_fixed_end(self, request: Request) -> bool:
        """Return whether the domain ends where it does whatever the rows are."""
        end = request.resolve(self.definition.tdom.end)
        return request.end is not None or end is not None

    @property
    def awaits_rows(self) -> bool:
        """Return whether it needs the next row of an input, whenever that comes."""
        return any(boundary.ahead.rows for boundary in self.reach.values())

    def needs_from(self, name: str, time: int) -> int:
        """The eviction horizon of an input once the output is done up to a time."""
        tdom, reach = self.definition.tdom, self.reach
        if self.resumed_reach is not None and self.start is not None:
            # There are states once a cell was computed.
            begun = tdom.floor(self.start) < tdom.floor(self.done)
            reach = self.resumed_reach if begun else reach
        back = reach[name].back
        if back.is_unbounded:
            return -ENDLESS
        seam = tdom.floor(time) - tdom.precision
        return seam - back.ticks - self.rounding

    def count_last(self, name: str) -> int:
        """Count the rows of an input that it needs from before its horizon."""
        return last_rows(name, self.reach, self.resumed_reach or {})


def start_outputs(query: Query) -> dict[str, OutputProgress]:
    """The outputs of a query that has its boundaries, nothing done yet."""
    rounding = sum(made.tdom.precision for made in query.definitions)
    outputs = {}
    for name, reach in query.boundaries:
        definition = query.definition(name)
        assert definition is not None
        outputs[name] = OutputProgress(definition, dict(reach), rounding)
    return outputs


def list_readers(name: str, outputs: Iterable[OutputProgress]) -> list[OutputProgress]:
    """List the outputs that still need rows of an input."""
    return [each for each in outputs if name in each.reach and not each.finished]


def find_horizon(
    name: str,
    readers: Sequence[OutputProgress],
    find_done: Callable[[OutputProgress], int],
) -> tuple[int | None, int]:
    """Find the eviction horizon of an input, None where nobody reads it any more.

    `find_done` says up to when an output is done. With it comes how many rows from
    before the horizon are needed.
    """
    times = [each.needs_from(name, find_done(each)) for each in readers]
    last = max((each.count_last(name) for each in readers), default=0)
    return min(times, default=None), last


def row_bytes(payload: Type) -> int:
    """The bytes of a row with its times; of its strings those that are usual."""
    scalars = [scalar for _, scalar in columns(payload)]
    values = sum(dtype_of(scalar).itemsize for scalar in scalars)
    strings = DEFAULT_COSTS.spans.string_bytes * scalars.count(STRING)
    return BOTH_TIMES + values + strings


def input_bytes(declared: Input) -> int:
    """The bytes of a row of an input, with its key."""
    return row_bytes(declared.type) + KEY_BYTES * len(declared.keys)


def bytes_of(rows: CameRows) -> int:
    """The bytes of rows that came."""
    return buffer_bytes(rows.buffer) if isinstance(rows, InputRows) else rows.nbytes


def buffer_bytes(buffer: SnapshotBuffer) -> int:
    """The bytes of a buffer's rows, and of the dictionaries of their strings."""
    times = (array for array in (buffer.starts, buffer.ends) if array is not None)
    width = sum(array.itemsize for array in times)
    width += sum(column.values.itemsize for column in buffer.columns)
    total = buffer.n * width
    for column in buffer.columns:
        if column.strings is not None:
            total += int(column.strings.values.nbytes)
    return total
